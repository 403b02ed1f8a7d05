//! A sub-population that moved, in words and numbers.

use super::cells::{PARTS, Sum};
use super::moved::{Change, Leaf, Statistic};
use super::report::Moved;
use crate::units::{human_bytes, human_count, human_ns};
use std::collections::BTreeSet;

/// The change in words and numbers.
pub(super) fn tell(c: &Change<'_>, leaves: &[Leaf], p: f64, all: [f64; 2]) -> Moved {
    let [a, b] = c.sums;
    let value = |s: Sum| match c.statistic {
        Statistic::Geometric => (s.log / s.n).exp(),
        Statistic::Mean => s.sum / s.n,
    };
    let x = value(a);
    // Of pairs the ratio is the pairs' own; not all requests need have been sampled.
    let y = c.pairs.map_or_else(|| value(b), |_| x * c.log().exp());
    let name = Name::of(c, leaves);
    let span = PARTS.get(c.part).copied().unwrap_or_default();
    let ratio = y / x;
    let kind = c.statistic.word();
    let text = format!(
        "{}: {kind} {span} {} → {}, ×{ratio:.2} ({})",
        name.words(),
        human_ns(x),
        human_ns(y),
        match c.pairs {
            Some(n) => format!("the same {} requests", human_count(n as u64)),
            None => format!(
                "{} and {} of them",
                human_count(a.n as u64),
                human_count(b.n as u64)
            ),
        },
    );
    // At A's number of requests: more of them is no slower one.
    let gained = (b.sum / b.n - a.sum / a.n) * b.n;
    let share = (all[1] > 0.0).then(|| gained / all[1]);
    Moved {
        text,
        rwbs: name.rwbs,
        bytes: name.bytes.map(<[u64; 2]>::from),
        comm: name.comm,
        pid: name.pid,
        third: c.of.third.map(|t| t + 1),
        span,
        statistic: c.statistic.name(),
        a_ns: x,
        b_ns: y,
        ratio,
        ratio_interval: c.tested.ratio.unwrap_or([ratio, ratio]),
        a_n: a.n as u64,
        b_n: b.n as u64,
        pairs: c.pairs,
        p: p.min(1.0),
        share,
    }
}

/// What a sub-population is called.
struct Name {
    rwbs: Option<String>,
    bytes: Option<(u64, u64)>,
    comm: Option<String>,
    pid: Option<u32>,
    third: Option<usize>,
}

impl Name {
    /// What all of its leaves have in common.
    fn of(c: &Change<'_>, leaves: &[Leaf]) -> Name {
        let of: Vec<&Leaf> = c.of.leaves.iter().filter_map(|i| leaves.get(*i)).collect();
        let only = |f: &dyn Fn(&Leaf) -> String| -> Option<String> {
            let all: BTreeSet<String> = of.iter().map(|l| f(l)).collect();
            let first = all.iter().next().cloned();
            first.filter(|_| all.len() == 1)
        };
        let lo = of.iter().map(|l| l.bytes.0).min().unwrap_or(0);
        let hi = of.iter().map(|l| l.bytes.1).max().unwrap_or(0);
        let sized = c.of.class.is_some() || lo == hi;
        Name {
            rwbs: only(&|l| l.kind.rwbs.clone()),
            bytes: (sized && hi > 0).then_some((lo, hi)),
            comm: only(&|l| l.kind.task.clone()),
            pid: only(&|l| l.kind.pid.map_or(String::new(), |p| p.to_string()))
                .and_then(|p| p.parse().ok()),
            third: c.of.third,
        }
    }

    /// `WS requests of 4.00 KiB by fio in the first third`.
    fn words(&self) -> String {
        let mut text = match &self.rwbs {
            Some(r) => format!("{r} requests"),
            None => "requests".to_string(),
        };
        let size = |b: u64| human_bytes(b as f64);
        match self.bytes {
            Some((lo, hi)) if lo == hi => text.push_str(&format!(" of {}", size(lo))),
            Some((lo, hi)) => text.push_str(&format!(" of {} to {}", size(lo), size(hi))),
            None => {}
        }
        if let Some(t) = &self.comm {
            text.push_str(&format!(" by {t}"));
        }
        match (self.pid, &self.comm) {
            (Some(p), Some(_)) => text.push_str(&format!(", pid {p}")),
            (Some(p), None) => text.push_str(&format!(" by pid {p}")),
            (None, _) => {}
        }
        if let Some(t) = self.third {
            let third = ["first", "second", "last"][t.min(2)];
            text.push_str(&format!(" in the {third} third"));
        }
        text
    }
}
