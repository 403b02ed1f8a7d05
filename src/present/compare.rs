//! `compare` for people: what was asked differently, the verdict, the table, what moved; then the method.

use super::table::{ABSENT, cut, flow, left, right, width};
use super::{Style, WIDTH};
use crate::metrics::compare::Unit;
use crate::metrics::compare::report::{CompareReport, Moved, Pair, Row, SideReport};
use crate::units::{human_bytes, human_count, human_ns};

/// The whole text. With `verbose` every quantity, else the table.
pub fn compare_text(r: &CompareReport, style: Style, verbose: bool) -> String {
    let mut out = String::new();
    for (name, side) in [("A", &r.a), ("B", &r.b)] {
        out.push_str(&side_lines(name, side, style));
    }
    for d in &r.devices {
        out.push('\n');
        pair(d, style, verbose, &mut out);
    }
    out.push('\n');
    for line in wrapped(&method(r), WIDTH) {
        out.push_str(&style.dim(&line));
        out.push('\n');
    }
    out
}

fn side_lines(name: &str, s: &SideReport, style: Style) -> String {
    let mut out = String::new();
    for (run, span) in s.runs.iter().zip(&s.span_ns) {
        let paths: Vec<&str> = run.iter().map(|i| i.path.as_str()).collect();
        let events: u64 = run.iter().map(|i| i.events).sum();
        let first = paths.first().copied().unwrap_or_default();
        let more = match paths.len() {
            0 | 1 => String::new(),
            n => format!(" and {} more", n - 1),
        };
        let time = span.map_or(", no times".to_string(), |n| {
            format!(" in {}", human_ns(n as f64))
        });
        let facts = format!(
            "{more}  {} events{time} · {}",
            human_count(events),
            s.quality
        );
        let path = cut(first, WIDTH.saturating_sub(width(&facts) + 3));
        out.push_str(&format!("{name}  {}{facts}\n", style.bold(&path)));
    }
    out
}

/// `nvme0n1 (259,0)`; of two with different numbers both.
pub(super) fn title(d: &Pair) -> String {
    let one = |dev: &Option<String>, name: &Option<String>| match (dev, name) {
        (Some(d), Some(n)) => format!("{n} ({d})"),
        (Some(d), None) => d.clone(),
        (None, _) => "no device".to_string(),
    };
    let (a, b) = (one(&d.a, &d.a_name), one(&d.b, &d.b_name));
    match a == b {
        true => a,
        false => format!("{a} of A with {b} of B ({})", by(d.matched)),
    }
}

fn by(matched: &str) -> &'static str {
    match matched {
        "name" => "same name",
        "number" => "same number",
        "lone" => "each side has one device",
        "order" => "same kind, in order",
        _ => "no partner",
    }
}

fn pair(d: &Pair, style: Style, verbose: bool, out: &mut String) {
    out.push_str(&format!("{}\n", style.bold(&cut(&title(d), WIDTH))));
    if !d.mismatch.is_empty() {
        let texts: Vec<String> = d.mismatch.iter().map(|m| m.text.clone()).collect();
        flow("not the same", &texts, &style, out);
    }
    for (n, line) in wrapped(&d.verdict, WIDTH - 15).into_iter().enumerate() {
        let head = if n == 0 { "verdict" } else { "" };
        out.push_str(&format!("  {}{line}\n", style.dim(&left(head, 13))));
    }
    let mut rows: Vec<(String, &Row, bool)> = Vec::new();
    if verbose {
        let sure = |r: &Row| {
            let mut of = d.table.iter().filter(|l| l.confirmed);
            of.any(|l| l.quantity == r.quantity)
        };
        rows.extend(
            d.quantities
                .iter()
                .map(|r| (r.quantity.clone(), r, sure(r))),
        );
    } else {
        let of = |l: &crate::metrics::compare::report::Line| {
            let r = d.quantities.get(l.row)?;
            Some((l.label.clone(), r, l.confirmed))
        };
        rows.extend(d.table.iter().filter_map(of));
    }
    if !rows.is_empty() {
        out.push('\n');
        print_table(&rows, style, out);
    }
    if !d.moved.is_empty() {
        out.push('\n');
        moved(&d.moved, style, out);
    }
}

fn moved(all: &[Moved], style: Style, out: &mut String) {
    for (n, m) in all.iter().enumerate() {
        let [lo, hi] = m.ratio_interval;
        let share = m.share.map_or(String::new(), |s| {
            format!("; {:.0} % of all time of B's requests", s.abs() * 100.0)
        });
        let text = format!("{}; 95 %: ×{lo:.2} to ×{hi:.2}{share}", m.text);
        for (i, line) in wrapped(&text, WIDTH - 17).into_iter().enumerate() {
            let head = if n == 0 && i == 0 { "moved" } else { "" };
            let bullet = if i == 0 { "" } else { "  " };
            out.push_str(&format!("  {}{bullet}{line}\n", style.dim(&left(head, 13))));
        }
    }
}

/// What a count is divided by before it is compared.
pub(super) fn per(r: &Row) -> &'static str {
    match r.per {
        "second" => "s",
        "bio" => "bio",
        _ => "",
    }
}

/// Cells of one row: A, B, change, interval, whether it is real.
pub(super) struct Cells {
    pub a: String,
    pub b: String,
    pub change: String,
    pub interval: String,
    pub real: &'static str,
}

