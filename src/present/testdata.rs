//! Hand-built reports for the tests of presenters.

use crate::event::DevId;
use crate::metrics::report::*;
use std::collections::BTreeMap;

/// n samples around a mean, in ns.
pub fn dist(n: u64, mean: f64, p99: u64) -> Option<TimeDist> {
    Some(TimeDist {
        n,
        mean,
        min: 1_000,
        max: p99 * 2,
        p50: mean as u64,
        p90: p99,
        p99,
        p999: p99,
    })
}

fn size(n: u64, bytes: u64, zero: u64) -> Option<SizeDist> {
    let mean = bytes as f64;
    let histogram = vec![(bytes, n)];
    Some(SizeDist {
        n,
        mean,
        min: bytes,
        max: bytes,
        p50: bytes,
        p90: bytes,
        p99: bytes,
        zero,
        histogram,
        rounded: 0,
    })
}

pub fn group(rwbs: &str) -> Group {
    Group {
        by: BTreeMap::from([("rwbs".to_string(), rwbs.to_string())]),
        bios: Some(0),
        merged_bios: Some(0),
        merged_share: None,
        requests: 0,
        passthrough: 0,
        completed: Some(0),
        failed: Some(0),
        issues: Some(0),
        requeues: Some(0),
        issues_per_rq: None,
        open: 0,
        lost: 0,
        bio_bytes: None,
        issue_bytes: None,
        latency_ns: RequestLatency::default(),
        bio_latency_ns: BioLatency::default(),
        phases: None,
        negative_spans: 0,
        pairing: BTreeMap::new(),
    }
}

fn phases(mean_ns: f64, [q2g, g2d, d2c, other]: [Option<f64>; 4]) -> Option<Phases> {
    Some(Phases {
        of: "Q2C",
        mean_ns,
        q2g,
        g2i: None,
        i2d: None,
        g2d,
        d2c,
        other,
    })
}

fn writes() -> Group {
    let mut g = group("WS");
    (g.bios, g.merged_bios, g.requests) = (Some(13_818), Some(6_911), 6_907);
    (g.completed, g.issues) = (Some(6_907), Some(6_907));
    g.merged_share = Some(6_911.0 / 13_818.0);
    g.phases = phases(10e6, [Some(0.01), Some(0.45), Some(0.54), None]);
    g.issues_per_rq = Some(1.0);
    g.bio_bytes = size(13_818, 2048, 0);
    g.issue_bytes = size(6_907, 4096, 0);
    g.latency_ns = RequestLatency {
        q2g: dist(6_907, 100_000.0, 400_000),
        g2d: dist(6_907, 4_500_000.0, 9_000_000),
        d2c: dist(6_907, 5_400_000.0, 22_000_000),
        fd2c: dist(6_907, 5_400_000.0, 22_000_000),
        g2c: dist(6_907, 9_900_000.0, 31_000_000),
        q2c: dist(6_907, 10_000_000.0, 31_000_000),
        ..RequestLatency::default()
    };
    g
}

fn flush_bios() -> Group {
    let mut g = group("FWS");
    (g.bios, g.requests, g.completed) = (Some(82), 82, Some(82));
    g.merged_share = Some(0.0);
    g.phases = phases(1.32e6, [Some(0.008), None, None, Some(0.992)]);
    g.latency_ns.q2c = dist(82, 1_320_000.0, 4_000_000);
    g.latency_ns.q2g = dist(82, 10_000.0, 20_000);
    g.latency_ns.g2c = dist(82, 1_310_000.0, 4_000_000);
    g
}

fn device_flushes() -> Group {
    let mut g = group("FF");
    (g.requests, g.completed, g.issues) = (82, Some(82), Some(82));
    g.issues_per_rq = Some(1.0);
    g.latency_ns.d2c = dist(82, 620_000.0, 2_000_000);
    g.latency_ns.fd2c = dist(82, 620_000.0, 2_000_000);
    g
}

fn account(account: &'static str, n: u64) -> AccountRow {
    AccountRow {
        account,
        r#in: BTreeMap::from([("in", n)]),
        out: BTreeMap::from([("done", n)]),
        balance: 0,
    }
}

fn events() -> BTreeMap<&'static str, BTreeMap<String, u64>> {
    let rows: [(&'static str, &[(&str, u64)]); 5] = [
        ("Q", &[("WS", 13_818), ("FWS", 82)]),
        ("G", &[("WS", 6_907), ("FWS", 82)]),
        ("M", &[("WS", 6_911)]),
        ("D", &[("WS", 6_907), ("FF", 82)]),
        ("C", &[("WS", 6_989), ("FF", 82)]),
    ];
    let by = |v: &[(&str, u64)]| v.iter().map(|(k, n)| (k.to_string(), *n)).collect();
    rows.iter().map(|(a, v)| (*a, by(v))).collect()
}

/// A request-based device without a scheduler.
pub fn device() -> Device {
    Device {
        dev: DevId::new(259, 0),
        name: Some("nvme0n1".into()),
        capacity: Some(1_900_000_000_000),
        kind: "request",
        events: events(),
        ledger: vec![
            account("bios", 13_900),
            account("requests", 6_989),
            account("issues", 6_989),
        ],
        groups: vec![writes(), flush_bios(), device_flushes()],
        flush: Flush {
            bios: Some(82),
            steps: Some(82),
            sent: Some(82),
            requeued: Some(0),
            completed: Some(82),
            steps_per_flush: Some(1.0),
            flush_ns: dist(82, 620_000.0, 2_000_000),
            wait_ns: dist(82, 1_310_000.0, 4_000_000),
        },
        merge: Merges {
            back: Some(6_911),
            front: Some(0),
            discard: Some(0),
            request: Some(0),
            by: BTreeMap::from([("plug", 6_911)]),
            share: Some(0.497),
        },
        depth: Some(Depth {
            mean: 18.84,
            max: 64,
        }),
        iostat: Iostat {
            w_per_s: Some(3_488.4),
            wareq_kib: Some(4.0),
            w_await_ms: Some(9.9),
            ..Iostat::default()
        },
        losses: Losses::default(),
        remaps: Vec::new(),
        top_sizes: TopSizes {
            first: vec![(4096, 1.0)],
            others: 0,
        },
        negative_spans: 0,
        vanished: None,
    }
}

/// A sound trace.
pub fn report() -> StatsReport {
    StatsReport {
        schema: "blkan.stats/1",
        inputs: vec![Input {
            path: "trace.gz".into(),
            format: "blkparse".into(),
            compression: "gzip".into(),
            lines: 43_300,
            events: 43_216,
            skipped_lines: 84,
            defects: BTreeMap::new(),
            lost_events: Some(0),
            late_events: 0,
            records: false,
        }],
        recorder: Recorder::from(&crate::event::Fields::BLKTRACE),
        span_ns: Some(1_980_000_000),
        start_ns: Some(0),
        unplaced_events: BTreeMap::new(),
        devices: vec![device()],
        series: None,
        btt: None,
        why: BTreeMap::new(),
    }
}
