//! `blkan bios` as clap sees it.

use super::common::{FilterArgs, InputArgs, OutputArgs, RowArgs, WindowArgs};
use crate::commands::RowOpts;
use clap::Args;

/// Every bio: who submitted it, which request carried it, how it ended
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  blkan bios --comm fio trace.gz | less           one bio a line
  blkan bios --rwbs FWS --csv trace.gz > fws.csv  all fsync-like bios
  blkan bios --json trace.gz | jq 'select(.merged != null)'")]
pub struct BiosArgs {
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

impl BiosArgs {
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
