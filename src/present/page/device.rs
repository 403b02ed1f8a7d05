//! The tables of a device: what `stats` prints of it, with every percentile.

use super::grid::{Cell, Grid};
use super::html::Html;
use super::sizes;
use crate::metrics::report::{BioLatency, Device, Group, RequestLatency, StatsReport, TimeDist};
use crate::present::device::{LETTERS, label};
use crate::present::device_lines::field_name;
use crate::units::human_ns;
use std::collections::BTreeMap;

/// Groups of a device that are shown, the largest.
const GROUPS: usize = 60;
/// So many fields are named for one reason.
const FIELDS: usize = 12;

/// `nvme0n1 (259,0)`.
pub fn title(d: &Device) -> String {
    match &d.name {
        Some(n) if *n != d.dev.to_string() => format!("{n} ({})", d.dev),
        _ => d.dev.to_string(),
    }
}

/// All tables.
pub fn tables(d: &Device, at: usize, r: &StatsReport, filtered: bool, h: &mut Html) {
    h.el("h3", &[], "Tables");
    let (groups, hidden) = largest(d);
    events(d, h);
    counts(&groups, h);
    if hidden > 0 {
        let text = format!("{hidden} smaller groups are not shown: blkan stats --csv has all.");
        h.el("p", &[("class", "note")], &text);
    }
    latencies(&groups, d.kind == "bio", h);
    phases(&groups, h);
    bio_latencies(&groups, h);
    sizes::tables(&groups, h);
    h.open("div", &[("class", "beside")]);
    flush(d, h);
    merges(d, h);
    iostat(d, h);
    remaps(d, h);
    h.close();
    if !filtered {
        unknown(at, d, r, h);
    }
}

/// The largest groups, and how many others there are.
fn largest(d: &Device) -> (Vec<&Group>, usize) {
    let mut all: Vec<&Group> = d.groups.iter().collect();
    all.sort_by_key(|g| std::cmp::Reverse(g.bios.unwrap_or(0).max(g.requests)));
    let hidden = all.len().saturating_sub(GROUPS);
    all.truncate(GROUPS);
    (all, hidden)
}

fn letters(caption: &str, all: &crate::metrics::report::EventTable) -> Grid {
    let mut rows: BTreeMap<&str, Vec<Option<u64>>> = BTreeMap::new();
    for (i, letter) in LETTERS.iter().enumerate() {
        for (rwbs, n) in all.get(letter).into_iter().flatten() {
            let cells = rows
                .entry(rwbs)
                .or_insert_with(|| vec![None; LETTERS.len()]);
            if let Some(cell) = cells.get_mut(i) {
                *cell = Some(cell.unwrap_or(0) + n);
            }
        }
    }
    let columns: Vec<(&str, &str)> = LETTERS.iter().map(|l| (*l, "events")).collect();
    let mut g = Grid::new(caption, "rwbs").word("rwbs").columns(&columns);
    let mut rows: Vec<_> = rows.into_iter().collect();
    // Busiest first; the stable sort keeps letters in order where counts are equal.
    let weight = |c: &[Option<u64>]| c.iter().take(11).flatten().sum::<u64>();
    rows.sort_by_key(|(_, c)| std::cmp::Reverse(weight(c)));
    for (rwbs, cells) in rows {
        let name = if rwbs.is_empty() { "(none)" } else { rwbs };
        g.row(name, cells.into_iter().map(Cell::count).collect());
    }
    g.drop_absent()
}

fn events(d: &Device, h: &mut Html) {
    let g = letters("Events by rwbs", &d.events);
    match g.is_empty() {
        true => h.el("p", &[], "No event passed the filters."),
        false => g.put(h),
    }
}

/// Events that name no device.
pub fn unplaced(r: &StatsReport, h: &mut Html) {
    letters("Events that name no device", &r.unplaced_events).put(h);
}

