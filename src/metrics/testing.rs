//! Builders for tests: requests, bios and events driven into a collector by hand.

use super::report::StatsReport;
use super::{Collector, CollectorOptions, Extras};
use crate::event::{Action, BlockEvent, CommId, Coverage, DevId, Rwbs, TraceMeta};
use crate::lifecycle::*;
use crate::units::Nanos;
use serde_json::Value;

pub const DEV: DevId = DevId::new(259, 0);

/// An event of pid 1, CPU 0.
pub fn ev(t: i64, a: Action, rwbs: &str, sector: u64, bytes: u64) -> BlockEvent {
    BlockEvent {
        sector,
        bytes,
        rwbs: Rwbs::new(rwbs.as_bytes()),
        pid: 1,
        cpu: 0,
        ..BlockEvent::new(Nanos(t), DEV, a)
    }
}

fn st(t: i64) -> Stamp {
    if t < 0 {
        Stamp::NONE
    } else {
        Stamp::at(Nanos(t))
    }
}

/// A completed bio; stamps q g m i d c, -1 for none.
pub fn bio(rwbs: &str, bytes: u64, [q, g, m, i, d, c]: [i64; 6]) -> Bio {
    Bio {
        id: 0,
        dev: DEV,
        sector: 8,
        bytes,
        rwbs: Rwbs::new(rwbs.as_bytes()),
        pid: 1,
        comm: CommId::NONE,
        cpu: 0,
        line: 1,
        q: st(q),
        g: st(g),
        m: st(m),
        i: st(i),
        d: st(d),
        c_data: st(c),
        c: st(c),
        pieces: 1,
        merged: (m >= 0).then_some(MergeKind::Back),
        fate: if c < 0 {
            BioFate::Open
        } else {
            BioFate::Completed
        },
        request: None,
        parent: None,
        parent_dev: DevId::NONE,
        unclean: false,
    }
}

/// A completed request issued once; stamps q g i d c, -1 for none.
pub fn rq(kind: RequestKind, rwbs: &str, bytes: u64, [q, g, i, d, c]: [i64; 5]) -> Request {
    Request {
        id: 0,
        dev: DEV,
        kind,
        sector: 8,
        bytes,
        rwbs: Rwbs::new(rwbs.as_bytes()),
        pid: 1,
        comm: CommId::NONE,
        cpu: 0,
        line: 1,
        first_sector: 0,
        first_bytes: 0,
        q: st(q),
        g: st(g),
        i: st(i),
        d_first: st(d),
        d: st(d),
        c_data: st(c),
        c: st(c),
        issues: u32::from(d >= 0),
        requeues: 0,
        inserts: u32::from(i >= 0),
        completions: 1,
        bios: 1,
        merged: 0,
        preflush: false,
        postflush: false,
        waiters: 0,
        outcome: if c < 0 {
            Outcome::Open
        } else {
            Outcome::Completed
        },
        pairing: Pairing::Exact,
    }
}

/// A collector, and the coverage and span a tracker would report.
pub struct Drive {
    pub c: Collector,
    pub cov: Coverage,
    pub span: Option<(Nanos, Nanos)>,
    pub devices: Vec<DeviceSummary>,
    pub meta: TraceMeta,
}

impl Drive {
    pub fn new(o: CollectorOptions) -> Drive {
        Drive {
            c: Collector::new(o),
            cov: Coverage::default(),
            span: None,
            devices: Vec::new(),
            meta: TraceMeta::default(),
        }
    }

    pub fn event(&mut self, e: BlockEvent) {
        self.cov.note(e.action);
        let first = self.span.map_or(e.time, |s| s.0);
        self.span = Some((first, e.time));
        self.c.event(&e);
    }

    pub fn bio_based(&mut self, dev: DevId) {
        let account = |name| Account {
            name,
            inn: vec![("queued", 1)],
            out: vec![("completed", 1)],
        };
        self.devices.push(DeviceSummary {
            completions: Account {
                name: "completions",
                inn: Vec::new(),
                out: Vec::new(),
            },
            dev,
            bio_based: true,
            ledger: [account("bios"), account("requests"), account("issues")],
            anomalies: vec![(AnomalyKind::Overlap, 2), (AnomalyKind::IssuedTwice, 0)],
            completions_missing: 3,
            remaps: Vec::new(),
        });
    }

    /// The report, checked: every null has a reason that says something, and reasons point at what is there.
    pub fn finish(self) -> StatsReport {
        let t = TrackerReport {
            devices: self.devices,
            coverage: self.cov,
            span: self.span,
            went_back: 0,
            untracked_events: 0,
        };
        let r = self.c.finish(t, &self.meta, Extras::default());
        all_explained(&r);
        r
    }
}

/// Walks the document for nulls.
pub fn all_explained(r: &StatsReport) {
    let doc: Value = serde_json::from_str(&r.to_json().unwrap()).unwrap();
    let mut nulls = Vec::new();
    walk(&doc, String::new(), &mut nulls);
    for p in &nulls {
        let why = r.why.get(p).unwrap_or_else(|| panic!("no reason for {p}"));
        assert!(why.len() > 8, "{p}: {why}");
    }
    for (p, why) in &r.why {
        let there = doc
            .pointer(p)
            .unwrap_or_else(|| panic!("{p} points nowhere"));
        assert!(
            there.is_null() || why.contains("timed from their first issue"),
            "{p} is there, yet: {why}"
        );
    }
}

fn walk(v: &Value, at: String, out: &mut Vec<String>) {
    match v {
        Value::Null => out.push(at),
        Value::Array(a) => {
            for (i, x) in a.iter().enumerate() {
                walk(x, format!("{at}/{i}"), out);
            }
        }
        Value::Object(o) => {
            for (k, x) in o {
                walk(
                    x,
                    format!("{at}/{}", k.replace('~', "~0").replace('/', "~1")),
                    out,
                );
            }
        }
        _ => {}
    }
}
