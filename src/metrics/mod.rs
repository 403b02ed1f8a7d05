//! Streaming accumulators per group.

pub mod blkparse_totals;
pub mod quality;
pub mod report;

mod collect;
mod select;

pub use blkparse_totals::{BlkparseTotals, SummaryDevice};
pub use collect::{Collector, CollectorOptions, Extras};
pub use select::{Filter, Key};
