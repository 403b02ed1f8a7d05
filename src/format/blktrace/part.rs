//! One input: its records as events with times, its account, and what contradicts the records around it.

use super::frames::{Frame, Frames};
use super::meaning::{self, Letters, Meaning};
use super::names::Names;
use super::neighbours::{Place, out_of_line, usual};
use super::record::{CGROUP, Record};
use super::sequence::Sequences;
use crate::error::{Error, Kind, Result};
use crate::event::{BlockEvent, DevId};
use crate::format::{Defect, ImportReport, SkipRule};
use crate::units::Nanos;
use std::ops::Range;
use std::path::PathBuf;

/// One input.
pub(super) struct Part {
    path: PathBuf,
    frames: Frames,
    pub(super) report: ImportReport,
    sequences: Sequences,
    /// The whole input is of one CPU and one traced device, as its name says.
    alone: bool,
    before: Option<Before>,
    /// The first device met.
    pub(super) device: Option<DevId>,
    /// Time of the first message.
    pub(super) first: Option<u64>,
    /// When the wall clock was told: the record's time, and ns since 1970.
    pub(super) clock: Option<(u64, u64)>,
    letters: &'static Letters,
    ended: bool,
}

/// How far to read, and from where times count.
pub(super) struct Limits {
    pub(super) genesis: Nanos,
    pub(super) until: Nanos,
    pub(super) full: usize,
}

impl Limits {
    /// Reads one event and appends none.
    pub(super) const NONE: Limits = Limits {
        genesis: Nanos(0),
        until: Nanos::MAX,
        full: 0,
    };

    /// Appends an event if it is within the limits, else gives it back.
    #[inline(always)]
    pub(super) fn push(
        &self,
        mut e: BlockEvent,
        names: &mut Names,
        out: &mut Vec<BlockEvent>,
    ) -> Option<BlockEvent> {
        if e.time > self.until || out.len() >= self.full {
            return Some(e);
        }
        e.time = e.time - self.genesis;
        // Not before: the name may have been told by another input meanwhile.
        e.comm = names.of(e.pid, e.cpu);
        out.push(e);
        None
    }
}

fn place(r: &Record) -> Place {
    Place {
        cpu: r.cpu,
        time: r.time,
    }
}

/// What is kept of the record before.
#[derive(Clone, Copy)]
struct Before {
    place: Place,
    device: u32,
}

impl Part {
    pub(super) fn new(
        path: PathBuf,
        frames: Frames,
        report: ImportReport,
        alone: bool,
        raw_rwbs: bool,
    ) -> Part {
        Part {
            path,
            frames,
            report,
            sequences: Sequences::default(),
            alone,
            before: None,
            device: None,
            first: None,
            clock: None,
            letters: meaning::letters_of(raw_rwbs),
            ended: false,
        }
    }

    /// Reads events in the order of the input and appends, counted from `genesis` and with their names, those up to the
    /// time `until`, until `out` holds `full`; the first that is not appended, as it is, or `None` at the end.
    ///
    /// # Errors
    /// Reading failed. Damage is counted instead.
    pub(super) fn run(
        &mut self,
        to: &Limits,
        names: &mut Names,
        out: &mut Vec<BlockEvent>,
    ) -> Result<Option<BlockEvent>> {
        loop {
            while let Some((r, pdu)) = self.frames.fast() {
                if let Some(e) = self.record(&r, pdu, names)
                    && let Some(left) = to.push(e, names, out)
                {
                    return Ok(Some(left));
                }
            }
            let event = match self.frames.slow() {
                Frame::Record(r, pdu) => self.record(&r, pdu, names),
                Frame::End => return self.end().map(|()| None),
                damage => self.damage(&damage),
            };
            if let Some(left) = event.and_then(|e| to.push(e, names, out)) {
                return Ok(Some(left));
            }
        }
    }

