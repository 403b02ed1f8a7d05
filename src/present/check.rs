//! `check` for people: the verdict and its reasons, then the evidence.

use super::device::LETTERS;
use super::device_lines::equation;
use super::stats::{INPUTS, input_line, remark};
use super::table::{ABSENT, Table, cut, flow};
use super::{QueueRow, Style, WIDTH};
use crate::metrics::blkparse_totals::{ComparedRow, Comparison, Scaled};
use crate::metrics::quality::{CheckDevice, CheckInput, CheckReport, Shortfall, Verdict, percent};
use crate::units::{human_count, human_ns, utc};
use std::collections::BTreeMap;

/// The whole text.
pub fn check_text(r: &CheckReport, queue: &[QueueRow], style: &Style, verbose: bool) -> String {
    let mut out = String::new();
    verdict(r, style, &mut out);
    // Of many inputs (a file a CPU) only those that are not sound are shown, beside the first.
    let mut rest = 0;
    for (n, i) in r.inputs.iter().enumerate() {
        let sound = i.damage.is_empty() && i.lines_accounted && i.input.lost_events == Some(0);
        if n >= INPUTS && sound {
            rest += 1;
            continue;
        }
        out.push('\n');
        input(i, style, &mut out);
    }
    if rest > 0 {
        out.push_str(&format!("\n… and {rest} more, sound\n"));
    }
    if r.went_back > 0 {
        let n = human_count(r.went_back);
        remark(
            "order",
            vec![format!("{n} events are older than one before them")],
            style,
            &mut out,
        );
    }
    if !r.missing.is_empty() {
        out.push('\n');
        out.push_str(&style.bold("not in the trace"));
        out.push('\n');
        for m in &r.missing {
            let parts = [
                format!("unknown: {}", m.unknown.join(", ")),
                m.note.to_string(),
            ];
            flow(&format!("no {}", m.event), &parts, style, &mut out);
        }
    }
    for d in &r.devices {
        out.push('\n');
        device(d, r, style, &mut out);
    }
    if !queue.is_empty() {
        out.push('\n');
        super::queue::print(queue, style, &mut out);
    }
    out.push('\n');
    summary(r, style, verbose, &mut out);
    out
}

fn verdict(r: &CheckReport, style: &Style, out: &mut String) {
    let words = r.quality.verdict.words();
    let words = match r.quality.verdict {
        Verdict::Complete => style.good(words),
        Verdict::UsableWithCare => style.care(words),
        Verdict::Unusable => style.bad(words),
    };
    let events: u64 = r.inputs.iter().map(|i| i.input.events).sum();
    let span = r
        .span_ns
        .map_or("unknown time".to_string(), |ns| human_ns(ns as f64));
    let told = r.inputs.iter().all(|i| i.input.lost_events.is_some());
    let rest = match r.quality.reasons.is_empty() {
        true => format!(": {}", super::complete(told)),
        false => String::new(),
    };
    out.push_str(&format!(
        "{words}{rest} · {} events in {span}\n",
        human_count(events)
    ));
    for (n, reason) in r.quality.reasons.iter().enumerate() {
        flow(
            if n == 0 { "because" } else { "" },
            std::slice::from_ref(&reason.text),
            style,
            out,
        );
    }
}

fn input(c: &CheckInput, style: &Style, out: &mut String) {
    let i = &c.input;
    out.push_str(&input_line(i, "", style));
    let skipped: Vec<String> = c
        .skipped
        .iter()
        .map(|(k, n)| format!("{k} {}", human_count(*n)))
        .collect();
    let stream = |k: &str| matches!(k, "truncated_stream" | "corrupt_stream");
    let damaged: u64 = c
        .damage
        .iter()
        .filter(|d| !stream(d.kind))
        .map(|d| d.n)
        .sum();
    let law = if c.lines_accounted {
        ""
    } else {
        " (they do not add up: please report this)"
    };
    let mut parts = vec![format!(
        "{} = {} events + {} skipped + {} damaged{law}",
        human_count(i.lines),
        human_count(i.events),
        human_count(i.skipped_lines),
        human_count(damaged)
    )];
    if !skipped.is_empty() {
        parts.push(format!("skipped: {}", skipped.join(", ")));
    }
    remark(&format!("{}s", i.unit()), parts, style, out);
    let started = c
        .started_unix_ns
        .map(|ns| format!("time 0 was {} UTC", utc(ns)));
    remark("clock", started.into_iter().collect(), style, out);
    for d in &c.damage {
        let mut parts = vec![human_count(d.n)];
        for (line, text) in &d.first {
            let place = if *line == 0 {
                "the stream".to_string()
            } else {
                format!("{} {line}", c.input.unit())
            };
            let text = if text.is_empty() {
                String::new()
            } else {
                format!(": '{}'", cut(text, 48))
            };
            parts.push(format!("{place}{text}"));
        }
        parts.push(d.remedy.to_string());
        flow(&cut(d.kind, 12), &parts, style, out);
    }
    losses(c, style, out);
}

fn losses(c: &CheckInput, style: &Style, out: &mut String) {
    let i = &c.input;
    let lost = match i.lost_events {
        None => "this recorder does not say whether it lost events".to_string(),
        Some(0) => "the recorder lost no events".to_string(),
        Some(n) => format!("{} events are lost (see the verdict)", human_count(n)),
    };
    let late = (i.late_events > 0).then(|| {
        format!(
            "{} events came too late to be sorted",
            human_count(i.late_events)
        )
    });
    remark("losses", vec![lost, late.unwrap_or_default()], style, out);
}

