//! Streaming accumulators per device and group, and the report they make.
//!
//! A metric is one file that implements `Section`, one `mod` line here and one line in `registry.rs`.

pub mod blkparse_totals;
pub mod compare;
pub mod figures;
pub mod predict;
pub mod quality;
pub mod report;

mod absent;
mod btt;
mod check_report;
mod collect;
mod depth;
mod events;
mod finish;
mod flush;
mod groups;
mod iostat;
mod keys;
mod latency;
mod merge;
mod phases;
mod registry;
mod section;
mod select;
mod series;
mod size;
mod why;

#[cfg(test)]
mod testing;

pub use blkparse_totals::{BlkparseTotals, SummaryDevice};
pub use collect::{Collector, CollectorOptions, Extras};
pub use registry::SECTIONS;
pub use section::SectionInfo;
pub use select::{Filter, Key, Matcher};
#[cfg(test)]
mod series_tests;
#[cfg(test)]
mod tests;
