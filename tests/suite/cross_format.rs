//! One run seen by two recorders: blktrace and bpftrace must tell the same story.

use super::support::{Differences, cases, fields, json, run};
use std::collections::HashMap;
use std::path::Path;

/// Actions that no recorder of the two loses.
const COMPLETE: &[&str] = &["Q", "G", "D", "M", "F", "I", "R"];

/// What an event is to both: action, device, sector, bytes. blkparse hides the sector of empty ones.
pub type Seen = (String, String, String, String);

/// The events of the given actions of an input, in order.
pub fn events(path: &Path, actions: &[&str]) -> Vec<Seen> {
    let r = run(&["events", "--csv", "-q", &path.to_string_lossy()]);
    assert_eq!(r.code, Some(0), "{}: {}", path.display(), r.err);
    let text = r.text();
    let mut lines = text.lines().map(fields);
    let head = lines.next().expect("a header");
    let col = |name: &str| {
        head.iter()
            .position(|h| h == name)
            .unwrap_or_else(|| panic!("no column {name} in {head:?}"))
    };
    let (action, dev, sector, bytes, rwbs) = (
        col("action"),
        col("dev"),
        col("sector"),
        col("bytes"),
        col("rwbs"),
    );
    let mut out = Vec::new();
    for f in lines.filter(|f| actions.contains(&f[action].as_str())) {
        // Passthrough commands have no sector, which tracepoints print as 0.
        let hidden = f[bytes] == "0"
            || f[bytes].is_empty()
            || f[rwbs] == "FF"
            || f[sector].is_empty()
            || f[sector] == "0";
        let sector = if hidden {
            String::new()
        } else {
            f[sector].clone()
        };
        out.push((f[action].clone(), f[dev].clone(), sector, f[bytes].clone()));
    }
    out
}

fn counts(v: &[Seen]) -> HashMap<&Seen, i64> {
    let mut m = HashMap::new();
    v.iter().for_each(|e| *m.entry(e).or_default() += 1);
    m
}

/// Events that one side has and the other has not, by how many.
fn surplus(a: &[Seen], b: &[Seen]) -> HashMap<Seen, i64> {
    let other = counts(b);
    counts(a)
        .into_iter()
        .map(|(k, n)| (k.clone(), n - other.get(k).copied().unwrap_or(0)))
        .filter(|e| e.1 > 0)
        .collect()
}

/// Events that one recorder saw before the other began or after it had ended, at most. Of the recordings at hand, 292
/// were the most, of a raid that was being taken apart.
const ENDS: usize = 320;

/// Says where two recordings of one run differ other than at their ends: what one has more must be exactly its first
/// and last events, so that a loss anywhere else is seen, however small or regular.
pub fn compare(name: &str, blk: &[Seen], bpf: &[Seen], d: &mut Differences) {
    // blktrace starts on one device after another, bpftrace on all at once: each device has ends of its own.
    let mut devs: Vec<&String> = blk.iter().chain(bpf).map(|e| &e.1).collect();
    devs.sort();
    devs.dedup();
    for dev in devs {
        let of = |all: &[Seen]| {
            all.iter()
                .filter(|e| e.1 == *dev)
                .cloned()
                .collect::<Vec<_>>()
        };
        compare_device(&format!("{name} {dev}"), &of(blk), &of(bpf), d);
    }
}

fn compare_device(name: &str, blk: &[Seen], bpf: &[Seen], d: &mut Differences) {
    for (which, a, b) in [("blktrace", blk, bpf), ("the other", bpf, blk)] {
        let more = surplus(a, b);
        let total = more.values().sum::<i64>() as usize;
        d.check(total <= ENDS && are_ends(a, &more, total), || {
            let some: Vec<_> = more.iter().take(3).collect();
            format!("{name}: {total} events more in {which}, not its first and last: {some:?}")
        });
    }
}

/// Whether some first events and some last ones, `total` together, are these.
fn are_ends(all: &[Seen], these: &HashMap<Seen, i64>, total: usize) -> bool {
    (0..=total.min(all.len())).any(|first| {
        let last = &all[all.len() - (total - first).min(all.len())..];
        let ends: Vec<Seen> = all[..first].iter().chain(last).cloned().collect();
        let ends = counts(&ends);
        ends.len() == these.len() && ends.iter().all(|(e, n)| these.get(*e) == Some(n))
    })
}

