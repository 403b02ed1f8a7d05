//! `blkan report` as clap sees it.

use super::common::{FilterArgs, InputArgs, WindowArgs};
use crate::commands::{OutputOpts, ReportOpts};
use clap::Args;
use std::path::PathBuf;

/// One HTML file for people: verdict, key numbers, causes with evidence, figures, tables, every definition
///
/// It opens in any browser without a network. With --with, a second trace is compared with the first.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  blkan report trace.gz -o report.html             what the trace says, on one page
  blkan report before.gz --with after.gz -o change.html
  zcat trace.gz | blkan report - -o report.html    from a pipe
  blkan report --dev 259,0 trace.gz -o nvme.html   one device of several")]
pub struct ReportArgs {
    #[command(flatten)]
    input: InputArgs,
    /// A second trace, compared with the first; repeat for its further files
    #[arg(long, value_name = "TRACE", help_heading = "Input")]
    with: Vec<PathBuf>,
    /// How the trace is called in the report; twice with --with [default: its file or directory]
    #[arg(long, value_name = "TEXT", help_heading = "Output")]
    label: Vec<String>,
    #[command(flatten)]
    window: WindowArgs,
    #[command(flatten)]
    filter: FilterArgs,
    /// Seed of the resampling behind the intervals of a comparison
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        help_heading = "Comparison"
    )]
    seed: u64,
    /// The HTML file; `-` is stdout [default: stdout, if it is no terminal]
    #[arg(
        short = 'o',
        long = "output",
        value_name = "FILE",
        help_heading = "Output"
    )]
    output: Option<PathBuf>,
    /// Exit with 3 if the input is damaged or lost events (the report is still written)
    #[arg(long, help_heading = "Output")]
    strict: bool,
    /// No warnings, no progress bar
    #[arg(short, long, help_heading = "Output")]
    quiet: bool,
}

impl ReportArgs {
    /// As the command takes it.
    pub fn opts(self) -> ReportOpts {
        let input = self.input.opts();
        ReportOpts {
            filter: self.filter.opts(input.raw_rwbs),
            input,
            with: self.with,
            labels: self.label,
            window: self.window.opts(),
            seed: self.seed,
            output: OutputOpts {
                file: self.output,
                strict: self.strict,
                quiet: self.quiet,
                ..OutputOpts::default()
            },
        }
    }
}