fn device(d: &CheckDevice, r: &CheckReport, style: &Style, out: &mut String) {
    let name = match &d.name {
        // Where nothing but the name is known, it is the device.
        Some(n) if *n == d.dev.to_string() => style.bold(&cut(n, 40)),
        Some(n) => format!("{} ({})", style.bold(&cut(n, 40)), d.dev),
        None => style.bold(&d.dev.to_string()),
    };
    let based = if d.kind == "bio" { " · bio-based" } else { "" };
    out.push_str(&format!("{name}{based}\n"));
    let told = LETTERS.iter().filter_map(|a| Some((a, d.events.get(a)?)));
    let events = told.map(|(a, n)| format!("{a} {}", human_count(*n)));
    remark("events", events.collect(), style, out);
    for a in &d.ledger {
        if a.r#in.values().chain(a.out.values()).any(|n| *n > 0) {
            let ok = if a.balance == 0 {
                style.good("balances")
            } else {
                style.bad("does not balance")
            };
            let label = format!("  {}", style.dim(&super::table::left(a.account, 13)));
            let text = equation(a);
            if super::table::width(&text) + 15 + 18 <= WIDTH {
                out.push_str(&format!("{label}{text}  {ok}\n"));
            } else {
                remark(a.account, vec![text], style, out);
            }
        }
    }
    remark("completions", completions(d, r), style, out);
    let odd = d.losses.anomalies.iter().filter(|(_, n)| **n > 0);
    remark(
        "oddities",
        odd.map(|(k, n)| format!("{} {}", k.replace('_', " "), human_count(*n)))
            .collect(),
        style,
        out,
    );
}

fn completions(d: &CheckDevice, r: &CheckReport) -> Vec<String> {
    let mut parts: Vec<String> = d.shortfall.iter().map(completion).collect();
    if r.completions_may_vanish && d.shortfall.iter().any(|s| s.share > 0.01) {
        parts.push(
            "bpftrace runs no program for an interrupt that comes inside another one: completions vanish unmarked, \
             \"unfinished\" is then an artefact and latencies are a sample"
                .to_string(),
        );
        parts.push("blktrace records them all".to_string());
    }
    parts
}

fn completion(s: &Shortfall) -> String {
    let started = human_count(s.started);
    if s.lost + s.open == 0 {
        let or_not = if s.account == "issues" {
            " or was taken back"
        } else {
            ""
        };
        return format!("each of {started} {} ended{or_not}", s.account);
    }
    format!(
        "{} of {started} {} have no end in the trace ({}): {} lost, {} open",
        human_count(s.lost + s.open),
        s.account,
        percent(s.share),
        human_count(s.lost),
        human_count(s.open)
    )
}

fn scaled(s: Scaled, size: bool) -> String {
    let unit = match (s.unit, size) {
        (1, false) => "",
        (1, true) => " KiB",
        (1_000, false) => " K",
        (1_000, true) => " MiB",
        (1_000_000, false) => " M",
        (1_000_000, true) => " GiB",
        _ => " ?",
    };
    format!("{}{unit}", human_count(s.value))
}

fn summary(r: &CheckReport, style: &Style, verbose: bool, out: &mut String) {
    out.push_str(&style.bold("blkparse's own summary"));
    if let Some(note) = r.summary_note {
        out.push_str(&format!(" · not compared: {note}\n"));
        return;
    }
    let rows = r.summary.iter().flat_map(|c| &c.rows);
    let (n, bad) = rows.fold((0, 0), |(n, bad), row| (n + 1, bad + u64::from(!row.ok)));
    let word = if bad == 0 {
        style.good("all agree")
    } else {
        style.bad(&format!("{bad} differ{}", if bad == 1 { "s" } else { "" }))
    };
    out.push_str(&format!(" · {n} numbers compared: {word}\n"));
    for c in &r.summary {
        comparison(c, style, verbose, out);
    }
}

fn comparison(c: &Comparison, style: &Style, verbose: bool, out: &mut String) {
    if c.ambiguous && c.rows.is_empty() {
        let text = "not compared: its numbers are those of no device without a name".to_string();
        return flow(&cut(&c.name, 24), &[text], style, out);
    }
    let dev = match c.dev {
        Some(d) => d.to_string(),
        None if c.ambiguous => "one of several".to_string(),
        None => "no such device in the trace".to_string(),
    };
    let mut t = Table::new(
        &cut(&format!("{} ({dev})", c.name), 24),
        &["printed", "counted", "size", "counted", ""],
    );
    // A row of zeros that agrees says nothing.
    let empty = |r: &&ComparedRow| {
        !verbose && r.ok && r.reason.is_none() && r.counted == 0 && r.printed.value == 0
    };
    for r in c.rows.iter().filter(|r| !empty(r)) {
        let verdict = if r.ok { "OK" } else { "differs" };
        t.row(
            r.row,
            vec![
                scaled(r.printed, false),
                human_count(r.counted),
                r.printed_kib
                    .map_or(ABSENT.to_string(), |s| scaled(s, true)),
                r.counted_kib
                    .map_or(ABSENT.to_string(), |k| format!("{} KiB", human_count(k))),
                verdict.to_string(),
            ],
        );
    }
    if !t.is_empty() {
        t.print(style, out);
    }
    let mut why: BTreeMap<(bool, &str), Vec<String>> = BTreeMap::new();
    for r in &c.rows {
        if let Some(reason) = r.reason {
            why.entry((r.ok, reason))
                .or_default()
                .push(r.row.to_string());
        }
    }
    for ((ok, reason), rows) in why {
        let label = if ok { "explained" } else { "differs" };
        flow(
            label,
            &[format!("{}: {reason}", rows.join(", "))],
            style,
            out,
        );
    }
}
