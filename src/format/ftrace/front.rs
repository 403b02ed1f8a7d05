//! What stands before the event: task, CPU, flags, time. Columns as `trace_print_context`, `trace_print_lat_context`
//! and `trace_print_time` print them (`kernel/trace/trace_output.c`, 6.12; flags and the TGID column are optional), and
//! as `tep_print_event` of libtraceevent does for trace-cmd.
//!
//! ```text
//!      dd-179    [000] d..1.    19.550131: EVENT       tracefs, trace-cmd report
//!      dd-179    ( 170) [000] d..1.    19.550131: EVENT       with the TGID
//!      dd-179      0d..1.  128us+: EVENT       latency-format
//! ```

use crate::event::{NO_CPU, NO_PID};
use crate::format::tracepoint::words::{blanks, cpu, far_time, gap, number, time, unquoted, word};
use crate::units::Nanos;
use memchr::memchr_iter;
use nom::Parser;
use nom::bytes::complete::{tag, take_while1};
use nom::character::complete::{char, one_of};
use nom::combinator::opt;
use nom::sequence::{preceded, terminated};

/// The longest task name (`TASK_COMM_LEN` − 1).
const COMM: usize = 15;

/// The front of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Front<'a> {
    /// The task's name as printed; `None` where a person cut it off.
    pub(super) task: Option<&'a [u8]>,
    pub(super) pid: u32,
    pub(super) cpu: u16,
    pub(super) time: Nanos,
    /// The step of the time, ns.
    pub(super) step: u64,
    /// From the event's name on.
    pub(super) rest: &'a [u8],
}

/// What the front of a line is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind<'a> {
    Whole(Front<'a>),
    /// The line ends within it.
    Cut,
    /// It is whole but for its time, which is a bare number: a clock that counts something else.
    Count,
    /// It is whole but for its time, which lies beyond 2^63 ns.
    Far,
    /// Nothing of the sort.
    No,
}

/// Takes the front of a line apart.
#[inline]
pub(super) fn front(line: &[u8]) -> Kind<'_> {
    let line = unquoted(line);
    for at in memchr_iter(b'[', line).take(4) {
        let Some((task, pid)) = task(&line[..at]) else {
            continue;
        };
        let Ok((after, cpu)) = cpu(&line[at..]) else {
            continue;
        };
        match timed(after) {
            Kind::Whole(f) => {
                return Kind::Whole(Front {
                    task: Some(task),
                    pid,
                    cpu,
                    ..f
                });
            }
            Kind::No => {}
            other => return other,
        }
    }
    unusual(line)
}

/// Fronts without `TASK-PID … [CPU]`.
#[cold]
fn unusual(line: &[u8]) -> Kind<'_> {
    if let Some(f) = latency(line) {
        return Kind::Whole(f);
    }
    // The task, or all but the time, was cut off by a person.
    let (after, cpu) = match cpu(line) {
        Ok((after, cpu)) => (after, cpu),
        Err(_) => (line, NO_CPU),
    };
    match timed(after) {
        Kind::Whole(f) => Kind::Whole(Front { cpu, ..f }),
        // What is left of a line that a mailer wrapped early.
        _ if task(line).is_some() => Kind::Cut,
        _ => Kind::No,
    }
}

/// `FLAGS TIME: `, the flags optional.
#[inline]
fn timed(text: &[u8]) -> Kind<'_> {
    let rest = text.trim_ascii_start();
    match stamp(rest) {
        Kind::No => {}
        found => return found,
    }
    match word(rest) {
        Ok((after, flags)) if flags.len() <= 12 && !flags.contains(&b':') => {
            stamp(after.trim_ascii_start())
        }
        Ok(_) => Kind::No,
        Err(_) => Kind::Cut,
    }
}

