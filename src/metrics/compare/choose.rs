//! Which of many changes is named: the most telling one, no wider and no narrower than what changed.

use super::moved::{Change, Statistic};

/// Part of a wider sub-population's change that a narrower one must make up to be named in its place.
const MOST: f64 = 0.85;
/// Part of its change that the rest of a wider sub-population must have made as well to have changed alike.
const ALIKE: f64 = 0.5;
/// A rest that is less of a wider sub-population than this cannot tell whether it changed: what is left when two estimates are
/// subtracted is their noise.
const REST: f64 = 0.05;

/// Requests that were compared.
fn count(c: &Change<'_>) -> f64 {
    c.pairs.map_or(c.sums[1].n, |n| n as f64)
}

/// How much there is to change: of typical times the number of requests, of means all ns in A.
fn size(c: &Change<'_>) -> f64 {
    match c.statistic {
        Statistic::Geometric => count(c),
        Statistic::Mean => c.sums[0].sum / c.sums[0].n * count(c),
    }
}

/// How much each part of it changed.
fn effect(c: &Change<'_>) -> f64 {
    match c.statistic {
        Statistic::Geometric => c.log(),
        Statistic::Mean => c.log().exp_m1(),
    }
}

/// What a change comes to over all its requests.
fn gain(c: &Change<'_>) -> f64 {
    effect(c) * size(c)
}

/// Whether what the wide one has beside the narrow one changed like it.
fn rest_alike(wide: &Change<'_>, narrow: &Change<'_>) -> bool {
    let beside = size(wide) - size(narrow);
    let few = count(wide) - count(narrow) <= REST * count(wide);
    !few && beside > REST * size(wide)
        && (gain(wide) - gain(narrow)) / beside / effect(narrow) >= ALIKE
}

/// The most telling change, or in its place: that of the whole trace, if it holds as much there; that of a wider
/// sub-population, if all of it changed alike; that of a narrower one, if it makes up nearly all of it and the rest did
/// not change alike.
pub(super) fn best<'b, 'a>(changes: &'b [Change<'a>]) -> Option<&'b Change<'a>> {
    let mut best: Option<&Change<'a>> = None;
    for c in changes {
        if best.is_none_or(|b| c.weight > b.weight * 1.000_001) {
            best = Some(c);
        }
    }
    let b = best?;
    let alike = |c: &Change<'a>| c.part == b.part && c.statistic == b.statistic;
    let as_much = |c: &Change<'a>| c.log() / b.log() >= MOST;
    let whole = |c: &&Change<'a>| {
        alike(c) && c.of.third.is_none() && c.of.leaves == b.of.leaves && as_much(c)
    };
    let b = changes.iter().find(whole).unwrap_or(b);
    let takes =
        |c: &Change<'a>, o: &Change<'a>| o.of.leaves.iter().all(|l| c.of.leaves.contains(l));
    let near = |c: &Change<'a>| alike(c) && c.of.third == b.of.third;
    let wider = |c: &&Change<'a>| near(c) && takes(c, b) && as_much(c) && rest_alike(c, b);
    let b = changes
        .iter()
        .filter(wider)
        .max_by_key(|c| c.of.leaves.len())
        .unwrap_or(b);
    let close =
        |c: &&Change<'a>| near(c) && takes(b, c) && gain(c) / gain(b) >= MOST && !rest_alike(b, c);
    changes
        .iter()
        .filter(close)
        .min_by_key(|c| c.of.leaves.len())
}
