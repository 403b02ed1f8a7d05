//! Writes to sequential zones (block/blk-zoned.c).

use super::Sim;
use super::state::{Frame, NO_ZONE, Sleep, Zones};
use super::tasks::Next;
use crate::event::{NO_PID, Op};
use crate::model::parts::Join;
use crate::model::parts::zones::{Waiting, Write};

impl Sim<'_> {
    /// The sequential zone that a write goes to, if zones are kept in order.
    pub(super) fn zone_of(&self, bio: u32) -> Option<u64> {
        let b = &self.bios[bio];
        let d = &self.disks[b.layer];
        if matches!(d.zones, Zones::Off) || b.op != Op::Write || b.bytes == 0 {
            return None;
        }
        d.layout.zone(b.sector)
    }

    /// `blk_zone_plug_bio`: true if the bio waits in its zone.
    pub(super) fn held_by_zone(&mut self, c: u32, bio: u32) -> bool {
        let Some(zone) = self.zone_of(bio) else {
            return false;
        };
        let b = &mut self.bios[bio];
        let layer = b.layer;
        let w = Waiting {
            bio,
            shape: b.shape(),
        };
        let cpu = self.ctxs[c].cpu;
        let answer = match &mut self.disks[layer].zones {
            Zones::Plug(p) => p.write(zone, w, b.by_work || b.retry_by != NO_PID),
            Zones::Pipe(p) => p.write(zone, w, cpu),
            Zones::Off | Zones::Lock(_) => return false,
        };
        if answer == Write::Passes {
            return false;
        }
        // The zone's work may wait for a request.
        b.retry_by = NO_PID;
        if answer == Write::WaitsForWork {
            self.queue_zone_work(layer, zone);
        }
        true
    }

    /// The works of a disk's zones share a queue that each CPU has one worker for (`disk_zone_wplugs_wq`, bound and of high
    /// priority: block/blk-zoned.c, 6.12): they run one after the other. A worker that sleeps for a request is joined by another
    /// (kernel/workqueue.c:wq_worker_sleeping); each zone has one for that.
    fn queue_zone_work(&mut self, layer: u32, zone: u64) {
        let shared = self.zone_worker(layer, None);
        let w = match self.ctxs[shared].sleep {
            Sleep::Tag | Sleep::Throttle => self.zone_worker(layer, Some(zone)),
            _ => shared,
        };
        self.ctxs[w]
            .frames
            .insert(0, Frame::ZoneWork { layer, zone });
        if self.ctxs[w].sleep == Sleep::Idle {
            self.wake_after(w, self.costs.hop);
        }
    }

    fn zone_worker(&mut self, layer: u32, zone: Option<u64>) -> u32 {
        if let Some(w) = self.zone_workers.get(&(layer, zone)) {
            return *w;
        }
        let pid = self.ctxs[self.disks[layer].worker].pid;
        let w = self.worker(pid);
        self.zone_workers.insert((layer, zone), w);
        w
    }

    /// The zone's work sends on one bio, or with a pipeline all.
    pub(super) fn zone_work(&mut self, c: u32, layer: u32, zone: u64) -> Next {
        self.pop(c);
        let mut all = Vec::new();
        match &mut self.disks[layer].zones {
            Zones::Plug(p) => all.extend(p.work(zone)),
            Zones::Pipe(p) => p.work(zone, &mut all),
            Zones::Off | Zones::Lock(_) => {}
        }
        for w in all.iter().rev() {
            self.push(
                c,
                Frame::Alloc {
                    bio: w.bio,
                    tried: true,
                },
            );
        }
        Next::After(self.costs.getrq)
    }

    /// A request for a zone is made: it takes the bios that wait behind it.
    pub(super) fn zone_created(&mut self, c: u32, rq: u32, bio: u32) {
        let Some(zone) = self.zone_of(bio) else {
            return;
        };
        let layer = self.bios[bio].layer;
        let d = &mut self.disks[layer];
        match &mut d.zones {
            Zones::Off | Zones::Lock(_) => return,
            Zones::Pipe(_) => {}
            Zones::Plug(p) => {
                let mut taken = Vec::new();
                let shape = &mut self.rqs[rq].shape;
                p.created(zone, shape, &d.limits, &mut taken);
                for b in taken {
                    self.merge(c, b, rq, Join::Back);
                }
            }
        }
        self.rqs[rq].zone = zone;
    }

    /// A request of a zone is gone.
    pub(super) fn zone_finished(&mut self, layer: u32, zone: u64) {
        debug_assert!(zone != NO_ZONE);
        let work = match &mut self.disks[layer].zones {
            Zones::Plug(p) => p.finished(zone),
            Zones::Pipe(p) => {
                p.finished(zone);
                false
            }
            Zones::Lock(l) => {
                l.unlock(zone);
                false
            }
            Zones::Off => false,
        };
        if work {
            self.queue_zone_work(layer, zone);
        }
    }
}
