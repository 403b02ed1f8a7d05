//! The verdict: one paragraph, built from lines of the table that are confirmed and large enough to matter, and honest
//! about those that are not.

use super::report::{Pair, Row};
use super::run::Unit;
use super::table::{major, shown};
use crate::event::{Op, Rwbs};
use crate::units::{human_bytes, human_ns, human_share};
use std::cell::RefCell;
use std::collections::BTreeSet;

/// A change below this share matters to nobody.
const MATTERS: f64 = 0.05;
/// A change of less than this share of all the time that requests take is felt by nobody.
const FELT: f64 = 0.01;
/// Labels named in one list.
const NAMED: usize = 8;

struct Facts<'a> {
    pair: &'a Pair,
    /// Groups are named by letters.
    letters: bool,
    /// Quantities that a sentence has used.
    used: RefCell<BTreeSet<String>>,
}

/// The paragraph; `letters`: groups are named by rwbs.
pub(super) fn verdict(pair: &Pair, letters: bool) -> String {
    let f = Facts {
        pair,
        letters,
        used: RefCell::default(),
    };
    let groups = major(&pair.quantities, pair.kind == "bio", letters);
    let mut told: Vec<String> = Vec::new();
    told.extend(f.flushes());
    told.extend(f.issues(&groups));
    told.extend(f.merges(&groups));
    told.extend(f.throughput());
    told.extend(f.times(&groups));
    let mut out = match told.is_empty() {
        true => String::new(),
        false => format!("{}. ", upper(&told.join("; "))),
    };
    out.push_str(&moved(pair));
    out.push_str(&f.rest());
    out.push_str(&f.same(told.is_empty() && pair.moved.is_empty()));
    out.trim_end().to_string()
}

/// What moved, the surest of what is felt first.
fn moved(pair: &Pair) -> String {
    let felt = |m: &&super::report::Moved| m.share.is_none_or(|s| s.abs() >= FELT);
    let more = match pair.moved.len() {
        0 | 1 => String::new(),
        n => format!(" ({} more below)", n - 1),
    };
    match (pair.moved.iter().find(felt), pair.moved.first()) {
        (Some(m), _) => format!("What moved most surely: {}{more}. ", m.text),
        (None, Some(m)) => format!("Moved, though little of the whole: {}{more}. ", m.text),
        (None, None) => String::new(),
    }
}

fn upper(s: &str) -> String {
    let mut c = s.chars();
    c.next()
        .map_or_else(String::new, |f| f.to_uppercase().chain(c).collect())
}

/// `6.9`, `1.07`, `1,234`.
fn plain(v: f64) -> String {
    match v.abs() {
        a if a >= 100.0 => format!("{v:.0}"),
        a if a >= 10.0 => format!("{v:.1}"),
        _ => format!("{v:.2}"),
    }
}

/// `74 % fewer`, `1.8 times as many`.
fn amount(ratio: f64, less: &str, more: &str) -> String {
    let pct = human_share((ratio - 1.0).abs(), 0);
    match ratio {
        r if r >= 2.0 => format!(
            "{} times as {}",
            plain(r),
            if more == "more" { "many" } else { more }
        ),
        r if r < 1.0 => format!("{pct} {less}"),
        _ => format!("{pct} {more}"),
    }
}

/// What letters are, in a word.
fn kind(group: &str) -> &'static str {
    match Rwbs::new(group.as_bytes()).op() {
        Op::Flush => "device flushes",
        _ if Rwbs::new(group.as_bytes()).preflush() => "flushes and writes behind a flush",
        Op::Read => "reads",
        Op::Write => "writes",
        Op::Discard => "discards",
        _ => "requests",
    }
}

