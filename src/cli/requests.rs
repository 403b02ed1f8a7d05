//! `blkan requests` as clap sees it.

use super::common::{FilterArgs, InputArgs, OutputArgs, RowArgs, WindowArgs};
use crate::commands::RowOpts;
use clap::Args;

/// Every request: what it carried, when it moved, how it ended
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  blkan requests trace.gz | less                        one request a line
  blkan requests --op write --csv trace.gz > rq.csv     all fields, for a spreadsheet
  blkan requests --json trace.gz | jq 'select(.requeues > 0)'
  blkan requests -o rq.parquet trace.gz                 a table for polars, pandas, DuckDB, Spark")]
pub struct RequestsArgs {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    window: WindowArgs,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    rows: RowArgs,
}

impl RequestsArgs {
    /// As the command takes it.
    pub fn opts(self) -> RowOpts {
        let input = self.input.opts();
        let (output, table) = self.rows.opts(self.output);
        RowOpts {
            filter: self.filter.opts(input.raw_rwbs),
            input,
            window: self.window.opts(),
            table,
            output,
        }
    }
}