/// `TIME: `.
#[inline]
fn stamp(text: &[u8]) -> Kind<'_> {
    if let Ok((rest, (time, step))) = terminated(time, char(':')).parse(text) {
        return Kind::Whole(Front {
            task: None,
            pid: NO_PID,
            cpu: NO_CPU,
            time,
            step,
            rest: rest.trim_ascii_start(),
        });
    }
    if text.iter().all(|b| b.is_ascii_digit() || *b == b'.') {
        return Kind::Cut;
    }
    if word(text).is_ok_and(|(_, w)| far_time(w)) {
        return Kind::Far;
    }
    let count = terminated(number, (char(':'), gap)).parse(text);
    if count.is_ok() { Kind::Count } else { Kind::No }
}

/// `TASK-PID`, maybe with `(TGID)`, at the end of `text`.
#[inline]
fn task(text: &[u8]) -> Option<(&[u8], u32)> {
    let text = text.trim_ascii_end();
    let text = match text.strip_suffix(b")") {
        // `(-------)` where the TGID is not known.
        Some(t) => t[..t.iter().rposition(|b| *b == b'(')?].trim_ascii_end(),
        None => text,
    };
    let digits = text.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    let (name, pid) = text.split_at(text.len() - digits);
    let name = name.strip_suffix(b"-")?;
    let (rest, pid) = number(pid).ok()?;
    let pid = u32::try_from(pid).ok().filter(|p| *p != NO_PID)?;
    let name = own_name(name.trim_ascii_start())?;
    rest.is_empty().then_some((name, pid))
}

/// The name without what an editor or `grep -n` put before it: `123:     fio`. Kernels cut names to 15 bytes and
/// pad them with blanks on the left.
#[inline]
fn own_name(name: &[u8]) -> Option<&[u8]> {
    let digits = name.iter().take_while(|b| b.is_ascii_digit()).count();
    let numbered = digits > 0 && name.get(digits) == Some(&b':');
    if name.len() <= COMM && !numbered {
        return Some(name);
    }
    let blank = |b: &u8| *b == b' ' || *b == b'\t';
    let start = name
        .windows(2)
        .rposition(|w| w.iter().all(blank) || w[0] == b'\t')
        .map(|i| name[i..].trim_ascii_start());
    match start {
        Some(own) if own.len() <= COMM => Some(own),
        None if numbered && name.len() <= COMM => Some(name),
        _ => None,
    }
}

/// `TASK-PID CPUFLAGS TIMEus: `; the time counts from the start of the buffer, the mark behind it tells how long it took
/// to the next event.
fn latency(line: &[u8]) -> Option<Front<'_>> {
    let us = memchr::memmem::find_iter(line, b"us").take(4);
    us.into_iter().find_map(|at| {
        let (rest, _) = preceded(
            tag("us"),
            terminated(
                opt(one_of::<_, _, nom::error::Error<&[u8]>>(" +!#*@$")),
                char(':'),
            ),
        )
        .parse(&line[at..])
        .ok()?;
        let before = &line[..at];
        let digits = before
            .iter()
            .rev()
            .take_while(|b| b.is_ascii_digit())
            .count();
        let (before, time) = before.split_at(at - digits);
        let (_, time) = number(time).ok()?;
        let before = before.trim_ascii_end();
        let blank = before.iter().rposition(|b| *b == b' ')?;
        let (who, place) = before.split_at(blank);
        let (_, cpu) = cpu_and_flags(&place[1..])?;
        let (task, pid) = task(who)?;
        Some(Front {
            task: Some(task),
            pid,
            cpu,
            time: Nanos(i64::try_from(time.checked_mul(1000)?).ok()?),
            step: 1000,
            rest: rest.trim_ascii_start(),
        })
    })
}

/// `0d..1.`: flags may start with a digit no more than CPUs may hold a letter.
fn cpu_and_flags(text: &[u8]) -> Option<(&[u8], u16)> {
    let digits = take_while1::<_, _, nom::error::Error<&[u8]>>(|b: u8| b.is_ascii_digit());
    let (flags, cpu) = terminated(digits, blanks).parse(text).ok()?;
    let (_, cpu) = number(cpu).ok()?;
    let cpu = u16::try_from(cpu).ok().filter(|c| *c != NO_CPU)?;
    (flags.len() <= 12).then_some((flags, cpu))
}
