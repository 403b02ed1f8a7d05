//! Everything open on one device, and the counters its ledger is made of.

use super::ledger::Counts;
use super::slab::{Fifo, Idx, NIL, SectorIndex, Slab};
use super::stamps::*;
use super::summary::*;
use super::types::*;
use crate::event::{BlockEvent, DevId, NO_SECTOR, Rwbs};
use crate::units::Nanos;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, VecDeque};

/// A bio, or a piece of one. A bio that is not cut is its own only piece.
pub(super) struct Piece {
    /// What is known of the whole bio; up to date only in the root piece.
    pub bio: Bio,
    /// The piece's own range: what its next event will show.
    pub sector: u64,
    /// Its length in bytes.
    pub bytes: u64,
    /// Slot of the bio's first piece (itself, if not cut).
    pub root: Idx,
    /// Root only: pieces that have not ended.
    pub left: u32,
    /// Next piece of the same request.
    pub next: Idx,
    /// Completed by a partial completion at this time.
    pub done: Stamp,
    /// The issue that it was part of.
    pub done_issue: Stamp,
    /// Worst error of any piece (root only).
    pub error: i16,
    /// Where it stands.
    pub place: Place,
    /// The X that cut it was of dm's kind (front trimmed, no piece made); the range above is the rest.
    pub trimmed: bool,
    /// How often it was split at a sector that the trace does not tell.
    pub cuts: u16,
    /// Running number over bios and requests; distinguishes reuses of the slot. 0: free.
    pub number: u64,
}

/// Where a piece stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// No request yet.
    Waiting,
    /// In a request.
    Attached,
    /// Ended; the slot stays while other pieces of its bio are open.
    Ended,
}

/// Where a request stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Allocated, inserted or requeued: the driver does not have it.
    Waiting,
    /// With the driver.
    Issued,
    /// Its data completed; a post-flush or the end of the sequence is due.
    Sequenced,
}

/// An open request.
pub(super) struct Rq {
    /// What will be told.
    pub rq: Request,
    /// First sector not completed yet.
    pub pos: u64,
    /// Bytes not completed yet.
    pub remaining: u64,
    /// Pieces it carries.
    pub head: Idx,
    /// Last of them.
    pub tail: Idx,
    /// Where it stands.
    pub state: State,
    /// A completion stamped before the issue, waiting for it.
    pub early: Option<BlockEvent>,
    /// The device flush before its data has run, at this time.
    pub preflushed: Stamp,
    /// The end of that step was told.
    pub preflush_told: bool,
    /// First piece not covered by partial completions.
    pub undone: Idx,
    /// Running number over bios and requests; distinguishes reuses of the slot. 0: free.
    pub number: u64,
}

/// A remap event waiting for the Q it announces.
pub(super) struct PendingRemap {
    pub sector: u64,
    pub bytes: u64,
    pub pid: u32,
    pub from: DevId,
    pub parent: Option<u64>,
}

/// A device flush that completed, while zero-length completions behind it may still name its waiters.
pub(super) struct Burst {
    pub rq: Request,
    pub cpu: u16,
    /// CPU of its first issue: on multi-queue devices the flush queue it belongs to.
    pub issue_cpu: u16,
}

/// An open item, oldest first in [`Device::order`].
#[derive(Clone, Copy)]
pub(super) enum Item {
    Piece(Idx, u64),
    Rq(Idx, u64),
}

/// What handlers share beside their device.
pub(super) struct Cx<'a, S> {
    pub sink: &'a mut S,
    pub ids: &'a mut Ids,
    /// Completions may vanish without a mark (bpftrace).
    pub lossy: bool,
    /// The source tells each request whole, in one line.
    pub whole: bool,
    /// Some plug event was seen in the trace.
    pub plugs: bool,
}

/// Running numbers over all devices.
#[derive(Default)]
pub(super) struct Ids {
    pub bio: u64,
    pub rq: u64,
    pub number: u64,
    /// Pairs of devices with remaps between them.
    pub joins: u32,
}

impl Ids {
    pub fn next_number(&mut self) -> u64 {
        self.number += 1;
        self.number
    }
}

