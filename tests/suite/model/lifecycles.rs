//! The lifecycle, given the events alone, finds what the model knows: the same requests with the same bios, issues and times.

use super::cases::case;
use super::truth::{Run, TrueBio, TrueRq, Truth, run};
use blkan::event::Fields;
use blkan::lifecycle::{Bio, Outcome, Request, RequestKind, Sink, Stamp, Tracker, TrackerReport};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Default)]
struct Found {
    rqs: Vec<Request>,
    bios: Vec<Bio>,
}

impl Sink for Found {
    fn bio(&mut self, b: &Bio) {
        self.bios.push(*b);
    }
    fn request(&mut self, r: &Request) {
        self.rqs.push(*r);
    }
}

fn time(s: Stamp) -> Option<i64> {
    s.get().map(|t| t.0)
}

fn track(run: &Run) -> (Found, TrackerReport) {
    let mut found = Found::default();
    let mut tracker = Tracker::new(Fields::BLKTRACE);
    for (line, (ev, _)) in run.events.iter().enumerate() {
        let mut ev = *ev;
        ev.line = line as u32;
        tracker.observe(&ev, &mut found);
    }
    let report = tracker.finish(&mut found);
    (found, report)
}

/// Differences of one request.
fn request(r: &Request, t: &TrueRq, faults: &mut Vec<String>) {
    let mut differ = |what: &str, is: String, truth: String| {
        if is != truth {
            faults.push(format!("request: {what} {is}, in truth {truth} ({t:?})"));
        }
    };
    let s = |v: Option<i64>| format!("{v:?}");
    differ(
        "absorbed",
        (r.outcome == Outcome::Absorbed).to_string(),
        t.absorbed.to_string(),
    );
    differ("g", s(time(r.g)), s(t.g));
    differ("issues", r.issues.to_string(), t.issued.len().to_string());
    differ("requeues", r.requeues.to_string(), t.requeued.to_string());
    if t.absorbed {
        return;
    }
    differ("inserts", r.inserts.to_string(), t.inserts.to_string());
    differ("first insert", s(time(r.i)), s(t.i));
    differ(
        "first issue",
        s(time(r.d_first)),
        s(t.issued.first().copied()),
    );
    differ("last issue", s(time(r.d)), s(t.issued.last().copied()));
    differ("end", s(time(r.c)), s(t.ends.last().map(|e| e.0)));
    differ(
        "done",
        (r.outcome == Outcome::Completed).to_string(),
        "true".into(),
    );
    if r.kind == RequestKind::Io {
        let data = t.ends.iter().find(|e| e.1 > 0).map(|e| e.0);
        differ("end of data", s(time(r.c_data)), s(data));
        differ("bios", r.bios.to_string(), t.bios.len().to_string());
        differ("bytes", r.bytes.to_string(), t.bytes.to_string());
        differ("sector", r.sector.to_string(), t.sector.to_string());
    }
}

/// Differences of one bio.
fn bio(b: &Bio, t: &TrueBio, rqs: &BTreeMap<u64, TrueRq>, of: Option<u64>) -> Vec<String> {
    let mut faults = Vec::new();
    let mut differ = |what: &str, is: Option<i64>, truth: Option<i64>| {
        if is != truth {
            faults.push(format!("bio: {what} {is:?}, in truth {truth:?} ({b:?})"));
        }
    };
    differ("q", time(b.q), t.q);
    differ("g", time(b.g), t.g);
    let last = |r: &u64| rqs.get(r).and_then(|r| r.ends.last()).map(|e| e.0);
    let end = t.requests.iter().filter_map(last).max().or(t.alone);
    differ("end", time(b.c), end);
    if b.pieces == 1 {
        differ("m", time(b.m), t.m);
        let one = |v: Option<u64>| v.map(|v| v as i64);
        differ("request", one(of), one(t.requests.last().copied()));
    }
    faults
}

