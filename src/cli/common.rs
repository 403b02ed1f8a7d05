//! Options that several subcommands share, as clap sees them, and their translation for [`crate::commands`].

use super::values;
use crate::commands::{
    Capacity, ColorChoice, DevSpec, FileKind, Filter, InputOpts, Op, OutputOpts, PartKey, Rows,
    Rwbs, Window,
};
use crate::units::Nanos;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// What to read.
#[derive(Args, Debug)]
#[command(next_help_heading = "Input")]
pub struct InputArgs {
    /// Trace files, compressed or not; several are read as one trace (per-CPU parts, rotated logs). `-` is stdin
    #[arg(value_name = "TRACE", required = true)]
    traces: Vec<PathBuf>,
    #[command(flatten)]
    how: ReadArgs,
}

/// How to read it.
#[derive(Args, Debug)]
#[command(next_help_heading = "Input")]
pub struct ReadArgs {
    /// Name the format instead of recognising it (blkparse, blktrace, bpftrace, bcc-trace, ftrace, blk-tracer, perf-script, biosnoop, canonical)
    #[arg(long, value_name = "NAME")]
    format: Option<String>,
    /// How the log's lines look, e.g. '{ns} {event} {dev} {rwbs} {sector} {nr} {comm}'; repeat for other kinds of lines
    #[arg(long, value_name = "TEMPLATE", conflicts_with = "bt")]
    line: Vec<String>,
    /// The format blkparse was given with -f, e.g. '%D %2c %5T.%9t %2a %3d %S %n %C\n'; X,FORMAT for one of -F; repeatable
    #[arg(long, value_name = "FORMAT", conflicts_with_all = ["bt", "line", "format"])]
    blkparse_format: Vec<String>,
    /// The bpftrace script that wrote the log: its printf formats tell how to read it
    #[arg(long, value_name = "SCRIPT")]
    bt: Option<PathBuf>,
    /// Snapshot of the queue settings, from: grep . /sys/block/DEV/dev /sys/block/DEV/size /sys/block/DEV/queue/*
    #[arg(long, value_name = "FILE")]
    queue: Option<PathBuf>,
    /// Capacity of the device in bytes (or with unit: 1900GB or 1.9T as disks are sold, 512GiB); DEV=BYTES where there are several
    #[arg(long, value_name = "BYTES|DEV=BYTES", value_parser = values::capacity)]
    capacity: Vec<Capacity>,
    /// Keep blkparse's FN for the device flush (default: FF, as tracepoints print it)
    #[arg(long)]
    raw_rwbs: bool,
    /// Threads that parse; 0: as many as the machine has. Results do not depend on it
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    threads: usize,
}

/// Which part of the trace.
#[derive(Args, Debug)]
#[command(next_help_heading = "Selection")]
pub struct WindowArgs {
    #[command(flatten)]
    start: StartArgs,
    /// Only events before this time; written as --from
    #[arg(long, value_name = "TIME", alias = "until", value_parser = values::time, allow_hyphen_values = true)]
    to: Option<Nanos>,
}

/// Which part of the trace, where `--to` names something else.
#[derive(Args, Debug)]
#[command(next_help_heading = "Selection")]
pub struct UntilArgs {
    #[command(flatten)]
    start: StartArgs,
    /// Only events before this time; written as --from
    #[arg(long, value_name = "TIME", value_parser = values::time, allow_hyphen_values = true)]
    until: Option<Nanos>,
}

/// The devices, and the beginning of the part.
#[derive(Args, Debug)]
#[command(next_help_heading = "Selection")]
struct StartArgs {
    /// Only these devices: MAJ,MIN, or a name that --queue or the trace tells; repeat or list
    #[arg(long, value_name = "DEV", value_parser = values::devices)]
    dev: Vec<Vec<DevSpec>>,
    /// Only events from this time on: seconds as blkparse prints them, or with a unit (ns, us, ms, s, m, h); bpftrace
    /// logs print ns, so 19431550654 there is 19431550654ns here, or 19.431550654
    #[arg(long, value_name = "TIME", value_parser = values::time, allow_hyphen_values = true)]
    from: Option<Nanos>,
}

/// Which bios and requests.
#[derive(Args, Debug)]
#[command(next_help_heading = "Selection")]
pub struct FilterArgs {
    /// Only these letters, exactly (WS,FWS); repeat or list
    #[arg(long, value_name = "LETTERS", value_delimiter = ',', value_parser = values::rwbs)]
    rwbs: Vec<Rwbs>,
    /// Only these operations: read, write, discard, secure-erase, flush, write-zeroes, zone, none
    #[arg(long, value_name = "OP", value_delimiter = ',', value_parser = values::op)]
    op: Vec<Op>,
    /// Only these task names, exactly; repeat or list
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    comm: Vec<String>,
    /// Only these task ids; repeat or list
    #[arg(long, value_name = "PID", value_delimiter = ',')]
    pid: Vec<u32>,
}

