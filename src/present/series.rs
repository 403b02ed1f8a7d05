//! The time series of `--every`: a line per interval and device.

use super::Style;
use super::table::{ABSENT, Table};
use crate::metrics::report::{Device, Group, Interval, TimeDist};
use crate::units::{human_count, human_ns};

/// Prints the series; times are those of the trace, which ends (with its last interval) at `end_ns`.
pub fn print(series: &[Interval], end_ns: i64, style: &Style, out: &mut String) {
    let mut t = Table::new(
        "from, s",
        &[
            "device", "events", "bios", "requests", "MiB", "MiB/s", "G2C mean", "D2C mean", "p99",
            "depth", "max",
        ],
    );
    let grouped = series
        .iter()
        .flat_map(|i| &i.devices)
        .any(|d| with_d2c(d).count() > 1);
    for interval in series {
        let to = interval.to_ns.min(end_ns).max(interval.from_ns);
        let secs = to.saturating_sub(interval.from_ns) as f64 / 1e9;
        let from = format!("{:.3}", interval.from_ns as f64 / 1e9);
        if interval.devices.is_empty() {
            t.row(&from, Vec::new());
        }
        for d in &interval.devices {
            t.row(&from, cells(d, secs));
        }
    }
    t.drop_absent().print(style, out);
    if grouped {
        out.push_str(
            &style.dim("  p99: the greatest of the groups' 99th percentiles (--csv has them all)"),
        );
        out.push('\n');
    }
}

fn with_d2c(d: &Device) -> impl Iterator<Item = &TimeDist> {
    d.groups
        .iter()
        .filter_map(|g| g.latency_ns.d2c.as_ref())
        .filter(|t| t.n > 0)
}

fn cells(d: &Device, secs: f64) -> Vec<String> {
    let events: u64 = d.events.values().flat_map(|m| m.values()).sum();
    let count = |f: fn(&Group) -> Option<u64>| {
        let sum: Option<u64> = d.groups.iter().map(f).sum();
        sum.map_or(ABSENT.to_string(), human_count)
    };
    // Bio-based devices have no issues: their bytes are those of bios.
    let bytes = |g: &Group| {
        let s = if d.kind == "bio" {
            &g.bio_bytes
        } else {
            &g.issue_bytes
        };
        s.as_ref().map_or(0.0, |s| s.mean * s.n as f64)
    };
    let mib = d.groups.iter().map(bytes).sum::<f64>() / f64::from(1u32 << 20);
    let g2c = d.groups.iter().filter_map(|g| g.latency_ns.g2c.as_ref());
    vec![
        d.dev.to_string(),
        human_count(events),
        count(|g| g.bios),
        if d.kind == "bio" {
            ABSENT.to_string()
        } else {
            count(|g| Some(g.requests))
        },
        format!("{mib:.2}"),
        if secs > 0.0 {
            format!("{:.1}", mib / secs)
        } else {
            ABSENT.to_string()
        },
        mean(g2c),
        mean(with_d2c(d)),
        with_d2c(d)
            .map(|t| t.p99)
            .max()
            .map_or(ABSENT.to_string(), |v| human_ns(v as f64)),
        d.depth
            .as_ref()
            .map_or(ABSENT.to_string(), |d| format!("{:.2}", d.mean)),
        d.depth
            .as_ref()
            .map_or(ABSENT.to_string(), |d| d.max.to_string()),
    ]
}

/// The mean over groups, weighted by their samples: exact.
fn mean<'a>(dists: impl Iterator<Item = &'a TimeDist>) -> String {
    let (sum, n) = dists.fold((0.0, 0u64), |(s, n), d| (s + d.mean * d.n as f64, n + d.n));
    if n == 0 {
        ABSENT.to_string()
    } else {
        human_ns(sum / n as f64)
    }
}
