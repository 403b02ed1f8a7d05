//! From the text of fields to an event: number forms, wrapped sectors, event names, the passthrough mark.
//! Shared by templates and the bcc reader.

use super::super::{Defect, Line, LineCtx, SkipRule};
use crate::event::{Action, BlockEvent, DevId, NO_CPU, NO_PID, NO_SECTOR, Op, Rwbs};
use crate::units::Nanos;

/// A whole number with its sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Num {
    neg: bool,
    mag: u64,
}

impl Num {
    /// `[+-]digits` or `0xdigits`; all digits hexadecimal if `hex`. `None` on anything else or beyond 64 bits.
    pub fn parse(s: &[u8], hex: bool) -> Option<Num> {
        let (neg, s) = match s.split_first() {
            Some((b'-', rest)) => (true, rest),
            Some((b'+', rest)) => (false, rest),
            _ => (false, s),
        };
        let (radix, s) = match s.strip_prefix(b"0x").or_else(|| s.strip_prefix(b"0X")) {
            Some(rest) => (16, rest),
            None => (if hex { 16 } else { 10 }, s),
        };
        if s.is_empty() {
            return None;
        }
        let mut mag = 0u64;
        for b in s {
            let d = (*b as char).to_digit(radix)?;
            mag = mag
                .checked_mul(u64::from(radix))?
                .checked_add(u64::from(d))?;
        }
        Some(Num { neg, mag })
    }

    /// The number times `mul`, divided by `div`.
    pub fn scaled(self, mul: u64, div: u64) -> Option<Num> {
        let mag = self.mag.checked_mul(mul)?.checked_div(div)?;
        Some(Num { mag, ..self })
    }

    /// As a value that cannot be negative.
    pub fn unsigned(self) -> Option<u64> {
        (!self.neg || self.mag == 0).then_some(self.mag)
    }

    /// As a signed value.
    pub fn signed(self) -> Option<i64> {
        let v = i64::try_from(self.mag).ok()?;
        Some(if self.neg { -v } else { v })
    }

    /// A sector. -1 (2^64-1) is none; other negative C ints have wrapped at 2^32 and are put back, so that sectors
    /// beyond 2^32 alias to lower ones; anything more negative is none.
    pub fn sector(self) -> u64 {
        match (self.neg, self.mag) {
            (false, v) => v,
            (true, 0) => 0,
            (true, v @ 2..=0x8000_0000) => (1 << 32) - v,
            (true, _) => NO_SECTOR,
        }
    }

    /// An errno, printed signed or as an unsigned number of 16, 32 or 64 bits.
    pub fn error(self) -> Option<i16> {
        let v = match (self.neg, self.mag) {
            (true, m) => -i64::try_from(m).ok()?,
            (false, m @ 0x8000..=0xffff) => m as i64 - 0x1_0000,
            (false, m @ 0xffff_8000..=0xffff_ffff) => m as i64 - 0x1_0000_0000,
            (false, m) => m as i64,
        };
        i16::try_from(v).ok()
    }
}

/// The parts of an event as they were found in a line; `None`: the line has no such field.
#[derive(Clone, Copy, Debug)]
pub struct Raw<'a> {
    /// ns.
    pub time: i64,
    /// The event.
    pub action: Action,
    /// CPU.
    pub cpu: Option<Num>,
    /// Task id.
    pub pid: Option<Num>,
    /// Device.
    pub dev: Option<DevId>,
    /// First sector.
    pub sector: Option<Num>,
    /// Length in sectors.
    pub nr: Option<Num>,
    /// Length in bytes; wins over `nr` when not 0.
    pub bytes: Option<Num>,
    /// Letters.
    pub rwbs: Option<&'a [u8]>,
    /// errno.
    pub error: Option<Num>,
    /// Task name.
    pub comm: Option<&'a [u8]>,
    /// Remap: from which device.
    pub old_dev: Option<DevId>,
    /// Remap: from which sector.
    pub old_sector: Option<Num>,
    /// Split: where the rest starts.
    pub new_sector: Option<Num>,
    /// Unplug: how many requests.
    pub nr_rq: Option<Num>,
}

impl Raw<'_> {
    /// Nothing known but time and event.
    pub fn new(time: i64, action: Action) -> Self {
        Raw {
            time,
            action,
            cpu: None,
            pid: None,
            dev: None,
            sector: None,
            nr: None,
            bytes: None,
            rwbs: None,
            error: None,
            comm: None,
            old_dev: None,
            old_sector: None,
            new_sector: None,
            nr_rq: None,
        }
    }
}

