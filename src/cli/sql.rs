//! `blkan sql` as clap sees it.

use super::common::{OutputArgs, ReadArgs, WindowArgs};
use crate::commands::SqlOpts;
use clap::Args;
use std::path::PathBuf;

/// Asks in SQL: tables requests, bios, events of a trace, or of Parquet and Arrow files
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  blkan sql 'select rwbs, count(*), avg(d2c_ns) from requests group by rwbs' trace.gz
  blkan sql 'select comm, sum(bytes) as b from bios group by comm order by b desc' trace.gz
  blkan sql --csv queries/requests.sql data/      a file with a query, over a data set

Columns: docs/output-rows.md. Whole numbers are int64. Data sets: docs/fleet.md")]
pub struct SqlArgs {
    /// The query, or a file ending in .sql that holds it
    #[arg(value_name = "QUERY")]
    query: String,
    /// A trace (several files are read as one), or Parquet and Arrow files, or directories of them
    #[arg(value_name = "TRACE|TABLE", required = true)]
    traces: Vec<PathBuf>,
    #[command(flatten)]
    how: ReadArgs,
    #[command(flatten)]
    window: WindowArgs,
    /// CSV with a header line
    #[arg(long, conflicts_with = "json", help_heading = "Output")]
    csv: bool,
    #[command(flatten)]
    output: OutputArgs,
}

impl SqlArgs {
    /// As the command takes it.
    pub fn opts(self) -> SqlOpts {
        SqlOpts {
            query: self.query,
            input: self.how.opts(self.traces),
            window: self.window.opts(),
            output: self.output.opts(self.csv),
        }
    }
}
