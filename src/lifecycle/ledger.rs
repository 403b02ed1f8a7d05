//! The three accounts of a device. They close exactly on a complete trace: what came in went somewhere.
//!
//! Each account sets raw event counts against what the tracker made of the events, so a non-zero balance means that
//! an event was handled twice or not at all.

use super::summary::Account;

/// Counters of one device.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    /// Q events.
    pub q: u64,
    /// X events that made a piece (dm's trims make none).
    pub x: u64,
    /// Pieces first seen at a G, M or F.
    pub unseen_pieces: u64,
    /// G events.
    pub g: u64,
    /// M of bios.
    pub m: u64,
    /// F events.
    pub f: u64,
    /// Merges of discards that emitted nothing.
    pub discards: u64,
    /// Pieces that ended without a request.
    pub ended: u64,
    /// Pieces given up while they had no request.
    pub lost_pieces: u64,
    /// Requests first seen at I, D, R or C (no device flush, no passthrough).
    pub unseen_rqs: u64,
    /// Final completions with data.
    pub done: u64,
    /// Empty flush requests ended.
    pub flush_ends: u64,
    /// Requests absorbed by another.
    pub absorbed: u64,
    /// Requests given up before their data completed.
    pub lost_rqs: u64,
    /// D events.
    pub d: u64,
    /// Completions of issues before the trace.
    pub unseen_issues: u64,
    /// Final completions of data that was issued.
    pub done_issued: u64,
    /// Final completions of requests never seen issued.
    pub done_unissued: u64,
    /// C events.
    pub c: u64,
    /// C of a part of a request.
    pub partial: u64,
    /// Zero-length C of a sequenced write.
    pub sequence_ends: u64,
    /// Zero-length C of a failed request without a good byte.
    pub no_good_byte: u64,
    /// C of device flushes.
    pub flush_done: u64,
    /// C of passthrough commands.
    pub passthrough_done: u64,
    /// R of a request the driver had.
    pub r_after_d: u64,
    /// D of a request the driver already had.
    pub twice: u64,
    /// Issued requests given up.
    pub lost_issues: u64,
    /// Events only requests have (G I D R).
    pub request_events: u64,
    /// Completions whose bio or request is missing, in all.
    pub completions_missing: u64,
}

/// Open items at the end, as the accounts need them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OpenCounts {
    pub pieces: u64,
    pub rqs: u64,
    pub issues: u64,
}

impl Counts {
    /// dm, md, multipath heads: bios end here and no request is ever seen.
    pub fn bio_based(&self) -> bool {
        self.request_events == 0 && self.ended > 0
    }

    /// C events in, what they were taken for out.
    pub fn completions(&self) -> Account {
        Account {
            name: "completions",
            inn: vec![("C", self.c)],
            out: vec![
                ("final", self.done),
                ("partial", self.partial),
                ("flush_ends", self.flush_ends),
                ("sequence_ends", self.sequence_ends),
                ("no_good_byte", self.no_good_byte),
                ("flush", self.flush_done),
                ("passthrough", self.passthrough_done),
                ("bio", self.ended),
            ],
        }
    }

    /// The accounts, with what was still open at the end.
    pub fn accounts(&self, open: OpenCounts) -> [Account; 3] {
        let ended = if self.bio_based() { "C" } else { "ended" };
        [
            Account {
                name: "bios",
                inn: vec![
                    ("Q", self.q),
                    ("X", self.x),
                    ("start_unseen", self.unseen_pieces),
                ],
                out: vec![
                    ("G", self.g),
                    ("M", self.m),
                    ("F", self.f),
                    ("discard_merges", self.discards),
                    (ended, self.ended),
                    ("waiting", open.pieces),
                    ("lost", self.lost_pieces),
                ],
            },
            Account {
                name: "requests",
                inn: vec![("G", self.g), ("start_unseen", self.unseen_rqs)],
                out: vec![
                    ("C", self.done),
                    ("flush_ends", self.flush_ends),
                    ("absorbed", self.absorbed),
                    ("open", open.rqs),
                    ("lost", self.lost_rqs),
                ],
            },
            Account {
                name: "issues",
                inn: vec![("D", self.d), ("start_unseen", self.unseen_issues)],
                out: vec![
                    ("C", self.done_issued),
                    ("C_flush", self.flush_done),
                    ("C_passthrough", self.passthrough_done),
                    ("R_after_D", self.r_after_d),
                    ("issued_twice", self.twice),
                    ("open", open.issues),
                    ("lost", self.lost_issues),
                ],
            },
        ]
    }
}
