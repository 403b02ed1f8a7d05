//! Events, requests and bios as columns: the one definition of names, types and cells that CSV, JSON lines and tables
//! share, and the tables themselves (Parquet, Arrow). The only module that names polars, and only in the file that the
//! feature `tables` brings in.

mod bio;
mod cell;
mod column;
mod event;
mod file;
#[cfg(not(feature = "tables"))]
mod no_table;
mod request;
#[cfg(feature = "tables")]
mod table;

pub use bio::{error as bio_error, merge_word};
pub use cell::{cpu, dev, pid, rwbs, sector};
pub use column::{Column, Get, Record, Value, values};
pub use event::{code, error as event_error};
pub use file::FileKind;
#[cfg(not(feature = "tables"))]
pub use no_table::Table;
#[cfg(feature = "tables")]
pub use table::Table;

#[cfg(all(test, feature = "tables"))]
mod tests;