/// All differences of a run.
pub fn differences(run: &Run, truth: &Truth) -> Vec<String> {
    let (found, report) = track(run);
    let mut faults = Vec::new();
    let number = |line: u32| run.events[line as usize].1.request;
    let numbers: BTreeMap<u64, u64> = found
        .rqs
        .iter()
        .filter_map(|r| Some((r.id, number(r.line)?)))
        .collect();
    let mut seen = BTreeSet::new();
    for r in &found.rqs {
        let n = numbers.get(&r.id).copied();
        match n.and_then(|n| truth.rqs.get(&n)) {
            Some(t) => request(r, t, &mut faults),
            None => faults.push(format!("request: of no truth {r:?}")),
        }
        if n.is_some_and(|n| !seen.insert(n)) {
            faults.push(format!("request: told twice {r:?}"));
        }
    }
    if seen.len() != truth.rqs.len() {
        faults.push(format!(
            "request: {} of {} told",
            seen.len(),
            truth.rqs.len()
        ));
    }
    for b in &found.bios {
        let t = run.events[b.line as usize].1.bio;
        match t.and_then(|n| truth.bios.get(&n)) {
            Some(t) => {
                let of = b.request.and_then(|r| numbers.get(&r)).copied();
                faults.extend(bio(b, t, &truth.rqs, of));
            }
            None => faults.push(format!("bio: of no truth {b:?}")),
        }
    }
    for d in &report.devices {
        let accounts = d.ledger.iter().chain([&d.completions]);
        for a in accounts.filter(|a| a.balance() != 0) {
            faults.push(format!("account {}: {a:?}", a.name));
        }
        if !d.anomalies.is_empty() || d.completions_missing > 0 {
            faults.push(format!("anomalies: {:?}", d.anomalies));
        }
    }
    faults
}

/// 10,000 random cases; `BLKAN_CASES` runs another number, `BLKAN_SEED` one case.
#[test]
fn lifecycles_of_simulated_events_are_the_models_own() {
    let number = |name: &str| std::env::var(name).ok().and_then(|v| v.parse::<u64>().ok());
    let one = number("BLKAN_SEED");
    let seeds = match one {
        Some(s) => s..s + 1,
        None => 0..number("BLKAN_CASES").unwrap_or(10_000),
    };
    let mut kinds: BTreeMap<String, (u64, u64, String)> = BTreeMap::new();
    let (mut events, mut merges, mut requeues) = (0, 0, 0);
    for seed in seeds {
        let case = case(seed);
        if plain(&case) {
            continue;
        }
        let faults = match run(&case, seed) {
            Ok(run) => {
                let truth = Truth::of(&run);
                events += run.events.len();
                merges += run.tally.plug_merges;
                requeues += truth
                    .rqs
                    .values()
                    .map(|r| u64::from(r.requeued))
                    .sum::<u64>();
                let mut f = truth.faults.clone();
                f.extend(super::laws::broken(&case, &run, &truth));
                f.extend(differences(&run, &truth));
                f
            }
            Err(e) => vec![format!("error: {e}")],
        };
        for f in faults {
            if one.is_some() {
                println!("{f}");
            }
            let letters = f.chars().filter(|c| !c.is_ascii_digit());
            let kind: String = letters.take(24).collect();
            let k = kinds.entry(kind).or_insert((0, seed, f));
            k.0 += 1;
        }
    }
    assert!(
        kinds.is_empty(),
        "(kind, (times, first seed, first)) {kinds:#?}"
    );
    // The cases are worth something.
    if one.is_none() {
        assert!(events > 1_000_000 && merges > 50_000 && requeues > 1_000);
    }
}

fn plain(c: &super::cases::Case) -> bool {
    use blkan::model::policy::*;
    if std::env::var("PLAIN").is_err() {
        return false;
    }
    let p = &c.policy;
    p.zoned != Zoned::Off
        || p.ata != Ata::Off
        || p.wbt == Switch::On
        || p.sched != Some(Sched::None)
        || c.workload
            .bios
            .iter()
            .any(|b| b.rwbs.preflush() || b.rwbs.fua())
        || c.workload.topology.layers[0].kind.is_upper()
}
trait Up {
    fn is_upper(&self) -> bool;
}
impl Up for blkan::model::LayerKind {
    fn is_upper(&self) -> bool {
        !matches!(self, blkan::model::LayerKind::Disk(_))
    }
}
