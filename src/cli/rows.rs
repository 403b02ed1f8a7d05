//! `blkan events`, `requests` and `bios` as clap sees them: the same options, each with examples of its own.

use super::common::{FilterArgs, FormArgs, InputArgs, OutputArgs, WindowArgs};
use crate::commands::RowOpts;
use clap::Args;

/// Examples of `events`.
pub const EVENTS: &str = "\
Examples:
  blkan events trace.gz | less                      one event a line
  blkan events --rwbs FF --csv trace.gz > ff.csv    all device flushes
  blkan events --from 1.5 --to 1.6 --json trace.gz  a tenth of a second as JSON lines";

/// Examples of `requests`.
pub const REQUESTS: &str = "\
Examples:
  blkan requests trace.gz | less                        one request a line
  blkan requests --op write --csv trace.gz > rq.csv     all fields, for a spreadsheet
  blkan requests --json trace.gz | jq 'select(.requeues > 0)'
  blkan requests -o rq.parquet trace.gz                 a table for polars, pandas, DuckDB, Spark
  blkan requests -o data/ --partition host=db7,trace,dev trace.gz    its part of a data set of many";

/// Examples of `bios`.
pub const BIOS: &str = "\
Examples:
  blkan bios --comm fio trace.gz | less           one bio a line
  blkan bios --rwbs FWS --csv trace.gz > fws.csv  all fsync-like bios
  blkan bios --json trace.gz | jq 'select(.merged != null)'";

// What each of the three is stands at its subcommand: a text here would take its place.
#[derive(Args, Debug)]
pub struct RowArgs {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    window: WindowArgs,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    form: FormArgs,
}

impl RowArgs {
    /// As the command takes it.
    pub fn opts(self) -> RowOpts {
        let input = self.input.opts();
        let (output, table, parts) = self.form.opts(self.output);
        RowOpts {
            filter: self.filter.opts(input.raw_rwbs),
            input,
            window: self.window.opts(),
            table,
            parts,
            output,
        }
    }
}
