//! Workloads of threads on the kernel's mailing lists, and of their kind.

use crate::event::{CommTable, DevId, Rwbs};
use crate::model::{BioSpec, Disk, Layer, LayerKind, Line, Step, Task, Topology, Workload};
use crate::stats::Rng;
use crate::units::Nanos;
use std::collections::BTreeSet;

/// Sectors of a page.
const PAGE: u64 = 8;
const WRITE: Rwbs = Rwbs::new(b"WS");
const FLUSH: Rwbs = Rwbs::new(b"FWS");
const READ: Rwbs = Rwbs::new(b"R");

/// A workload being made.
struct Maker {
    w: Workload,
    rng: Rng,
}

impl Maker {
    fn new(seed: u64, layers: Vec<Layer>) -> Maker {
        let mut comms = CommTable::default();
        comms.intern(b"fio");
        comms.intern(b"kworker/0:1H");
        Maker {
            w: Workload {
                topology: Topology { layers },
                comms,
                ..Workload::default()
            },
            rng: Rng::new(seed),
        }
    }

    fn bio(&mut self, sector: u64, bytes: u64, rwbs: Rwbs) -> Step {
        let k = u32::try_from(self.w.bios.len()).unwrap_or(u32::MAX);
        self.w.bios.push(BioSpec {
            layer: 0,
            sector,
            bytes,
            rwbs,
            retry_by: None,
            by_work: false,
            no_merge: false,
        });
        Step::Submit(k)
    }

    fn task(&mut self, job: u32, start: Nanos, steps: Vec<Step>) {
        let comm = self.w.comms.intern(b"fio");
        self.w.tasks.push(Task {
            pid: 1000 + job,
            comm,
            cpu: (job % 2) as u16,
            start,
            steps,
        });
    }

    fn below(&mut self, n: u64) -> u64 {
        self.rng.below(usize::try_from(n).unwrap_or(usize::MAX)) as u64
    }
}

fn disk(dev: DevId, disk: Disk) -> Layer {
    Layer {
        dev,
        name: None,
        kind: LayerKind::Disk(disk),
    }
}

/// Buffered random writes on a raw block device: all jobs share its pages, and each fsync writes all that are dirty in
/// order of index, one bio a block (`__block_write_full_folio`, fs/buffer.c), then flushes.
#[derive(Clone, Debug)]
pub struct Plug2k {
    /// Writers.
    pub jobs: u32,
    /// Pages that each writes.
    pub pages: u32,
    /// Pages between two fsyncs of a job.
    pub fsync: u32,
    /// Bytes of the device.
    pub capacity: u64,
    /// Bytes of the soft block: 4096 or less.
    pub block: u32,
    /// What one page's write costs its task.
    pub think: Nanos,
    /// Limits of the disk.
    pub disk: Disk,
    /// For the places.
    pub seed: u64,
}

impl Default for Plug2k {
    /// The thread of June 2025.
    fn default() -> Plug2k {
        Plug2k {
            jobs: 4,
            pages: 4096,
            fsync: 64,
            capacity: 1_900_000_000_000,
            block: 2048,
            think: Nanos(2_000),
            disk: Disk {
                virt_boundary: true,
                ..Disk::default()
            },
            seed: 1,
        }
    }
}

impl Plug2k {
    /// The workload.
    pub fn workload(&self) -> Workload {
        let mut m = Maker::new(self.seed, vec![disk(DevId::new(259, 0), self.disk)]);
        let jobs = self.jobs.max(1);
        let every = self.fsync.max(1);
        let mut dirty: BTreeSet<u64> = BTreeSet::new();
        let mut steps: Vec<Vec<Step>> = vec![Vec::new(); jobs as usize];
        for n in 0..self.pages {
            for job in 0..jobs {
                dirty.insert(m.below((self.capacity / 4096).max(1)));
                // Jobs do not come to their fsync at the same time.
                let phase = u64::from(job) * u64::from(every) / u64::from(jobs);
                if !(u64::from(n) + 1 + phase).is_multiple_of(u64::from(every)) {
                    continue;
                }
                let pages = std::mem::take(&mut dirty);
                let Some(s) = steps.get_mut(job as usize) else {
                    continue;
                };
                s.push(Step::Think(Nanos(self.think.0 * i64::from(every))));
                self.writeback(&mut m, &pages, s);
            }
        }
        for (job, s) in (0u32..).zip(steps) {
            m.task(job, Nanos(0), s);
        }
        m.w
    }

    fn writeback(&self, m: &mut Maker, pages: &BTreeSet<u64>, s: &mut Vec<Step>) {
        let block = u64::from(self.block.clamp(512, 4096));
        s.push(Step::PlugStart);
        for p in pages {
            for k in 0..4096 / block {
                let sector = p * PAGE + k * block / 512;
                s.push(m.bio(sector, block, WRITE));
            }
        }
        s.push(Step::PlugFinish);
        s.push(Step::Wait(0));
        s.push(m.bio(0, 0, FLUSH));
        s.push(Step::Wait(0));
    }
}

