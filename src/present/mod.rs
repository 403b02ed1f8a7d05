//! Results for people and programs: text at most 100 columns wide, CSV, JSON. What is absent prints as `–` (text), nothing
//! (CSV) or null (JSON), never as 0.

mod btt;
mod check;
pub mod csv;
mod device;
mod device_lines;
pub mod json;
mod queue;
mod remedy;
pub mod rows;
mod series;
mod stats;
mod stats_csv;
mod style;
mod table;

pub use check::check_text;
pub use queue::QueueRow;
pub use remedy::Remedy;
pub use stats::stats_text;
pub use stats_csv::stats_csv;
pub use style::Style;

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
