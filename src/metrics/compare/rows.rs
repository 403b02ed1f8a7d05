//! The quantities of two sides beside each other.

use super::estimate::{Per, Spread, Sure};
use super::report::Row;
use super::run::{Quantity, RunDevice, Unit};
use super::test::{LEVEL, Number, test};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

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

fn side(runs: &[Option<&Quantity>]) -> Side {
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
        return none(told.unwrap_or_else(|| "this trace has no such group".to_string()));
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

/// Every quantity of both, in the order of A, then what only B has. `a` and `b` hold one device a run.
pub(super) fn rows(a: &[Option<&RunDevice>], b: &[Option<&RunDevice>]) -> Vec<Row> {
    let index = |runs: &[Option<&'_ RunDevice>]| -> Vec<FxHashMap<String, Quantity>> {
        let of = |d: &Option<&RunDevice>| {
            let all = d.map(|d| d.quantities.as_slice()).unwrap_or_default();
            all.iter().map(|q| (q.path.clone(), q.clone())).collect()
        };
        runs.iter().map(of).collect()
    };
    let (ia, ib) = (index(a), index(b));
    let mut order: BTreeMap<(usize, usize), &Quantity> = BTreeMap::new();
    let mut seen: FxHashMap<&str, ()> = FxHashMap::default();
    for (r, d) in a.iter().chain(b).enumerate() {
        for (i, q) in d
            .map(|d| d.quantities.as_slice())
            .unwrap_or_default()
            .iter()
            .enumerate()
        {
            if seen.insert(&q.path, ()).is_none() {
                order.insert((r, i), q);
            }
        }
    }
    let find = |maps: &[FxHashMap<String, Quantity>], path: &str| -> Side {
        let runs: Vec<Option<&Quantity>> = maps.iter().map(|m| m.get(path)).collect();
        side(&runs)
    };
    let row = |q: &Quantity| {
        let made = one(q, find(&ia, &q.path), find(&ib, &q.path));
        let mut pers = ia
            .iter()
            .chain(&ib)
            .filter_map(|m| m.get(&q.path))
            .map(|q| q.per);
        let first = pers.next();
        match pers.any(|p| Some(p) != first) {
            true => undivided(made),
            false => made,
        }
    };
    order.into_values().map(row).collect()
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
        why: BTreeMap::new(),
    };
    for (field, per, s) in [("a", "a_per", &a), ("b", "b_per", &b)] {
        if s.value.is_none() || s.norm.is_none() {
            let why = s.why.clone().unwrap_or_else(|| "not known".to_string());
            if s.value.is_none() {
                row.why.insert(field, why.clone());
            }
            row.why.insert(per, why);
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
        row.why.insert("ratio", "there was none in A".to_string());
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
    for f in ["a_per", "b_per"] {
        row.why.insert(f, why.to_string());
    }
    absent(row, why)
}

fn absent(mut row: Row, why: &str) -> Row {
    for f in [
        "difference",
        "ratio",
        "difference_interval",
        "ratio_interval",
        "p",
        "differs",
    ] {
        row.why.insert(f, why.to_string());
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
        row.why.insert("ratio_interval", why.to_string());
    }
    row.p = Some(t.p);
    row.differs = Some(t.p < LEVEL);
    row
}

fn unsure(mut row: Row, why: &str) -> Row {
    for f in ["difference_interval", "ratio_interval", "p", "differs"] {
        row.why.insert(f, why.to_string());
    }
    row
}
