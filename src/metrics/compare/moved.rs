//! Which sub-population's times moved: letters × sizes × task × third of the trace, and the span of life.
//!
//! Every combination of these, each named or left open, is a candidate. Of each its times in A and in B are compared:
//! the geometric mean (a factor on all its times moves it by that factor, single long ones hardly) and the mean
//! (which single long ones do move). The best candidate is the one whose change is hardest to explain by chance: one that
//! takes in requests that did not move dilutes its change, one that leaves out some that did is less sure of it. Its
//! change is taken out of B, and the search goes on.

use super::cells::{PARTS, Sum};
use super::report::Moved;
use super::run::{Kind, Population, RunDevice, THIRDS};
use super::test::{LEVEL, Number, Tested, log_test};
use crate::units::{human_bytes, human_count, human_ns};
use std::collections::{BTreeMap, BTreeSet};

/// Requests that each side must have: the smallest sub-population worth a name.
const REQUESTS: f64 = 50.0;
/// Independent stretches of time: a third of a trace has eight.
const PIECES: f64 = 5.0;
/// A change that matters: 5 % of itself.
const CHANGE: f64 = 0.05;
/// Findings at most.
const FOUND: usize = 4;
/// Changes of all the time that requests take below this share are not told: nobody would feel them.
const FELT: f64 = 0.01;

/// Blocks of one sub-population: one list a run.
type Blocks = Vec<Vec<[Sum; PARTS.len()]>>;

/// A sub-population known of both sides.
struct Leaf {
    kind: Kind,
    bytes: (u64, u64),
    sides: [Blocks; 2],
}

/// Each part named or left open, and the leaves it takes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    rwbs: Option<String>,
    class: Option<u64>,
    task: Option<String>,
    third: Option<usize>,
    leaves: Vec<usize>,
}

/// What is compared of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Statistic {
    Geometric,
    Mean,
}

/// A candidate's change.
struct Change<'a> {
    of: &'a Candidate,
    part: usize,
    statistic: Statistic,
    sums: [Sum; 2],
    tested: Tested,
    /// Likelihood against chance; comparable between candidates of other sureness.
    weight: f64,
}

/// The sub-populations of a pair of devices that moved, in the order of how surely they did.
pub(super) fn moved(a: &[Option<&RunDevice>], b: &[Option<&RunDevice>]) -> Vec<Moved> {
    let mut leaves = join(a, b);
    let candidates = candidates(&leaves);
    let before = total(&leaves);
    let mut out = Vec::new();
    // Changes too small to be told are taken out as well, a bounded number of them.
    for _ in 0..3 * FOUND {
        let Some((c, tests)) = best(&leaves, &candidates) else {
            break;
        };
        let told = tell(&c, &leaves, tests, before);
        let (of, part) = (c.of, c.part);
        take_out(&mut leaves, of, part, told.ratio);
        let felt = told.share.is_none_or(|s| s.abs() >= FELT);
        if (told.ratio - 1.0).abs() >= CHANGE && felt {
            out.push(told);
        }
        if out.len() == FOUND {
            break;
        }
    }
    out
}

/// The most telling change, and how many were looked at; `None` if chance explains it.
fn best<'a>(leaves: &[Leaf], all: &'a [Candidate]) -> Option<(Change<'a>, f64)> {
    let mut tried = 0usize;
    let mut best: Option<Change<'a>> = None;
    for c in all {
        for part in 0..PARTS.len() {
            for statistic in [Statistic::Geometric, Statistic::Mean] {
                let Some(found) = change(leaves, c, part, statistic) else {
                    continue;
                };
                tried += 1;
                let heavier = |b: &Change<'_>| found.weight > b.weight * 1.000_001;
                if best.as_ref().is_none_or(heavier) {
                    best = Some(found);
                }
            }
        }
    }
    // Both statistics of one candidate are nearly one test.
    let tests = (tried as f64 / 2.0).max(1.0);
    best.filter(|c| c.tested.p * tests < LEVEL).map(|c| (c, tests))
}

/// Sub-populations that both sides have.
fn join(a: &[Option<&RunDevice>], b: &[Option<&RunDevice>]) -> Vec<Leaf> {
    let all = |side: &[Option<&RunDevice>]| -> BTreeSet<Kind> {
        let of = side.iter().flatten().flat_map(|d| &d.populations);
        of.map(|p| p.kind.clone()).collect()
    };
    let pick = |side: &[Option<&RunDevice>], k: &Kind| -> (Blocks, (u64, u64)) {
        let mut bytes = (u64::MAX, 0);
        let mut one = |d: &Option<&RunDevice>| {
            let of = |p: &&Population| p.kind == *k;
            let p = d.and_then(|d| d.populations.iter().find(of));
            if let Some(p) = p {
                bytes = (bytes.0.min(p.bytes.0), bytes.1.max(p.bytes.1));
            }
            let empty = d.map_or(0, |d| d.blocks);
            p.map_or_else(|| vec![Default::default(); empty], |p| p.blocks.clone())
        };
        let blocks = side.iter().map(&mut one).collect();
        (blocks, bytes)
    };
    let mine = all(a);
    mine.intersection(&all(b))
        .map(|k| {
            let ((x, p), (y, q)) = (pick(a, k), pick(b, k));
            Leaf {
                kind: k.clone(),
                bytes: (p.0.min(q.0), p.1.max(q.1)),
                sides: [x, y],
            }
        })
        .collect()
}