fn counts(groups: &[&Group], h: &mut Html) {
    let mut g = Grid::new("Bios and requests", "rwbs")
        .word("rwbs")
        .columns(&[
            ("bios", "groups-bios"),
            ("bio size", "groups-bio-bytes"),
            ("merged", "groups-merged-bios"),
            ("merged share", "groups-merged-bios"),
            ("requests", "groups-requests"),
            ("passthrough", "groups-passthrough"),
            ("completed", "groups-completed"),
            ("failed", "groups-failed"),
            ("issues", "groups-issues"),
            ("issue size", "groups-issue-bytes"),
            ("issues/rq", "groups-issues-per-rq"),
            ("requeues", "groups-requeues"),
            ("open", "groups-open"),
            ("lost", "groups-lost"),
        ]);
    for x in groups {
        g.row(
            &label(x),
            vec![
                Cell::count(x.bios),
                Cell::bytes(x.bio_bytes.as_ref().map(|s| s.mean)),
                Cell::count(x.merged_bios),
                Cell::share(x.merged_share),
                Cell::count(x.requests),
                Cell::count(x.passthrough),
                Cell::count(x.completed),
                Cell::count(x.failed),
                Cell::count(x.issues),
                Cell::bytes(x.issue_bytes.as_ref().map(|s| s.mean)),
                Cell::number(x.issues_per_rq, 3),
                Cell::count(x.requeues),
                Cell::count(x.open),
                Cell::count(x.lost),
            ],
        );
    }
    g.drop_absent().put(h);
}

fn spread(d: &TimeDist) -> Vec<Cell> {
    let whole = |n: u64| Cell::ns(Some(n as f64));
    let mut cells = vec![Cell::count(d.n), Cell::ns(Some(d.mean)), whole(d.min)];
    cells.extend([d.p50, d.p90, d.p99, d.p999, d.max].map(whole));
    cells
}

/// A table of spans: one row a group and span.
fn times(caption: &str, id: &str) -> Grid {
    let head = [
        ("span", id),
        ("n", ""),
        ("mean", ""),
        ("least", ""),
        ("p50", "quantiles"),
        ("p90", "quantiles"),
    ];
    let tail = [("p99", "quantiles"), ("p99.9", "quantiles"), ("most", "")];
    Grid::new(caption, "rwbs")
        .word("rwbs")
        .columns(&head)
        .columns(&tail)
}

fn put_times(g: &mut Grid, name: &str, spans: &[(&str, &Option<TimeDist>)]) {
    for (span, d) in spans {
        if let Some(d) = d.as_ref().filter(|d| d.n > 0) {
            let mut cells = vec![Cell::text(*span)];
            cells.extend(spread(d));
            g.row(name, cells);
        }
    }
}

fn latencies(groups: &[&Group], bio_based: bool, h: &mut Html) {
    if bio_based {
        return;
    }
    let mut g = times("Latency of requests", "groups-latency-ns");
    for x in groups {
        let l: &RequestLatency = &x.latency_ns;
        let spans = [
            ("Q2C", &l.q2c),
            ("G2C", &l.g2c),
            ("FD2C", &l.fd2c),
            ("D2C", &l.d2c),
            ("Q2G", &l.q2g),
            ("G2I", &l.g2i),
            ("I2D", &l.i2d),
            ("G2D", &l.g2d),
            ("D2D", &l.d2d),
        ];
        put_times(&mut g, &label(x), &spans);
    }
    g.put(h);
    let left: u64 = groups.iter().map(|g| g.negative_spans).sum();
    if left > 0 {
        let text = format!(
            "{left} spans came out negative and were left out (times of different CPUs, or damaged order)."
        );
        h.el("p", &[("class", "note")], &text);
    }
}

fn bio_latencies(groups: &[&Group], h: &mut Html) {
    let mut g = times("Latency of bios, as btt counts", "groups-bio-latency-ns");
    for x in groups {
        let l: &BioLatency = &x.bio_latency_ns;
        let spans = [
            ("Q2C", &l.q2c),
            ("Q2Q", &l.q2q),
            ("Q2G", &l.q2g),
            ("G2I", &l.g2i),
            ("Q2M", &l.q2m),
            ("I2D", &l.i2d),
            ("M2D", &l.m2d),
            ("D2C", &l.d2c),
        ];
        put_times(&mut g, &label(x), &spans);
    }
    g.put(h);
}

