//! How sound the trace is, with the evidence: the inputs, what is damaged, what is not in the trace and so not known, the
//! accounts, blkparse's own summary.

use super::Trace;
use super::grid::{Cell, Grid};
use super::html::Html;
use super::short;
use crate::metrics::blkparse_totals::Comparison;
use crate::metrics::quality::{CheckDevice, CheckReport, percent};
use crate::present::device_lines::equation;
use crate::units::{human_count, utc};

/// Devices whose accounts are shown; those that do not balance come first.
const DEVICES: usize = 64;
/// Inputs that are shown.
const INPUTS: usize = 256;

/// The section, for one trace or two.
pub fn section(sides: &[(&str, &Trace<'_>)], h: &mut Html) {
    h.open(
        "section",
        &[("id", "quality"), ("aria-labelledby", "quality-h")],
    );
    h.el("h2", &[("id", "quality-h")], "Trace quality");
    for (side, t) in sides {
        if !side.is_empty() {
            h.open("h3", &[]);
            h.name(&format!("{side} · {}", t.label));
            h.close();
        }
        short::trust("", t, h);
        trace(side, t, h);
    }
    h.close();
}

fn named(what: &str, side: &str) -> String {
    match side {
        "" => what.to_string(),
        s => format!("{what} of {s}"),
    }
}

fn trace(side: &str, t: &Trace<'_>, h: &mut Html) {
    let r = t.check;
    unknown(side, r, h);
    h.open("details", &[]);
    h.el("summary", &[], &named("Inputs, accounts, losses", side));
    inputs(side, r, h);
    damage(side, r, h);
    accounts(side, r, h);
    completions(side, r, h);
    oddities(side, r, h);
    summary(side, r, h);
    queue(side, t, h);
    h.close();
}

fn unknown(side: &str, r: &CheckReport, h: &mut Html) {
    if r.missing.is_empty() {
        h.el("p", &[], "Every class of events is in the trace.");
        return;
    }
    let mut g = Grid::new(&named("Not in the trace, and so not known", side), "events")
        .word("events")
        .column("unknown")
        .column("why")
        .sentences();
    for m in &r.missing {
        g.row(
            &format!("no {}", m.event),
            vec![Cell::text(m.unknown.join(", ")), Cell::text(m.note)],
        );
    }
    g.put(h);
}

fn inputs(side: &str, r: &CheckReport, h: &mut Html) {
    let mut g = Grid::new(&named("Inputs", side), "input")
        .limit(INPUTS, "blkan check has all")
        .columns(&[
            ("format", ""),
            ("lines or records", ""),
            ("events", ""),
            ("skipped", ""),
            ("damaged", "defect"),
        ])
        .columns(&[
            ("lost events", "lost"),
            ("too late to be sorted", ""),
            ("time 0 was (UTC)", ""),
        ]);
    for c in &r.inputs {
        let i = &c.input;
        let damaged: u64 = i.defects.values().sum();
        g.row(
            &i.path,
            vec![
                Cell::text(format!("{} {}", i.format, i.compression)),
                Cell::count(i.lines),
                Cell::count(i.events),
                Cell::count(i.skipped_lines),
                Cell::count(damaged),
                Cell::count(i.lost_events),
                Cell::count(i.late_events),
                c.started_unix_ns
                    .map_or(Cell::absent(), |ns| Cell::text(utc(ns))),
            ],
        );
    }
    g.drop_absent().put(h);
    if r.inputs.iter().any(|i| i.input.lost_events.is_none()) {
        h.el(
            "p",
            &[("class", "note")],
            "This recorder does not say whether it lost events.",
        );
    }
    if r.went_back > 0 {
        let text = format!(
            "{} events are older than one before them.",
            human_count(r.went_back)
        );
        h.el("p", &[], &text);
    }
}

fn damage(side: &str, r: &CheckReport, h: &mut Html) {
    let mut g = Grid::new(&named("Damage", side), "kind")
        .columns(&[
            ("input", ""),
            ("times", "defect"),
            ("first at line", ""),
            ("text", ""),
            ("what to do", ""),
        ])
        .limit(200, "blkan check has all")
        .sentences();
    for c in &r.inputs {
        for d in &c.damage {
            let (line, text) = d.first.first().cloned().unwrap_or_default();
            g.row(
                d.kind,
                vec![
                    Cell::text(c.input.path.clone()),
                    Cell::count(d.n),
                    Cell::count(line),
                    Cell::text(text),
                    Cell::text(d.remedy),
                ],
            );
        }
    }
    g.put(h);
}

/// Devices, those with an account that is off first.
fn devices(r: &CheckReport) -> Vec<&CheckDevice> {
    let mut all: Vec<&CheckDevice> = r.devices.iter().collect();
    all.sort_by_key(|d| {
        (
            d.ledger.iter().all(|a| a.balance == 0),
            std::cmp::Reverse(d.events.values().sum::<u64>()),
        )
    });
    all.truncate(DEVICES);
    all
}

fn device(d: &CheckDevice) -> String {
    d.name.clone().unwrap_or_else(|| d.dev.to_string())
}

fn accounts(side: &str, r: &CheckReport, h: &mut Html) {
    let mut g = Grid::new(
        &named("Accounts: what came in is what went out", side),
        "device",
    )
    .column("account")
    .word("ledger")
    .column("in = out")
    .column("off by");
    for d in devices(r) {
        for a in &d.ledger {
            if a.r#in.values().chain(a.out.values()).all(|n| *n == 0) {
                continue;
            }
            let off = Cell::shown(a.balance.to_string(), a.balance as f64);
            g.row(
                &device(d),
                vec![Cell::text(a.account), Cell::text(equation(a)), off],
            );
        }
    }
    g.put(h);
}

fn completions(side: &str, r: &CheckReport, h: &mut Html) {
    let mut g = Grid::new(&named("What never ended", side), "device")
        .column("account")
        .columns(&[
            ("started", ""),
            ("lost", "lost"),
            ("open", "open"),
            ("share", ""),
        ]);
    for d in devices(r) {
        for s in d.shortfall.iter().filter(|s| s.lost + s.open > 0) {
            g.row(
                &device(d),
                vec![
                    Cell::text(s.account),
                    Cell::count(s.started),
                    Cell::count(s.lost),
                    Cell::count(s.open),
                    Cell::shown(percent(s.share), s.share),
                ],
            );
        }
    }
    match g.is_empty() {
        true => h.el("p", &[], "Everything that was started ended in the trace."),
        false => g.put(h),
    }
}

fn oddities(side: &str, r: &CheckReport, h: &mut Html) {
    let mut g = Grid::new(&named("Odd sequences of events", side), "device")
        .column("what")
        .word("anomaly")
        .column("times");
    for d in devices(r) {
        for (kind, n) in d.losses.anomalies.iter().filter(|(_, n)| **n > 0) {
            g.row(
                &device(d),
                vec![Cell::text(kind.replace('_', " ")), Cell::count(*n)],
            );
        }
    }
    g.put(h);
}

fn summary(side: &str, r: &CheckReport, h: &mut Html) {
    if let Some(note) = r.summary_note {
        let text = format!("blkparse's own summary is not compared: {note}.");
        h.el("p", &[], &text);
        return;
    }
    let mut g = Grid::new(
        &named("blkparse's own summary beside our counts", side),
        "number",
    )
    .columns(&[("device", ""), ("counted", ""), ("verdict", "")])
    .sentences();
    let rows = |c: &Comparison| c.rows.iter().filter(|r| r.counted > 0 || !r.ok).count();
    for c in r.summary.iter().filter(|c| rows(c) > 0) {
        for row in c.rows.iter().filter(|r| r.counted > 0 || !r.ok) {
            let verdict = match (row.ok, row.reason) {
                (true, None) => "agrees".to_string(),
                (true, Some(why)) => format!("agrees: {why}"),
                (false, why) => format!("differs: {}", why.unwrap_or("no reason known")),
            };
            g.row(
                row.row,
                vec![
                    Cell::text(c.name.clone()),
                    Cell::count(row.counted),
                    Cell::text(verdict),
                ],
            );
        }
    }
    g.put(h);
}

fn queue(side: &str, t: &Trace<'_>, h: &mut Html) {
    let mut g = Grid::new(
        &named("Queue settings, as --queue told them", side),
        "device",
    )
    .column("settings")
    .sentences();
    for q in t.queue {
        let name = match (&*q.name, q.dev) {
            ("", Some(d)) => d.to_string(),
            (n, _) => n.to_string(),
        };
        g.row(
            &name,
            vec![Cell::text(
                crate::present::queue::facts(&q.info).join(" · "),
            )],
        );
    }
    g.put(h);
}
