//! The top of a report: the verdict in plain words, and the numbers that are asked for first.

use super::grid::{Cell, Grid};
use super::html::Html;
use super::{Asked, Trace};
use crate::diagnose::{Answer, Explanation, Finding};
use crate::metrics::quality::{self, Quality, Verdict, percent};
use crate::metrics::report::{Device, Group, TimeDist};
use crate::units::{human_bytes, human_count, human_ns, human_share};

/// Devices whose numbers stand on cards.
const CARDS: usize = 3;
/// Devices in the table.
const DEVICES: usize = 1024;

/// The verdict.
pub fn verdict(t: &Trace<'_>, asked: &Asked<'_>, h: &mut Html) {
    h.open(
        "section",
        &[("id", "short"), ("aria-labelledby", "short-h")],
    );
    h.el("h2", &[("id", "short-h")], "In short");
    trust("", t, h);
    if let Some(e) = t.explained {
        answers("", e, h);
    } else if asked.filtered {
        h.el("p", &[("class", "note")], FILTERED);
    }
    h.close();
}

/// Said instead of causes.
pub const FILTERED: &str = "The numbers are those of the bios and requests that pass the filters. Causes are found in whole \
                            devices only: make the report without --rwbs, --op, --comm and --pid for them.";

/// How far a trace can be trusted.
pub fn trust(side: &str, t: &Trace<'_>, h: &mut Html) {
    let q = &t.check.quality;
    let told = t.check.inputs.iter().all(|i| i.input.lost_events.is_some());
    h.open("p", &[("class", class(q))]);
    if !side.is_empty() {
        h.el("b", &[], side);
        h.text(" · ");
    }
    h.el("b", &[("class", "mark")], q.verdict.words());
    h.text(": ");
    match q.verdict {
        Verdict::Complete => h.text(&format!(
            "{}. Its numbers can be trusted.",
            crate::present::complete(told)
        )),
        Verdict::UsableWithCare => h.text("the numbers hold, with the reservations below. "),
        Verdict::Unusable => h.text("the numbers would mislead. "),
    }
    h.close();
    if !q.reasons.is_empty() {
        h.open("ul", &[]);
        for r in &q.reasons {
            h.open("li", &[]);
            h.sentence(&r.text);
            h.close();
        }
        h.close();
    }
}

fn class(q: &Quality) -> &'static str {
    match q.verdict {
        Verdict::Complete => "verdict good",
        Verdict::UsableWithCare => "verdict care",
        Verdict::Unusable => "verdict bad",
    }
}

/// Each question, how large the problem is, and what explains most of it. `side` goes before the ids of findings.
pub fn answers(side: &str, e: &Explanation, h: &mut Html) {
    h.open("ul", &[("class", "answers")]);
    for a in &e.questions {
        h.open("li", &[]);
        h.el("b", &[], a.question.asked());
        h.text(" ");
        h.sentence(&a.problem);
        // What could not be judged is no absence of causes.
        if let Some(why) = &a.unheard {
            h.text(" ");
            h.sentence(why);
        }
        match first(a, e) {
            Some(f) => {
                h.tag("br", &[]);
                let text = format!(
                    "{} of it ({}): ",
                    human_share(f.share, 0),
                    crate::present::explain::sureness(f.confidence)
                );
                h.text(&text);
                let href = format!("#{}", finding_id(side, f));
                h.open("a", &[("href", &href)]);
                h.sentence(&f.claim);
                h.close();
            }
            None => h.text(" No cause that blkan knows shows."),
        }
        h.close();
    }
    h.close();
}

fn first<'a>(a: &Answer, e: &'a Explanation) -> Option<&'a Finding> {
    e.findings.iter().find(|f| f.question == a.question)
}

/// Where a finding stands on the page.
pub fn finding_id(side: &str, f: &Finding) -> String {
    format!("f{side}-{}-{}", f.question.name(), f.id)
}

/// The numbers asked for first.
pub fn numbers(t: &Trace<'_>, order: &[(usize, &Device)], h: &mut Html) {
    h.open(
        "section",
        &[("id", "numbers"), ("aria-labelledby", "numbers-h")],
    );
    h.el("h2", &[("id", "numbers-h")], "Key numbers");
    for (_, d) in order.iter().take(CARDS) {
        if order.len() > 1 {
            h.open("h3", &[]);
            h.name(&super::device::title(d));
            h.close();
        }
        h.open("dl", &[("class", "cards")]);
        for (label, id, value, more) in cards(d) {
            h.open("div", &[]);
            h.open("dt", &[]);
            h.word(&label, id);
            h.close();
            h.open("dd", &[]);
            h.el("b", &[], &value);
            if !more.is_empty() {
                h.text(" ");
                h.open("span", &[]);
                h.sentence(&more);
                h.close();
            }
            h.close();
            h.close();
        }
        h.close();
    }
    if order.len() > 1 {
        devices(order, h);
    }
    if !t.stats.unplaced_events.is_empty() {
        super::device::unplaced(t.stats, h);
    }
    h.close();
}