    /// The event of a record, if it is one.
    #[inline(always)]
    fn record(&mut self, r: &Record, pdu: Range<usize>, names: &mut Names) -> Option<BlockEvent> {
        self.report.lines += 1;
        if self.strange(r) {
            return None;
        }
        let line = u32::try_from(self.report.lines).unwrap_or(u32::MAX);
        let form = self.frames.form();
        match meaning::of(r, self.frames.pdu(pdu), form, self.letters, line) {
            Meaning::Event(e) => {
                self.report.events += 1;
                self.sequences.note(r.device, r.cpu, r.sequence);
                return Some(e);
            }
            Meaning::Name(name) => {
                names.learn(r.pid, r.cpu, name);
                self.report.skip(SkipRule::Notice);
            }
            Meaning::Clock(ns) => {
                self.clock.get_or_insert((r.time, ns));
                self.report.skip(SkipRule::Notice);
            }
            Meaning::Skip(rule) => {
                // blkparse 1.2.0 knows no message with a cgroup: it neither prints nor counts from one.
                if r.action & CGROUP == 0 {
                    self.first.get_or_insert(r.time);
                }
                self.report.skip(rule);
            }
            Meaning::Defect(kind, why) => self.defect(kind, why, r),
        }
        None
    }

    /// Counts bytes that are no record.
    fn damage(&mut self, frame: &Frame) -> Option<BlockEvent> {
        let (kind, text) = match frame {
            Frame::Damage { at, bytes, why } => (
                Defect::BadRecord,
                format!("byte {at}: {bytes} bytes, {why}"),
            ),
            Frame::Cut { at, bytes } => {
                let text = format!("byte {at}: the last {bytes} bytes are the start of a record");
                (Defect::CutRecord, text)
            }
            Frame::Record(..) | Frame::End => return None,
        };
        self.report.lines += 1;
        let line = self.report.lines;
        self.report.defect(kind, line, text.as_bytes());
        None
    }

    /// Whether a record is damaged by what the ones around it say. If so it is counted.
    #[inline(always)]
    fn strange(&mut self, r: &Record) -> bool {
        if r.notify() {
            // blkparse -d writes notices with their first times among records with times from 0 on.
            self.device.get_or_insert(DevId(r.device));
            return false;
        }
        let as_usual = self
            .before
            .is_some_and(|b| usual(b.place, r.time) && (r.device == b.device || !self.alone));
        if !as_usual && self.look_closer(r) {
            return true;
        }
        self.before = Some(Before {
            place: place(r),
            device: r.device,
        });
        false
    }

    #[cold]
    fn look_closer(&mut self, r: &Record) -> bool {
        self.device.get_or_insert(DevId(r.device));
        let Some(next) = self
            .frames
            .ahead()
            .filter(|n| n.cpu == r.cpu && !n.notify())
        else {
            return false;
        };
        let before = self.before.filter(|b| b.place.cpu == r.cpu);
        let device = |b: Before| b.device == next.device && r.device != b.device;
        if self.alone && before.is_some_and(device) {
            self.defect(
                Defect::BadDevice,
                "another device than the records around it",
                r,
            );
            return true;
        }
        let odd = out_of_line(before.map(|b| b.place), place(r), place(&next));
        if odd {
            self.defect(
                Defect::BadTime,
                "a time far from those of the records around it",
                r,
            );
        }
        odd
    }

    fn defect(&mut self, kind: Defect, why: &str, r: &Record) {
        let text = format!(
            "{why}: cpu {} sequence {} time {} action {:#x} device {}",
            r.cpu,
            r.sequence,
            r.time,
            r.action,
            DevId(r.device)
        );
        let line = self.report.lines;
        self.report.defect(kind, line, text.as_bytes());
    }

    fn end(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.ended, true) {
            return Ok(());
        }
        self.report.lost_events = Some(self.sequences.lost());
        self.report.told_twice(self.sequences.repeated());
        if self.frames.died() {
            return Err(
                Error::new(Kind::Io, "a reading thread ended before its work was done")
                    .path(&self.path)
                    .hint("this is a bug in blkan; --threads 1 may avoid it"),
            );
        }
        if let Some(fault) = self.frames.take_fault() {
            let (kind, text) = fault
                .into_defect()
                .map_err(|e| Error::io(Some(&self.path), "reading the trace failed", e))?;
            self.report.defect(kind, 0, text.as_bytes());
        }
        Ok(())
    }
}
