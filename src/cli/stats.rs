//! `blkan stats` as clap sees it.

use super::common::{FilterArgs, InputArgs, OutputArgs, WindowArgs};
use super::values;
use crate::commands::{Key, StatsOpts};
use crate::units::Nanos;
use clap::Args;

/// The numbers: events, requests, merges, sizes, flushes, latencies, phases
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  blkan stats trace.gz                           the numbers of a trace, per device and rwbs
  blkan stats --by comm,op --dev 259,0 trace.gz  who did what on one device
  blkan stats --every 1s --csv trace.gz > t.csv  a row a group and second")]
pub struct StatsArgs {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    window: WindowArgs,
    #[command(flatten)]
    filter: FilterArgs,
    /// Group by these: rwbs, dev, op, comm, pid, cpu, size [default: rwbs]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = values::key, help_heading = "Grouping")]
    by: Vec<Key>,
    /// A time series with this interval (1s, 100ms, 2m)
    #[arg(long, value_name = "DURATION", value_parser = values::duration, help_heading = "Grouping")]
    every: Option<Nanos>,
    /// btt's table too: per bio, by btt's rules, with the reasons where btt itself would differ
    #[arg(long, help_heading = "Grouping", conflicts_with = "csv")]
    btt: bool,
    #[command(flatten)]
    output: OutputArgs,
    /// CSV with a header line: one row a device and group, and with --every one for each interval
    #[arg(long, conflicts_with = "json", help_heading = "Output")]
    csv: bool,
}

impl StatsArgs {
    /// As the command takes it.
    pub fn opts(self) -> StatsOpts {
        let input = self.input.opts();
        StatsOpts {
            filter: self.filter.opts(input.raw_rwbs),
            input,
            window: self.window.opts(),
            by: self.by,
            every: self.every,
            btt: self.btt,
            output: self.output.opts(self.csv),
        }
    }
}