/// Every combination of named and open parts that some leaf has, without those that take the same leaves as one with
/// fewer names.
fn candidates(leaves: &[Leaf]) -> Vec<Candidate> {
    let mut out: BTreeMap<(Vec<usize>, Option<usize>), Candidate> = BTreeMap::new();
    for mask in 0..8u8 {
        let mut sets: BTreeMap<Kind, Vec<usize>> = BTreeMap::new();
        for (i, l) in leaves.iter().enumerate() {
            let named = |bit: u8, s: &str| if mask & bit != 0 { s.to_string() } else { String::new() };
            let key = Kind {
                rwbs: named(1, &l.kind.rwbs),
                class: if mask & 2 != 0 { l.kind.class } else { 0 },
                task: named(4, &l.kind.task),
            };
            sets.entry(key).or_default().push(i);
        }
        for (k, set) in sets {
            for third in std::iter::once(None).chain((0..THIRDS).map(Some)) {
                let named = |bit: u8| mask & bit != 0;
                let c = Candidate {
                    rwbs: named(1).then(|| k.rwbs.clone()),
                    class: named(2).then_some(k.class),
                    task: named(4).then(|| k.task.clone()),
                    third,
                    leaves: set.clone(),
                };
                out.entry((set.clone(), third)).or_insert(c);
            }
        }
    }
    out.into_values().collect()
}

/// The sums of a candidate by blocks of one run.
fn series(leaves: &[Leaf], c: &Candidate, side: usize, run: usize, part: usize) -> Vec<Sum> {
    let mut out: Vec<Sum> = Vec::new();
    for l in &c.leaves {
        let blocks = leaves.get(*l).and_then(|l| l.sides.get(side)?.get(run));
        let blocks = blocks.map(Vec::as_slice).unwrap_or_default();
        out.resize(out.len().max(blocks.len()), Sum::default());
        for (o, b) in out.iter_mut().zip(blocks) {
            *o = o.plus(b[part]);
        }
    }
    let n = out.len().max(1);
    if let Some(t) = c.third {
        let outside = |i: &usize| i * THIRDS / n != t;
        for i in (0..n.min(out.len())).filter(outside) {
            out[i] = Sum::default();
        }
    }
    out
}

/// ln of the statistic of one run, with the error that its stretches of time show: Σ(x − r·n)² over them, the usual
/// linearisation of a ratio.
fn of_run(s: &[Sum], statistic: Statistic, run: usize) -> Option<Number> {
    let all = s.iter().fold(Sum::default(), |a, b| a.plus(*b));
    if all.n < REQUESTS {
        return None;
    }
    let of = |s: &Sum| if statistic == Statistic::Mean { s.sum } else { s.log };
    let value = of(&all) / all.n;
    let (mut squares, mut weight) = (0.0, 0.0);
    for part in s.chunks(run) {
        let p = part.iter().fold(Sum::default(), |a, b| a.plus(*b));
        squares += (of(&p) - value * p.n).powi(2);
        weight += p.n * p.n;
    }
    let pieces = all.n * all.n / weight;
    if pieces < PIECES {
        return None;
    }
    let se = (squares * pieces / (pieces - 1.0)).sqrt() / all.n;
    let df = pieces - 1.0;
    Some(match statistic {
        Statistic::Geometric => Number { value, se, df },
        Statistic::Mean if value > 0.0 => Number {
            value: value.ln(),
            se: se / value,
            df,
        },
        Statistic::Mean => return None,
    })
}