pub(super) fn cells(r: &Row, confirmed: bool) -> Cells {
    let counted = |v: Option<f64>| v.map_or(ABSENT.to_string(), |v| number(v, r.unit));
    let change = match (r.ratio, r.difference) {
        (Some(x), _) => format!("×{}", plain(x)),
        (None, Some(_)) if r.a == Some(0.0) && r.b != Some(0.0) => "new".to_string(),
        (None, Some(_)) => "same".to_string(),
        _ => ABSENT.to_string(),
    };
    let interval = match (r.ratio_interval, r.difference_interval) {
        (Some([lo, hi]), _) => format!("×{} to ×{}", plain(lo), plain(hi)),
        (None, Some([lo, hi])) => {
            let unit = match per(r) {
                "" => String::new(),
                p => format!("/{p}"),
            };
            format!("{} to {}{unit}", signed(lo, r.unit), signed(hi, r.unit))
        }
        _ => ABSENT.to_string(),
    };
    Cells {
        a: counted(r.a),
        b: counted(r.b),
        change,
        interval,
        real: match (r.differs, confirmed) {
            (None, _) => "?",
            (Some(true), true) => "yes",
            (Some(true), false) => "maybe",
            (Some(false), _) => "no",
        },
    }
}

fn signed(v: f64, unit: Unit) -> String {
    let sign = if v < 0.0 { "−" } else { "+" };
    let text = match unit {
        Unit::Count => plain(v.abs()),
        u => number(v.abs(), u),
    };
    format!("{sign}{text}")
}

/// Three digits.
pub(super) fn plain(v: f64) -> String {
    match v.abs() {
        a if a >= 100.0 => format!("{v:.0}"),
        a if a >= 10.0 => format!("{v:.1}"),
        a if a >= 0.1 || a == 0.0 => format!("{v:.2}"),
        _ => format!("{v:.4}"),
    }
}

/// A number in its unit.
pub(super) fn number(v: f64, unit: Unit) -> String {
    match unit {
        // Of several runs it is a mean.
        Unit::Count if v.fract() == 0.0 => human_count(v.abs() as u64),
        Unit::Count | Unit::Plain => plain(v),
        Unit::Ns => human_ns(v),
        Unit::Ms => human_ns(v * 1e6),
        Unit::Bytes => human_bytes(v),
        Unit::Kib => human_bytes(v * 1024.0),
        Unit::PerSecond => format!("{}/s", plain(v)),
        Unit::BytesPerSecond => format!("{}/s", human_bytes(v)),
        Unit::KibPerSecond => format!("{}/s", human_bytes(v * 1024.0)),
        Unit::Share => format!("{:.1} %", v * 100.0),
        Unit::Percent => format!("{v:.1} %"),
    }
}

/// Keeps the end of a path: that is where quantities differ.
fn cut_front(path: &str, max: usize) -> String {
    let n = path.chars().count();
    if width(path) <= max {
        return cut(path, max);
    }
    let tail = path.chars().skip(n.saturating_sub(max.saturating_sub(1)));
    cut(&format!("…{}", tail.collect::<String>()), max)
}

const HEAD: [&str; 7] = ["", "A", "B", "per", "B ÷ A", "95 % interval", "real"];

fn print_table(rows: &[(String, &Row, bool)], style: Style, out: &mut String) {
    let mut lines: Vec<[String; 7]> = vec![HEAD.map(str::to_string)];
    for (label, r, confirmed) in rows {
        let c = cells(r, *confirmed);
        let per = per(r).to_string();
        let real = c.real.to_string();
        lines.push([
            label.clone(),
            c.a,
            c.b,
            per,
            c.change,
            cut(&c.interval, 30),
            real,
        ]);
    }
    let of = |i: usize| lines.iter().map(|l| width(&l[i])).max().unwrap_or(0);
    let mut widths: Vec<usize> = (0..7).map(of).collect();
    let others: usize = widths[1..].iter().map(|w| w + 2).sum();
    widths[0] = widths[0].min(WIDTH.saturating_sub(others + 2));
    for l in &mut lines {
        l[0] = cut_front(&l[0], widths[0]);
    }
    for (n, l) in lines.iter().enumerate() {
        let mut text = format!("  {}", left(&l[0], widths[0]));
        for i in 1..7 {
            text.push_str(&format!("  {}", right(&l[i], widths[i])));
        }
        out.push_str(&if n == 0 { style.dim(&text) } else { text });
        out.push('\n');
    }
}

/// What stands below the table.
pub(super) fn method(r: &CompareReport) -> String {
    let m = &r.method;
    let from = match m.over {
        "runs" => "over runs (Welch)".to_string(),
        "mixed" => "over runs where a side has several, else over stretches of time".to_string(),
        _ => format!(
            "over stretches of time ({:.0} of {} in A, {:.0} of {} in B; {} replicates, seed {}): one run a side, so what differs \
             from run to run is not in them",
            m.stretches[0],
            human_ns(m.stretch_ns[0] as f64),
            m.stretches[1],
            human_ns(m.stretch_ns[1] as f64),
            m.replicates,
            m.seed
        ),
    };
    format!(
        "Counts are compared per bio or per second. 95 % intervals {from}. real: yes = the interval excludes no change, and \
         still does among so many lines (false discoveries at most 5 %); maybe = the first only; ? = not enough to tell."
    )
}

/// Lines of at most `room` columns.
pub(super) fn wrapped(text: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ').filter(|w| !w.is_empty()) {
        let Some(line) = lines.last_mut() else { break };
        if !line.is_empty() && width(line) + 1 + width(word) > room {
            lines.push(cut(word, room));
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(&cut(word, room));
        }
    }
    lines
}