/// Checks ranges and builds the event.
///
/// # Errors
/// The line's defect.
pub fn finish(raw: &Raw<'_>, ctx: &mut LineCtx) -> Result<BlockEvent, Line> {
    build(raw, ctx).ok_or(Line::Defect(Defect::BadNumber))
}

fn build(raw: &Raw<'_>, ctx: &mut LineCtx) -> Option<BlockEvent> {
    let mut e = BlockEvent::new(Nanos(raw.time), raw.dev.unwrap_or(DevId::NONE), raw.action);
    if let Some(n) = raw.cpu {
        e.cpu = u16::try_from(n.unsigned()?).ok().filter(|v| *v != NO_CPU)?;
    }
    if let Some(n) = raw.pid {
        e.pid = match n.signed() {
            Some(-1) => NO_PID,
            _ => u32::try_from(n.unsigned()?).ok()?,
        };
    }
    if !raw.action.is_plug() {
        place(raw, &mut e)?;
        e.rwbs = match raw.rwbs {
            Some(b"-") | None => Rwbs::EMPTY,
            Some(l) if ctx.raw_rwbs => Rwbs::printed(l)?,
            Some(l) => Rwbs::printed(l)?.canonical(),
        };
    }
    aux(raw, &mut e)?;
    wrapped_completion(raw, &mut e);
    mark_passthrough(raw, &mut e);
    if let Some(name) = raw.comm.map(<[u8]>::trim_ascii).filter(|c| !c.is_empty()) {
        e.comm = ctx.comm(name);
    }
    Some(e)
}

/// Sector and length.
fn place(raw: &Raw<'_>, e: &mut BlockEvent) -> Option<()> {
    if let Some(s) = raw.sector {
        e.sector = s.sector();
    }
    if let Some(n) = raw.nr {
        e.bytes = n.unsigned()?.checked_mul(512)?;
    }
    if let Some(b) = raw.bytes {
        let b = b.unsigned()?;
        if b > 0 || raw.nr.is_none() {
            e.bytes = b;
        }
    }
    Some(())
}

/// What only some events have.
fn aux(raw: &Raw<'_>, e: &mut BlockEvent) -> Option<()> {
    match e.action {
        Action::Complete | Action::BioComplete | Action::RqError => {
            if let Some(n) = raw.error {
                e.error = n.error()?;
            }
        }
        Action::Remap | Action::RqRemap => {
            e.aux_dev = raw.old_dev.unwrap_or(DevId::NONE);
            e.aux = raw.old_sector.map_or(NO_SECTOR, Num::sector);
        }
        Action::Split => e.aux = raw.new_sector.map_or(NO_SECTOR, Num::sector),
        Action::Unplug => {
            if let Some(n) = raw.nr_rq {
                e.aux = n.unsigned()?;
            }
        }
        _ => {}
    }
    Some(())
}

/// A completion's "no sector" printed through 32 bits without sign.
fn wrapped_completion(raw: &Raw<'_>, e: &mut BlockEvent) {
    let ended = matches!(raw.action, Action::Complete | Action::RqError);
    if ended && e.sector == u64::from(u32::MAX) && matches!(e.rwbs.op(), Op::Flush | Op::None) {
        e.sector = NO_SECTOR;
    }
}

/// Passthrough commands name no operation: issued at sector 0 with bytes but no sectors, completed without a sector
/// (`blk_rq_trace_sector`, `blk_rq_trace_nr_sectors` in `include/linux/blktrace_api.h`, 6.1 and 6.12).
fn mark_passthrough(raw: &Raw<'_>, e: &mut BlockEvent) {
    if raw.rwbs.is_none() || e.rwbs.op() != Op::None || e.action.is_plug() {
        return;
    }
    let no_sectors = match raw.nr {
        Some(n) => n.mag == 0,
        None => !e.bytes.is_multiple_of(512),
    };
    let at_none = raw.sector.is_some() && (e.sector == 0 || e.sector == NO_SECTOR);
    let issued = no_sectors && e.bytes > 0 && at_none;
    let ended = raw.sector.is_some()
        && e.sector == NO_SECTOR
        && matches!(e.action, Action::Complete | Action::RqError);
    if issued || ended {
        e.flags |= BlockEvent::PASSTHROUGH;
    }
}

