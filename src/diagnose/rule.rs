//! What a rule is: an id, thresholds with their reasons, and a judgement over the facts of a trace.

use super::{Facts, Finding, Question};
use std::collections::BTreeMap;

/// A number that a rule decides by.
#[derive(Clone, Copy, Debug)]
pub struct Threshold {
    /// Its name within the rule.
    pub name: &'static str,
    /// Its value; the unit is in the name or the reason.
    pub value: f64,
    /// Why this value.
    pub reason: &'static str,
}

/// A rule: one file each, listed in the `RULES` of its question.
pub struct Rule {
    /// The id of its finding.
    pub id: &'static str,
    /// What it helps to answer.
    pub question: Question,
    /// What it looks for, in one line.
    pub about: &'static str,
    /// Every number it decides by.
    pub thresholds: &'static [Threshold],
    /// It judges by how I/O ended: where too much of it never did, nothing can be said.
    pub ends: bool,
    /// The judgement. `None`: not found, or spoken against.
    pub judge: fn(&Facts<'_>, &Levels) -> Option<Finding>,
}

/// The thresholds in force: those of the rules, some of them moved (for tests of how much depends on them).
#[derive(Clone, Debug, Default)]
pub struct Levels {
    scale: BTreeMap<(&'static str, &'static str), f64>,
}

impl Levels {
    /// One threshold multiplied by a factor.
    pub fn moved(rule: &'static str, name: &'static str, factor: f64) -> Levels {
        Levels {
            scale: BTreeMap::from([((rule, name), factor)]),
        }
    }

    /// The value of a rule's threshold; NaN, which no comparison passes, for a name the rule does not have (a test
    /// looks for such).
    pub fn of(&self, rule: &Rule, name: &'static str) -> f64 {
        let value = rule.thresholds.iter().find(|t| t.name == name);
        let factor = self.scale.get(&(rule.id, name)).copied().unwrap_or(1.0);
        value.map_or(f64::NAN, |t| t.value * factor)
    }
}
