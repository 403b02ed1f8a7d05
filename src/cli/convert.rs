//! `blkan convert` as clap sees it.

use super::common::{FilterArgs, InputArgs, UntilArgs};
use crate::commands::{ConvertOpts, OutputOpts, targets};
use clap::Args;
use clap::builder::PossibleValue;
use clap::builder::PossibleValuesParser;
use std::path::PathBuf;

/// The same events in another format
///
/// What the new format cannot say is told on stderr. Sequence numbers are new: they count the events written.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  blkan convert --to blkparse trace.gz | less             any trace as blkparse prints it
  blkan convert --to blktrace trace.gz | blkparse -i -    binary; into a file (-o) for btt
  blkan convert --to canonical trace.gz > events.txt      nothing lost, easy to parse
  blkan convert --to perfetto trace.gz -o trace.json      a timeline, for ui.perfetto.dev")]
pub struct ConvertArgs {
    #[command(flatten)]
    input: InputArgs,
    /// The format to write
    #[arg(long, value_name = "FORMAT", value_parser = formats(), help_heading = "Output")]
    to: String,
    #[command(flatten)]
    window: UntilArgs,
    #[command(flatten)]
    filter: FilterArgs,
    /// Write to FILE instead of stdout
    #[arg(
        short = 'o',
        long = "output",
        value_name = "FILE",
        help_heading = "Output"
    )]
    output: Option<PathBuf>,
    /// Exit with 3 if the input is damaged or lost events (the good rest is still written)
    #[arg(long, help_heading = "Output")]
    strict: bool,
    /// No warnings, no progress bar
    #[arg(short, long, help_heading = "Output")]
    quiet: bool,
}

fn formats() -> PossibleValuesParser {
    PossibleValuesParser::new(targets().map(|(name, title)| PossibleValue::new(name).help(title)))
}

impl ConvertArgs {
    /// As the command takes it.
    pub fn opts(self) -> ConvertOpts {
        let input = self.input.opts();
        ConvertOpts {
            filter: self.filter.opts(input.raw_rwbs),
            input,
            window: self.window.opts(),
            to: self.to,
            output: OutputOpts {
                file: self.output,
                strict: self.strict,
                quiet: self.quiet,
                ..OutputOpts::default()
            },
        }
    }
}