/// Label, its definition, the number, what stands beside it.
type Card = (String, &'static str, String, String);

fn cards(d: &Device) -> Vec<Card> {
    let mut out: Vec<Card> = Vec::new();
    let mut card = |label: &str, id, value: Option<String>, more: String| {
        if let Some(v) = value {
            out.push((label.to_string(), id, v, more));
        }
    };
    let events = quality::facts(d).events;
    let n = |letter: &str| events.get(letter).copied().map(human_count);
    let merged = d.merge.share.map(|s| format!("{} merged", percent(s)));
    card("Bios", "bio", n("Q"), merged.unwrap_or_default());
    card("Issues", "issue", n("D"), String::new());
    let top = d.top_sizes.first.first();
    let size = top.map(|(b, _)| human_bytes(*b as f64));
    let share = top.map(|(_, s)| format!("{} of the issues", percent(*s)));
    let share = share.unwrap_or_default();
    card("Most frequent size", "groups-issue-bytes", size, share);
    // Data first: empty flushes may be more, but have no time on the device.
    let weight = |g: &&Group| {
        let data = g.bio_bytes.is_some() || g.issue_bytes.is_some();
        (data, g.bios.unwrap_or(0).max(g.requests))
    };
    let busiest = d.groups.iter().max_by_key(weight);
    for (label, id, dist, of) in busiest.into_iter().flat_map(spans) {
        let value = dist.as_ref().filter(|t| t.n > 0);
        let p99 = value.map(|t| human_ns(t.p99 as f64));
        let p99 = p99.map(|t| format!("mean of {of}, p99 {t}"));
        let mean = value.map(|t| human_ns(t.mean));
        card(label, id, mean, p99.unwrap_or_default());
    }
    let depth = d.depth.as_ref().map(|x| format!("{:.2}", x.mean));
    let most = d.depth.as_ref();
    let most = most.map(|x| format!("on average, {} at most", x.max));
    card("Depth", "depth", depth, most.unwrap_or_default());
    out.extend(rates(d));
    out
}

/// What was moved a second, and flushes.
fn rates(d: &Device) -> Vec<Card> {
    let (i, f) = (&d.iostat, &d.flush);
    let mut out: Vec<Card> = Vec::new();
    for (label, id, rate, kib) in [
        ("Reads a second", "iostat-r-per-s", i.r_per_s, i.rkib_per_s),
        ("Writes a second", "iostat-w-per-s", i.w_per_s, i.wkib_per_s),
    ] {
        if let Some(rate) = rate.filter(|r| *r > 0.0) {
            let more = kib.map(|k| format!("{}/s", human_bytes(k * 1024.0)));
            let more = more.unwrap_or_default();
            out.push((label.to_string(), id, format!("{rate:.1}"), more));
        }
    }
    if let Some(sent) = f.sent.filter(|s| *s > 0) {
        let asked = f.steps.map(human_count);
        let asked = asked.map(|s| format!("sent for {s} steps asked"));
        let label = "Device flushes".to_string();
        let asked = asked.unwrap_or_default();
        out.push((label, "flush-sent", human_count(sent), asked));
    }
    out
}

/// The two latencies of a group that are asked for first.
fn spans(g: &Group) -> [(&'static str, &'static str, &Option<TimeDist>, String); 2] {
    let (l, of) = (&g.latency_ns, super::super::device::label(g));
    let whole = match (&l.g2c, &l.q2c) {
        (Some(_), _) => ("G2C", "groups-g2c", &l.g2c, of.clone()),
        (None, Some(_)) => ("Q2C", "groups-q2c", &l.q2c, of.clone()),
        _ => (
            "Q2C",
            "groups-bio-latency-ns",
            &g.bio_latency_ns.q2c,
            of.clone(),
        ),
    };
    [whole, ("D2C", "groups-d2c", &l.d2c, of)]
}

fn devices(order: &[(usize, &Device)], h: &mut Html) {
    let mut g = Grid::new("Devices", "device")
        .limit(DEVICES, "blkan stats has all")
        .columns(&[
            ("kind", ""),
            ("Q", "events"),
            ("M", "events"),
            ("D", "events"),
            ("R", "events"),
            ("C", "events"),
            ("merged", "merge"),
            ("depth", "depth"),
            ("r/s", "iostat-r-per-s"),
            ("w/s", "iostat-w-per-s"),
            ("read/s", "iostat-rkib-per-s"),
            ("written/s", "iostat-wkib-per-s"),
            ("aqu-sz", "iostat-aqu-sz"),
        ]);
    for (_, d) in order {
        let events = quality::facts(d).events;
        let n = |letter: &str| Cell::count(events.get(letter).copied());
        let kib = |v: Option<f64>| Cell::bytes(v.map(|k| k * 1024.0));
        let i = &d.iostat;
        g.row(
            &super::device::title(d),
            vec![
                Cell::text(d.kind),
                n("Q"),
                n("M"),
                n("D"),
                n("R"),
                n("C"),
                Cell::share(d.merge.share),
                Cell::number(d.depth.as_ref().map(|x| x.mean), 2),
                Cell::number(i.r_per_s, 1),
                Cell::number(i.w_per_s, 1),
                kib(i.rkib_per_s),
                kib(i.wkib_per_s),
                Cell::number(i.aqu_sz, 2),
            ],
        );
    }
    g.drop_absent().put(h);
}
