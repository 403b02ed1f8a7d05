//! btt's table, in btt's units: seconds with nine decimals.

use super::Style;
use super::stats::remark;
use super::table::Table;
use crate::metrics::report::{Btt, BttRow};
use crate::units::{Nanos, human_count};

/// Prints `ALL`, then each device, then why btt itself may print other numbers.
pub fn print(b: &Btt, style: &Style, out: &mut String) {
    out.push_str(&style.bold("btt"));
    out.push_str(" · per bio, by btt's rules, in seconds\n");
    let all = b.devices.iter().filter(|(k, _)| *k == "ALL");
    // One device's rows are all devices' rows.
    let several = b.devices.len() > 2;
    let each = b.devices.iter().filter(|(k, _)| *k != "ALL" && several);
    for (dev, rows) in all.chain(each) {
        let title = if dev == "ALL" {
            "all devices"
        } else {
            dev.as_str()
        };
        let mut t = Table::new(title, &["MIN", "AVG", "MAX", "N"]);
        for r in rows {
            t.row(r.phase, cells(r));
        }
        t.print(style, out);
    }
    let why: Vec<String> = b
        .differences
        .iter()
        .filter(|(_, n)| **n > 0)
        .map(|(k, n)| format!("{k} {}", human_count(*n)))
        .collect();
    let no_queue = b.devices.values().all(Vec::is_empty) || !b.queue_events;
    if no_queue {
        let none = "no Q events: btt has no rows of bios without them".to_string();
        remark("btt itself", vec![none], style, out);
    } else if why.is_empty() {
        remark(
            "btt itself",
            vec!["prints the same: a clean trace".to_string()],
            style,
            out,
        );
    } else {
        remark("btt differs", why, style, out);
    }
}

fn cells(r: &BttRow) -> Vec<String> {
    let secs = |ns: u64| Nanos(i64::try_from(ns).unwrap_or(i64::MAX)).to_string();
    vec![
        secs(r.min_ns),
        format!("{:.9}", r.avg_ns / 1e9),
        secs(r.max_ns),
        r.n.to_string(),
    ]
}
