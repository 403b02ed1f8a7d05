//! One file a subcommand. They take plain structs (the command line is [`crate::cli`]'s business), run one pass over
//! the trace, and hand the result to [`crate::present`].

mod bios;
mod check;
mod compare;
mod compare_same;
mod convert;
mod events;
mod explain;
mod filter;
mod generate;
mod open;
mod output;
mod parts;
mod plot;
mod progress;
mod replay;
mod report;
mod requests;
mod rows;
mod session;
mod sql;
mod stats;
mod timeline;
mod warnings;

pub use bios::bios;
pub use check::check;
pub use compare::compare;
pub use convert::{convert, targets};
pub use events::events;
pub use explain::{Explained, explain, explained};
pub use generate::{GenerateOpts, Page, generate, recorder};
pub use output::complain;
pub use plot::{Image, PlotOpts, plot};
pub use replay::{Arrivals, ReplayOpts, Switches, replay};
pub use report::{ReportOpts, report};
pub use requests::requests;
pub use sql::sql;
pub use stats::stats;

// What `cli` needs to name, so that it imports nothing but this module.
pub use crate::diagnose::Question;
pub use crate::event::{DevId, Op, Rwbs};
pub use crate::frame::FileKind;
pub use crate::metrics::{Filter, Key};
pub use crate::model::policy;

use crate::error::{Error, Result};
use crate::units::Nanos;
use std::path::PathBuf;

/// How a command ended, if not by an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// Nothing to object.
    Sound,
    /// `--strict`: the input is damaged. The answer was printed.
    Damaged,
    /// `check`: the trace is unusable. The answer was printed.
    Unusable,
}

/// A device as the user names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DevSpec {
    /// `259,0`.
    Number(DevId),
    /// `nvme0n1`.
    Name(String),
}

/// `--capacity`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Of which device; `None`: of all.
    pub dev: Option<DevSpec>,
    /// Bytes.
    pub bytes: u64,
}

/// What to read and how.
#[derive(Clone, Debug, Default)]
pub struct InputOpts {
    /// Files; `-` is stdin.
    pub traces: Vec<PathBuf>,
    /// `--format`.
    pub format: Option<String>,
    /// `--line`.
    pub lines: Vec<String>,
    /// `--blkparse-format`.
    pub blkparse_formats: Vec<String>,
    /// `--bt`.
    pub bt: Option<PathBuf>,
    /// `--queue`.
    pub queue: Option<PathBuf>,
    /// `--capacity`.
    pub capacity: Vec<Capacity>,
    /// `--raw-rwbs`.
    pub raw_rwbs: bool,
    /// `--threads`; 0: as many as the machine has.
    pub threads: usize,
}

/// Which part of the trace.
#[derive(Clone, Debug, Default)]
pub struct Window {
    /// Devices; empty: all.
    pub devs: Vec<DevSpec>,
    /// First time kept.
    pub from: Option<Nanos>,
    /// First time not kept.
    pub to: Option<Nanos>,
}

impl Window {
    /// Whether any time can pass.
    ///
    /// # Errors
    /// `--from` is not before `--to`.
    pub fn check(&self) -> Result<()> {
        match (self.from, self.to) {
            (Some(a), Some(b)) if a >= b => Err(Error::usage(format!(
                "--from {a} is not before --to {b}: no time is between them"
            ))
            .hint("the end is not part of it: --from 1 --to 2 takes one second")),
            _ => Ok(()),
        }
    }

    /// Whether anything is left out.
    pub fn cuts_time(&self) -> bool {
        self.from.is_some() || self.to.is_some()
    }
}

/// How results are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Rows {
    /// For people.
    #[default]
    Text,
    /// With a header line.
    Csv,
    /// One document, or one object a row.
    Json,
}

/// When to colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ColorChoice {
    /// On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What to write, and where.
#[derive(Clone, Debug, Default)]
pub struct OutputOpts {
    /// Text, CSV or JSON.
    pub rows: Rows,
    /// `-o`; `None`: stdout.
    pub file: Option<PathBuf>,
    /// `--strict`.
    pub strict: bool,
    /// `-q`.
    pub quiet: bool,
    /// `-v`.
    pub verbose: bool,
    /// `--color`.
    pub color: ColorChoice,
}

/// Options of `stats`.
#[derive(Clone, Debug, Default)]
pub struct StatsOpts {
    /// Input.
    pub input: InputOpts,
    /// Part of the trace.
    pub window: Window,
    /// Which bios and requests.
    pub filter: Filter,
    /// `--by`; empty: rwbs.
    pub by: Vec<Key>,
    /// `--every`.
    pub every: Option<Nanos>,
    /// `--btt`.
    pub btt: bool,
    /// Output.
    pub output: OutputOpts,
}

/// Options of `explain`.
#[derive(Clone, Debug, Default)]
pub struct ExplainOpts {
    /// Input.
    pub input: InputOpts,
    /// Part of the trace.
    pub window: Window,
    /// `--why`; empty: all questions.
    pub why: Vec<Question>,
    /// Output.
    pub output: OutputOpts,
}

/// Options of `compare`.
#[derive(Clone, Debug, Default)]
pub struct CompareOpts {
    /// One trace, or runs with commas between them.
    pub a: PathBuf,
    /// The same.
    pub b: PathBuf,
    /// How to read them; its `traces` are not used.
    pub input: InputOpts,
    /// Part of the traces.
    pub window: Window,
    /// Which bios and requests.
    pub filter: Filter,
    /// `--by`; empty: rwbs.
    pub by: Vec<Key>,
    /// `--seed`.
    pub seed: u64,
    /// `--markdown`.
    pub markdown: bool,
    /// Output.
    pub output: OutputOpts,
}

/// Options of `check`.
#[derive(Clone, Debug, Default)]
pub struct CheckOpts {
    /// Input.
    pub input: InputOpts,
    /// Part of the trace.
    pub window: Window,
    /// Output.
    pub output: OutputOpts,
}

/// Options of `events`, `requests`, `bios`.
#[derive(Clone, Debug, Default)]
pub struct RowOpts {
    /// Input.
    pub input: InputOpts,
    /// Part of the trace.
    pub window: Window,
    /// Which rows.
    pub filter: Filter,
    /// `--parquet`, `--arrow`, or what the name of the file says; `None`: as `output.rows` says.
    pub table: Option<FileKind>,
    /// `-o DIR/` or `--partition`: the keys of the data set in DIR; `None`: one file.
    pub parts: Option<Vec<PartKey>>,
    /// Output.
    pub output: OutputOpts,
}

/// A key of `--partition`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartKey {
    /// A column of words, `host`, `trace`, or any other name with a value.
    pub name: String,
    /// After `=`.
    pub value: Option<String>,
}

/// Options of `sql`.
#[derive(Clone, Debug, Default)]
pub struct SqlOpts {
    /// The query, or a file that holds it.
    pub query: String,
    /// A trace, or tables.
    pub input: InputOpts,
    /// Part of the trace.
    pub window: Window,
    /// Output.
    pub output: OutputOpts,
}

/// Options of `convert`.
#[derive(Clone, Debug, Default)]
pub struct ConvertOpts {
    /// Input.
    pub input: InputOpts,
    /// Part of the trace.
    pub window: Window,
    /// Which events.
    pub filter: Filter,
    /// A name of [`targets`].
    pub to: String,
    /// Output.
    pub output: OutputOpts,
}
