//! Readers made from a description of the lines: `--line` templates, or the printf calls of a bpftrace script (`--bt`).
//!
//! Grammar and semantics: docs/formats/template.md.

mod blkparse_format;
mod decide;
mod field;
mod grammar;
mod matching;
mod pattern;
mod script;
#[cfg(test)]
mod tests;
mod values;

pub use blkparse_format::compile as from_blkparse_formats;
pub use script::from_script;
pub use values::{Num, Raw, clock, device as parse_device, event_of, finish, time as parse_time};

use super::bpftrace::{BPF_FIELDS, is_stack_line, tool_line};
use super::{
    Defect, DeviceNames, FormatInfo, ImportReport, Line, LineCtx, LineFormat, Order, SkipRule,
    Sniff,
};
use crate::error::{Error, Result};
use crate::event::{Action, Fields};
use field::{Class, Field, Slot};
use matching::{Captures, Stuck};
use pattern::{Meaning, Part, Pattern};

/// A reader for lines of the user's own making. Forms are tried in order; the first that fits wins.
#[derive(Clone, Debug)]
pub struct Template {
    info: FormatInfo,
    events: Vec<Pattern>,
    others: Vec<Pattern>,
    notes: Vec<String>,
    stacks: bool,
    /// The lines are blkparse's, so that its own lines lie between them.
    blkparse: Option<blkparse_format::Rest>,
    /// Forms of different actions, which may take the same line.
    mixed: bool,
}

/// Compiles `--line` templates.
///
/// # Errors
/// Usage errors: an unknown field, no time, no event, fields without a border, a template that an earlier one hides.
pub fn compile(templates: &[String]) -> Result<Template> {
    if templates.is_empty() {
        return Err(Error::usage("--line needs a template"));
    }
    let mut events: Vec<Pattern> = Vec::new();
    for t in templates {
        let p = grammar::template(t)?;
        if let Some(first) = events.iter().find(|e| e.parts == p.parts) {
            return Err(Error::usage(format!(
                "{} can never match: {} takes the same lines",
                p.origin, first.origin
            ))
            .hint("the lines must differ in their literal text or in their number of fields"));
        }
        events.push(p);
    }
    Ok(Template::new("line", "lines by template", events))
}

impl Template {
    fn new(name: &'static str, title: &'static str, events: Vec<Pattern>) -> Template {
        let info = FormatInfo {
            name,
            aliases: &[],
            title,
            fields: fields(&events),
            order: Order::PerCpu,
            record: "any script that prints one line for each event",
            serial: false,
        };
        Template {
            info,
            events,
            others: Vec::new(),
            notes: Vec::new(),
            stacks: false,
            blkparse: None,
            mixed: false,
        }
    }

    /// What the description lacks, for people: one sentence each.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Tries all forms on one line.
    fn event(&self, line: &[u8], ctx: &mut LineCtx) -> Line {
        if self.mixed && !self.decided(line) {
            return Line::Defect(Defect::Ambiguous);
        }
        let mut first_bad: Option<Line> = None;
        let mut stuck: Option<(usize, Stuck)> = None;
        for (i, p) in self.events.iter().enumerate() {
            match matching::matches(&p.parts, line) {
                // A line of another action, which may have a format of its own, or blkparse's.
                Ok(caps)
                    if self.mixed && raw(p, &caps).is_ok_and(|r| !self.serves(p, r.action)) => {}
                Ok(caps) => match self.convert(p, &caps, ctx) {
                    Line::Defect(d) => {
                        first_bad.get_or_insert(Line::Defect(d));
                    }
                    good => return good,
                },
                Err(s) if stuck.is_none_or(|(_, o)| s.part > o.part) => stuck = Some((i, s)),
                Err(_) => {}
            }
        }
        for p in &self.others {
            if let (Meaning::Skip(rule), Ok(_)) = (p.meaning, matching::matches(&p.parts, line)) {
                return Line::Skip(rule);
            }
        }
        if let Some(rest) = &self.blkparse {
            let told = || first_bad.unwrap_or_else(|| Line::Defect(self.reason(stuck)));
            return rest.line(line, ctx).unwrap_or_else(told);
        }
        if let Some(l) = tool_line(line) {
            return l;
        }
        if self.stacks && is_stack_line(line) {
            return Line::Skip(SkipRule::Tool);
        }
        first_bad.unwrap_or_else(|| Line::Defect(self.reason(stuck)))
    }