#[test]
fn a_loss_within_is_no_difference_of_ends() {
    let seen = |n: usize| {
        let text = |s: String| -> Seen { ("Q".into(), "8,0".into(), s, "4096".into()) };
        (0..n).map(|i| text(i.to_string())).collect::<Vec<_>>()
    };
    let whole = seen(100);
    let judge = |part: &[Seen]| {
        let more = surplus(&whole, part);
        are_ends(&whole, &more, whole.len() - part.len())
    };
    assert!(judge(&whole) && judge(&whole[3..]) && judge(&whole[..95]) && judge(&whole[2..95]));
    let every_tenth: Vec<Seen> = whole.iter().step_by(10).cloned().collect();
    assert!(!judge(&every_tenth));
    let one_gone: Vec<Seen> = [&whole[..5], &whole[6..]].concat();
    assert!(!judge(&one_gone));
}

#[test]
fn both_recorders_tell_the_same() {
    let mut d = Differences::default();
    let mut seen = 0;
    for c in cases() {
        let (Some(blk), Some(bpf)) = (c.input("blkparse"), c.input("bpftrace")) else {
            continue;
        };
        let traced: Vec<String> = devices(&blk);
        let of_traced = |p: &Path| -> Vec<Seen> {
            events(p, COMPLETE)
                .into_iter()
                .filter(|e| traced.contains(&e.1))
                .collect()
        };
        let (a, b) = (of_traced(&blk), of_traced(&bpf));
        d.check(a.len() > 50, || {
            format!("{}: only {} events", c.name, a.len())
        });
        // These runs were short: neither recorder saw more than the other.
        d.check(a.len() == b.len(), || {
            format!("{}: {} and {} events", c.name, a.len(), b.len())
        });
        compare(&c.name, &a, &b, &mut d);
        seen += 1;
    }
    assert!(seen >= 5, "only {seen} runs seen by both");
    d.done();
}

/// The devices of a trace.
pub fn devices(path: &Path) -> Vec<String> {
    let s = json(&["stats"], path);
    s["devices"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|x| x["dev"].as_str().map(str::to_string))
        .collect()
}

#[test]
fn a_log_has_no_completion_that_blktrace_has_not() {
    let mut d = Differences::default();
    for c in cases() {
        let (Some(blk), Some(bpf)) = (c.input("blkparse"), c.input("bpftrace")) else {
            continue;
        };
        let traced = devices(&blk);
        let all = events(&bpf, &["C"]);
        let in_log: Vec<Seen> = all
            .into_iter()
            .filter(|e| traced.contains(&e.1) && e.3 != "0")
            .collect();
        let more = surplus(&in_log, &events(&blk, &["C"]));
        d.check(more.is_empty(), || format!("{}: {more:?}", c.name));
    }
    d.done();
}

#[test]
fn check_counts_the_completions_a_log_lacks() {
    let mut d = Differences::default();
    for c in cases() {
        let (Some(blk), Some(bpf)) = (c.input("blkparse"), c.input("bpftrace")) else {
            continue;
        };
        let (whole, log) = (json(&["stats"], &blk), json(&["check"], &bpf));
        d.check(log["completions_may_vanish"] == true, || {
            format!("{}: check does not know its recorder", c.name)
        });
        for dev in whole["devices"]
            .as_array()
            .expect("devices")
            .iter()
            .filter(|x| x["kind"] == "request")
        {
            let issues = |out: &str| dev["ledger"][2]["out"][out].as_u64().unwrap_or(0);
            let ended = issues("C") + issues("C_flush") + issues("C_passthrough");
            let there = log["devices"]
                .as_array()
                .and_then(|l| l.iter().find(|x| x["dev"] == dev["dev"]));
            let gone = there.map_or(0, |x| {
                let rows = x["shortfall"].as_array().expect("a row an account");
                let issues = rows.iter().find(|r| r["account"] == "issues");
                issues.map_or(0, |r| {
                    r["lost"].as_u64().unwrap_or(0) + r["open"].as_u64().unwrap_or(0)
                })
            });
            let in_log = events(&bpf, &["C"])
                .iter()
                .filter(|e| Some(e.1.as_str()) == dev["dev"].as_str() && e.3 != "0")
                .count() as u64;
            // Flush completions have no length in either; they can only make the shortfall greater.
            let data = issues("C");
            d.check(gone >= data.saturating_sub(in_log) && gone <= ended, || {
                format!("{} {}: {gone} said to be missing, {in_log} of {data} completions with data are there", c.name, dev["dev"])
            });
        }
    }
    d.done();
}
