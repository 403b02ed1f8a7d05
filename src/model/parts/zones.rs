//! Writes to sequential zones, in order: by a lock below the scheduler (up to 6.9), by a plug above it (since 6.10), or by
//! one CPU's queue (proposed in 2025).

use super::shape::{Fit, Limits, Shape};
use crate::model::Disk;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Where the zones of a disk are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Sectors of a zone; 0: not zoned.
    pub zone_sectors: u64,
    /// First sector of the first sequential zone; before it writes are not ordered.
    pub first_sequential: u64,
}

impl Layout {
    /// That of a disk.
    pub fn of(disk: &Disk) -> Layout {
        Layout {
            zone_sectors: disk.zone_sectors,
            first_sequential: disk.first_sequential,
        }
    }

    /// The number of the sequential zone that a sector lies in.
    #[inline]
    pub fn zone(&self, sector: u64) -> Option<u64> {
        if sector < self.first_sequential {
            return None;
        }
        sector.checked_div(self.zone_sectors)
    }
}

/// mq-deadline's zone locks (`blk_req_zone_write_lock`, block/blk-zoned.c, 6.1): taken at dispatch, given back at completion
/// or requeue.
#[derive(Clone, Debug, Default)]
pub struct Locks(BTreeSet<u64>);

impl Locks {
    /// Whether a write to this zone may be dispatched.
    pub fn free(&self, zone: u64) -> bool {
        !self.0.contains(&zone)
    }

    /// A write to this zone is dispatched; false if another one is (a fault of the caller).
    pub fn lock(&mut self, zone: u64) -> bool {
        self.0.insert(zone)
    }

    /// It has ended, or was taken back.
    pub fn unlock(&mut self, zone: u64) {
        self.0.remove(&zone);
    }
}

/// What becomes of a write that reaches its zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// It goes on.
    Passes,
    /// It waits; work of the zone is on its way already, or comes with the end of the request before.
    Waits,
    /// It waits, and the zone's work has to be queued (a kworker's turn later call `work`).
    WaitsForWork,
}

/// A bio that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Its number.
    pub bio: u32,
    /// What it is.
    pub shape: Shape,
}

/// Zone write plugs (block/blk-zoned.c, 6.10 to 6.12): one request a zone; bios that come meanwhile wait without a request.
/// A zone without an entry is idle.
#[derive(Clone, Debug, Default)]
pub struct WritePlugs(BTreeMap<u64, VecDeque<Waiting>>);

impl WritePlugs {
    /// A write arrives (`blk_zone_wplug_handle_write`). Into an idle zone it goes on, but for a NOWAIT bio (io_uring), which
    /// always goes by the zone's work. Its request, when it is made, is told to [`WritePlugs::created`].
    pub fn write(&mut self, zone: u64, w: Waiting, nowait: bool) -> Write {
        if let Some(list) = self.0.get_mut(&zone) {
            list.push_back(w);
            return Write::Waits;
        }
        let mut list = VecDeque::new();
        let idle = if nowait {
            list.push_back(w);
            Write::WaitsForWork
        } else {
            Write::Passes
        };
        self.0.insert(zone, list);
        idle
    }

    /// A request for this zone is made: it takes the waiting bios that follow it, as far as limits let it
    /// (`blk_zone_write_plug_init_request`; each an M). Their numbers go to `taken`, `rq` grows. It takes none in front.
    pub fn created(&mut self, zone: u64, rq: &mut Shape, limits: &Limits, taken: &mut Vec<u32>) {
        rq.no_front = true;
        if limits.nomerges >= 2 {
            return;
        }
        let Some(list) = self.0.get_mut(&zone) else {
            return;
        };
        while let Some(next) = list.front() {
            if next.shape.sector != rq.end()
                || !matches!(rq.take(&next.shape, limits), Fit::Merged(_))
            {
                return;
            }
            taken.push(next.bio);
            list.pop_front();
        }
    }

    /// The zone's request is freed (`blk_zone_write_plug_finish_request`): true if the zone's work has to be queued; else
    /// the zone is idle.
    pub fn finished(&mut self, zone: u64) -> bool {
        match self.0.get(&zone) {
            Some(list) if !list.is_empty() => true,
            _ => {
                self.0.remove(&zone);
                false
            }
        }
    }

    /// The zone's work runs (`blk_zone_wplug_bio_work`): the bio that goes on now, by a kworker. `None`: the zone is idle.
    pub fn work(&mut self, zone: u64) -> Option<Waiting> {
        let next = self.0.get_mut(&zone).and_then(VecDeque::pop_front);
        if next.is_none() {
            self.0.remove(&zone);
        }
        next
    }

    /// Bios that wait in all zones.
    pub fn waiting(&self) -> usize {
        self.0.values().map(VecDeque::len).sum()
    }
}

/// One zone of a pipelined device.
#[derive(Clone, Debug)]
struct Pipe {
    /// The CPU whose hardware queue keeps the zone's order.
    cpu: u16,
    /// Writes that went on and have not ended.
    running: u32,
    /// Writes from other CPUs, and all that came behind them.
    list: VecDeque<Waiting>,
    /// The zone's work is queued.
    work: bool,
}

/// Pipelined zones (BLK_FEAT_ORDERED_HWQ, v25 and v26 of the series, 2025): the first submitter's CPU is the zone's, its
/// writes go on at once, as many as there are tags; others wait for work bound to that CPU, which sends all that wait.
#[derive(Clone, Debug, Default)]
pub struct Pipes(BTreeMap<u64, Pipe>);

