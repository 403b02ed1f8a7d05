//! Which sub-population's times moved: letters × sizes × task × pid (where asked for) × third of the trace, and the span
//! of life.
//!
//! Every combination of these, each named or left open, is a candidate. Of each its times in A and in B are compared:
//! the geometric mean (a factor on all its times moves it by that factor, single long ones hardly) and the mean
//! (which single long ones do move). The best candidate is the one whose change is hardest to explain by chance: one that
//! takes in requests that did not move dilutes its change, one that leaves out some that did is less sure of it. The
//! search goes on among the rest.

use super::cells::{PARTS, Sum};
use super::choose::best;
use super::paired::{STRETCHED, Twins, twins};
use super::populations::{Kind, Pids, Population};
use super::report::{Moved, Paired};
use super::run::{RunDevice, THIRDS};
use super::test::{LEVEL, Tested, log_test};
use super::timeline::pieces;
use super::words::tell;
use crate::stats::welch;
use std::collections::{BTreeMap, BTreeSet};

/// Requests that each side must have: the smallest sub-population worth a name.
const REQUESTS: f64 = 50.0;
/// Independent stretches of time: a third of a trace has five.
const PIECES: f64 = 3.0;
/// A change that matters: 5 % of itself.
const CHANGE: f64 = 0.05;
/// Means less sure than this share of themselves are a matter of few requests.
const SURE: f64 = 0.25;
/// A scatter of single requests below which none is believed (as a share): times that are equal to the ns do not make
/// a mean infinitely sure.
const FLOOR: f64 = 0.1;
/// Findings at most.
const FOUND: usize = 4;
/// Changes of all the time that requests take below this share are not told.
const FELT: f64 = 0.002;

/// Blocks of one sub-population: one list a run.
pub(super) type Blocks = Vec<Vec<[Sum; PARTS.len()]>>;

/// A sub-population known of both sides.
pub(super) struct Leaf {
    pub kind: Kind,
    pub bytes: (u64, u64),
    pub sides: [Blocks; 2],
}

/// Each part named or left open, and the leaves it takes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Candidate {
    pub rwbs: Option<String>,
    pub class: Option<u64>,
    pub task: Option<String>,
    pub third: Option<usize>,
    pub leaves: Vec<usize>,
}

/// What is compared of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Statistic {
    Geometric,
    Mean,
}

impl Statistic {
    pub fn name(self) -> &'static str {
        match self {
            Statistic::Geometric => "geometric mean",
            Statistic::Mean => "mean",
        }
    }

    /// In sentences.
    pub fn word(self) -> &'static str {
        match self {
            Statistic::Geometric => "typical",
            Statistic::Mean => "mean",
        }
    }
}

/// A candidate's change.
pub(super) struct Change<'a> {
    pub of: &'a Candidate,
    pub part: usize,
    pub statistic: Statistic,
    pub sums: [Sum; 2],
    pub tested: Tested,
    /// Pairs, if it was taken from pairs of the same requests.
    pub pairs: Option<usize>,
    /// Likelihood against chance; comparable between candidates of other sureness.
    pub weight: f64,
}

/// The sub-populations of a pair of devices that moved, in the order of how surely they did. No two of them share
/// requests and span.
///
/// With it, how many requests of both sides are the same ones, if each side is a single run.
pub(super) fn moved(
    a: &[Option<&RunDevice>],
    b: &[Option<&RunDevice>],
) -> (Vec<Moved>, Option<Paired>) {
    let pids = Pids::of(kinds(a), kinds(b));
    let leaves = join(a, b, &pids);
    let both = match (a, b) {
        ([Some(a)], [Some(b)]) => {
            let kinds: Vec<&Kind> = leaves.iter().map(|l| &l.kind).collect();
            twins(a, b, &kinds, &pids)
        }
        _ => None,
    };
    let paired = both.as_ref().map(|t| Paired {
        share: t.share,
        used: t.enough(),
    });
    let both = both.filter(Twins::enough);
    (search(&leaves, both.as_ref()), paired)
}

fn search(leaves: &[Leaf], both: Option<&Twins>) -> Vec<Moved> {
    let candidates = candidates(leaves);
    let all = total(leaves);
    let mut changes = changes(leaves, &candidates, both);
    // Both statistics of one candidate are nearly one test. Candidates of a third of the trace are three of four: they
    // share half of the chance, so that they do not hide what moved all the time.
    let of = |third: bool| {
        changes
            .iter()
            .filter(|c| c.of.third.is_some() == third)
            .count()
    };
    let tests = [of(false) as f64, of(true) as f64].map(|n| n.max(1.0));
    let sure = |c: &Change<'_>| c.tested.p * tests[usize::from(c.of.third.is_some())];
    changes.retain(|c| sure(c) < LEVEL);
    let mut out = Vec::new();
    while out.len() < FOUND {
        let Some(found) = best(&changes) else { break };
        let told = tell(found, leaves, sure(found), all);
        let (part, taken) = (found.part, found.of.leaves.clone());
        // Pairs are sure of changes that are little of the whole, too.
        let felt = told.pairs.is_some() || told.share.is_none_or(|s| s.abs() >= FELT);
        if (told.ratio - 1.0).abs() >= CHANGE && felt {
            out.push(told);
        }
        changes.retain(|c| c.part != part || !c.of.leaves.iter().any(|l| taken.contains(l)));
    }
    out
}

