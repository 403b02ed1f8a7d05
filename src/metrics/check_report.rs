//! The data of `check` (schema `blkan.check/1`, docs/output-check.md).

use super::blkparse_totals::Comparison;
use super::quality::{DeviceFacts, Missing, Quality, Shortfall};
use super::report::{AccountRow, Input, Losses};
use crate::event::DevId;
use serde::Serialize;
use std::collections::BTreeMap;

/// One kind of damage.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DefectRow {
    /// Stable name.
    pub kind: &'static str,
    /// How often.
    pub n: u64,
    /// The first places: line (0: the stream itself) and the start of its text.
    pub first: Vec<(u64, String)>,
    /// What to do.
    pub remedy: &'static str,
}

/// One input of `check`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckInput {
    /// As in `stats`.
    #[serde(flatten)]
    pub input: Input,
    /// Lines without an event, by rule.
    pub skipped: BTreeMap<&'static str, u64>,
    /// Damage with places.
    pub damage: Vec<DefectRow>,
    /// *lines = event lines + skipped + damaged*.
    pub lines_accounted: bool,
    /// Wall clock at time 0, ns since 1970, where the recording tells it (binary blktrace).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_unix_ns: Option<u64>,
}

/// One device of `check`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckDevice {
    /// `259,0`.
    pub dev: DevId,
    /// Where known.
    pub name: Option<String>,
    /// `request` or `bio`.
    pub kind: &'static str,
    /// Letter → events.
    pub events: BTreeMap<&'static str, u64>,
    /// bios, requests, issues.
    pub ledger: Vec<AccountRow>,
    /// Losses and odd sequences.
    pub losses: Losses,
    /// What never ended.
    pub shortfall: Vec<Shortfall>,
}

impl CheckDevice {
    /// For [`super::quality::judge`] and [`super::quality::missing`].
    pub fn facts(&self) -> DeviceFacts<'_> {
        DeviceFacts {
            dev: self.dev,
            bio_based: self.kind == "bio",
            events: self.events.iter().map(|(a, n)| (*a, *n)).collect(),
            ledger: &self.ledger,
            losses: &self.losses,
        }
    }
}

/// The answer of `check`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckReport {
    /// `blkan.check/1`.
    pub schema: &'static str,
    /// Verdict and reasons.
    #[serde(flatten)]
    pub quality: Quality,
    /// Inputs.
    pub inputs: Vec<CheckInput>,
    /// First event time, ns on the trace's clock.
    pub start_ns: Option<i64>,
    /// Last minus first. Both `None`: the source tells no times.
    pub span_ns: Option<u64>,
    /// Events older than one before them.
    pub went_back: u64,
    /// Events of devices beyond those that could be followed.
    pub untracked_events: u64,
    /// Event classes that are not there.
    pub missing: Vec<Missing>,
    /// Devices, ascending.
    pub devices: Vec<CheckDevice>,
    /// This recorder may drop completions without a mark.
    pub completions_may_vanish: bool,
    /// blkparse's own summary beside our counts.
    pub summary: Vec<Comparison>,
    /// Why there is no comparison.
    pub summary_note: Option<&'static str>,
}