impl Facts<'_> {
    /// A confirmed row that matters.
    fn real(&self, path: &str) -> Option<&Row> {
        let line = self.pair.table.iter().find(|l| l.quantity == path)?;
        let row = self.pair.quantities.get(line.row)?;
        let big = match row.ratio {
            Some(r) => (r - 1.0).abs() >= MATTERS,
            None => true,
        };
        let real = line.confirmed && big;
        if real {
            self.used.borrow_mut().insert(path.to_string());
        }
        real.then_some(row)
    }

    /// What letters are, in a word.
    fn noun(&self, group: &str) -> String {
        let shown = shown(group);
        match self.letters {
            true => format!("{} ({shown})", kind(group)),
            false => format!("requests of {shown}"),
        }
    }

    /// Confirmed lines that no sentence has told, with their ratios.
    fn rest(&self) -> String {
        let used = self.used.borrow().clone();
        let mut out = Vec::new();
        for l in self
            .pair
            .table
            .iter()
            .filter(|l| !used.contains(&l.quantity))
        {
            if let Some(ratio) = self.real(&l.quantity).map(|r| r.ratio) {
                out.push(match ratio {
                    Some(r) => format!("{} ×{r:.2}", l.label),
                    None => format!("{} (none in A)", l.label),
                });
            }
        }
        match out.is_empty() {
            true => String::new(),
            false => {
                format!("Also real: {}. ", list(&out))
            }
        }
    }

    fn both(r: &Row) -> Option<(f64, f64)> {
        Some((r.a_per?, r.b_per?))
    }

    fn flushes(&self) -> Option<String> {
        let shared = self.real("flush/steps_per_flush").and_then(Self::both);
        let each = |n: &str| {
            shared.map(|(a, b)| {
                format!(
                    "{n} now serves {} flush steps instead of {}",
                    plain(b),
                    plain(a)
                )
            })
        };
        let Some(row) = self.real("flush/completed") else {
            return each("each device flush");
        };
        let per = match row.per {
            "bio" => " per bio",
            _ => " a second",
        };
        let (_, b) = Self::both(row)?;
        let many = match (row.ratio, b == 0.0) {
            (_, true) => "no device flushes any more".to_string(),
            (None, _) => format!(
                "device flushes ({} of them) where there were none",
                plain(row.b?)
            ),
            (Some(r), _) => format!("{} device flushes{per}", amount(r, "fewer", "more")),
        };
        Some(match each("each") {
            Some(e) => format!("{many}: {e}"),
            None => many,
        })
    }

    fn issues(&self, groups: &[String]) -> Vec<String> {
        let one = |g: &String| {
            let row = self.real(&format!("groups/{g}/issues_per_rq"))?;
            let (a, b) = Self::both(row)?;
            Some(format!(
                "{} are issued {} times instead of {}",
                self.noun(g),
                plain(b),
                plain(a)
            ))
        };
        groups.iter().filter_map(one).collect()
    }

    fn merges(&self, groups: &[String]) -> Vec<String> {
        let mut out = Vec::new();
        if let Some((a, b)) = self.real("merge/share").and_then(Self::both) {
            out.push(format!(
                "{} of bios are merged instead of {}",
                human_share(b, 1),
                human_share(a, 1)
            ));
        }
        for g in groups {
            let row = self.real(&format!("groups/{g}/issue_bytes/mean"));
            if let Some((a, b)) = row.and_then(Self::both) {
                let (a, b) = (human_bytes(a), human_bytes(b));
                out.push(format!(
                    "{} are issued {b} at a time instead of {a}",
                    self.noun(g)
                ));
            }
        }
        out
    }

    fn throughput(&self) -> Option<String> {
        let row = self
            .real("workload/bytes_per_s")
            .or_else(|| self.real("workload/bios_per_s"))?;
        let (a, b) = Self::both(row)?;
        let what = if row.unit == Unit::BytesPerSecond {
            "bytes"
        } else {
            "bios"
        };
        let show = |v: f64| match row.unit {
            Unit::BytesPerSecond => format!("{}/s", human_bytes(v)),
            _ => format!("{}/s", plain(v)),
        };
        let many = amount(row.ratio?, "fewer", "more");
        Some(format!(
            "{many} {what} a second ({} instead of {})",
            show(b),
            show(a)
        ))
    }

    fn times(&self, groups: &[String]) -> Vec<String> {
        let bio = self.pair.kind == "bio";
        let (path, words) = match bio {
            true => ("bio_latency_ns/q2c/mean", "from submission to end"),
            false => ("latency_ns/g2c/mean", "from allocation to end"),
        };
        let one = |g: &String| {
            let device = self.real(&format!("groups/{g}/latency_ns/d2c/mean"));
            let whole = self.real(&format!("groups/{g}/{path}"));
            let (row, words) = match (whole, device) {
                (Some(w), _) => (w, words),
                (None, d) => (d?, "in the device"),
            };
            let (a, b) = Self::both(row)?;
            Some(format!(
                "{} take {} {words} instead of {}",
                self.noun(g),
                human_ns(b),
                human_ns(a)
            ))
        };
        groups.iter().filter_map(one).collect()
    }

    /// What did not change, or cannot be told.
    fn same(&self, nothing: bool) -> String {
        let lines = &self.pair.table;
        let rows = &self.pair.quantities;
        let row = |l: &super::report::Line| rows.get(l.row);
        let label = |l: &super::report::Line| l.label.clone();
        let tested = || {
            lines
                .iter()
                .filter(|l| row(l).is_some_and(|r| r.p.is_some()))
        };
        let open = |l: &&super::report::Line| !l.confirmed;
        let maybe =
            |l: &&super::report::Line| row(l).is_some_and(|r| r.differs == Some(true) || r.border);
        let perhaps: Vec<String> = tested().filter(open).filter(maybe).map(label).collect();
        let same: Vec<String> = tested()
            .filter(open)
            .filter(|l| !maybe(l))
            .map(label)
            .collect();
        let unknown: Vec<String> = lines
            .iter()
            .filter(|l| row(l).is_some_and(|r| r.p.is_none()))
            .map(label)
            .collect();
        let small = |l: &&super::report::Line| l.confirmed && self.real(&l.quantity).is_none();
        let small: Vec<String> = tested().filter(small).map(label).collect();
        let confirmed = lines.iter().any(|l| l.confirmed);
        let mut out = String::new();
        if nothing
            && !confirmed
            && perhaps.is_empty()
            && unknown.len() <= same.len()
            && !same.is_empty()
        {
            out.push_str("No difference shown. ");
        } else if !same.is_empty() {
            out.push_str(&format!("No difference shown in {}. ", list(&same)));
        }
        if !perhaps.is_empty() {
            out.push_str(&format!("Perhaps, or by chance: {}. ", list(&perhaps)));
        }
        if !small.is_empty() {
            out.push_str(&format!("Real but below 5 %: {}. ", list(&small)));
        }
        if !unknown.is_empty() {
            out.push_str(&format!("Not decidable: {}. ", list(&unknown)));
        }
        if out.is_empty() && nothing && !confirmed {
            out.push_str("Nothing can be compared: see the reasons in why.");
        }
        out
    }
}

fn list<S: AsRef<str>>(names: &[S]) -> String {
    let shown = names
        .iter()
        .take(NAMED)
        .map(AsRef::as_ref)
        .collect::<Vec<&str>>()
        .join(", ");
    match names.len().saturating_sub(NAMED) {
        0 => shown,
        n => format!("{shown} and {n} more"),
    }
}