/// blktests block/004: direct random writes, each but a job's last one followed by an fsync.
#[derive(Clone, Debug)]
pub struct Block004 {
    /// Writers.
    pub jobs: u32,
    /// Writes of each.
    pub writes: u32,
    /// Bytes of the device.
    pub capacity: u64,
    /// Lines of a dm-linear table over the disk; 0: the raw disk.
    pub lines: u32,
    /// What a task does between two calls.
    pub think: Nanos,
    /// Limits of the disk.
    pub disk: Disk,
    /// For the places.
    pub seed: u64,
}

impl Default for Block004 {
    /// The thread of March 2020: an ATA disk at depth 32 with mq-deadline.
    fn default() -> Block004 {
        Block004 {
            jobs: 64,
            writes: 256,
            capacity: 8 << 40,
            lines: 0,
            think: Nanos(50_000),
            disk: Disk {
                depth: 32,
                nr_requests: 64,
                sched: crate::model::policy::Sched::MqDeadline,
                ..Disk::default()
            },
            seed: 1,
        }
    }
}

impl Block004 {
    /// The workload.
    pub fn workload(&self) -> Workload {
        let sectors = self.capacity / 512;
        let mut layers = Vec::new();
        if self.lines > 0 {
            let len = sectors / u64::from(self.lines);
            let line = |k: u32| Line {
                from: u64::from(k) * len,
                len,
                to: 1,
                // Behind each other on the disk, in the other order, so that lines are seen.
                at: u64::from(self.lines - 1 - k) * len,
            };
            layers.push(Layer {
                dev: DevId::new(253, 0),
                name: None,
                kind: LayerKind::Linear((0..self.lines).map(line).collect()),
            });
        }
        layers.push(disk(DevId::new(8, 0), self.disk));
        let mut m = Maker::new(self.seed, layers);
        let pages =
            (sectors / u64::from(self.lines.max(1)) / PAGE).max(1) * u64::from(self.lines.max(1));
        for job in 0..self.jobs {
            let mut s = Vec::new();
            for n in 0..self.writes {
                let at = m.below(pages) * PAGE;
                s.push(m.bio(at, 4096, WRITE));
                s.push(Step::Wait(0));
                s.push(Step::Think(self.think));
                if n + 1 < self.writes {
                    s.push(m.bio(0, 0, FLUSH));
                    s.push(Step::Wait(0));
                    s.push(Step::Think(self.think));
                }
            }
            m.task(job, Nanos(i64::from(job) * 1000), s);
        }
        m.w
    }
}

/// Writes to sequential zones, some at a time.
#[derive(Clone, Debug)]
pub struct ZonedWriter {
    /// Writes.
    pub writes: u32,
    /// Bytes of each.
    pub bytes: u32,
    /// Bios under way.
    pub depth: u32,
    /// Bytes of a zone.
    pub zone: u64,
    /// Zones; sequential writes fill one after the other.
    pub zones: u32,
    /// Zones are chosen at random for each write.
    pub random: bool,
    /// What a task does for each write.
    pub think: Nanos,
    /// For the choice.
    pub seed: u64,
}

impl Default for ZonedWriter {
    /// The thread of October 2025: null_blk with zones of 1 MiB.
    fn default() -> ZonedWriter {
        ZonedWriter {
            writes: 16_384,
            bytes: 4096,
            depth: 64,
            zone: 1 << 20,
            zones: 1024,
            random: false,
            think: Nanos(20_000),
            seed: 1,
        }
    }
}

impl ZonedWriter {
    /// The workload. Ends before its `writes` where all zones are full.
    pub fn workload(&self) -> Workload {
        let sectors = (self.zone / 512).max(1);
        let limits = Disk {
            depth: 64,
            nr_requests: 64,
            zone_sectors: sectors,
            write_cache: false,
            ..Disk::default()
        };
        let mut m = Maker::new(self.seed, vec![disk(DevId::new(251, 0), limits)]);
        let step = u64::from(self.bytes / 512).max(1);
        let mut filled = vec![0u64; self.zones.max(1) as usize];
        let mut open: Vec<usize> = (0..filled.len()).collect();
        let mut s = Vec::new();
        for n in 0..self.writes {
            let at = if self.random {
                m.below(open.len() as u64) as usize
            } else {
                0
            };
            let Some(zone) = open.get(at).copied() else {
                break;
            };
            let Some(used) = filled.get_mut(zone) else {
                break;
            };
            let sector = zone as u64 * sectors + *used;
            *used += step;
            if *used + step > sectors {
                open.remove(at);
            }
            if n >= self.depth.max(1) {
                s.push(Step::Wait(self.depth.max(1) - 1));
            }
            s.push(Step::Think(self.think));
            s.push(m.bio(sector, step * 512, WRITE));
        }
        m.task(0, Nanos(0), s);
        m.w
    }
}

