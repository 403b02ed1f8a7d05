//! `blkan events` as clap sees it.

use super::common::{FilterArgs, InputArgs, OutputArgs, RowArgs, WindowArgs};
use crate::commands::RowOpts;
use clap::Args;

/// Every event, one row each
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  blkan events trace.gz | less                      one event a line
  blkan events --rwbs FF --csv trace.gz > ff.csv    all device flushes
  blkan events --from 1.5 --to 1.6 --json trace.gz  a tenth of a second as JSON lines")]
pub struct EventsArgs {
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

impl EventsArgs {
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
