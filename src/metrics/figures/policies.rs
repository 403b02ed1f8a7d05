//! What `replay` predicts, policies side by side: a panel a quantity, a bar a policy.

use super::figure::{Axis, Figure, Figures, Mark, Panel, Series, Skipped, Unit};
use crate::event::DevId;
use crate::metrics::predict::{Key, ReplayReport, RunPart};

/// The name of the figure.
const NAME: &str = "policies";

/// Quantities that are drawn where they are known, in the names of `key`.
const DRAWN: &[(&str, &str, Unit)] = &[
    ("issue_bytes", "Mean size of an issue", Unit::Bytes),
    ("merged_per_bio", "Merges per bio", Unit::Count),
    ("issues_per_rq", "Issues per request", Unit::Count),
    ("issues_per_flush", "Issues per device flush", Unit::Count),
    (
        "steps_per_flush",
        "Flush steps served by a device flush",
        Unit::Count,
    ),
    ("flush_wait_ns", "Mean wait of a flush step", Unit::Ns),
    ("d2c_ns", "Mean D2C of requests with data", Unit::Ns),
    ("q2c_ns", "Mean Q2C of bios", Unit::Ns),
    ("bios_per_s", "Bios a second", Unit::PerS),
];

/// Color of error bars: the last of the theme's, which few policies reach.
const BAND: usize = 6;

/// A bar's policy.
struct Column<'a> {
    label: String,
    keys: &'a [Key],
    run: Option<&'a RunPart>,
}

/// A figure for each device; devices without any number are told as skipped.
pub fn policies(r: &ReplayReport) -> Figures {
    let mut columns = Vec::new();
    let mut column = |label: String, keys, run| columns.push(Column { label, keys, run });
    if let Some(rec) = &r.recorded {
        column("recorded".into(), &rec.key[..], None);
    }
    if let Some(own) = &r.own {
        column("replayed as recorded".into(), &own.key[..], None);
    }
    for run in &r.runs {
        if run.refused.is_none() {
            column(run.label.clone(), &run.key[..], Some(run));
        }
    }
    let refused = r.runs.iter().filter_map(|run| {
        let why = run.refused.as_ref()?;
        Some(format!("{}: refused: {why}", run.label))
    });
    let refused: Vec<String> = refused.collect();
    let mut out = Figures::new();
    for dev in devices(&columns) {
        let panels = panels(&columns, &dev);
        let number = dev_id(&dev);
        if panels.is_empty() {
            out.skipped.push(Skipped {
                name: NAME,
                dev: number,
                device: None,
                why: "nothing that policies decide is known of it".into(),
            });
            continue;
        }
        out.figures.push(Figure {
            name: NAME,
            dev: number,
            device: name(r, &dev),
            title: "Policies side by side".into(),
            about: legend(&columns),
            source: source(r),
            columns: 3,
            panels,
            notes: refused.clone(),
        });
    }
    out
}

/// What the bars are, and the lines.
fn legend(columns: &[Column<'_>]) -> String {
    let each = columns.iter().enumerate();
    let names: Vec<String> = each
        .map(|(i, c)| format!("{} {}", i + 1, c.label))
        .collect();
    let lines = match columns.iter().any(|c| c.run.is_some()) {
        true => {
            ". A line through a bar: if the replay is as far off as it is for the recorded policy."
        }
        false => ".",
    };
    format!("Bars: {}{lines}", names.join(" · "))
}

fn source(r: &ReplayReport) -> String {
    let inputs = r.recorded.iter().flat_map(|rec| &rec.inputs);
    let paths: Vec<&str> = inputs.map(|i| i.path.as_str()).collect();
    match paths[..] {
        [] => "a made workload".into(),
        _ => paths.join(", "),
    }
}

/// Devices in the order in which they are met.
fn devices(columns: &[Column<'_>]) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for k in columns.iter().flat_map(|c| c.keys) {
        if !out.contains(&k.dev) {
            out.push(k.dev.clone());
        }
    }
    out
}

fn dev_id(dev: &str) -> Option<DevId> {
    let (major, minor) = dev.split_once(',')?;
    Some(DevId::new(major.parse().ok()?, minor.parse().ok()?))
}

fn name(r: &ReplayReport, dev: &str) -> Option<String> {
    let recorded = r.recorded.iter().flat_map(|p| &p.devices);
    let all = recorded.chain(r.runs.iter().flat_map(|run| &run.devices));
    let mut named = all.filter(|d| d.dev.to_string() == dev);
    named.find_map(|d| d.name.clone())
}

/// A panel for each quantity that some policy's number is known of, and not 0 for all.
fn panels(columns: &[Column<'_>], dev: &str) -> Vec<Panel> {
    let mut out = Vec::new();
    for (quantity, title, unit) in DRAWN {
        let value = |c: &Column<'_>| {
            let key = c.keys.iter().find(|k| k.dev == dev)?;
            key.numbers.get(quantity).copied()
        };
        if !columns.iter().any(|c| value(c).is_some_and(|v| v > 0.0)) {
            continue;
        }
        let mut series = Vec::new();
        for (i, c) in columns.iter().enumerate() {
            let at = i as f64;
            let Some(high) = value(c) else { continue };
            let bar = Mark::Band {
                edges: vec![at + 0.12, at + 0.88],
                low: vec![0.0],
                high: vec![high],
            };
            series.push(Series::new("", i, bar));
        }
        let title = match columns.iter().all(|c| value(c).is_some()) {
            true => (*title).to_string(),
            false => format!("{title} (no bar: not known)"),
        };
        for (i, c) in columns.iter().enumerate() {
            let band = c.run.and_then(|r| r.band.get(dev)?.get(quantity));
            let ends = band.and_then(|b| b.low.zip(b.high));
            let Some((low, high)) = ends.filter(|(low, high)| high > low) else {
                continue;
            };
            let x = i as f64 + 0.5;
            let line = Mark::Line {
                points: vec![(x, Some(low)), (x, Some(high))],
            };
            series.push(Series::new("", BAND, line));
        }
        let n = columns.len() as f64;
        let x = Axis::linear("", Unit::Nothing).within(0.0, n);
        out.push(Panel::new(title, x, Axis::linear("", *unit), series));
    }
    out
}