    /// What is wrong with a line that fits no form, judged by the form that it fitted longest.
    fn reason(&self, stuck: Option<(usize, Stuck)>) -> Defect {
        let Some((i, s)) = stuck else {
            return Defect::NotAnEvent;
        };
        let parts = self.events.get(i).map_or(&[][..], |p| &p.parts);
        let before = parts.get(..s.part).unwrap_or(&[]);
        let fields_seen = before.iter().any(|p| matches!(p, Part::Field(_)));
        match parts.get(s.part) {
            _ if !fields_seen => Defect::NotAnEvent,
            _ if s.at_end => Defect::CutLine,
            Some(Part::Field(f)) => match f.field {
                Field::Time | Field::Clock => Defect::BadTime,
                Field::Dev | Field::Major | Field::Minor => Defect::BadDevice,
                Field::Event => Defect::UnknownAction,
                _ => Defect::BadNumber,
            },
            _ => Defect::NotAnEvent,
        }
    }
}

/// How a part looks in a description.
fn shown(part: &Part) -> String {
    match part {
        Part::Blank | Part::Pad => "blanks".to_string(),
        Part::Literal(l) => format!("the text '{}'", String::from_utf8_lossy(l).escape_debug()),
        Part::Field(s) => format!("a {}", s.field.title()),
    }
}

impl LineFormat for Template {
    /// The pattern that fits furthest, and where it stops to fit.
    fn explain(&self, line: &[u8]) -> Option<String> {
        let fits = |p: &Pattern| matching::matches(&p.parts, line).err();
        let stuck = self.events.iter().filter_map(|p| Some((p, fits(p)?)));
        let (p, s) = stuck.max_by_key(|(_, s)| s.part)?;
        let (before, rest) = line.split_at_checked(s.pos)?;
        let rest: String = String::from_utf8_lossy(rest).chars().take(24).collect();
        let expected = p
            .parts
            .get(s.part)
            .map_or("the end of the line".to_string(), shown);
        let found = if rest.is_empty() {
            "the line ends".to_string()
        } else {
            format!("found '{}'", rest.escape_debug())
        };
        let fit: String = String::from_utf8_lossy(before).chars().take(60).collect();
        Some(if fit.trim().is_empty() {
            format!("not even its first part fits: expected {expected}, {found}")
        } else {
            format!(
                "{} fits up to '{}': there expected {expected}, {found}",
                p.origin,
                fit.escape_debug()
            )
        })
    }

    fn info(&self) -> &FormatInfo {
        &self.info
    }

    /// Always yes: the user said so.
    fn sniff(&self, _head: &[u8]) -> Sniff {
        Sniff::Yes
    }

    fn parse_line(&self, line: &[u8], ctx: &mut LineCtx) -> Line {
        if line.iter().all(u8::is_ascii_whitespace) {
            return Line::Skip(SkipRule::Blank);
        }
        match (self.event(line, ctx), line.strip_prefix(b"^C")) {
            // The terminal's echo of Ctrl-C sticks to the front of a line.
            (Line::Defect(_), Some(rest)) if !rest.is_empty() => self.event(rest, ctx),
            (l, _) => l,
        }
    }

    fn finish(&self, report: &mut ImportReport, names: &mut DeviceNames<'_>) {
        if let Some(rest) = &self.blkparse {
            rest.finish(report, names);
        }
    }
}

impl Template {
    /// From captured texts to an event.
    fn convert(&self, p: &Pattern, caps: &Captures<'_>, ctx: &mut LineCtx) -> Line {
        let read = raw(p, caps).and_then(|r| Ok((finish(&r, ctx)?, r)));
        match read {
            Ok((mut e, raw)) => {
                if self.blkparse.is_some()
                    && let Err(d) = blkparse_format::mend(&mut e, &raw, p, caps, ctx)
                {
                    return Line::Defect(d);
                }
                if let Some(step) = step(p, caps) {
                    ctx.finest_step(step);
                }
                ctx.nameless = false;
                Line::Event(e)
            }
            Err(l) => l,
        }
    }
}

/// The step of a line's time, in ns: the unit of its last digit. `None`: not told by the digits (a clock without a
/// fraction says nothing of how the others look).
fn step(p: &Pattern, caps: &Captures<'_>) -> Option<u64> {
    let times = p.slots().enumerate();
    let of = |(i, s): (usize, &Slot)| {
        let text = caps.get(i);
        let digits = match text.iter().position(|b| *b == b'.') {
            Some(dot) => text.len() - dot - 1,
            None => 0,
        };
        let unit = match s.field {
            Field::Time => s.mul / s.div.max(1),
            Field::Clock => 1_000_000_000,
            _ => return None,
        };
        let fine = unit / 10u64.checked_pow(u32::try_from(digits).ok()?)?;
        Some(fine.max(1))
    };
    times.filter_map(of).min()
}