impl Pipes {
    /// A write arrives, on this CPU. When it has ended, tell [`Pipes::finished`].
    pub fn write(&mut self, zone: u64, w: Waiting, cpu: u16) -> Write {
        let pipe = self.0.entry(zone).or_insert_with(|| Pipe {
            cpu,
            running: 0,
            list: VecDeque::new(),
            work: false,
        });
        if pipe.cpu == cpu && pipe.list.is_empty() {
            pipe.running += 1;
            return Write::Passes;
        }
        pipe.list.push_back(w);
        if std::mem::replace(&mut pipe.work, true) {
            Write::Waits
        } else {
            Write::WaitsForWork
        }
    }

    /// The zone's work runs on the zone's CPU: everything that waits goes on, in order.
    pub fn work(&mut self, zone: u64, out: &mut Vec<Waiting>) {
        let Some(pipe) = self.0.get_mut(&zone) else {
            return;
        };
        pipe.work = false;
        pipe.running += pipe.list.len() as u32;
        out.extend(pipe.list.drain(..));
    }

    /// A write that went on has ended. When the zone's last has, its next first submitter's CPU becomes the zone's.
    pub fn finished(&mut self, zone: u64) {
        if let Some(pipe) = self.0.get_mut(&zone) {
            pipe.running = pipe.running.saturating_sub(1);
            if pipe.running == 0 && pipe.list.is_empty() {
                self.0.remove(&zone);
            }
        }
    }

    /// The CPU whose hardware queue this zone's writes go through now.
    pub fn cpu(&self, zone: u64) -> Option<u16> {
        self.0.get(&zone).map(|p| p.cpu)
    }
}

#[cfg(test)]
mod tests {
    use super::super::shape::tests::{wide, write};
    use super::*;

    fn w(bio: u32, sector: u64) -> Waiting {
        Waiting {
            bio,
            shape: write(sector, 8),
        }
    }

    #[test]
    fn zones_are_counted_from_the_start_and_conventional_ones_are_none() {
        let l = Layout {
            zone_sectors: 2048,
            first_sequential: 4096,
        };
        assert_eq!(
            [0, 4095, 4096, 6143, 6144].map(|s| l.zone(s)),
            [None, None, Some(2), Some(2), Some(3)]
        );
        assert_eq!(Layout::of(&Disk::default()).zone(9), None);
    }

    #[test]
    fn a_lock_lets_one_write_a_zone_through() {
        let mut l = Locks::default();
        assert!(l.free(3) && l.lock(3));
        assert!(!l.free(3) && !l.lock(3) && l.free(4));
        l.unlock(3);
        assert!(l.free(3));
    }

    #[test]
    fn a_plugged_zone_sends_one_request_and_its_followers_with_the_next() {
        let mut p = WritePlugs::default();
        assert_eq!(p.write(1, w(0, 0), false), Write::Passes);
        let (mut rq, mut taken) = (write(0, 8), Vec::new());
        p.created(1, &mut rq, &wide(), &mut taken);
        assert!(taken.is_empty() && rq.no_front);
        for bio in 1..5 {
            assert_eq!(p.write(1, w(bio, u64::from(bio) * 8), false), Write::Waits);
        }
        assert_eq!(p.write(2, w(9, 4096), false), Write::Passes, "another zone");
        assert!(p.finished(1));
        assert_eq!(p.work(1), Some(w(1, 8)));
        let limits = Limits {
            max_sectors: 24,
            ..wide()
        };
        let mut rq = write(8, 8);
        p.created(1, &mut rq, &limits, &mut taken);
        assert_eq!((taken.as_slice(), rq.sectors), (&[2, 3][..], 24));
        assert!(p.finished(1));
        assert_eq!(p.work(1), Some(w(4, 32)));
        assert!(!p.finished(1), "idle");
        assert_eq!(p.write(1, w(5, 40), false), Write::Passes);
        assert_eq!(p.waiting(), 0);
    }

    #[test]
    fn a_nowait_write_goes_by_the_kworker_even_into_an_idle_zone() {
        let mut p = WritePlugs::default();
        assert_eq!(p.write(1, w(0, 0), true), Write::WaitsForWork);
        assert_eq!(p.write(1, w(1, 8), true), Write::Waits);
        assert_eq!(p.work(1), Some(w(0, 0)));
        let (mut rq, mut taken) = (write(0, 8), Vec::new());
        let none = Limits {
            nomerges: 2,
            ..wide()
        };
        p.created(1, &mut rq, &none, &mut taken);
        assert!(taken.is_empty(), "nomerges 2");
        assert!(p.finished(1));
        assert_eq!(p.work(1), Some(w(1, 8)));
        assert_eq!(p.work(1), None);
    }

    #[test]
    fn a_pipelined_zone_has_many_writes_of_one_cpu() {
        let mut p = Pipes::default();
        for bio in 0..4 {
            assert_eq!(p.write(7, w(bio, u64::from(bio) * 8), 2), Write::Passes);
        }
        assert_eq!(p.write(7, w(4, 32), 3), Write::WaitsForWork);
        assert_eq!(p.write(7, w(5, 40), 2), Write::Waits, "order is kept");
        let mut out = Vec::new();
        p.work(7, &mut out);
        assert_eq!(out.iter().map(|w| w.bio).collect::<Vec<_>>(), [4, 5]);
        assert_eq!(p.write(7, w(6, 48), 2), Write::Passes);
        for _ in 0..7 {
            assert_eq!(p.cpu(7), Some(2));
            p.finished(7);
        }
        assert_eq!(p.cpu(7), None);
        assert_eq!(p.write(7, w(7, 56), 3), Write::Passes, "a new first");
        assert_eq!(p.cpu(7), Some(3));
    }
}
