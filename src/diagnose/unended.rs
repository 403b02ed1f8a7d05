//! Requests whose end the trace does not hold: cut off, or lost. What a rule says of waits, depths and repeats then speaks of
//! the survivors.

use super::rule::{Levels, Shared, Threshold};
use super::{Evidence, Facts, Finding, Rule};
use crate::units::human_share;

/// For all rules that judge by ends.
pub(super) static SHARED: Shared = Shared {
    id: "unended",
    about: "requests whose end the trace does not hold",
    thresholds: &[
        Threshold {
            name: "lost",
            value: 0.01,
            reason: "of the requests, given up by the tracker (their range was used again without an end): each one \
                     missing stays for ever in the numbers of flushes waiting and requests in flight",
        },
        Threshold {
            name: "open",
            value: 0.25,
            reason: "of the requests, open at the end: above it most of what waited longest was not seen to end",
        },
        Threshold {
            name: "some",
            value: 0.03,
            reason: "of the requests, lost or open: a load with a queue of some tens leaves that in a short trace; above \
                     it less is sure",
        },
    ],
};

/// What a finding is worth where some requests did not end, to what it is worth else.
const LESS_SURE: f64 = 0.6;

/// What never ended.
pub(super) struct Unended {
    /// Too much of it for rules that judge by ends.
    much: bool,
    /// Enough to be less sure.
    some: bool,
    /// Requests given up ÷ requests.
    lost: f64,
    /// Requests open at the end ÷ requests.
    open: f64,
    /// No end was seen at all.
    none: bool,
    /// The recorder is known to drop ends; rules know how to read its traces.
    told: bool,
}

impl Unended {
    pub(super) fn of(f: &Facts<'_>, levels: &Levels) -> Unended {
        let groups = || f.stats.devices.iter().flat_map(|d| &d.groups);
        let sum = |of: fn(&crate::metrics::report::Group) -> u64| groups().map(of).sum::<u64>();
        let (requests, lost, open) = (sum(|g| g.requests), sum(|g| g.lost), sum(|g| g.open));
        let share = |n: u64| match requests {
            0 => 0.0,
            all => n as f64 / all as f64,
        };
        let seen = |a| f.tracker.coverage.has(a);
        let (lost, open) = (share(lost), share(open));
        let at = |name| levels.of(&SHARED, name);
        Unended {
            much: lost > at("lost") || open > at("open"),
            some: lost + open > at("some"),
            lost,
            open,
            none: !seen(crate::event::Action::Complete) && !seen(crate::event::Action::BioComplete),
            told: f.meta.fields.completions_may_vanish,
        }
    }

    /// Why rules that judge by ends are not heard; `None`: they are.
    pub(super) fn silences(&self) -> Option<String> {
        let percent = human_share(self.lost + self.open, 1);
        let why = format!(
            "Causes that show in how I/O ends are not judged: {percent} of the requests did not end in this trace."
        );
        match self {
            _ if self.told => None,
            _ if self.none => Some(
                "Causes that show in how I/O ends are not judged: no completion was recorded."
                    .to_string(),
            ),
            _ if self.much => Some(why),
            _ => None,
        }
    }

    /// The finding, less sure or not at all.
    pub(super) fn weigh(&self, rule: &Rule, mut found: Finding) -> Option<Finding> {
        if !rule.ends || self.told {
            return Some(found);
        }
        if self.silences().is_some() {
            return None;
        }
        if self.some {
            found.confidence *= LESS_SURE;
            let percent = human_share(self.lost + self.open, 1);
            found.evidence.push(Evidence::number(
                "unended_share",
                self.lost + self.open,
                format!("{percent} of the requests did not end in this trace: what they waited for is not in it"),
            ));
        }
        Some(found)
    }
}