fn phases(groups: &[&Group], h: &mut Html) {
    let mut g = Grid::new("Where the time goes", "rwbs")
        .word("rwbs")
        .columns(&[
            ("Q2G", "groups-q2g"),
            ("G2I", "groups-g2i"),
            ("I2D", "groups-i2d"),
            ("G2D", "groups-g2d"),
            ("D2C", "groups-d2c"),
            ("other", "flush-step"),
            ("of", ""),
            ("span", "groups-latency-ns"),
        ]);
    for x in groups {
        let Some(p) = &x.phases else { continue };
        let mut cells: Vec<Cell> = [p.q2g, p.g2i, p.i2d, p.g2d, p.d2c, p.other]
            .map(Cell::share)
            .into();
        cells.push(Cell::ns(Some(p.mean_ns)));
        cells.push(Cell::text(p.of));
        g.row(&label(x), cells);
    }
    g.drop_absent().put(h);
}

/// A table of names and values.
fn pairs(caption: &str, rows: Vec<(&str, &str, Cell)>, section: &str, h: &mut Html) {
    let mut g = Grid::new(caption, "number").word(section).column("value");
    for (name, id, cell) in rows {
        let id = (!id.is_empty()).then(|| id.to_string());
        g.defined(name, id, vec![cell]);
    }
    g.put(h);
}

fn mean(d: &Option<TimeDist>) -> Cell {
    Cell::ns(d.as_ref().map(|d| d.mean))
}

fn p99(d: &Option<TimeDist>) -> Cell {
    Cell::ns(d.as_ref().map(|d| d.p99 as f64))
}

fn flush(d: &Device, h: &mut Html) {
    let f = &d.flush;
    let counts = [f.bios, f.steps, f.sent, f.completed];
    if counts.iter().all(|n| n.unwrap_or(0) == 0) {
        return;
    }
    let rows = vec![
        ("flush bios", "flush-bios", Cell::count(f.bios)),
        ("steps asked", "flush-steps", Cell::count(f.steps)),
        ("device flushes sent", "flush-sent", Cell::count(f.sent)),
        ("taken back", "flush-requeued", Cell::count(f.requeued)),
        ("completed", "flush-completed", Cell::count(f.completed)),
        (
            "steps served by each",
            "flush-steps-per-flush",
            Cell::number(f.steps_per_flush, 3),
        ),
        ("a flush takes, mean", "flush-flush-ns", mean(&f.flush_ns)),
        ("a flush takes, p99", "flush-flush-ns", p99(&f.flush_ns)),
        ("a step waits, mean", "flush-wait-ns", mean(&f.wait_ns)),
        ("a step waits, p99", "flush-wait-ns", p99(&f.wait_ns)),
    ];
    pairs("Flushes", rows, "flush", h);
}

fn merges(d: &Device, h: &mut Html) {
    let m = &d.merge;
    if [m.back, m.front, m.discard, m.request]
        .iter()
        .all(|n| n.unwrap_or(0) == 0)
    {
        return;
    }
    let places: Vec<(String, u64)> =
        m.by.iter()
            .map(|(place, n)| match *place {
                "unknown" => ("place unknown".to_string(), *n),
                place => (format!("in the {place}"), *n),
            })
            .collect();
    let mut rows = vec![
        ("back", "merge-back", Cell::count(m.back)),
        ("front", "merge-front", Cell::count(m.front)),
        ("discard", "merge-discard", Cell::count(m.discard)),
        ("of requests", "merge-request", Cell::count(m.request)),
        ("share of the bios", "merge", Cell::share(m.share)),
    ];
    rows.extend(
        places
            .iter()
            .map(|(place, n)| (place.as_str(), "merge", Cell::count(*n))),
    );
    pairs("Merges", rows, "merge", h);
}

