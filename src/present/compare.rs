//! `compare` for people: what was asked differently, the verdict, the table, what moved; then the method.

use super::table::{ABSENT, cut, flow, left, right, width};
use super::wrap::{tied, untied};
use super::{Style, WIDTH};
use crate::event::DevId;
use crate::metrics::compare::Unit;
use crate::metrics::compare::report::{CompareReport, Moved, Pair, Row, SideReport};
use crate::units::{human_bytes, human_count, human_ns, human_share};

/// The whole text. With `verbose` every quantity, else the table.
pub fn compare_text(r: &CompareReport, style: Style, verbose: bool) -> String {
    let mut out = String::new();
    for same in &r.same {
        for line in wrapped(&same.text, WIDTH) {
            out.push_str(&format!("{}\n", style.care(&line)));
        }
    }
    for (name, side) in [("A", &r.a), ("B", &r.b)] {
        out.push_str(&side_lines(name, side, style));
    }
    for d in &r.devices {
        out.push('\n');
        pair(d, &title(d, r.devices.len() == 1), style, verbose, &mut out);
    }
    for line in not_compared(r) {
        out.push_str(&format!("\n{line}\n"));
    }
    out.push('\n');
    for line in wrapped(&method(r), WIDTH) {
        out.push_str(&style.dim(&line));
        out.push('\n');
    }
    out
}

/// What is left out, and sides of which nothing is left.
pub(super) fn not_compared(r: &CompareReport) -> Vec<String> {
    let mut out = Vec::new();
    let more = |n: usize, what: &str, with: &str| {
        (n > 0).then(|| {
            let s = if n == 1 { "" } else { "s" };
            let n = human_count(n as u64);
            format!("{n} smaller {what}{s} not compared: choose with {with}")
        })
    };
    out.extend(more(r.smaller.devices, "device", "--dev"));
    out.extend(more(r.smaller.groups, "group", "--comm, --pid or --rwbs"));
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
    for text in &s.nothing {
        let line = wrapped(&format!("{name} has none: {text}"), WIDTH).join("\n   ");
        out.push_str(&format!("{line}\n"));
    }
    out
}

/// `nvme0n1 (259,0)`; of two with different numbers both. What has no number beside devices that have one is all that has
/// no place among these.
pub(super) fn title(d: &Pair, lone: bool) -> String {
    let one = |dev: &Option<String>, name: &Option<String>| match (dev, name) {
        (Some(d), Some(n)) => format!("{n} ({d})"),
        (Some(d), None) if !lone && *d == DevId::NONE.to_string() => "other devices".to_string(),
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

fn pair(d: &Pair, title: &str, style: Style, verbose: bool, out: &mut String) {
    out.push_str(&format!("{}\n", style.bold(&cut(title, WIDTH))));
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
            let text = gained(s);
            format!("; {text}")
        });
        let text = format!("{}; 95 %: ×{lo:.2} to ×{hi:.2}{share}", m.text);
        for (i, line) in wrapped(&text, WIDTH - 17).into_iter().enumerate() {
            let head = if n == 0 && i == 0 { "moved" } else { "" };
            let bullet = if i == 0 { "" } else { "  " };
            out.push_str(&format!("  {}{bullet}{line}\n", style.dim(&left(head, 13))));
        }
    }
}

/// The time that a sub-population gained or lost at B, beside all that B's requests took: lost time may be more than is left.
pub(super) fn gained(share: f64) -> String {
    let what = if share < 0.0 { "less" } else { "more" };
    match share.abs() {
        s if s > 1.0 => format!(
            "{what} time by {} times what all of B's requests took",
            plain(s)
        ),
        s => format!(
            "{what} time by {} of what all of B's requests took",
            human_share(s, 0)
        ),
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
            (Some(false), _) if r.border => "maybe",
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
        Unit::Share => narrow(v),
        Unit::Percent => narrow(v / 100.0),
    }
}

/// A share in a cell.
fn narrow(share: f64) -> String {
    let text = human_share(share, 1);
    text.replace("less than ", "<").replace("over ", ">")
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
        lines.push([label.clone(), c.a, c.b, per, c.change, c.interval, real]);
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
         still does among so many lines (false discoveries at most 5 %), whatever the seed; maybe = the first only, or at \
         the border; ? = not enough to tell.{}",
        pairs(r)
    )
}

/// How much of both traces are the same requests, where `moved` is taken from these.
fn pairs(r: &CompareReport) -> String {
    let used = || r.devices.iter().filter_map(|d| d.paired).filter(|p| p.used);
    let least = used().map(|p| p.share).fold(1.0, f64::min);
    match used().next() {
        None => String::new(),
        Some(_) => format!(
            " moved: {:.0} % or more of the requests are the same in both traces; each is compared with itself.",
            (least * 100.0).floor()
        ),
    }
}

/// Lines of at most `room` columns.
pub(super) fn wrapped(text: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let text = tied(text);
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
    lines.iter().map(|l| untied(l)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair_of(dev: &str, name: Option<&str>) -> Pair {
        let (dev, name) = (Some(dev.to_string()), name.map(str::to_string));
        Pair {
            a: dev.clone(),
            a_name: name.clone(),
            b: dev,
            b_name: name,
            kind: "request",
            matched: "number",
            mismatch: Vec::new(),
            verdict: String::new(),
            table: Vec::new(),
            moved: Vec::new(),
            paired: None,
            smaller_groups: 0,
            quantities: Vec::new(),
        }
    }

    #[test]
    fn what_has_no_number_beside_others_is_the_other_devices() {
        assert_eq!(title(&pair_of("0,0", None), false), "other devices");
        // A source without numbers has one device only.
        assert_eq!(title(&pair_of("0,0", None), true), "0,0");
        assert_eq!(title(&pair_of("8,0", None), false), "8,0");
        assert_eq!(title(&pair_of("8,0", Some("sda")), false), "sda (8,0)");
    }

    #[test]
    fn a_share_that_is_not_all_takes_little_room_in_a_cell() {
        assert_eq!(number(7_113.0 / 7_114.0, Unit::Share), ">99.9 %");
        assert_eq!(number(0.01, Unit::Percent), "<0.1 %");
        assert_eq!(number(1.0, Unit::Share), "100.0 %");
    }
}
