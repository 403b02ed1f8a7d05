//! blkan's own text: every field of every event on a line, blank-separated, `-` for what is absent. A first line tells
//! what the source's events carry, so that a converted trace answers as its source does. The output of `blkan events`
//! is read too.

mod line;
pub(super) mod write;

use super::{
    DeviceNames, FormatInfo, ImportReport, Line, LineCtx, LineFormat, Order, SkipRule, Sniff,
};
use crate::event::{DevId, Fields, Letters};

/// Start of the first line of a file.
const HEAD: &str = "# blkan events 1:";
/// What the second line holds, and the first one that `blkan events` prints.
const COLUMNS: &[u8] = b"# seconds";

/// An ability by its word in the first line.
type Ability = (&'static str, fn(&Fields) -> bool, fn(&mut Fields));

/// What a source's events carry: words of the first line.
const ABILITIES: [Ability; 13] = [
    ("pid", |f| f.pid, |f| f.pid = true),
    ("cpu", |f| f.cpu, |f| f.cpu = true),
    ("comm", |f| f.comm, |f| f.comm = true),
    ("error", |f| f.error, |f| f.error = true),
    ("clock", |f| f.clock, |f| f.clock = true),
    ("sizes", |f| f.sizes, |f| f.sizes = true),
    (
        "letters",
        |f| f.letters == Letters::All,
        |f| f.letters = Letters::All,
    ),
    (
        "write_or_not",
        |f| f.letters == Letters::WriteOrNot,
        |f| f.letters = Letters::WriteOrNot,
    ),
    (
        "sector_of_empty",
        |f| f.sector_of_empty,
        |f| f.sector_of_empty = true,
    ),
    (
        "rq_merge_named",
        |f| f.rq_merge_named,
        |f| f.rq_merge_named = true,
    ),
    (
        "unplug_reason",
        |f| f.unplug_reason,
        |f| f.unplug_reason = true,
    ),
    (
        "completions_may_vanish",
        |f| f.completions_may_vanish,
        |f| f.completions_may_vanish = true,
    ),
    ("all_actions", |f| f.all_actions, |f| f.all_actions = true),
];

/// None of [`ABILITIES`].
const NOTHING: Fields = Fields {
    pid: false,
    cpu: false,
    comm: false,
    error: false,
    sector_of_empty: false,
    rq_merge_named: false,
    unplug_reason: false,
    completions_may_vanish: false,
    all_actions: false,
    // Rows of one line each; the events of this text are paired like any others.
    whole_requests: false,
    clock: false,
    sizes: false,
    letters: Letters::None,
    time_step_ns: 1,
};

/// Where no first line tells: what rows can show, and that it is not known which actions were recorded.
const UNTOLD: Fields = Fields {
    all_actions: false,
    ..Fields::BLKTRACE
};

static INFO: FormatInfo = FormatInfo {
    name: "canonical",
    aliases: &["blkan"],
    title: "blkan's own text",
    fields: UNTOLD,
    order: Order::Sorted,
    record: "blkan convert --to canonical -o events.txt TRACE",
    serial: false,
};

/// The format.
pub(super) struct Canonical;

/// In the registry.
pub(super) static CANONICAL: Canonical = Canonical;

/// The first line's words behind [`HEAD`].
fn abilities(head: &[u8]) -> Option<Fields> {
    let line = head.split(|b| *b == b'\n').next()?;
    let words = std::str::from_utf8(line.strip_prefix(HEAD.as_bytes())?).ok()?;
    let mut f = NOTHING;
    for word in words.split_ascii_whitespace() {
        match (
            ABILITIES.iter().find(|a| a.0 == word),
            word.strip_prefix("step="),
        ) {
            (Some(a), _) => a.2(&mut f),
            (None, Some(step)) => f.time_step_ns = step.parse().ok().filter(|n| *n > 0)?,
            // A word of a later version.
            (None, None) => {}
        }
    }
    Some(f)
}

impl LineFormat for Canonical {
    fn info(&self) -> &FormatInfo {
        &INFO
    }

    fn sniff(&self, head: &[u8]) -> Sniff {
        let first = head.trim_ascii_start();
        if first.starts_with(HEAD.as_bytes()) || first.starts_with(COLUMNS) {
            return Sniff::Yes;
        }
        let short = |whole: &[u8]| whole.starts_with(first) && first.len() < whole.len();
        match !first.is_empty() && (short(HEAD.as_bytes()) || short(COLUMNS)) {
            true => Sniff::NeedMore,
            false => Sniff::No,
        }
    }

    fn fields(&self, head: &[u8]) -> Fields {
        abilities(head).unwrap_or(UNTOLD)
    }

    fn parse_line(&self, line: &[u8], ctx: &mut LineCtx) -> Line {
        let text = line.trim_ascii_start();
        match text.strip_prefix(b"#") {
            _ if text.is_empty() => Line::Skip(SkipRule::Blank),
            Some(b"") | None => line::event(text, ctx),
            Some(remark) => {
                let remark = remark.trim_ascii();
                if remark.starts_with(b"device ") || remark.starts_with(b"lost ") {
                    ctx.trailer
                        .push(String::from_utf8_lossy(remark).into_owned());
                    return Line::Skip(SkipRule::Summary);
                }
                Line::Skip(SkipRule::Tool)
            }
        }
    }

    fn finish(&self, report: &mut ImportReport, names: &mut DeviceNames<'_>) {
        for line in &report.trailer {
            match line.split_once(' ') {
                Some(("lost", n)) => {
                    if let Ok(n) = n.parse() {
                        report.lost_events = Some(n);
                    }
                }
                Some((_, rest)) => {
                    let pair = rest.split_once(' ');
                    if let Some((Ok(dev), name)) = pair.map(|(d, n)| (d.parse::<DevId>(), n)) {
                        names.names.insert(dev, name.to_string());
                    }
                }
                None => {}
            }
        }
        // Told; no summary of blkparse to compare with.
        report.trailer.clear();
    }
}
