//! Requests whose end the trace does not hold: cut off, or lost. What a rule says of waits, depths and repeats then speaks of
//! the survivors.

use super::{Evidence, Facts, Finding, Rule};

/// Above this share of requests given up by the tracker (their range was used again without an end) the numbers of flushes waiting
/// and requests in flight are no longer those of the device: each one missing stays in them for ever.
const LOST: f64 = 0.01;
/// Above this share open at the end, most of what waited longest was not seen to end.
const OPEN: f64 = 0.25;
/// From this share on less is sure.
const SOME: f64 = 0.03;

/// What never ended.
pub(super) struct Unended {
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
    pub(super) fn of(f: &Facts<'_>) -> Unended {
        let groups = || f.stats.devices.iter().flat_map(|d| &d.groups);
        let sum = |of: fn(&crate::metrics::report::Group) -> u64| groups().map(of).sum::<u64>();
        let (requests, lost, open) = (sum(|g| g.requests), sum(|g| g.lost), sum(|g| g.open));
        let share = |n: u64| match requests {
            0 => 0.0,
            all => n as f64 / all as f64,
        };
        let seen = |a| f.tracker.coverage.has(a);
        Unended {
            lost: share(lost),
            open: share(open),
            none: !seen(crate::event::Action::Complete) && !seen(crate::event::Action::BioComplete),
            told: f.meta.fields.completions_may_vanish,
        }
    }

    /// Why rules that judge by ends are not heard; `None`: they are.
    pub(super) fn silences(&self) -> Option<String> {
        let percent = (self.lost + self.open) * 100.0;
        let why = format!(
            "Causes that show in how I/O ends are not judged: {percent:.1} % of the requests did not end in this trace."
        );
        match self {
            _ if self.told => None,
            _ if self.none => Some(
                "Causes that show in how I/O ends are not judged: no completion was recorded."
                    .to_string(),
            ),
            _ if self.lost > LOST || self.open > OPEN => Some(why),
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
        if self.lost + self.open > SOME {
            found.confidence *= 0.6;
            let percent = (self.lost + self.open) * 100.0;
            found.evidence.push(Evidence::number(
                "unended_share",
                self.lost + self.open,
                format!("{percent:.1} % of the requests did not end in this trace: what they waited for is not in it"),
            ));
        }
        Some(found)
    }
}