/// The event of a word: a tracepoint's name with or without `tracepoint:`, `block:`, `block_`, or a letter of blkparse.
/// `Ok(None)`: an event that says nothing about a request.
///
/// # Errors
/// [`Defect::UnknownAction`].
pub fn event_of(word: &[u8]) -> Result<Option<Action>, Defect> {
    let mut w = word;
    while let Some(i) = w.iter().position(|b| *b == b':') {
        w = &w[i + 1..];
    }
    if let Some(a) = Action::from_letter(w).or_else(|| Action::from_tracepoint(w)) {
        return Ok(Some(a));
    }
    let short = w.strip_prefix(b"block_").unwrap_or(w);
    if matches!(short, b"touch_buffer" | b"dirty_buffer") {
        return Ok(None);
    }
    let tail = |a: &Action| a.tracepoint().as_bytes().get("block_".len()..) == Some(short);
    let found = Action::ALL
        .into_iter()
        .filter(|a| *a != Action::UnplugTimer)
        .find(tail);
    found
        .or(match short {
            b"issue" => Some(Action::Issue),
            b"complete" => Some(Action::Complete),
            b"insert" => Some(Action::Insert),
            b"requeue" => Some(Action::Requeue),
            b"queue" => Some(Action::Queue),
            b"backmerge" => Some(Action::BackMerge),
            b"frontmerge" => Some(Action::FrontMerge),
            b"remap" => Some(Action::Remap),
            _ => None,
        })
        .map(Some)
        .ok_or(Defect::UnknownAction)
}

/// The line of an event word that is none.
pub fn action_line(word: &[u8]) -> Result<Action, Line> {
    match event_of(word) {
        Ok(Some(a)) => Ok(a),
        Ok(None) => Err(Line::Skip(SkipRule::OtherEvent)),
        Err(d) => Err(Line::Defect(d)),
    }
}

/// `HH:MM:SS[.fraction]` as the time since midnight.
pub fn clock(s: &[u8]) -> Option<Nanos> {
    let mut parts = s.splitn(3, |b| *b == b':');
    let whole = |p: &[u8]| {
        let ok = (1..=2).contains(&p.len());
        ok.then(|| Num::parse(p, false)?.unsigned()).flatten()
    };
    let h = whole(parts.next()?)?;
    let m = whole(parts.next()?).filter(|m| *m < 60)?;
    let s = Nanos::parse_secs(parts.next()?).filter(|s| (0..61_000_000_000).contains(&s.0))?;
    let secs = i64::try_from(h * 3600 + m * 60).ok()?;
    Some(Nanos(secs * 1_000_000_000 + s.0))
}

/// A device: `MAJ,MIN`, `MAJ:MIN`, the kernel's number, or `-` for none.
pub fn device(s: &[u8], hex: bool) -> Option<DevId> {
    if s == b"-" {
        return Some(DevId::NONE);
    }
    match s.iter().position(|b| matches!(b, b',' | b':')) {
        Some(i) => {
            let major = Num::parse(&s[..i], hex)?
                .unsigned()
                .filter(|v| *v < 0xfff)?;
            let minor = Num::parse(&s[i + 1..], hex)?
                .unsigned()
                .filter(|v| *v <= 0xf_ffff)?;
            Some(DevId::new(major as u32, minor as u32))
        }
        None => {
            // A dev_t of 32 bits, which `%d` of a C int may show as negative.
            let n = Num::parse(s, hex)?.signed()?;
            let n = u32::try_from(n).or_else(|_| i32::try_from(n).map(|v| v as u32));
            n.ok().map(DevId)
        }
    }
}

/// `mul` ns times a number with a fraction, exactly; digits below 1 ns are cut.
pub fn time(s: &[u8], mul: u64, div: u64) -> Option<i64> {
    let (neg, s) = match s.strip_prefix(b"-") {
        Some(rest) => (true, rest),
        None => (false, s),
    };
    let dot = s.iter().position(|b| *b == b'.').unwrap_or(s.len());
    let whole = Num::parse(&s[..dot], false)?.unsigned()?;
    let mut ns = u128::from(whole) * u128::from(mul);
    let mut unit = u128::from(mul);
    for b in s.get(dot + 1..).unwrap_or(&[]) {
        unit /= 10;
        ns += unit * u128::from((*b).checked_sub(b'0').filter(|d| *d < 10)?);
    }
    let ns = i64::try_from(ns / u128::from(div.max(1))).ok()?;
    Some(if neg { -ns } else { ns })
}
