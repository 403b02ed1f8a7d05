//! `blkan replay` as clap sees it.

use super::common::{OutputArgs, ReadArgs, WindowArgs};
use super::policy;
use crate::commands::policy as policies;
use crate::commands::{Arrivals, ReplayOpts, Switches};
use crate::error::Result;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// What another block layer would have done with the same bios: one row a policy, beside the recording
///
/// The bios of the trace run through a model of the block layer. First under the policy that was recorded, which shows how far
/// the model can be trusted here; then under each policy named. What the trace cannot tell is refused. Lists sweep.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  blkan replay trace.gz                                  the policy in force, and how near it comes
  blkan replay --plug oldest,newest-of-queue trace.gz    plug merging of 6.13 against that of 6.12
  blkan replay --flush head,tail --ata bounce trace.gz   four ways to send flushes to an ATA disk
  blkan replay --plug 5.15,6.1,6.16 trace.gz             kernels instead of names
  blkan replay --device nvme:iops=180k trace.gz          on another device
  blkan replay --device trace:after.gz before.gz         on the disk as fast as it was in after.gz
  blkan replay --plug none,scan trace.gz --plot out.svg  a picture: policies side by side
  blkan replay --workload block004:lines=2 --device hdd --flush head,tail")]
pub struct ReplayArgs {
    /// Trace files, compressed or not; several are read as one trace. `-` is stdin
    #[arg(
        value_name = "TRACE",
        required_unless_present = "workload",
        conflicts_with = "workload",
        help_heading = "Input"
    )]
    traces: Vec<PathBuf>,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    window: WindowArgs,
    #[command(flatten)]
    policies: PolicyArgs,
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    output: OutputArgs,
    /// Write the simulated events of the last row (without rows: of the recorded policy) as a trace
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    trace_out: Option<PathBuf>,
    /// Draw the policies side by side: FILE.svg, FILE.png, or a directory for all devices
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    plot: Option<PathBuf>,
    /// CSV with a header line: one row a policy, device and quantity
    #[arg(long, conflicts_with = "json", help_heading = "Output")]
    csv: bool,
}

/// The policies to try; each takes a list.
#[derive(Args, Debug)]
#[command(next_help_heading = "Policies (lists sweep)")]
struct PolicyArgs {
    /// Plug merging: scan, none, newest, newest-of-queue, oldest, tail-else-oldest, or a kernel (5.15 to 6.16)
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = policy::plug)]
    plug: Vec<policies::PlugChoice>,
    /// Requests a plug holds (twice as many for several queues)
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=65_536))]
    plug_limit: Vec<u32>,
    /// The queue attribute nomerges: 0, 1 or 2
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = clap::value_parser!(u8).range(0..=2))]
    nomerges: Vec<u8>,
    /// Longest request in KiB, as max_sectors_kb
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1_048_576))]
    max_sectors: Vec<u32>,
    /// Scheduler: none, mq-deadline
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = policy::named("a scheduler", policies::Sched::ALL, policies::Sched::name))]
    sched: Vec<policies::Sched>,
    /// Where device flushes enter the dispatch list: head, tail
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = policy::named("a place", policies::FlushInsert::ALL, policies::FlushInsert::name))]
    flush: Vec<policies::FlushInsert>,
    /// How libata treats a flush that may not run yet: off, bounce, park
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = policy::named("a rule", policies::Ata::ALL, policies::Ata::name))]
    ata: Vec<policies::Ata>,
    /// Flush bios of dm: per-line, per-device
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = policy::named("a rule", policies::DmFlush::ALL, policies::DmFlush::name))]
    dm_flush: Vec<policies::DmFlush>,
    /// Lines of dm tables, where the trace does not show them (its data lie side by side on one disk)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    dm_lines: Option<u32>,
    /// Writeback throttling: off, on
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = policy::named("a switch", policies::Switch::ALL, policies::Switch::name))]
    wbt: Vec<policies::Switch>,
    /// Zoned writes: off, lock, plug, pipeline
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = policy::named("a rule", policies::Zoned::ALL, policies::Zoned::name))]
    zoned: Vec<policies::Zoned>,
    /// Bytes of a zone (64MiB), a power of two, where the trace does not show it
    #[arg(long, value_name = "BYTES", value_parser = policy::zone)]
    zone_size: Option<u64>,
    /// Block size in bytes that buffered writes of the raw device are cut into: 512 to 4096
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = policy::block_size)]
    soft_block_size: Vec<u32>,
    /// Commands that the device takes at once
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=65_536))]
    depth: Vec<u32>,
    /// Commands a second that the device does at most (180k)
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = policy::rate)]
    iops_cap: Vec<u64>,
}

/// When bios arrive.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum ArrivalsArg {
    /// The next bio of a task follows the completion it waited for, plus its think time.
    Closed,
    /// At the recorded times.
    Open,
}

/// The model.
#[derive(Args, Debug)]
#[command(next_help_heading = "Model")]
struct ModelArgs {
    /// Name (parts of) the recorded policy instead of finding it: plug=oldest,flush=head,ata=bounce,…
    #[arg(long, value_name = "LIST")]
    recorded: Option<String>,
    /// When bios arrive
    #[arg(long, value_name = "HOW", value_enum, default_value_t = ArrivalsArg::Closed)]
    arrivals: ArrivalsArg,
    /// A device instead of the timing in the trace: KIND[:key=value,…], e.g. nvme:iops=180k, hdd:flush_us=8000; or
    /// trace:OTHER, the timing of the disks in another recording (found there by number, by name, else by order of bios)
    #[arg(long, value_name = "DEVICE")]
    device: Vec<String>,
    /// A made workload instead of a trace: KIND[:key=value,…]; `list` shows them
    #[arg(long, value_name = "WORKLOAD")]
    workload: Option<String>,
    /// Seed of what is drawn: the same seed gives the same bytes
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

impl ReplayArgs {
    /// As the command takes it.
    ///
    /// # Errors
    /// None now; kept for options that must be checked together.
    pub fn opts(self) -> Result<ReplayOpts> {
        let p = self.policies;
        Ok(ReplayOpts {
            input: self.read.opts(self.traces),
            window: self.window.opts(),
            sweep: Switches {
                plug: p.plug,
                plug_limit: p.plug_limit,
                nomerges: p.nomerges,
                max_sectors_kb: p.max_sectors,
                sched: p.sched,
                flush: p.flush,
                ata: p.ata,
                dm_flush: p.dm_flush,
                dm_lines: p.dm_lines,
                wbt: p.wbt,
                zoned: p.zoned,
                zone_size: p.zone_size,
                soft_block_size: p.soft_block_size,
                depth: p.depth,
                iops_cap: p.iops_cap,
            },
            recorded: self.model.recorded,
            arrivals: match self.model.arrivals {
                ArrivalsArg::Closed => Arrivals::Closed,
                ArrivalsArg::Open => Arrivals::Open,
            },
            device: self.model.device,
            workload: self.model.workload,
            seed: self.model.seed,
            trace_out: self.trace_out,
            plot: self.plot,
            output: self.output.opts(self.csv),
        })
    }
}
