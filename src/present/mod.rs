//! Results for people and programs: text at most 100 columns wide, CSV, JSON. What is absent prints as `–` (text), nothing
//! (CSV) or null (JSON), never as 0.

mod btt;
mod check;
pub mod csv;
mod device;
pub mod json;
pub mod rows;
mod series;
mod stats;
mod stats_csv;
mod style;
mod table;

pub use check::check_text;
pub use stats::stats_text;
pub use stats_csv::stats_csv;
pub use style::Style;

/// No text for people is wider than this.
pub const WIDTH: usize = 100;

#[cfg(test)]
mod testdata;
#[cfg(test)]
mod tests;
