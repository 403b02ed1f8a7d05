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

/// Numbers that several rules decide by.
pub struct Shared {
    /// Its name beside those of rules.
    pub id: &'static str,
    /// What these numbers are about, in one line.
    pub about: &'static str,
    /// The numbers.
    pub thresholds: &'static [Threshold],
}

/// What has thresholds.
pub trait Decides {
    /// Its name.
    fn id(&self) -> &'static str;
    /// Its numbers.
    fn thresholds(&self) -> &'static [Threshold];
}

impl Decides for Rule {
    fn id(&self) -> &'static str {
        self.id
    }
    fn thresholds(&self) -> &'static [Threshold] {
        self.thresholds
    }
}

impl Decides for Shared {
    fn id(&self) -> &'static str {
        self.id
    }
    fn thresholds(&self) -> &'static [Threshold] {
        self.thresholds
    }
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

    /// The value of a threshold; NaN, which no comparison passes, for a name that is not there (a test looks for such).
    pub fn of(&self, rule: &impl Decides, name: &'static str) -> f64 {
        let value = rule.thresholds().iter().find(|t| t.name == name);
        let factor = self.scale.get(&(rule.id(), name)).copied();
        let factor = factor.unwrap_or(1.0);
        value.map_or(f64::NAN, |t| t.value * factor)
    }
}