/// One device.
pub(super) struct Device {
    pub dev: DevId,
    pub pieces: Slab<Piece>,
    pub rqs: Slab<Rq>,
    /// Bios without a request, by the sector of their range.
    pub waiting: SectorIndex,
    /// Zero-length bios without a request, in order of Q.
    pub waiting_empty: Fifo,
    /// Discards without a request, in order of Q: they may be merged without an event.
    pub waiting_discards: Fifo,
    /// Bios trimmed by dm: their children's remap events name sectors inside them.
    pub trimmed: Vec<Idx>,
    /// Requests that carry data, by their first uncompleted sector, until their data completed.
    pub by_start: SectorIndex,
    /// Requests that may still grow at their end, by the sector behind them.
    pub by_end: SectorIndex,
    /// Requests whose data completed and whose sequence has not ended, by first sector.
    pub sequenced: SectorIndex,
    /// Empty flush requests, in order of G.
    pub empties: Fifo,
    /// Requests that wait for a flush before their data, in order of G.
    pub preflushes: Fifo,
    /// Zero-length requests that are no flush (zone resets …), in order of G.
    pub zero_ops: Fifo,
    /// Requests with a completion held for their D.
    pub early: Fifo,
    /// Device flushes open.
    pub flushes: Fifo,
    /// Passthrough commands open.
    pub passthrough: Fifo,
    /// Open requests of sources that tell each one whole, with their running numbers.
    pub whole: FxHashMap<super::whole::Key, (Idx, u64)>,
    /// Lines of those that were given up and have not ended.
    pub given_up: FxHashSet<u32>,
    pub remaps: VecDeque<PendingRemap>,
    pub burst: Option<Burst>,
    /// Two device flushes were in flight at once: several hardware queues.
    pub many_flush_queues: bool,
    /// Whether the device takes FUA writes, once a write with the flag was issued.
    pub fua: Option<bool>,
    /// Last D or C of a device flush (kept for recorders that lose completions).
    pub flush_seen: Stamp,
    /// The last device flush was kicked after this.
    pub kick_after: Stamp,
    /// Open items, oldest first, with stale entries.
    pub order: VecDeque<Item>,
    /// Issued, not completed.
    pub depth: u32,
    /// Longest D2C of a request that was alone at its sector: the yardstick for lost completions.
    pub longest_d2c: i64,
    /// The same of bios that end without a request.
    pub longest_q2c: i64,
    /// The same from a sequenced write's data to its end.
    pub longest_step: i64,
    pub n: Counts,
    pub anomalies: BTreeMap<AnomalyKind, u64>,
    pub joins: BTreeMap<DevId, RemapJoin>,
}

impl Device {
    pub fn new(dev: DevId) -> Device {
        Device {
            dev,
            pieces: Slab::default(),
            rqs: Slab::default(),
            waiting: SectorIndex::default(),
            waiting_empty: Fifo::default(),
            waiting_discards: Fifo::default(),
            trimmed: Vec::new(),
            by_start: SectorIndex::default(),
            by_end: SectorIndex::default(),
            sequenced: SectorIndex::default(),
            empties: Fifo::default(),
            preflushes: Fifo::default(),
            zero_ops: Fifo::default(),
            early: Fifo::default(),
            flushes: Fifo::default(),
            passthrough: Fifo::default(),
            whole: FxHashMap::default(),
            given_up: FxHashSet::default(),
            remaps: VecDeque::new(),
            burst: None,
            many_flush_queues: false,
            fua: None,
            flush_seen: Stamp::NONE,
            kick_after: Stamp::NONE,
            order: VecDeque::new(),
            depth: 0,
            longest_d2c: 0,
            longest_q2c: 0,
            longest_step: 0,
            n: Counts::default(),
            anomalies: BTreeMap::new(),
            joins: BTreeMap::new(),
        }
    }

    pub fn anomaly(&mut self, k: AnomalyKind) {
        *self.anomalies.entry(k).or_default() += 1;
    }

