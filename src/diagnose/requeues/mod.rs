//! Rules on one question.

use super::rule::{Levels, Rule};
use super::{Facts, Problem};
use crate::lifecycle::Sink;
use std::collections::BTreeMap;

/// The rules.
pub(super) static RULES: &[&Rule] = &[];

/// What is followed while the trace runs.
#[derive(Default)]
pub(super) struct Probe;

/// What it has seen at the end.
#[derive(Default)]
pub(super) struct Seen;

impl Probe {
    pub(super) fn new(_: &Levels) -> Probe {
        Probe
    }

    pub(super) fn finish(self) -> Seen {
        Seen
    }
}

impl Sink for Probe {}

/// How large the problem is.
pub(super) fn problem(_: &Facts<'_>) -> Problem {
    (String::new(), BTreeMap::new())
}
