//! `blkan compare` as clap sees it.

use super::common::{FilterArgs, OutputArgs, ReadArgs, WindowArgs};
use super::values;
use crate::commands::{CompareOpts, Key};
use clap::Args;
use std::path::PathBuf;

/// Two traces beside each other: every number, what is really different, which requests moved, a verdict
///
/// Each side is one trace (a file, or a directory or base name of per-CPU files), or a list of repeated runs with commas
/// between them.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  blkan compare before.gz after.gz                  the verdict, and the table behind it
  blkan compare --markdown before.gz after.gz       the same for a mail
  blkan compare a1.gz,a2.gz b1.gz,b2.gz             repeated runs: intervals over runs
  blkan compare --json a.gz b.gz | jq '.devices[].verdict'")]
pub struct CompareArgs {
    /// The first trace, or runs of it: A1,A2,A3
    #[arg(value_name = "A", help_heading = "Input")]
    a: PathBuf,
    /// The second trace, or runs of it
    #[arg(value_name = "B", help_heading = "Input")]
    b: PathBuf,
    #[command(flatten)]
    input: ReadArgs,
    #[command(flatten)]
    window: WindowArgs,
    #[command(flatten)]
    filter: FilterArgs,
    /// Group by these: rwbs, dev, op, comm, pid, cpu, size [default: rwbs]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = values::key, help_heading = "Grouping")]
    by: Vec<Key>,
    /// Seed of the resampling behind the intervals: the same seed gives the same bytes
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        help_heading = "Comparison"
    )]
    seed: u64,
    #[command(flatten)]
    output: OutputArgs,
    /// A table for a mail, at most 72 columns wide
    #[arg(long, conflicts_with_all = ["json", "csv"], help_heading = "Output")]
    markdown: bool,
    /// CSV with a header line: one row a device and quantity
    #[arg(long, conflicts_with = "json", help_heading = "Output")]
    csv: bool,
}

impl CompareArgs {
    /// As the command takes it.
    pub fn opts(self) -> CompareOpts {
        let input = self.input.opts(Vec::new());
        CompareOpts {
            a: self.a,
            b: self.b,
            filter: self.filter.opts(input.raw_rwbs),
            input,
            window: self.window.opts(),
            by: self.by,
            seed: self.seed,
            markdown: self.markdown,
            output: self.output.opts(self.csv),
        }
    }
}