    /// A request whose first event is `ev`.
    pub fn new_rq<S: Sink>(
        &mut self,
        ev: &BlockEvent,
        kind: RequestKind,
        pairing: Pairing,
        cx: &mut Cx<'_, S>,
    ) -> Idx {
        let id = cx.ids.rq;
        cx.ids.rq += 1;
        let number = cx.ids.next_number();
        let rq = Request {
            id,
            dev: self.dev,
            kind,
            sector: ev.sector,
            bytes: ev.bytes,
            rwbs: ev.rwbs,
            pid: ev.pid,
            comm: ev.comm,
            cpu: ev.cpu,
            line: ev.line,
            first_sector: ev.sector,
            first_bytes: ev.bytes,
            q: Stamp::NONE,
            g: Stamp::NONE,
            i: Stamp::NONE,
            d_first: Stamp::NONE,
            d: Stamp::NONE,
            c_data: Stamp::NONE,
            c: Stamp::NONE,
            issues: 0,
            requeues: 0,
            inserts: 0,
            completions: 0,
            bios: 0,
            merged: 0,
            preflush: false,
            postflush: false,
            waiters: 0,
            outcome: Outcome::Open,
            pairing,
        };
        let i = self.rqs.insert(Rq {
            rq,
            pos: ev.sector,
            remaining: ev.bytes,
            head: NIL,
            tail: NIL,
            state: State::Waiting,
            early: None,
            preflushed: Stamp::NONE,
            preflush_told: false,
            undone: NIL,
            number,
        });
        self.order.push_back(Item::Rq(i, number));
        i
    }

    /// Whether what ended without a known start is told as a request. Not on a recorder that loses completions: there it
    /// is the end of one that was given up before.
    pub fn tells_unseen<S>(&self, cx: &Cx<'_, S>) -> bool {
        !cx.lossy || self.n.g == 0
    }

    /// Puts a request with data where D, M and C will look for it.
    pub fn index_rq(&mut self, i: Idx, mergeable: bool) {
        let r = &self.rqs[i];
        let (start, end) = (r.pos, r.pos.wrapping_add(r.remaining >> 9));
        if start == NO_SECTOR {
            return;
        }
        if self.by_start.add(start, i) > 0 {
            self.anomaly(AnomalyKind::Overlap);
        }
        if mergeable {
            self.by_end.add(end, i);
        }
    }

    /// Takes a request out of the indexes of [`Device::index_rq`].
    pub fn unindex_rq(&mut self, i: Idx) {
        let r = &self.rqs[i];
        let (pos, end) = (r.pos, r.pos.wrapping_add(r.remaining >> 9));
        self.by_start.remove(pos, i);
        if r.state == State::Waiting {
            self.by_end.remove(end, i);
        }
    }

    /// Appends a piece to a request.
    pub fn attach(&mut self, rq: Idx, piece: Idx) {
        let p = &mut self.pieces[piece];
        p.next = NIL;
        p.place = Place::Attached;
        let r = &mut self.rqs[rq];
        let tail = r.tail;
        r.tail = piece;
        r.rq.bios += 1;
        if tail == NIL {
            r.head = piece;
        } else {
            self.pieces[tail].next = piece;
        }
        let (id, root) = (r.rq.id, self.pieces[piece].root);
        self.pieces[root].bio.request = Some(id);
    }

    pub fn set_depth<S: Sink>(&mut self, depth: u32, time: Nanos, cx: &mut Cx<'_, S>) {
        if depth != self.depth {
            self.depth = depth;
            cx.sink.depth(self.dev, time, depth);
        }
    }

    /// Lowers how sure a request is.
    pub fn doubt(&mut self, rq: Idx, p: Pairing) {
        let r = &mut self.rqs[rq].rq;
        r.pairing = r.pairing.max(p);
    }
}

/// Whether letters name a discard.
pub(super) fn is_discard(r: Rwbs) -> bool {
    matches!(
        r.op(),
        crate::event::Op::Discard | crate::event::Op::SecureErase
    )
}

/// Zero length and PREFLUSH: a flush bio, whatever its other letters (md sends `FW`, dm `FWFSM`).
pub(super) fn is_flush_bio(ev: &BlockEvent) -> bool {
    ev.bytes == 0 && ev.rwbs.preflush() && ev.rwbs.op() != crate::event::Op::Flush
}