fn raw<'l>(p: &Pattern, caps: &Captures<'l>) -> Result<Raw<'l>, Line> {
    let action = match p.meaning {
        Meaning::Fixed(a) => a,
        Meaning::Skip(rule) => return Err(Line::Skip(rule)),
        Meaning::Named => {
            let i = p.slots().position(|s| s.field == Field::Event);
            values::action_line(i.map_or(&[][..], |i| caps.get(i)))?
        }
    };
    let mut raw = Raw::new(0, action);
    raw.dev = p.dev;
    let mut time = 0i64;
    for (i, s) in p.slots().enumerate() {
        let text = caps.get(i);
        if s.field.class() == Class::Number && text == b"-" {
            continue;
        }
        match s.field {
            Field::Time => {
                let part = values::time(text, s.mul, s.div);
                let sum = part.and_then(|t| time.checked_add(t));
                time = sum.ok_or(Line::Defect(Defect::BadTime))?;
            }
            Field::Clock => {
                let part = clock(text).and_then(|t| time.checked_add(t.0));
                time = part.ok_or(Line::Defect(Defect::BadTime))?;
            }
            Field::Event | Field::SkipWord | Field::SkipText => {}
            Field::Rwbs => raw.rwbs = Some(text),
            Field::Comm => raw.comm = Some(text),
            Field::Dev => raw.dev = Some(device(text, s)?),
            Field::OldDev => raw.old_dev = Some(device(text, s)?),
            _ => number(&mut raw, s, text)?,
        }
    }
    raw.time = time;
    Ok(raw)
}

fn device(text: &[u8], s: &Slot) -> Result<crate::event::DevId, Line> {
    values::device(text, s.hex).ok_or(Line::Defect(Defect::BadDevice))
}

fn number(raw: &mut Raw<'_>, s: &Slot, text: &[u8]) -> Result<(), Line> {
    let n = Num::parse(text, s.hex)
        .and_then(|n| n.scaled(s.mul, s.div))
        .ok_or(Line::Defect(Defect::BadNumber))?;
    match s.field {
        Field::Cpu => raw.cpu = Some(n),
        Field::Pid => raw.pid = raw.pid.or(Some(n)),
        Field::Tid => raw.pid = Some(n),
        Field::Sector => raw.sector = Some(n),
        Field::Nr => raw.nr = Some(n),
        Field::Bytes => raw.bytes = Some(n),
        Field::Error => raw.error = Some(n),
        Field::OldSector => raw.old_sector = Some(n),
        Field::NewSector => raw.new_sector = Some(n),
        Field::NrRq => raw.nr_rq = Some(n),
        Field::Payload => {
            raw.nr_rq = Some(n);
            raw.new_sector = Some(n);
        }
        Field::Major => half(&mut raw.dev, n, true)?,
        Field::Minor => half(&mut raw.dev, n, false)?,
        Field::OldMajor => half(&mut raw.old_dev, n, true)?,
        Field::OldMinor => half(&mut raw.old_dev, n, false)?,
        _ => {}
    }
    Ok(())
}

/// Puts one half of a device number in place.
fn half(dev: &mut Option<crate::event::DevId>, n: Num, major: bool) -> Result<(), Line> {
    let limit = if major { 0xffe } else { 0xf_ffff };
    let v = n.unsigned().filter(|v| *v <= limit);
    let v = v.ok_or(Line::Defect(Defect::BadDevice))? as u32;
    let old = dev.unwrap_or_default();
    *dev = Some(if major {
        crate::event::DevId::new(v, old.minor())
    } else {
        crate::event::DevId::new(old.major(), v)
    });
    Ok(())
}

/// What the described events carry.
fn fields(events: &[Pattern]) -> Fields {
    let has = |f: &[Field]| events.iter().any(|p| p.has(f));
    let fixed = |a: Action| events.iter().any(|p| p.meaning == Meaning::Fixed(a));
    let step = events
        .iter()
        .flat_map(Pattern::slots)
        .filter(|s| s.field == Field::Time && !s.fraction)
        .map(|s| (s.mul / s.div.max(1)).max(1))
        .min();
    Fields {
        pid: has(&[Field::Pid, Field::Tid]),
        cpu: has(&[Field::Cpu]),
        comm: has(&[Field::Comm]),
        error: has(&[Field::Error]),
        sector_of_empty: has(&[Field::Sector]),
        // A script's fixed events are tracepoints; letters and names in the line are known only when read.
        rq_merge_named: !has(&[Field::Event]) || fixed(Action::RqMerge),
        time_step_ns: step.unwrap_or(1),
        all_actions: false,
        ..BPF_FIELDS
    }
}
