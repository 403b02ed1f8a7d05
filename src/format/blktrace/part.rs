//! One input: its records as events with times, its account, and what contradicts the records around it.

use super::frames::{Frame, Frames};
use super::meaning::{self, Meaning};
use super::names::Names;
use super::record::{CGROUP, Record};
use super::sequence::Sequences;
use crate::error::{Error, Kind, Result};
use crate::event::{BlockEvent, DevId};
use crate::format::{Defect, ImportReport, SkipRule};
use std::path::PathBuf;

/// A record this far (ns) from both its neighbours on the same CPU, which agree with each other, has a damaged time.
/// A CPU's own records are in order: `__blk_add_trace` takes the time with interrupts off.
const FAR: u64 = 1_000_000_000;

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
    /// Time of the first record, messages included, notices not.
    pub(super) first: Option<u64>,
    /// When the wall clock was told: the record's time, and ns since 1970.
    pub(super) clock: Option<(u64, u64)>,
    raw_rwbs: bool,
    ended: bool,
}

/// What is kept of the record before.
#[derive(Clone, Copy)]
struct Before {
    time: u64,
    cpu: u32,
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
            raw_rwbs,
            ended: false,
        }
    }

    /// The next event, in the order of the input; `None` at the end.
    ///
    /// # Errors
    /// Reading failed. Damage is counted instead.
    pub(super) fn next(&mut self, names: &mut Names) -> Result<Option<BlockEvent>> {
        loop {
            match self.frames.next() {
                Frame::Record(r, pdu) => {
                    self.report.lines += 1;
                    if self.strange(&r) {
                        continue;
                    }
                    let line = u32::try_from(self.report.lines).unwrap_or(u32::MAX);
                    let form = self.frames.form();
                    match meaning::of(&r, self.frames.pdu(pdu), form, line) {
                        Meaning::Event(e) => return Ok(Some(self.event(&r, e))),
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
                        Meaning::Defect(kind, why) => self.defect(kind, why, &r),
                    }
                }
                Frame::Damage { at, bytes, why } => {
                    self.report.lines += 1;
                    let text = format!("byte {at}: {bytes} bytes, {why}");
                    let line = self.report.lines;
                    self.report.defect(Defect::BadRecord, line, text.as_bytes());
                }
                Frame::Cut { at, bytes } => {
                    self.report.lines += 1;
                    let text =
                        format!("byte {at}: the last {bytes} bytes are the start of a record");
                    let line = self.report.lines;
                    self.report.defect(Defect::CutRecord, line, text.as_bytes());
                }
                Frame::End => return self.end().map(|()| None),
            }
        }
    }

    #[inline]
    fn event(&mut self, r: &Record, mut e: BlockEvent) -> BlockEvent {
        self.report.events += 1;
        self.first.get_or_insert(r.time);
        self.sequences.note(r.device, r.cpu, r.sequence);
        if !self.raw_rwbs {
            e.rwbs = e.rwbs.canonical();
        }
        e
    }

    /// Whether a record is damaged by what the ones around it say. If so it is counted.
    #[inline]
    fn strange(&mut self, r: &Record) -> bool {
        if r.notify() {
            // blkparse -d writes notices with their first times among records with times from 0 on.
            self.device.get_or_insert(DevId(r.device));
            return false;
        }
        let usual = self.before.is_some_and(|b| {
            r.time.wrapping_sub(b.time) < FAR && (r.device == b.device || !self.alone)
        });
        if !usual && self.look_closer(r) {
            return true;
        }
        self.before = Some(Before {
            time: r.time,
            cpu: r.cpu,
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
        let before = self.before.filter(|b| b.cpu == r.cpu);
        let device = |b: Before| b.device == next.device && r.device != b.device;
        if self.alone && before.is_some_and(device) {
            self.defect(
                Defect::BadDevice,
                "another device than the records around it",
                r,
            );
            return true;
        }
        let far = r.time.abs_diff(next.time) > FAR;
        let out_of_line = match before {
            Some(b) => {
                let order = b.time <= next.time;
                far && order
                    && b.time.abs_diff(r.time) > FAR
                    && !(b.time..=next.time).contains(&r.time)
            }
            None => far && r.time > next.time,
        };
        if out_of_line {
            self.defect(
                Defect::BadTime,
                "a time far from those of the records around it",
                r,
            );
        }
        out_of_line
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
