//! Results for people and programs: text at most 100 columns wide, CSV, JSON. What is absent prints as `–` (text), nothing
//! (CSV) or null (JSON), never as 0.

pub mod answer;
mod btt;
mod check;
mod compare;
mod compare_rows;
pub mod csv;
mod device;
mod device_lines;
#[cfg(feature = "plots")]
pub mod draw;
mod explain;
pub mod json;
pub mod page;
pub mod perfetto;
mod queue;
mod remedy;
mod replay;
pub mod rows;
mod series;
mod stats;
mod stats_csv;
mod style;
mod table;
mod wrap;

pub use check::check_text;
pub use compare::compare_text;
pub use compare_rows::{compare_csv, compare_markdown};
pub use explain::explain_text;
pub use queue::QueueRow;
pub use remedy::Remedy;
pub use replay::{replay_csv, replay_text};
pub use stats::stats_text;
pub use stats_csv::stats_csv;
pub use style::Style;
pub use table::steers;

/// How a report is looked at.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// Colours.
    pub style: Style,
    /// `-v`: ledgers, every group, every reason.
    pub verbose: bool,
    /// Its numbers are those of filtered bios and requests.
    pub filtered: bool,
    /// What the verdict must know besides the trace.
    pub remedy: Remedy,
}

/// No text for people is wider than this.
pub const WIDTH: usize = 100;

#[cfg(test)]
mod testdata;
#[cfg(test)]
mod tests;

/// What a trace without flaws is, if its recorder tells of losses or does not.
fn complete(losses_told: bool) -> &'static str {
    match losses_told {
        true => "nothing lost, accounts balance",
        false => "no loss seen (the recorder would not tell), accounts balance",
    }
}