impl Change<'_> {
    /// ln of the factor.
    pub fn log(&self) -> f64 {
        self.tested.difference.iter().sum::<f64>() / 2.0
    }
}

/// Every candidate's changes.
fn changes<'a>(leaves: &[Leaf], all: &'a [Candidate], both: Option<&Twins>) -> Vec<Change<'a>> {
    let mut out = Vec::new();
    for c in all {
        for part in 0..PARTS.len() {
            for statistic in [Statistic::Geometric, Statistic::Mean] {
                let pairs = both.and_then(|t| twinned(leaves, c, part, statistic, t));
                out.extend(pairs.or_else(|| change(leaves, c, part, statistic)));
            }
        }
    }
    out
}

/// The sub-populations of a side.
fn kinds<'a>(side: &'a [Option<&RunDevice>]) -> impl Iterator<Item = &'a Kind> {
    let all = side.iter().flatten().flat_map(|d| &d.populations);
    all.map(|p| &p.kind)
}

/// Sub-populations that both sides have.
fn join(a: &[Option<&RunDevice>], b: &[Option<&RunDevice>], pids: &Pids) -> Vec<Leaf> {
    let all = |side| -> BTreeSet<Kind> { kinds(side).map(|k| pids.known(k)).collect() };
    let pick = |side: &[Option<&RunDevice>], k: &Kind| -> (Blocks, (u64, u64)) {
        let mut bytes = (u64::MAX, 0);
        let mut one = |d: &Option<&RunDevice>| {
            let mut sums = vec![Default::default(); d.map_or(0, |d| d.blocks)];
            let of = d.iter().flat_map(|d| &d.populations);
            for p in of.filter(|p| pids.known(&p.kind) == *k) {
                bytes = (bytes.0.min(p.bytes.0), bytes.1.max(p.bytes.1));
                add(&mut sums, p);
            }
            sums
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

/// Adds a sub-population's blocks.
fn add(sums: &mut Vec<[Sum; PARTS.len()]>, p: &Population) {
    sums.resize(sums.len().max(p.blocks.len()), Default::default());
    for (all, of) in sums.iter_mut().zip(&p.blocks) {
        for (s, o) in all.iter_mut().zip(of) {
            *s = s.plus(*o);
        }
    }
}

/// Every combination of named and open parts that some leaf has, without those that take the same leaves as one with
/// fewer names.
fn candidates(leaves: &[Leaf]) -> Vec<Candidate> {
    let mut out: BTreeMap<(Vec<usize>, Option<usize>), Candidate> = BTreeMap::new();
    for mask in 0..16u8 {
        let mut sets: BTreeMap<Kind, Vec<usize>> = BTreeMap::new();
        let told = |l: &Leaf| mask & 8 == 0 || l.kind.pid.is_some();
        for (i, l) in leaves.iter().enumerate().filter(|l| told(l.1)) {
            let named = |bit: u8, s: &str| {
                if mask & bit != 0 {
                    s.to_string()
                } else {
                    String::new()
                }
            };
            let key = Kind {
                rwbs: named(1, &l.kind.rwbs),
                class: if mask & 2 != 0 { l.kind.class } else { 0 },
                task: named(4, &l.kind.task),
                pid: l.kind.pid.filter(|_| mask & 8 != 0),
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

/// ln of a statistic, and what each piece of time adds to its error: (x − r·n) ÷ Σn of the piece, the usual
/// linearisation of a ratio.
struct OfRun {
    value: f64,
    off: Vec<f64>,
    pieces: f64,
}

fn of_run(s: &[Sum], statistic: Statistic) -> Option<OfRun> {
    let all = s.iter().fold(Sum::default(), |a, b| a.plus(*b));
    if all.n < REQUESTS {
        return None;
    }
    let of = |s: &Sum| {
        if statistic == Statistic::Mean {
            s.sum
        } else {
            s.log
        }
    };
    let value = of(&all) / all.n;
    // The logarithm of a mean has the mean's relative error.
    let scale = match statistic {
        Statistic::Geometric => 1.0,
        Statistic::Mean if value > 0.0 => value,
        Statistic::Mean => return None,
    };
    let parts: Vec<Sum> = pieces(s)
        .map(|c| c.iter().fold(Sum::default(), |a, b| a.plus(*b)))
        .collect();
    let weight: f64 = parts.iter().map(|p| p.n * p.n).sum();
    let off = parts.iter().map(|p| (of(p) - value * p.n) / all.n / scale);
    let out = OfRun {
        value: if statistic == Statistic::Mean {
            value.ln()
        } else {
            value
        },
        off: off.collect(),
        pieces: all.n * all.n / weight,
    };
    let own = out.off.iter().map(|o| o * o).sum::<f64>().sqrt();
    (out.pieces >= PIECES && own < SURE).then_some(out)
}

/// The runs of one side.
fn runs(
    leaves: &[Leaf],
    c: &Candidate,
    side: usize,
    part: usize,
    st: Statistic,
) -> Option<(Vec<OfRun>, Sum)> {
    let n = leaves.get(*c.leaves.first()?)?.sides.get(side)?.len();
    let mut sums = Sum::default();
    let mut out = Vec::new();
    for r in 0..n {
        let s = series(leaves, c, side, r, part);
        sums = s.iter().fold(sums, |a, b| a.plus(*b));
        out.push(of_run(&s, st)?);
    }
    Some((out, sums))
}

/// Mean, squared error and degrees of freedom over runs, or over the pieces of one.
fn side(runs: &[OfRun]) -> (f64, f64, f64) {
    let n = runs.len() as f64;
    let mean = runs.iter().map(|v| v.value).sum::<f64>() / n;
    if let [one] = runs {
        let squares: f64 = one.off.iter().map(|o| o * o).sum();
        return (
            mean,
            squares * one.pieces / (one.pieces - 1.0),
            one.pieces - 1.0,
        );
    }
    let var = runs.iter().map(|v| (v.value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, var / n, n - 1.0)
}

fn change<'a>(
    leaves: &[Leaf],
    c: &'a Candidate,
    part: usize,
    statistic: Statistic,
) -> Option<Change<'a>> {
    let (ra, sa) = runs(leaves, c, 0, part, statistic)?;
    let (rb, sb) = runs(leaves, c, 1, part, statistic)?;
    let ((ma, va, da), (mb, vb, db)) = (side(&ra), side(&rb));
    let (mut var, mut df) = (va + vb, welch((va, da), (vb, db)));
    // Of two single runs piece is compared with piece: what drives both alike (a job's phases) cancels out. Runs that have
    // nothing in common lose some degrees of freedom by it, nothing else.
    if let ([x], [y]) = (ra.as_slice(), rb.as_slice())
        && x.off.len() == y.off.len()
    {
        let few = x.pieces.min(y.pieces);
        let squares: f64 = x.off.iter().zip(&y.off).map(|(x, y)| (y - x).powi(2)).sum();
        (var, df) = (squares * few / (few - 1.0), few - 1.0);
    }
    var += FLOOR * FLOOR * (1.0 / sa.n + 1.0 / sb.n);
    let (tested, t) = log_test(mb - ma, var.sqrt(), df);
    Some(Change {
        of: c,
        part,
        statistic,
        sums: [sa, sb],
        tested,
        pairs: None,
        weight: likely(t, df),
    })
}

/// The likelihood ratio of Student's t: grows with t, and for the same t with the degrees of freedom.
fn likely(t: f64, df: f64) -> f64 {
    (df + 1.0) * (t * t / df).ln_1p()
}

/// The change between pairs of the same requests.
fn twinned<'a>(
    leaves: &[Leaf],
    c: &'a Candidate,
    part: usize,
    statistic: Statistic,
    both: &Twins,
) -> Option<Change<'a>> {
    let t = both.change(&c.leaves, c.third, part, statistic == Statistic::Mean)?;
    let all = |side: usize| {
        let s = series(leaves, c, side, 0, part);
        s.into_iter().fold(Sum::default(), Sum::plus)
    };
    let sums = [all(0), all(1)];
    let var = t.var + 2.0 * FLOOR * FLOOR / t.n as f64;
    let (tested, off) = log_test(t.log, var.sqrt(), t.df);
    (sums[0].n > 0.0 && sums[1].n > 0.0).then(|| Change {
        of: c,
        part,
        statistic,
        sums,
        tested,
        pairs: Some(t.n),
        // Pairs of all candidates are parted into as many stretches: only which of the errors was greater differs, and
        // that must not decide.
        weight: likely(off, STRETCHED),
    })
}

/// ns of all parts of all requests of A and of B.
fn total(leaves: &[Leaf]) -> [f64; 2] {
    let side = |i: usize| {
        let blocks = leaves
            .iter()
            .filter_map(|l| l.sides.get(i))
            .flatten()
            .flatten();
        blocks.flatten().fold(0.0, |t, s| t + s.sum)
    };
    [side(0), side(1)]
}