/// When to colour.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Color {
    // On a terminal, unless NO_COLOR is set.
    Auto,
    // Always.
    Always,
    // Never.
    Never,
}

/// What to write, and where.
#[derive(Args, Debug)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// JSON instead of text (rows: one object a line)
    #[arg(long)]
    json: bool,
    /// Write to FILE instead of stdout
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    output: Option<PathBuf>,
    /// Exit with 3 if the input is damaged or lost events (the answer is still printed)
    #[arg(long)]
    strict: bool,
    /// No warnings, no progress bar
    #[arg(short, long)]
    quiet: bool,
    /// More detail: ledgers, every group
    #[arg(short, long)]
    verbose: bool,
    /// Colours; auto: on a terminal, unless NO_COLOR is set
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = Color::Auto)]
    color: Color,
}

/// What only rows are written as.
#[derive(Args, Debug)]
#[command(next_help_heading = "Output")]
pub struct FormArgs {
    /// CSV with a header line, one row each
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// Parquet; also if FILE of -o ends in .parquet
    #[arg(long, conflicts_with_all = ["json", "csv"])]
    parquet: bool,
    /// Arrow IPC file (Feather 2); also if FILE of -o ends in .arrow, .ipc or .feather
    #[arg(long, conflicts_with_all = ["json", "csv", "parquet"])]
    arrow: bool,
    /// Many files in the directory of -o, by keys: columns of words (dev, rwbs, comm, …), host, trace, or NAME=VALUE
    #[arg(long, value_name = "KEYS", value_delimiter = ',', value_parser = values::part_key, requires = "output", conflicts_with_all = ["json", "csv"])]
    partition: Vec<PartKey>,
}

/// What rows are written as: the common options, the kind of table, the keys of a data set.
pub type Form = (OutputOpts, Option<FileKind>, Option<Vec<PartKey>>);

impl FormArgs {
    /// As the command takes it. A flag counts more than the file's name; a name that ends in `/` asks for a data set.
    pub fn opts(self, output: OutputArgs) -> Form {
        let output = output.opts(self.csv);
        let slash = output.file.as_ref().and_then(|f| f.to_str());
        let slash = slash.is_some_and(|f| f.ends_with('/')) && output.rows == Rows::Text;
        let parts = (slash || !self.partition.is_empty()).then_some(self.partition);
        let named = output.file.as_deref().and_then(FileKind::of_path);
        let table = match (self.parquet, self.arrow) {
            (true, _) => Some(FileKind::Parquet),
            (false, true) => Some(FileKind::Arrow),
            (false, false) => named.filter(|_| output.rows == Rows::Text),
        };
        (output, table, parts)
    }
}

impl InputArgs {
    /// As the commands take it.
    pub fn opts(self) -> InputOpts {
        self.how.opts(self.traces)
    }
}

impl ReadArgs {
    /// As the commands take it.
    pub fn opts(self, traces: Vec<PathBuf>) -> InputOpts {
        InputOpts {
            traces,
            format: self.format,
            lines: self.line,
            blkparse_formats: self.blkparse_format,
            bt: self.bt,
            queue: self.queue,
            capacity: self.capacity,
            raw_rwbs: self.raw_rwbs,
            threads: self.threads,
        }
    }
}

impl WindowArgs {
    /// As the commands take it.
    pub fn opts(self) -> Window {
        self.start.opts(self.to)
    }
}

impl UntilArgs {
    /// As the commands take it.
    pub fn opts(self) -> Window {
        self.start.opts(self.until)
    }
}

impl StartArgs {
    fn opts(self, to: Option<Nanos>) -> Window {
        Window {
            devs: self.dev.into_iter().flatten().collect(),
            from: self.from,
            to,
        }
    }
}

impl FilterArgs {
    /// As the commands take it. Letters are renamed as those of the trace will be.
    pub fn opts(self, raw_rwbs: bool) -> Filter {
        let name = |r: Rwbs| if raw_rwbs { r } else { r.canonical() };
        Filter {
            rwbs: self.rwbs.into_iter().map(name).collect(),
            op: self.op,
            comm: self.comm,
            pid: self.pid,
        }
    }
}

impl OutputArgs {
    /// As the commands take it; `csv` where there is such an option.
    pub fn opts(self, csv: bool) -> OutputOpts {
        OutputOpts {
            rows: match (self.json, csv) {
                (true, _) => Rows::Json,
                (false, true) => Rows::Csv,
                (false, false) => Rows::Text,
            },
            // As everywhere: stdout.
            file: self.output.filter(|f| f.as_os_str() != "-"),
            strict: self.strict,
            quiet: self.quiet,
            verbose: self.verbose,
            color: match self.color {
                Color::Auto => ColorChoice::Auto,
                Color::Always => ColorChoice::Always,
                Color::Never => ColorChoice::Never,
            },
        }
    }
}