/// The number of one side: of one run by its stretches of time, of several by their scatter.
fn number(leaves: &[Leaf], c: &Candidate, side: usize, part: usize, st: Statistic) -> Option<(Number, Sum)> {
    let runs = leaves.get(*c.leaves.first()?)?.sides.get(side)?.len();
    let mut sums = Sum::default();
    let mut values = Vec::new();
    for r in 0..runs {
        let s = series(leaves, c, side, r, part);
        sums = s.iter().fold(sums, |a, b| a.plus(*b));
        let run = ((s.len() as f64 / 25.0).round() as usize).max(1);
        values.push(of_run(&s, st, run)?);
    }
    if let [one] = values.as_slice() {
        return Some((*one, sums));
    }
    let n = values.len() as f64;
    let mean = values.iter().map(|v| v.value).sum::<f64>() / n;
    let var = values.iter().map(|v| (v.value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let value = Number {
        value: mean,
        se: (var / n).sqrt(),
        df: n - 1.0,
    };
    Some((value, sums))
}

fn change<'a>(leaves: &[Leaf], c: &'a Candidate, part: usize, statistic: Statistic) -> Option<Change<'a>> {
    let (a, sa) = number(leaves, c, 0, part, statistic)?;
    let (b, sb) = number(leaves, c, 1, part, statistic)?;
    let (tested, t, df) = log_test(a, b)?;
    Some(Change {
        of: c,
        part,
        statistic,
        sums: [sa, sb],
        tested,
        // The likelihood ratio of Student's t: grows with t, and for the same t with the degrees of freedom.
        weight: (df + 1.0) * (t * t / df).ln_1p(),
    })
}

/// ns of all parts of all requests: of A, and what B's requests would have taken at A's number.
fn total(leaves: &[Leaf]) -> [f64; 2] {
    let side = |i: usize| {
        let blocks = leaves.iter().filter_map(|l| l.sides.get(i)).flatten().flatten();
        blocks.flatten().fold(0.0, |t, s| t + s.sum)
    };
    [side(0), side(1)]
}

/// Divides the candidate's times in B by `factor`.
fn take_out(leaves: &mut [Leaf], c: &Candidate, part: usize, factor: f64) {
    let log = factor.max(1e-9).ln();
    for l in &c.leaves {
        let side = leaves.get_mut(*l).and_then(|l| l.sides.get_mut(1));
        for run in side.into_iter().flatten() {
            let n = run.len().max(1);
            for (i, b) in run.iter_mut().enumerate() {
                if c.third.is_none_or(|t| i * THIRDS / n == t) {
                    b[part].sum /= factor;
                    b[part].log -= log * b[part].n;
                }
            }
        }
    }
}

/// The change in words and numbers.
fn tell(c: &Change<'_>, leaves: &[Leaf], tests: f64, before: [f64; 2]) -> Moved {
    let [a, b] = c.sums;
    let value = |s: Sum| match c.statistic {
        Statistic::Geometric => (s.log / s.n).exp(),
        Statistic::Mean => s.sum / s.n,
    };
    let (x, y) = (value(a), value(b));
    let of: Vec<&Leaf> = c.of.leaves.iter().filter_map(|i| leaves.get(*i)).collect();
    let only = |f: &dyn Fn(&Leaf) -> String| -> Option<String> {
        let all: BTreeSet<String> = of.iter().map(|l| f(l)).collect();
        let first = all.iter().next().cloned();
        first.filter(|_| all.len() == 1)
    };
    let rwbs = only(&|l| l.kind.rwbs.clone());
    let comm = only(&|l| l.kind.task.clone());
    let lo = of.iter().map(|l| l.bytes.0).min().unwrap_or(0);
    let hi = of.iter().map(|l| l.bytes.1).max().unwrap_or(0);
    let sized = c.of.class.is_some() || lo == hi;
    let span = PARTS.get(c.part).copied().unwrap_or_default();
    let ratio = y / x;
    let mut text = match &rwbs {
        Some(r) => format!("{r} requests"),
        None => "requests".to_string(),
    };
    if sized && hi > 0 {
        text.push_str(&match lo == hi {
            true => format!(" of {}", human_bytes(lo as f64)),
            false => format!(" of {} to {}", human_bytes(lo as f64), human_bytes(hi as f64)),
        });
    }
    if let Some(t) = &comm {
        text.push_str(&format!(" by {t}"));
    }
    if let Some(t) = c.of.third {
        text.push_str([" in the first third", " in the second third", " in the last third"][t.min(2)]);
    }
    let kind = match c.statistic {
        Statistic::Geometric => "typical ",
        Statistic::Mean => "mean ",
    };
    text.push_str(&format!(
        ": {kind}{span} {} → {}, ×{ratio:.2} ({} and {} of them)",
        human_ns(x),
        human_ns(y),
        human_count(a.n as u64),
        human_count(b.n as u64),
    ));
    // At A's number of requests: more of them is no slower one.
    let gained = (b.sum / b.n - a.sum / a.n) * b.n;
    let share = (before[1] > 0.0).then(|| gained / before[1]);
    Moved {
        text,
        rwbs,
        bytes: (sized && hi > 0).then_some([lo, hi]),
        comm,
        third: c.of.third.map(|t| t + 1),
        span,
        statistic: match c.statistic {
            Statistic::Geometric => "geometric mean",
            Statistic::Mean => "mean",
        },
        a_ns: x,
        b_ns: y,
        ratio,
        ratio_interval: c.tested.ratio.unwrap_or([ratio, ratio]),
        a_n: a.n as u64,
        b_n: b.n as u64,
        p: (c.tested.p * tests).min(1.0),
        share,
    }
}
