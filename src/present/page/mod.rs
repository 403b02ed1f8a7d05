//! A report as one page for the browser. It loads nothing, and without its script all of it is still there.

mod compare;
mod device;
mod findings;
mod frame;
mod grid;
mod html;
mod pictures;
mod quality;
mod short;
mod sizes;
mod words;

use super::QueueRow;
use crate::diagnose::Explanation;
use crate::error::Result;
use crate::metrics::compare::report::CompareReport;
use crate::metrics::figures::Figures;
use crate::metrics::quality::CheckReport;
use crate::metrics::report::{Device, StatsReport};
use crate::units::human_count;
use html::Html;
use pictures::Pictures;

/// No page gets larger than this, in bytes.
pub const LIMIT: usize = 4_900_000;
/// Kept free by figures, for the tables of the devices.
const TABLES: usize = 1_200_000;
/// What the tables of one device take at most.
const DEVICE: usize = 600_000;

/// A trace, as the page tells of it.
pub struct Trace<'a> {
    /// How it is called.
    pub label: &'a str,
    /// Its numbers.
    pub stats: &'a StatsReport,
    /// Whether they can be trusted.
    pub check: &'a CheckReport,
    /// Its causes; `None` with filters.
    pub explained: Option<&'a Explanation>,
    /// What `--queue` told.
    pub queue: &'a [QueueRow],
}

/// What was asked for.
pub struct Asked<'a> {
    /// Options that choose a part, as they were given.
    pub selection: &'a [String],
    /// Some of them choose bios and requests.
    pub filtered: bool,
}

/// One trace.
///
/// # Errors
/// A figure cannot be drawn.
pub fn report(t: &Trace<'_>, figures: &Figures, asked: &Asked<'_>) -> Result<String> {
    let mut pictures = Pictures::new(figures)?;
    let words = glossary();
    let order = busiest(t.stats);
    let titles: Vec<String> = order.iter().map(|(_, d)| device::title(d)).collect();
    let mut links = frame::links(&[
        ("short", "In short"),
        ("numbers", "Key numbers"),
        ("findings", "Causes"),
        ("quality", "Trace quality"),
    ]);
    links.extend(frame::devices(&titles));
    links.extend(frame::links(&[("words", "Words and numbers")]));
    let mut h = Html::new();
    let title = format!("{} · blkan", t.label);
    frame::open(&title, t.label, &links, &mut h);
    frame::inputs(&[t], asked, &mut h);
    short::verdict(t, asked, &mut h);
    short::numbers(t, &order, &mut h);
    findings::section(&[("", t)], &mut h);
    quality::section(&[("", t)], &mut h);
    devices(t, &order, &mut pictures, (asked, words.len()), &mut h);
    h.raw(&words);
    frame::close(&pictures, &mut h);
    Ok(h.finish())
}

/// Two traces beside each other.
///
/// # Errors
/// A figure cannot be drawn.
pub fn comparison(
    (a, b): (&Trace<'_>, &Trace<'_>),
    r: &CompareReport,
    figures: &Figures,
    asked: &Asked<'_>,
) -> Result<String> {
    let mut pictures = Pictures::new(figures)?;
    let words = glossary();
    let lone = r.devices.len() == 1;
    let titles: Vec<String> = (r.devices.iter())
        .map(|d| super::compare::title(d, lone))
        .collect();
    let mut links = frame::links(&[("short", "In short")]);
    links.extend(frame::devices(&titles));
    links.extend(frame::links(&[
        ("figures", "Figures"),
        ("findings", "Causes"),
        ("quality", "Trace quality"),
        ("words", "Words and numbers"),
    ]));
    let mut h = Html::new();
    let heading = format!("{} and {}", a.label, b.label);
    let title = format!("{heading} · blkan");
    frame::open(&title, &heading, &links, &mut h);
    frame::inputs(&[a, b], asked, &mut h);
    compare::verdict((a, b), r, asked, &mut h);
    for (n, d) in r.devices.iter().enumerate() {
        compare::pair(n, d, r, &mut h);
    }
    section("figures", "Figures", &mut h);
    pictures.put_all(words.len() + TABLES, &mut h);
    h.close();
    findings::section(&[("A", a), ("B", b)], &mut h);
    quality::section(&[("A", a), ("B", b)], &mut h);
    h.raw(&words);
    frame::close(&pictures, &mut h);
    Ok(h.finish())
}

/// Opens a section with its heading.
fn section(id: &str, title: &str, h: &mut Html) {
    let head = format!("{id}-h");
    h.open("section", &[("id", id), ("aria-labelledby", &head)]);
    h.el("h2", &[("id", &head)], title);
}

fn glossary() -> String {
    let mut h = Html::new();
    words::glossary(&mut h);
    h.finish()
}

/// Devices with their places, busiest first.
fn busiest(r: &StatsReport) -> Vec<(usize, &Device)> {
    let size = |d: &Device| -> u64 { d.events.values().flat_map(|m| m.values()).sum() };
    let mut all: Vec<(usize, &Device)> = r.devices.iter().enumerate().collect();
    all.sort_by_key(|(_, d)| std::cmp::Reverse(size(d)));
    all
}

/// Figures and tables of each device, as long as there is room; `words` bytes follow them.
fn devices(
    t: &Trace<'_>,
    order: &[(usize, &Device)],
    pictures: &mut Pictures<'_>,
    (asked, words): (&Asked<'_>, usize),
    h: &mut Html,
) {
    let mut left = 0;
    for (n, (at, d)) in order.iter().enumerate() {
        if h.len() + words + DEVICE > LIMIT {
            left += 1;
            continue;
        }
        let (id, head) = (format!("d-{n}"), format!("d-{n}-h"));
        h.open(
            "section",
            &[("id", &id), ("class", "device"), ("aria-labelledby", &head)],
        );
        h.open("h2", &[("id", &head)]);
        h.name(&device::title(d));
        h.close();
        pictures.put(Some(d.dev), words + TABLES, h);
        device::tables(d, *at, t.stats, asked.filtered, h);
        h.close();
    }
    if left > 0 {
        let n = human_count(left);
        let text = format!("{n} less busy devices have no section here: choose them with --dev.");
        h.el("p", &[("class", "note")], &text);
    }
    if pictures.of(None) {
        section("unplaced", "Events that name no device", h);
        pictures.put(None, words, h);
        h.close();
    }
}