/// Random reads in batches, as io_uring submits them: bound by IOPS or by the CPU.
#[derive(Clone, Debug)]
pub struct IopsReader {
    /// Readers.
    pub jobs: u32,
    /// Batches of each.
    pub batches: u32,
    /// Reads of a batch, submitted under one plug.
    pub batch: u32,
    /// Reads under way when the next batch may follow, batch included.
    pub depth: u32,
    /// Bytes of a read.
    pub bytes: u32,
    /// Bytes of the device.
    pub capacity: u64,
    /// What a task does for each read.
    pub think: Nanos,
    /// Limits of the disk.
    pub disk: Disk,
    /// For the places.
    pub seed: u64,
}

impl Default for IopsReader {
    /// The thread of October 2021: one core at its most.
    fn default() -> IopsReader {
        IopsReader {
            jobs: 1,
            batches: 2048,
            batch: 32,
            depth: 128,
            bytes: 512,
            capacity: 1 << 40,
            think: Nanos(60),
            disk: Disk {
                virt_boundary: true,
                ..Disk::default()
            },
            seed: 1,
        }
    }
}

impl IopsReader {
    /// The workload.
    pub fn workload(&self) -> Workload {
        let mut m = Maker::new(self.seed, vec![disk(DevId::new(259, 0), self.disk)]);
        let bytes = u64::from(self.bytes.max(512)) / 512 * 512;
        let batch = self.batch.max(1);
        for job in 0..self.jobs {
            let mut s = Vec::new();
            for _ in 0..self.batches {
                s.push(Step::Wait(self.depth.saturating_sub(batch)));
                s.push(Step::PlugStart);
                for _ in 0..batch {
                    let at = m.below((self.capacity / bytes).max(1)) * (bytes / 512);
                    s.push(Step::Think(self.think));
                    s.push(m.bio(at, bytes, READ));
                }
                s.push(Step::PlugFinish);
            }
            s.push(Step::Wait(0));
            m.task(job, Nanos(0), s);
        }
        m.w
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn submitted(w: &Workload) -> usize {
        let all = w.tasks.iter().flat_map(|t| &t.steps);
        all.filter(|s| matches!(s, Step::Submit(_))).count()
    }

    #[test]
    fn block_004_has_no_fsync_after_a_jobs_last_write() {
        // fio decides on fsync before the next write (io_u.c:get_rw_ddir): 64·256 writes, 64·255 fsyncs.
        for lines in [0, 1, 2] {
            let w = Block004 {
                lines,
                ..Block004::default()
            }
            .workload();
            let flushes = w.bios.iter().filter(|b| b.bytes == 0).count();
            assert_eq!((w.bios.len() - flushes, flushes), (16_384, 16_320));
            assert_eq!(submitted(&w), w.bios.len());
            assert_eq!(w.topology.layers.len(), 1 + usize::from(lines > 0));
        }
    }

    #[test]
    fn writeback_is_in_order_of_pages_and_in_blocks() {
        let g = Plug2k {
            pages: 640,
            ..Plug2k::default()
        };
        let w = g.workload();
        let fsyncs = w.bios.iter().filter(|b| b.bytes == 0).count();
        assert_eq!(fsyncs, 40, "4 jobs × 640 ÷ 64");
        for pair in w.bios.windows(2) {
            let [a, b] = pair else { unreachable!() };
            if a.bytes == 0 || b.bytes == 0 {
                continue;
            }
            assert_eq!(a.bytes, 2048);
            let second_half = a.sector % 8 == 0;
            assert!(if second_half {
                b.sector == a.sector + 4
            } else {
                b.sector > a.sector
            });
        }
        let whole = Plug2k { block: 4096, ..g };
        assert!(whole.workload().bios.iter().all(|b| b.bytes != 2048));
        assert_eq!(g_bytes(&whole.workload()), g_bytes(&w));
    }

    fn g_bytes(w: &Workload) -> u64 {
        w.bios.iter().map(|b| b.bytes).sum()
    }

    #[test]
    fn zones_are_written_from_their_beginning_without_gaps() {
        for random in [false, true] {
            let w = ZonedWriter {
                random,
                writes: 4000,
                ..ZonedWriter::default()
            }
            .workload();
            let mut next: BTreeMap<u64, u64> = BTreeMap::new();
            for b in &w.bios {
                let at = next
                    .entry(b.sector / 2048)
                    .or_insert(b.sector / 2048 * 2048);
                assert_eq!(b.sector, *at);
                *at += 8;
            }
            assert_eq!(next.len() > 900, random);
        }
    }

    #[test]
    fn a_batch_of_reads_is_one_plug() {
        let w = IopsReader::default().workload();
        assert_eq!(w.bios.len(), 2048 * 32);
        let starts = w.tasks[0].steps.iter().filter(|s| **s == Step::PlugStart);
        assert_eq!(starts.count(), 2048);
    }
}
