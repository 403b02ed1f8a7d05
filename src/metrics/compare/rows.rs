//! The quantities of two sides beside each other.

use super::bound::largest;
use super::estimate::{Per, Spread, Sure};
use super::report::{Reason, Row};
use super::run::{Quantity, RunDevice, Unit};
use super::test::{LEVEL, Number, test};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};

/// Events that a count must have on one side at least: below, a difference is a matter of single events.
const EVENTS: f64 = 10.0;

/// A quantity of one side: of one run as it is, of several their mean.
struct Side {
    value: Option<f64>,
    norm: Option<f64>,
    sure: Sure,
    why: Option<String>,
}

fn mean(v: &[f64]) -> f64 {
    v.iter().sum::<f64>() / v.len() as f64
}

fn side(runs: &[Option<&Quantity>], missing: impl Fn() -> String) -> Side {
    let none = |why: String| Side {
        value: None,
        norm: None,
        sure: Err(why.clone()),
        why: Some(why),
    };
    if let [Some(q)] = runs {
        return Side {
            value: q.value,
            norm: q.norm,
            sure: q.spread.clone(),
            why: q.why.clone(),
        };
    }
    let known: Vec<&Quantity> = runs
        .iter()
        .flatten()
        .copied()
        .filter(|q| q.norm.is_some())
        .collect();
    if known.len() < runs.len() || known.is_empty() {
        let told = runs.iter().flatten().find_map(|q| q.why.clone());
        let why = told.unwrap_or_else(missing);
        let (n, all) = (runs.len() - known.len(), runs.len());
        return none(match all {
            1 => why,
            _ => format!("{n} of {all} runs: {why}"),
        });
    }
    let norms: Vec<f64> = known.iter().filter_map(|q| q.norm).collect();
    let values: Vec<f64> = known.iter().filter_map(|q| q.value).collect();
    let (m, n) = (mean(&norms), norms.len() as f64);
    let var = norms.iter().map(|v| (v - m) * (v - m)).sum::<f64>() / (n - 1.0);
    Side {
        value: Some(mean(&values)),
        norm: Some(m),
        sure: Ok(Spread {
            se: (var / n).sqrt(),
            floor: 0.0,
            df: n - 1.0,
            draws: Vec::new().into(),
        }),
        why: None,
    }
}

/// The group of a path.
fn group(path: &str) -> Option<&str> {
    path.strip_prefix("groups/")?.split('/').next()
}

/// Quantities of the runs of one side by path.
type Index<'a> = Vec<FxHashMap<&'a str, &'a Quantity>>;

fn index<'a>(runs: &[Option<&'a RunDevice>]) -> Index<'a> {
    let of = |d: &Option<&'a RunDevice>| {
        let all = d.map(|d| d.quantities.as_slice()).unwrap_or_default();
        all.iter().map(|q| (q.path.as_str(), q)).collect()
    };
    runs.iter().map(of).collect()
}

/// Why a side does not have a quantity.
fn missing(runs: &[Option<&RunDevice>], path: &str) -> String {
    let Some(g) = group(path) else {
        return match path.starts_with("events/") {
            true => "this trace has no such events",
            false => "this trace has no such number",
        }
        .to_string();
    };
    let of = || runs.iter().flatten();
    if of().any(|d| d.rest.contains(g)) {
        return "one of this trace's smaller groups, of which no numbers are kept".to_string();
    }
    let mut all = of().flat_map(|d| &d.quantities);
    match all.any(|q| group(&q.path) == Some(g)) {
        // In another run, or another number of it.
        true if runs.len() == 1 => "no request or bio of this group has it".to_string(),
        true => "not in this group, or no such group".to_string(),
        false => "this trace has no such group".to_string(),
    }
}

