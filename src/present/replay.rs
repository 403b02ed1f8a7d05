//! `replay` for people: the policy found, then one table a device with a row a policy.

use super::table::{ABSENT, Table, cut, flow};
use super::{Style, WIDTH};
use crate::metrics::predict::{Errors, Key, ReplayReport, RunPart, SelfPart, TimingFrom};
use crate::units::{human_bytes, human_count, human_ns};

/// Columns: name in [`crate::metrics::predict::QUANTITIES`], head, unit.
const COLUMNS: &[(&str, &str, Unit)] = &[
    ("bios", "bios", Unit::Count),
    ("flush_bios", "flush bios", Unit::Count),
    ("requests", "requests", Unit::Count),
    ("merged_per_bio", "merged", Unit::Share),
    ("issue_bytes", "size", Unit::Bytes),
    ("issues_per_rq", "issues/rq", Unit::Plain),
    ("flushes", "flushes", Unit::Count),
    ("steps_per_flush", "steps/flush", Unit::Plain),
    ("issues_per_flush", "issues/flush", Unit::Plain),
    ("q2c_ns", "Q2C", Unit::Ns),
    ("d2c_ns", "D2C", Unit::Ns),
    ("flush_wait_ns", "flush wait", Unit::Ns),
    ("bios_per_s", "bios/s", Unit::Count),
    ("run_ns", "run time", Unit::Ns),
];

#[derive(Clone, Copy)]
enum Unit {
    Count,
    Share,
    Bytes,
    Plain,
    Ns,
}

fn number(v: f64, unit: Unit) -> String {
    match unit {
        Unit::Count => human_count(v.round().max(0.0) as u64),
        Unit::Share => format!("{:.1} %", v * 100.0),
        Unit::Bytes => human_bytes(v),
        Unit::Plain => format!("{v:.3}"),
        Unit::Ns => human_ns(v),
    }
}

/// The longest label that a table's first column shows whole.
const LABEL: usize = 24;

/// The whole text.
pub fn replay_text(r: &ReplayReport, style: Style, verbose: bool) -> String {
    let mut out = String::new();
    if let Some(rec) = &r.recorded {
        for i in &rec.inputs {
            let time = rec
                .span_ns
                .map_or(String::new(), |n| format!(" in {}", human_ns(n as f64)));
            let facts = format!("  {} events{time}", human_count(i.events));
            out.push_str(&format!(
                "{}{facts}\n",
                style.bold(&cut(&i.path, WIDTH - facts.len()))
            ));
        }
    }
    if let Some(own) = &r.own {
        found(own, verbose, style, &mut out);
    }
    for d in &r.models {
        out.push('\n');
        let mut about = vec![d.disk.clone(), d.model.clone()];
        about.extend(d.timing_from.as_ref().map(timed_by));
        flow(&d.dev, &about, &style, &mut out);
        if verbose || d.fit.len() == 1 {
            flow("fit", &d.fit, &style, &mut out);
        }
    }
    for dev in devices(r) {
        out.push('\n');
        device(&dev, r, style, &mut out);
    }
    let refused: Vec<&RunPart> = r.runs.iter().filter(|x| x.refused.is_some()).collect();
    if !refused.is_empty() {
        out.push('\n');
        for x in refused {
            let why = x.refused.clone().unwrap_or_default();
            flow(
                "refused",
                &[format!("{}: {why}", x.label)],
                &style,
                &mut out,
            );
        }
    }
    let tests: Vec<String> = r.runs.iter().filter_map(tested).collect();
    if !tests.is_empty() {
        out.push('\n');
        flow("tests a bio", &tests, &style, &mut out);
    }
    if !r.notes.is_empty() {
        out.push('\n');
        flow("notes", &r.notes, &style, &mut out);
    }
    out
}

/// Whose timing it is.
fn timed_by(from: &TimingFrom) -> String {
    /// The longest name that is shown whole.
    const NAME: usize = 50;
    format!(
        "timing of {} in {}, {} commands",
        from.dev,
        cut(&from.trace, NAME),
        human_count(from.commands)
    )
}

/// The price of looking through a plug.
fn tested(x: &RunPart) -> Option<String> {
    Some(format!("{} {:.2}", x.label, x.tests_per_bio?))
}

