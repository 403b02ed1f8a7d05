//! Cutting a stream of bytes into records, and finding the next record behind damage.
//!
//! A record is believed when the next one, or the end, follows it; so a damaged length costs its own record and not
//! those behind it. Knows nothing of what records mean.

use super::feed::{Feed, Piece, ROOM};
use super::record::{Form, LONGEST, Record};
use crate::format::compress::Fault;
use std::ops::Range;

/// Bytes of the next record that are looked at.
const MAGIC: usize = 4;

/// What lies next in the stream.
pub(super) enum Frame {
    /// A record; its PDU is at this place of [`Frames::pdu`].
    Record(Record, Range<usize>),
    /// Bytes that are no record, from a byte of the stream on.
    Damage {
        at: u64,
        bytes: u64,
        why: &'static str,
    },
    /// The stream ends inside a record.
    Cut { at: u64, bytes: u64 },
    /// The end.
    End,
}

/// A stream of records.
pub(super) struct Frames {
    feed: Feed,
    buffer: Vec<u8>,
    at: usize,
    end: usize,
    /// Place of `buffer[0]` in the stream; below the stream's start by [`ROOM`] at first.
    base: u64,
    over: bool,
    fault: Option<Fault>,
    died: bool,
    /// Of the record before; most streams have one form only.
    form: Form,
}

impl Frames {
    pub(super) fn new(feed: Feed) -> Frames {
        Frames {
            feed,
            buffer: vec![0; ROOM],
            at: ROOM,
            end: ROOM,
            base: 0u64.wrapping_sub(ROOM as u64),
            over: false,
            fault: None,
            died: false,
            form: Form::new(false, false),
        }
    }

    /// The form of the record given last.
    pub(super) fn form(&self) -> Form {
        self.form
    }

    /// Why the stream broke off; given once.
    pub(super) fn take_fault(&mut self) -> Option<Fault> {
        self.fault.take()
    }

    /// A helper thread died, and the stream with it.
    pub(super) fn died(&self) -> bool {
        self.died
    }

    /// The bytes of a record's PDU, until the next record is asked for.
    #[inline]
    pub(super) fn pdu(&self, place: Range<usize>) -> &[u8] {
        self.buffer.get(place).unwrap_or_default()
    }

    /// The next record, if it lies whole in this piece, has the form of the last one, and is followed by another.
    #[inline(always)]
    pub(super) fn fast(&mut self) -> Option<(Record, Range<usize>)> {
        let rest = self.buffer.get(self.at..self.end)?;
        let r = Record::read(self.form, rest).filter(|_| starts(rest, self.form))?;
        let len = self.form.header() + usize::from(r.pdu_len);
        // The next header must be there as a whole: it may have to be looked at.
        let next = rest.get(len..).filter(|n| n.len() >= LONGEST)?;
        if !starts(next, self.form) {
            return None;
        }
        let pdu = self.at + self.form.header()..self.at + len;
        self.at += len;
        Some((r, pdu))
    }

    /// The header behind the record given last, if the stream has one.
    pub(super) fn ahead(&self) -> Option<Record> {
        let rest = self.rest();
        let form = Form::of(rest)?;
        Record::read(form, rest)
    }

    /// What lies next where [`Frames::fast`] does not go: near the end of a piece or of the stream, at a change of form,
    /// and at damage.
    #[cold]
    pub(super) fn slow(&mut self) -> Frame {
        self.want(LONGEST + MAGIC);
        match self.end - self.at {
            0 => return Frame::End,
            1..MAGIC => return self.cut(),
            _ => {}
        }
        let Some(form) = Form::of(self.rest()) else {
            return self.damage(0, "no record starts here");
        };
        let Some(r) = Record::read(form, self.rest()) else {
            return self.cut();
        };
        let len = form.header() + usize::from(r.pdu_len);
        self.want(len + LONGEST);
        let rest = self.rest();
        match rest.get(len..) {
            // The end lies inside the PDU. If records follow the header, its length is wrong.
            None if self.find(form.header()).is_none() => return self.cut(),
            None => return self.damage(form.header(), "its length reaches over the next record"),
            // The last record, or one that another follows.
            Some(next) if next.is_empty() || Form::of(next).is_some() => {}
            // Neither the one nor the other: a magic number in the middle of garbage.
            Some(_) if !r.plausible() => return self.damage(0, "no record starts here"),
            Some(_) => {
                if self.find(form.header()).is_some_and(|n| n < len) {
                    return self.damage(form.header(), "its length reaches over the next record");
                }
                // It is whole; what follows it is not, which the next call tells.
            }
        }
        self.form = form;
        let pdu = self.at + form.header()..self.at + len;
        self.at += len;
        Frame::Record(r, pdu)
    }