fn iostat(d: &Device, h: &mut Html) {
    let i = &d.iostat;
    let (depth, kib) = (d.depth.as_ref(), |v: Option<f64>| {
        Cell::bytes(v.map(|k| k * 1024.0))
    });
    let ms = |v: Option<f64>| Cell::of_ms(v);
    let rows = vec![
        (
            "depth, mean",
            "depth",
            Cell::number(depth.map(|x| x.mean), 3),
        ),
        (
            "depth, greatest",
            "depth",
            Cell::count(depth.map(|x| u64::from(x.max))),
        ),
        ("r/s", "iostat-r-per-s", Cell::number(i.r_per_s, 1)),
        ("w/s", "iostat-w-per-s", Cell::number(i.w_per_s, 1)),
        ("d/s", "iostat-d-per-s", Cell::number(i.d_per_s, 1)),
        ("f/s", "iostat-f-per-s", Cell::number(i.f_per_s, 1)),
        ("read/s", "iostat-rkib-per-s", kib(i.rkib_per_s)),
        ("written/s", "iostat-wkib-per-s", kib(i.wkib_per_s)),
        ("rareq-sz", "iostat-rareq-kib", kib(i.rareq_kib)),
        ("wareq-sz", "iostat-wareq-kib", kib(i.wareq_kib)),
        ("r_await", "iostat-r-await-ms", ms(i.r_await_ms)),
        ("w_await", "iostat-w-await-ms", ms(i.w_await_ms)),
        ("d_await", "iostat-d-await-ms", ms(i.d_await_ms)),
        ("f_await", "iostat-f-await-ms", ms(i.f_await_ms)),
        ("aqu-sz", "iostat-aqu-sz", Cell::number(i.aqu_sz, 3)),
        ("%rrqm", "iostat-rrqm-pct", Cell::number(i.rrqm_pct, 1)),
        ("%wrqm", "iostat-wrqm-pct", Cell::number(i.wrqm_pct, 1)),
    ];
    pairs("Depth and iostat", rows, "iostat", h);
}

fn remaps(d: &Device, h: &mut Html) {
    let mut g = Grid::new("Bios from devices above", "from").columns(&[
        ("events", ""),
        ("joined", ""),
        ("not", ""),
    ]);
    for r in d.remaps.iter().take(64) {
        let cells = [r.events, r.joined, r.unjoined].map(Cell::count);
        g.row(&r.from.to_string(), cells.into());
    }
    g.put(h);
}

/// Why something of this device is not known: each reason once, with the fields it is of.
fn unknown(at: usize, d: &Device, r: &StatsReport, h: &mut Html) {
    let prefix = format!("/devices/{at}/");
    let mut by_reason: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let of = r
        .why
        .range(prefix.clone()..)
        .take_while(|(p, _)| p.starts_with(&prefix));
    for (pointer, reason) in of {
        let fields = by_reason.entry(reason).or_default();
        fields.push(field_name(
            pointer.get(prefix.len()..).unwrap_or_default(),
            Some(d),
        ));
    }
    let mut g = Grid::new("Not known, and why", "reason")
        .column("of")
        .sentences();
    if let Some(why) = &d.vanished {
        g.row(
            why,
            vec![Cell::text("depth, rates; latencies are a sample")],
        );
    }
    if r.recorder.time_step_ns >= 1000 {
        let step = format!(
            "times in steps of {}",
            human_ns(r.recorder.time_step_ns as f64)
        );
        g.row(&step, vec![Cell::text("all times")]);
    }
    for (reason, fields) in by_reason {
        let rest = fields.len().saturating_sub(FIELDS);
        let mut names: Vec<String> = fields.into_iter().take(FIELDS).collect();
        if rest > 0 {
            names.push(format!("{rest} more"));
        }
        g.row(reason, vec![Cell::text(names.join(", "))]);
    }
    if !g.is_empty() {
        h.open("details", &[]);
        h.el("summary", &[], "Not known, and why");
        g.put(h);
        h.close();
    }
}