fn found(own: &SelfPart, verbose: bool, style: Style, out: &mut String) {
    let names = own.policy.as_object();
    let part = |k: &str| {
        let v = names?.get(k)?;
        let text = v.as_str().map_or_else(|| v.to_string(), str::to_string);
        (!v.is_null()).then(|| format!("{k} {text}"))
    };
    let all = ["plug", "sched", "flush", "ata", "dm_flush", "zoned", "wbt"];
    let parts: Vec<String> = all.iter().filter_map(|k| part(k)).collect();
    flow("recorded as", &parts, &style, out);
    let same: Vec<String> = own
        .runners_up
        .iter()
        .filter(|o| o.same)
        .map(|o| o.policy.clone())
        .collect();
    if !same.is_empty() {
        flow(
            "or",
            &[format!(
                "{} (the trace does not tell them apart)",
                same.join(", ")
            )],
            &style,
            out,
        );
    }
    if verbose {
        let other = own.runners_up.iter().filter(|o| !o.same);
        let rest: Vec<String> = other
            .map(|o| format!("{} ({:.1})", o.policy, o.distance))
            .collect();
        flow("less like", &rest, &style, out);
    }
    let differs: Vec<String> = own
        .differs
        .iter()
        .take(if verbose { 10 } else { 3 })
        .cloned()
        .collect();
    if !differs.is_empty() {
        flow("not alike", &differs, &style, out);
    }
}

fn devices(r: &ReplayReport) -> Vec<String> {
    let of = |keys: &[Key]| keys.iter().map(|k| k.dev.clone()).collect::<Vec<_>>();
    let mut all = r.recorded.as_ref().map_or(Vec::new(), |x| of(&x.key));
    let more = r.runs.iter().flat_map(|x| of(&x.key)).collect::<Vec<_>>();
    for dev in more {
        if !all.contains(&dev) {
            all.push(dev);
        }
    }
    all
}

fn device(dev: &str, r: &ReplayReport, style: Style, out: &mut String) {
    let heads: Vec<&str> = COLUMNS.iter().map(|c| c.1).collect();
    let mut t = Table::new(dev, &heads);
    let mut legend = Vec::new();
    let find = |keys: &[Key]| keys.iter().find(|k| k.dev == dev).map(cells);
    if let Some(rec) = &r.recorded {
        t.row("recorded", find(&rec.key).unwrap_or_default());
    }
    if let Some(own) = &r.own {
        t.row("replayed", find(&own.key).unwrap_or_default());
        t.row("  off by", off(dev, &own.error));
    }
    for x in r.runs.iter().filter(|x| x.refused.is_none()) {
        let label = match x.label.chars().count() > LABEL {
            true => {
                legend.push(x.label.split(", ").map(str::to_string).collect::<Vec<_>>());
                format!("row {}", legend.len())
            }
            false => x.label.clone(),
        };
        t.row(&label, find(&x.key).unwrap_or_default());
    }
    t.drop_absent().print(&style, out);
    for (n, parts) in legend.iter().enumerate() {
        flow(&format!("row {}", n + 1), parts, &style, out);
    }
}

fn cells(k: &Key) -> Vec<String> {
    let cell = |c: &(&str, &str, Unit)| {
        let v = k.numbers.get(c.0).copied();
        v.map_or(ABSENT.to_string(), |v| number(v, c.2))
    };
    COLUMNS.iter().map(cell).collect()
}

fn off(dev: &str, e: &Errors) -> Vec<String> {
    let own = e.get(dev);
    let cell = |c: &(&str, &str, Unit)| {
        let v = own.and_then(|e| e.get(c.0)?.relative);
        v.map_or(ABSENT.to_string(), |v| format!("{:+.1} %", v * 100.0))
    };
    COLUMNS.iter().map(cell).collect()
}

/// One row a policy, device and quantity.
pub fn replay_csv(r: &ReplayReport) -> Vec<u8> {
    let mut out = Vec::new();
    let head = ["run", "policy", "dev", "quantity", "value", "low", "high"];
    super::csv::line(head.into_iter(), &mut out);
    let mut add = |run: &str, label: &str, keys: &[Key], of: Option<&RunPart>| {
        for k in keys {
            for (name, v) in &k.numbers {
                let band = of.and_then(|x| x.band.get(&k.dev)?.get(name));
                let text = |v: Option<f64>| v.map_or(String::new(), |v| v.to_string());
                let (low, high) = (
                    text(band.and_then(|b| b.low)),
                    text(band.and_then(|b| b.high)),
                );
                let value = v.to_string();
                let cells = [run, label, &k.dev, name, &value, &low, &high];
                super::csv::line(cells.into_iter(), &mut out);
            }
        }
    };
    if let Some(rec) = &r.recorded {
        add("recorded", "", &rec.key, None);
    }
    if let Some(own) = &r.own {
        add("self", "", &own.key, None);
    }
    for x in &r.runs {
        add("what-if", &x.label, &x.key, Some(x));
    }
    for x in &r.runs {
        if let Some(why) = &x.refused {
            let cells = ["what-if", &x.label, "", "refused", why, "", ""];
            super::csv::line(cells.into_iter(), &mut out);
        }
    }
    out
}