/// The groups that are shown, if not all: the `room` largest of both sides; and how many are not.
fn shown(
    a: &[Option<&RunDevice>],
    b: &[Option<&RunDevice>],
    room: usize,
) -> (Option<BTreeSet<String>>, usize) {
    let mut sizes: BTreeMap<&str, u64> = BTreeMap::new();
    let all = || a.iter().chain(b).flatten();
    for q in all().flat_map(|d| &d.quantities) {
        let mut parts = q.path.split('/');
        if let (Some("groups"), Some(g), Some("requests" | "bios"), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        {
            let size = sizes.entry(g).or_default();
            *size = (*size).max(q.value.unwrap_or(0.0) as u64);
        }
    }
    let others: BTreeSet<&str> = all()
        .flat_map(|d| &d.rest)
        .map(String::as_str)
        .filter(|g| !sizes.contains_key(g))
        .collect();
    let names: Vec<&str> = sizes.keys().copied().collect();
    let kept = largest(&sizes.values().copied().collect::<Vec<_>>(), room);
    let left = names.len() - kept.len() + others.len();
    let name = |i: &usize| names.get(*i).map(|n| n.to_string());
    let few = (kept.len() < names.len()).then(|| kept.iter().filter_map(name).collect());
    (few, left)
}

/// Every quantity of both, in the order of A, then what only B has; of at most `room` groups, and how many more there
/// are. `a` and `b` hold one device a run.
pub(super) fn rows(
    a: &[Option<&RunDevice>],
    b: &[Option<&RunDevice>],
    room: usize,
) -> (Vec<Row>, usize) {
    let (ia, ib) = (index(a), index(b));
    let (few, left) = shown(a, b, room);
    let wanted = |path: &str| match (&few, group(path)) {
        (Some(few), Some(g)) => few.contains(g),
        _ => true,
    };
    let mut seen: FxHashSet<&str> = FxHashSet::default();
    let mut out = Vec::new();
    let all = a.iter().chain(b).flatten().flat_map(|d| &d.quantities);
    for q in all.filter(|q| wanted(&q.path)) {
        if seen.insert(&q.path) {
            out.push(row(q, (a, &ia), (b, &ib)));
        }
    }
    (out, left)
}

fn row(
    q: &Quantity,
    (a, ia): (&[Option<&RunDevice>], &Index<'_>),
    (b, ib): (&[Option<&RunDevice>], &Index<'_>),
) -> Row {
    let find = |runs: &[Option<&RunDevice>], maps: &Index<'_>| -> Side {
        let of: Vec<Option<&Quantity>> = maps
            .iter()
            .map(|m| m.get(q.path.as_str()).copied())
            .collect();
        side(&of, || missing(runs, &q.path))
    };
    let all = ia.iter().chain(ib).filter_map(|m| m.get(q.path.as_str()));
    // Where a trace does not have the number, what it would be divided by there says nothing.
    let known: Vec<&Quantity> = all.copied().filter(|q| q.value.is_some()).collect();
    let first = known.first().copied().unwrap_or(q);
    let made = one(first, find(a, ia), find(b, ib));
    match known.iter().any(|q| q.per != first.per) {
        true => undivided(made),
        false => made,
    }
}

fn one(q: &Quantity, a: Side, b: Side) -> Row {
    let mut row = Row {
        quantity: q.path.clone(),
        unit: q.unit,
        a: a.value,
        b: b.value,
        per: match q.per {
            Some(Per::Second) => "second",
            Some(Per::Bio) => "bio",
            None => "none",
        },
        a_per: a.norm,
        b_per: b.norm,
        difference: None,
        ratio: None,
        difference_interval: None,
        ratio_interval: None,
        p: None,
        differs: None,
        border: false,
        p_most: None,
        why: Vec::new(),
    };
    for (field, per, s) in [("a", "a_per", &a), ("b", "b_per", &b)] {
        if s.value.is_none() || s.norm.is_none() {
            let untold = match s.value {
                Some(_) => "there is nothing to divide it by",
                None => "not known",
            };
            let why = Reason::from(s.why.as_deref().unwrap_or(untold));
            if s.value.is_none() {
                row.why.push((field, why.clone()));
            }
            row.why.push((per, why));
        }
    }
    let (Some(x), Some(y)) = (a.norm, b.norm) else {
        let missing = match (a.norm, b.norm) {
            (None, None) => "not known of either trace",
            (None, _) => "not known of A",
            _ => "not known of B",
        };
        return absent(row, missing);
    };
    row.difference = Some(y - x);
    row.ratio = (x != 0.0).then(|| y / x);
    if row.ratio.is_none() {
        row.why.push(("ratio", "there was none in A".into()));
    }
    interval(row, (x, a), (y, b))
}

/// Without queue events counts come by the second, with them by the bio: two such are not comparable.
fn undivided(mut row: Row) -> Row {
    let why = "one of the traces has no queue events: its counts are not known per bio";
    (row.a_per, row.b_per) = (None, None);
    (row.difference, row.ratio) = (None, None);
    (row.difference_interval, row.ratio_interval) = (None, None);
    (row.p, row.differs) = (None, None);
    (row.border, row.p_most) = (false, None);
    row.why.retain(|(f, _)| matches!(*f, "a" | "b"));
    for f in ["a_per", "b_per"] {
        row.why.push((f, why.into()));
    }
    absent(row, why)
}

fn absent(mut row: Row, why: &str) -> Row {
    let why = Reason::from(why);
    for f in [
        "difference",
        "ratio",
        "difference_interval",
        "ratio_interval",
        "p",
        "differs",
    ] {
        row.why.push((f, why.clone()));
    }
    row
}

fn interval(mut row: Row, (x, a): (f64, Side), (y, b): (f64, Side)) -> Row {
    let few = row.unit == Unit::Count && row.a.unwrap_or(0.0).max(row.b.unwrap_or(0.0)) < EVENTS;
    let (sa, sb) = match (a.sure, b.sure) {
        _ if few => {
            return unsure(
                row,
                &format!("fewer than {EVENTS:.0} events on either side"),
            );
        }
        (Ok(a), Ok(b)) => (a, b),
        (Err(why), Ok(_)) => return unsure(row, &format!("A: {why}")),
        (Ok(_), Err(why)) => return unsure(row, &format!("B: {why}")),
        (Err(why), Err(_)) => return unsure(row, &why),
    };
    let number = |value: f64, s: Spread| Number {
        value,
        se: s.se,
        floor: s.floor,
        df: s.df,
        draws: s.draws,
    };
    let t = test(&number(x, sa), &number(y, sb));
    row.difference_interval = Some(t.difference);
    row.ratio_interval = t.ratio;
    if t.ratio.is_none() {
        let why = "one of the numbers is not sure enough for a ratio, or none";
        row.why.push(("ratio_interval", why.into()));
    }
    row.p = Some(t.p);
    row.differs = Some(t.p < LEVEL);
    let [least, most] = t.p_range;
    row.border = (least < LEVEL) != (most < LEVEL);
    row.p_most = Some(most);
    row
}

fn unsure(mut row: Row, why: &str) -> Row {
    let why = Reason::from(why);
    for f in ["difference_interval", "ratio_interval", "p", "differs"] {
        row.why.push((f, why.clone()));
    }
    row
}
