//! Events, requests and bios as columns: the one definition of names, types and cells that CSV, JSON lines and tables
//! share, the tables themselves (Parquet, Arrow), and queries over them. The only module that names polars, and only in
//! the files that the feature `tables` brings in.

#[cfg(feature = "tables")]
mod answer;
mod bio;
mod cell;
#[cfg(feature = "tables")]
mod collect;
mod column;
mod event;
mod file;
#[cfg(feature = "tables")]
mod files;
#[cfg(feature = "tables")]
mod hint;
mod hive;
#[cfg(not(feature = "tables"))]
mod no_query;
#[cfg(not(feature = "tables"))]
mod no_table;
#[cfg(feature = "tables")]
mod query;
mod request;
#[cfg(feature = "tables")]
mod rows;
#[cfg(feature = "tables")]
mod table;

#[cfg(feature = "tables")]
pub use answer::Answer;
pub use bio::{error as bio_error, merge_word};
pub use cell::{cpu, dev, pid, rwbs, sector};
#[cfg(feature = "tables")]
pub use collect::Collector;
pub use column::{Column, Get, Record, Value, values};
pub use event::error as event_error;
pub use file::FileKind;
#[cfg(feature = "tables")]
pub use files::holds_tables;
pub use hive::{directory, pair};
#[cfg(not(feature = "tables"))]
pub use no_query::{Answer, Collector, Query, holds_tables};
#[cfg(not(feature = "tables"))]
pub use no_table::Table;
#[cfg(feature = "tables")]
pub use query::Query;
#[cfg(feature = "tables")]
pub use table::Table;

#[cfg(all(test, feature = "tables"))]
mod tests;
