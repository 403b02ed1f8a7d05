//! Devices stacked on others: dm (drivers/md/dm.c), md raid0 and raid1 (drivers/md, 6.12).

use super::Sim;
use super::arena::NONE;
use super::letters;
use super::state::{Bio, Sleep, plain_bio};
use crate::event::{Op, Rwbs};
use crate::model::policy::DmFlush;
use crate::model::topology::{LayerKind, Line};

/// Major number of md devices.
const MD: u32 = 9;

impl<'a> Sim<'a> {
    fn kind(&self, layer: u32) -> Option<&'a LayerKind> {
        let w = self.workload;
        w.topology.layers.get(layer as usize).map(|l| &l.kind)
    }

    /// Whether a layer makes requests.
    pub(super) fn is_disk(&self, layer: u32) -> bool {
        matches!(self.kind(layer), Some(LayerKind::Disk(_)))
    }

    /// Sends a bio on to the layers below. What is made meanwhile comes before what already waits, lower layers first
    /// (`__submit_bio_noacct`, block/blk-core.c).
    pub(super) fn map_bio(&mut self, c: u32, bio: u32) {
        let older = std::mem::take(&mut self.ctxs[c].todo);
        let layer = self.bios[bio].layer;
        let rest = match self.kind(layer) {
            Some(LayerKind::Linear(lines)) => self.map_linear(c, bio, lines),
            Some(LayerKind::Mirror(to)) => self.map_mirror(c, bio, to),
            Some(LayerKind::Stripe { chunk, to }) => self.map_stripe(c, bio, *chunk, to),
            Some(LayerKind::Disk(_)) | None => false,
        };
        let todo = &mut self.ctxs[c].todo;
        if rest {
            todo.push_back(bio);
        }
        todo.extend(older);
        if !rest {
            self.end_bio(bio, 0);
        }
    }

    /// A bio of a lower layer made from `upper`: A if it is told, Q, and into the list. A sector wraps where a line maps an
    /// empty flush to before its device's start.
    fn send(&mut self, c: u32, upper: u32, mut b: Bio, from: Option<u64>) {
        b.parent = upper;
        b.ctx = c;
        self.bios[upper].remaining += 1;
        let clone = self.new_bio(b);
        if let Some(from) = from {
            self.tell_remap(c, clone, upper, from);
        }
        self.submit_bio(c, clone);
    }

    /// dm: a pre-flush goes out first, as empty flushes with the bio's own letters; then the data, line by line. True: more
    /// is left of the bio.
    fn map_linear(&mut self, c: u32, bio: u32, lines: &[Line]) -> bool {
        let b = self.bios[bio];
        if b.preflush && !b.flushed {
            self.flush_lines(c, bio, lines);
            return false;
        }
        let line = lines
            .iter()
            .find(|l| b.sector >= l.from && b.sector - l.from < l.len);
        let Some(line) = line else {
            // Beyond the table's end: an I/O error (`dm_table_find_target`).
            self.bios[bio].error = -5;
            return false;
        };
        let most = line.len - (b.sector - line.from);
        let sectors = (b.bytes >> 9).min(most);
        let at = line.at + (b.sector - line.from);
        let mut clone = plain_bio(u32::from(line.to), at, sectors << 9, b.rwbs);
        clone.no_merge = b.no_merge;
        self.send(c, bio, clone, Some(b.sector));
        let left = b.bytes - (sectors << 9);
        if left == 0 {
            return false;
        }
        // dm trims the bio, then tells X of what is left (`dm_split_and_process_bio`).
        let rest = &mut self.bios[bio];
        rest.sector += sectors;
        rest.bytes = left;
        self.tell_trim(c, bio);
        true
    }

    /// Empty flushes for a table line each, at the place that `linear_map` makes of the bio's (drivers/md/dm-linear.c).
    fn flush_lines(&mut self, c: u32, bio: u32, lines: &[Line]) {
        let sector = self.bios[bio].sector;
        let to = |l: &Line| (l.to, l.at.wrapping_sub(l.from).wrapping_add(sector));
        let all: Vec<(u16, u64)> = lines.iter().map(to).collect();
        self.flush_targets(c, bio, &all);
    }

    /// `__send_empty_flush`: one clone a target's flush bio, or one a device below.
    fn flush_targets(&mut self, c: u32, bio: u32, to: &[(u16, u64)]) {
        let b = self.bios[bio];
        for (i, (lower, sector)) in to.iter().enumerate() {
            let again = to.iter().take(i).any(|m| m.0 == *lower);
            if again && self.policy.dm_flush == DmFlush::PerDevice {
                continue;
            }
            let clone = plain_bio(u32::from(*lower), *sector, 0, b.rwbs);
            self.send(c, bio, clone, Some(b.sector));
        }
    }

    /// Whether a layer is dm: all that is stacked and not md (major 9, Documentation/admin-guide/devices.txt).
    fn is_dm(&self, layer: u32) -> bool {
        let stacked = match self.kind(layer) {
            Some(LayerKind::Linear(_)) => return true,
            Some(LayerKind::Stripe { .. }) => true,
            Some(LayerKind::Mirror(_) | LayerKind::Disk(_)) | None => false,
        };
        stacked && self.disks[layer].dev.major() != MD
    }

    /// The empty flushes of a dm bio with data are done: the data go on by dm's worker, without the pre-flush
    /// (`dm_io_complete`, `dm_wq_work`).
    pub(super) fn data_follows(&mut self, bio: u32) -> bool {
        let b = &mut self.bios[bio];
        let layer = b.layer;
        if !b.preflush || b.flushed || b.bytes == 0 {
            return false;
        }
        b.flushed = true;
        if !self.is_dm(layer) {
            return false;
        }
        let b = &mut self.bios[bio];
        b.rwbs = letters::without_preflush(b.rwbs);
        b.remaining = 1;
        let w = self.disks[layer].worker;
        self.ctxs[w].todo.push_back(bio);
        if self.ctxs[w].sleep == Sleep::Idle {
            self.wake_after(w, self.costs.hop);
        }
        true
    }

    /// md sends an empty flush `FW` to each member, without an A, and does not wait with the data (`md_flush_request`, 6.12).
    /// True: the bio was nothing but a flush.
    fn flush_members(&mut self, c: u32, bio: u32, to: &[u16]) -> bool {
        let b = self.bios[bio];
        if !b.preflush || b.flushed {
            return false;
        }
        for t in to {
            let clone = plain_bio(u32::from(*t), 0, 0, Rwbs::new(b"FW"));
            self.send(c, bio, clone, None);
        }
        let b = &mut self.bios[bio];
        b.flushed = true;
        if b.bytes > 0 {
            b.rwbs = letters::without_preflush(b.rwbs);
        }
        b.bytes == 0
    }

    /// raid1: to all members; a read to the one with the least to do (`read_balance`, drivers/md/raid1.c, of which the rest
    /// depends on what the model does not know).
    fn map_mirror(&mut self, c: u32, bio: u32, to: &[u16]) -> bool {
        if self.flush_members(c, bio, to) {
            return false;
        }
        let b = self.bios[bio];
        let least = to
            .iter()
            .min_by_key(|t| self.disks[u32::from(**t)].in_flight);
        for t in to {
            if b.op == Op::Read && Some(t) != least {
                continue;
            }
            let mut clone = plain_bio(u32::from(*t), b.sector, b.bytes, b.rwbs);
            clone.no_merge = b.no_merge;
            self.send(c, bio, clone, Some(b.sector));
        }
        false
    }

    /// raid0 and dm stripes: cut at stripes, each part remapped as it is cut off (`raid0_make_request`, drivers/md/raid0.c).
    fn map_stripe(&mut self, c: u32, bio: u32, chunk: u64, to: &[u16]) -> bool {
        let b = self.bios[bio];
        if self.is_dm(b.layer) {
            if b.preflush && !b.flushed {
                // One flush bio a stripe, at the bio's own place (drivers/md/dm-stripe.c:stripe_map).
                let all: Vec<(u16, u64)> = to.iter().map(|t| (*t, b.sector)).collect();
                self.flush_targets(c, bio, &all);
                return false;
            }
        } else if self.flush_members(c, bio, to) {
            return false;
        }
        let b = self.bios[bio];
        let chunk = chunk.max(1);
        let into = b.sector % chunk;
        let sectors = (b.bytes >> 9).min(chunk - into);
        let left = b.bytes - (sectors << 9);
        let part = match left {
            0 => bio,
            _ => {
                let mut front = b;
                front.bytes = sectors << 9;
                (front.parent, front.spec, front.remaining) = (bio, NONE, 1);
                let front = self.bios.add(front);
                let rest = &mut self.bios[bio];
                rest.sector += sectors;
                rest.bytes = left;
                rest.remaining += 1;
                self.tell_split(c, front);
                front
            }
        };
        let (n, stripe) = (to.len().max(1) as u64, b.sector / chunk);
        let Some(member) = to.get((stripe % n) as usize) else {
            return false;
        };
        let at = stripe / n * chunk + into;
        let mut clone = plain_bio(u32::from(*member), at, sectors << 9, b.rwbs);
        clone.no_merge = b.no_merge;
        self.send(c, part, clone, Some(b.sector));
        if part != bio {
            self.end_bio(part, 0);
        }
        left > 0
    }

    fn tell_trim(&mut self, c: u32, bio: u32) {
        let b = self.bios[bio];
        self.tell_cut(c, &b, b.sector);
    }
}