    fn rest(&self) -> &[u8] {
        self.buffer.get(self.at..self.end).unwrap_or_default()
    }

    fn place(&self) -> u64 {
        self.base.wrapping_add(self.at as u64)
    }

    /// The stream ends inside the record that starts here.
    fn cut(&mut self) -> Frame {
        let (at, bytes) = (self.place(), (self.end - self.at) as u64);
        self.at = self.end;
        Frame::Cut { at, bytes }
    }

    /// Skips to the next record, at least `skip` bytes on.
    fn damage(&mut self, skip: usize, why: &'static str) -> Frame {
        let from = self.place();
        self.at = (self.at + skip.max(1)).min(self.end);
        loop {
            if let Some(n) = self.find(0) {
                self.at += n;
                break;
            }
            // A header that starts in the last bytes is seen whole once more bytes are there.
            self.at = self.at.max(self.end.saturating_sub(LONGEST + MAGIC));
            let had = self.end - self.at;
            self.want(had + 1);
            if self.end - self.at == had {
                self.at = self.end;
                break;
            }
        }
        Frame::Damage {
            at: from,
            bytes: self.place().wrapping_sub(from),
            why,
        }
    }

    /// How far on the next plausible record starts, at least `skip` bytes from here.
    fn find(&self, skip: usize) -> Option<usize> {
        let rest = self.rest();
        // `VV 74 61 65` little-endian, `65 61 74 VV` big-endian.
        memchr::memchr_iter(0x74, rest.get(skip..)?).find_map(|i| {
            let i = i + skip;
            let starts = [i.checked_sub(1), i.checked_sub(2)];
            starts
                .into_iter()
                .flatten()
                .filter(|s| *s >= skip)
                .find(|s| self.record_at(*s))
        })
    }

    fn record_at(&self, i: usize) -> bool {
        let from = self.rest().get(i..).unwrap_or_default();
        Form::of(from)
            .and_then(|form| Record::read(form, from))
            .is_some_and(|r| r.plausible())
    }

    /// Makes at least `n` bytes available behind the current place, if the stream has them.
    fn want(&mut self, n: usize) {
        while self.end - self.at < n && !self.over {
            let used = std::mem::take(&mut self.buffer);
            let tail = used.get(self.at..self.end).unwrap_or_default().to_vec();
            let Some(piece) = self.feed.next(used) else {
                (self.over, self.died) = (true, true);
                (self.at, self.end) = (0, 0);
                return;
            };
            self.take(&tail, piece);
        }
    }

    /// Goes on with a new piece behind what is left of the old one.
    fn take(&mut self, tail: &[u8], piece: Piece) {
        let Piece { buffer, end, last } = piece;
        let next = self.base.wrapping_add(self.end as u64);
        self.buffer = buffer;
        self.at = ROOM.saturating_sub(tail.len());
        self.end = end;
        if tail.len() > ROOM {
            // Only a huge PDU gets here.
            self.buffer.splice(..ROOM, tail.iter().copied());
            self.end = end - ROOM + tail.len();
        } else if let Some(room) = self.buffer.get_mut(self.at..ROOM) {
            room.copy_from_slice(tail);
        }
        self.base = next
            .wrapping_sub(tail.len() as u64)
            .wrapping_sub(self.at as u64);
        if let Some(fault) = last {
            (self.over, self.fault) = (true, fault);
        }
    }
}

#[inline]
fn starts(at: &[u8], form: Form) -> bool {
    at.first_chunk()
        .is_some_and(|m| u32::from_le_bytes(*m) == form.magic)
}
