//! What a `--queue` snapshot tells of a device, in one remark.

use super::Style;
use super::stats::remark;
use super::table::cut;
use crate::event::{DevId, QueueInfo};
use crate::units::human_bytes;
use serde::Serialize;

/// A device of the snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct QueueRow {
    /// Its name; empty: the snapshot names none.
    pub name: String,
    /// Its number, where known.
    pub dev: Option<DevId>,
    /// Its attributes; null: not in the snapshot.
    #[serde(flatten)]
    pub info: QueueInfo,
}

/// The remark, behind what it is about.
pub fn print(rows: &[QueueRow], style: &Style, out: &mut String) {
    for q in rows {
        let whose = match (&*q.name, q.dev) {
            ("", None) => String::new(),
            ("", Some(d)) => d.to_string(),
            (n, None) => cut(n, 32),
            (n, Some(d)) => format!("{} ({d})", cut(n, 32)),
        };
        let mut parts = vec![whose];
        parts.extend(facts(&q.info));
        remark("queue", parts, style, out);
    }
}

pub(super) fn facts(q: &QueueInfo) -> Vec<String> {
    let plain = |title: &str, v: Option<u64>| v.map(|n| format!("{title} {n}"));
    let kib = |title: &str, v: Option<u64>| v.map(|n| format!("{title} {n} KiB"));
    let choice =
        |v: Option<bool>, yes: &str, no: &str| v.map(|y| if y { yes } else { no }.to_string());
    let merges = q.nomerges.map(|n| match n {
        0 => "merges on".to_string(),
        1 => "nomerges 1 (only simple merges)".to_string(),
        _ => format!("nomerges {n} (never)"),
    });
    let wbt = q.wbt_lat_usec.map(|n| match n {
        0 => "wbt off".to_string(),
        n => format!("wbt {n} µs"),
    });
    let blocks = match (q.logical_block_size, q.physical_block_size) {
        (Some(l), Some(p)) => Some(format!("blocks {l}/{p} B")),
        (Some(l), None) => Some(format!("logical blocks {l} B")),
        (None, p) => plain("physical blocks, bytes:", p),
    };
    let zones = q.zoned.as_ref().map(|z| match q.chunk_sectors {
        Some(c) if z != "none" && c > 0 => format!("zoned {z}, zones of {c} sectors"),
        _ => format!("zoned {z}"),
    });
    [
        q.capacity.map(|n| human_bytes(n as f64)),
        choice(
            q.write_cache,
            "write back cache",
            "write through: flushes are not sent",
        ),
        choice(q.fua, "FUA", "no FUA"),
        q.scheduler
            .as_ref()
            .map(|s| format!("scheduler {}", cut(s, 24))),
        plain("nr_requests", q.nr_requests),
        kib("max_sectors", q.max_sectors_kb),
        kib("max_hw_sectors", q.max_hw_sectors_kb),
        plain("max_segments", q.max_segments),
        merges,
        wbt,
        zones.map(|z| cut(&z, 60)),
        blocks,
        choice(q.rotational, "rotational", "not rotational"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_told_is_printed() {
        let row = QueueRow {
            name: "sda".into(),
            dev: Some(DevId::new(8, 0)),
            info: QueueInfo {
                write_cache: Some(false),
                scheduler: Some("none".into()),
                wbt_lat_usec: Some(0),
                ..QueueInfo::default()
            },
        };
        let mut s = String::new();
        print(&[row], &Style::new(false), &mut s);
        let want = "sda (8,0) · write through: flushes are not sent · scheduler none · wbt off";
        assert!(s.contains(want), "{s}");
    }
}
