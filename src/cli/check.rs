//! `blkan check` as clap sees it.

use super::common::{InputArgs, OutputArgs, WindowArgs};
use crate::commands::CheckOpts;
use clap::Args;

/// Can this trace be trusted: damage, losses, missing events, accounts, blkparse's own summary
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  blkan check trace.gz                 the verdict, and everything that speaks against the trace
  blkan check --strict -q trace.gz     for scripts: exit 0 sound, 1 unusable, 3 damaged
  blkan check --json trace.gz | jq .verdict")]
pub struct CheckArgs {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    window: WindowArgs,
    #[command(flatten)]
    output: OutputArgs,
}

impl CheckArgs {
    /// As the command takes it.
    pub fn opts(self) -> CheckOpts {
        CheckOpts {
            input: self.input.opts(),
            window: self.window.opts(),
            output: self.output.opts(false),
        }
    }
}
