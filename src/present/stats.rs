//! `stats` for people: inputs and verdict on top, then every device, then the time series and btt's table.

use super::table::{cut, flow};
use super::{Style, View, WIDTH, btt, device, series};
use crate::metrics::quality::{self, Quality, Verdict};
use crate::metrics::report::{Input, StatsReport};
use crate::units::{human_count, human_ns};

/// More inputs than this are summed up.
pub(super) const INPUTS: usize = 4;

/// The whole text.
pub fn stats_text(r: &StatsReport, view: &View) -> String {
    let style = &view.style;
    let mut out = String::new();
    head(r, view, &mut out);
    for (i, d) in r.devices.iter().enumerate() {
        out.push('\n');
        device::print(d, i, r, view, &mut out);
    }
    unplaced(r, style, &mut out);
    if let Some(s) = &r.series {
        out.push('\n');
        series::print(s, end_ns(r), style, &mut out);
    }
    if let Some(b) = &r.btt {
        out.push('\n');
        btt::print(b, style, &mut out);
    }
    out
}

/// Plug events that name no device, where there are several.
fn unplaced(r: &StatsReport, style: &Style, out: &mut String) {
    let counts = r
        .unplaced_events
        .iter()
        .map(|(a, by)| (a, by.values().sum::<u64>()));
    let parts: Vec<String> = counts
        .map(|(a, n)| format!("{a} {}", human_count(n)))
        .collect();
    if !parts.is_empty() {
        out.push_str(&format!("\n{}\n", style.bold("no device named")));
        remark("events", parts, style, out);
    }
}

/// When the last event was.
fn end_ns(r: &StatsReport) -> i64 {
    let span = i64::try_from(r.span_ns.unwrap_or(0)).unwrap_or(i64::MAX);
    r.start_ns.unwrap_or(0).saturating_add(span)
}

pub(super) fn head(r: &StatsReport, view: &View, out: &mut String) {
    let style = &view.style;
    let devices = if r.devices.len() == 1 {
        "1 device".to_string()
    } else {
        format!("{} devices", r.devices.len())
    };
    let span = match r.span_ns {
        Some(ns) => format!(" in {} · {devices}", human_ns(ns as f64)),
        None => format!(", no times · {devices}"),
    };
    if let [one] = r.inputs.as_slice() {
        out.push_str(&input_line(one, &span, style));
    } else {
        for i in r.inputs.iter().take(INPUTS) {
            out.push_str(&input_line(i, "", style));
        }
        let rest = r.inputs.len().saturating_sub(INPUTS);
        if rest > 0 {
            out.push_str(&format!("… and {rest} more\n"));
        }
        let events: u64 = r.inputs.iter().map(|i| i.events).sum();
        out.push_str(&format!(
            "{} inputs · {} events{span}\n",
            r.inputs.len(),
            human_count(events)
        ));
    }
    let mut q = quality::of_stats(r, view.filtered);
    view.remedy.apply(&mut q);
    let told = r.inputs.iter().all(|i| i.lost_events.is_some());
    verdict_line(&q, told, out, style);
}

/// `trace.gz  blkparse, gzip · 43,216 events`, and what is told besides.
pub(super) fn input_line(i: &Input, more: &str, style: &Style) -> String {
    let packed = match i.compression.as_str() {
        "none" | "" => String::new(),
        c => format!(", {c}"),
    };
    let facts = format!(
        "  {}{packed} · {} events{more}",
        i.format,
        human_count(i.events)
    );
    let room = WIDTH.saturating_sub(super::table::width(&facts));
    format!("{}{facts}\n", style.bold(&cut_front(&i.path, room)))
}

/// Keeps the end of a path: that is where files differ.
fn cut_front(path: &str, max: usize) -> String {
    let n = path.chars().count();
    if n <= max {
        return cut(path, max);
    }
    let tail: String = path
        .chars()
        .skip(n - max.saturating_sub(1).min(n))
        .collect();
    cut(&format!("…{tail}"), max)
}

/// The verdict in one line; as many reasons as fit, and how many did not.
fn verdict_line(q: &Quality, told: bool, out: &mut String, style: &Style) {
    let words = q.verdict.words();
    let mut text = match q.verdict {
        Verdict::Complete => format!(": {}", super::complete(told)),
        _ => ": ".to_string(),
    };
    let room = WIDTH.saturating_sub(super::table::width(words));
    for (n, reason) in q.reasons.iter().enumerate() {
        let more = q.reasons.len() - n;
        let glue = if n == 0 { "" } else { "; " };
        let next = format!("{glue}{}", reason.text);
        // Room must stay for the count of what does not fit.
        let tail = if more > 1 { 26 } else { 0 };
        if super::table::width(&text) + super::table::width(&next) + tail <= room {
            text.push_str(&next);
        } else if n == 0 {
            // The first reason is told in any case, as far as the line goes.
            let left = room.saturating_sub(super::table::width(&text) + tail);
            text.push_str(&cut(&next, left));
        } else {
            text.push_str(&format!("{glue}{more} more (see check)"));
            break;
        }
    }
    let words = match q.verdict {
        Verdict::Complete => style.good(words),
        Verdict::UsableWithCare => style.care(words),
        Verdict::Unusable => style.bad(words),
    };
    out.push_str(&format!("{words}{text}\n"));
}

/// A remark under a device.
pub(super) fn remark(label: &str, parts: Vec<String>, style: &Style, out: &mut String) {
    let parts: Vec<String> = parts.into_iter().filter(|p| !p.is_empty()).collect();
    if !parts.is_empty() {
        flow(label, &parts, style, out);
    }
}
