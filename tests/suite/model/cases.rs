//! Random workloads and policies. No two bios of a case touch the same sector, so that an event's sector tells whose it is.

use super::servers::Time;
use blkan::event::{DevId, Rwbs};
use blkan::model::policy::*;
use blkan::model::*;
use blkan::stats::Rng;
use blkan::units::Nanos;

/// All that one simulation takes.
pub struct Case {
    pub workload: Workload,
    pub policy: Policy,
    pub costs: Costs,
    /// Servers and time, one a layer.
    pub devices: Vec<(usize, Time)>,
}

/// Sectors of a zone in zoned cases.
pub const ZONE: u64 = 4096;

pub fn pick<T: Copy>(rng: &mut Rng, of: &[T]) -> T {
    of[rng.below(of.len())]
}

fn chance(rng: &mut Rng, percent: usize) -> bool {
    rng.below(100) < percent
}

/// The case of a seed.
pub fn case(seed: u64) -> Case {
    let rng = &mut Rng::new(seed);
    let zoned = chance(rng, 15);
    let mut policy = policy(rng);
    if zoned {
        policy.zoned = pick(rng, Zoned::ALL);
        policy.zone_size = Some(ZONE * 512);
        policy.ata = Ata::Off;
        policy.plug_limit = None;
        if policy.zoned == Zoned::Lock {
            policy.sched = Some(Sched::MqDeadline);
        }
    }
    let topology = topology(rng, zoned, &policy);
    let layers = topology.layers.len();
    let devices = (0..layers).map(|_| device(rng)).collect();
    let workload = workload(rng, topology, zoned);
    Case {
        workload,
        policy,
        costs: costs(rng),
        devices,
    }
}

fn policy(rng: &mut Rng) -> Policy {
    Policy {
        plug: pick(rng, PlugMode::ALL),
        plug_limit: pick(rng, &[None, None, Some(1), Some(3), Some(31)]),
        nomerges: pick(rng, &[0, 0, 0, 1, 2]),
        max_sectors_kb: pick(rng, &[None, None, None, Some(4), Some(64)]),
        sched: pick(rng, &[None, Some(Sched::None), Some(Sched::MqDeadline)]),
        flush: pick(rng, FlushInsert::ALL),
        ata: pick(rng, &[Ata::Off, Ata::Off, Ata::Bounce, Ata::Park]),
        dm_flush: pick(rng, DmFlush::ALL),
        wbt: pick(rng, Switch::ALL),
        depth: pick(rng, &[None, None, Some(1), Some(5)]),
        ..Policy::default()
    }
}

fn costs(rng: &mut Rng) -> Costs {
    let ns = |rng: &mut Rng, most: usize| Nanos(rng.below(most + 1) as i64);
    Costs {
        getrq: ns(rng, 900),
        merge: ns(rng, 500),
        test: ns(rng, 20),
        unplug: ns(rng, 900),
        issue: ns(rng, 900),
        insert: ns(rng, 500),
        hop: ns(rng, 20_000),
        complete: ns(rng, 300),
        flush_hops: [turns(rng), turns(rng)],
        reruns: turns(rng),
    }
}

/// What workers wait for a CPU: nothing known, or a series.
fn turns(rng: &mut Rng) -> Vec<Nanos> {
    let n = pick(rng, &[0, 0, 1, 7, 40]);
    (0..n).map(|_| Nanos(rng.below(400_000) as i64)).collect()
}

fn device(rng: &mut Rng) -> (usize, Time) {
    let n = pick(rng, &[1, 1, 2, 4, 32]);
    let time = match rng.below(3) {
        0 => Time::Fixed(pick(rng, &[1_000, 20_000, 300_000])),
        1 => Time::Exponential(30_000.0),
        _ => Time::Between(500, 200_000),
    };
    (n, time)
}

fn disk(rng: &mut Rng, zoned: bool, policy: &Policy) -> Disk {
    let sched = pick(rng, Sched::ALL);
    let depth = pick(rng, &[1, 2, 7, 31, 256]);
    let ata = policy.ata != Ata::Off;
    Disk {
        depth: if ata { depth.min(32) } else { depth },
        nr_requests: match sched {
            Sched::None => depth,
            Sched::MqDeadline => 2 * depth.min(128),
        },
        sched,
        max_sectors: pick(rng, &[8, 48, 256, 2560]),
        max_segments: pick(rng, &[1, 2, 33, 128]),
        chunk_sectors: pick(rng, &[0, 0, 0, 64, 256]) * u32::from(!zoned),
        write_cache: chance(rng, 70),
        fua: chance(rng, 50),
        zone_sectors: if zoned { ZONE } else { 0 },
        first_sequential: 0,
        zones_guessed: false,
        depth_guessed: false,
        virt_boundary: chance(rng, 30),
        wbt_limit: pick(rng, &[0, 0, 1, 8, 24]),
        wbt_steps: 0,
    }
}

fn topology(rng: &mut Rng, zoned: bool, policy: &Policy) -> Topology {
    let shape = if zoned { 0 } else { rng.below(10) };
    let upper = match shape {
        0..=4 => None,
        5 => Some(LayerKind::Mirror(vec![1, 2])),
        6 => Some(LayerKind::Stripe {
            chunk: pick(rng, &[16, 128]),
            to: vec![1, 2],
        }),
        _ => Some(LayerKind::Linear(lines(rng))),
    };
    let disks = match shape {
        0..=3 => 1,
        _ => 2,
    };
    let mut kinds: Vec<LayerKind> = upper.into_iter().collect();
    kinds.extend((0..disks).map(|_| LayerKind::Disk(disk(rng, zoned, policy))));
    let layer = |(i, kind)| Layer {
        dev: DevId::new(259, i as u32),
        name: None,
        kind,
    };
    Topology {
        layers: kinds.into_iter().enumerate().map(layer).collect(),
    }
}

/// Table lines without gaps over the first 2^34 sectors, to different places of the two disks.
fn lines(rng: &mut Rng) -> Vec<Line> {
    let n = 1 + rng.below(4) as u64;
    let len = (1u64 << 34) / n / 8 * 8;
    let last = (1u64 << 34) - len * (n - 1);
    let line = |i: u64| Line {
        from: i * len,
        len: if i + 1 == n { last } else { len },
        to: 1 + (rng.below(2) as u16),
        at: (2 * i + 1) << 35,
    };
    (0..n).map(line).collect()
}

/// Where bios go next: some places that grow upwards or downwards.
struct Places {
    next: Vec<u64>,
    last: usize,
}

impl Places {
    fn new() -> Places {
        // 24 places of 2^28 sectors.
        let next = (0..24u64).map(|i| (i << 28) + (1 << 27));
        Places {
            next: next.collect(),
            last: 0,
        }
    }

    fn take(&mut self, rng: &mut Rng, sectors: u64) -> u64 {
        let i = match rng.below(10) {
            0..=4 => self.last,
            5..=7 => rng.below(3),
            _ => rng.below(24),
        };
        self.last = i;
        let gap = if chance(rng, 20) { 8 } else { 0 };
        // Every third place grows downwards, where bios go in front.
        if i % 3 == 2 {
            self.next[i] -= sectors + gap;
            self.next[i]
        } else {
            let at = self.next[i] + gap;
            self.next[i] = at + sectors;
            at
        }
    }
}

fn workload(rng: &mut Rng, topology: Topology, zoned: bool) -> Workload {
    let mut w = Workload {
        topology,
        ..Workload::default()
    };
    let tops = match w.topology.layers.first().map(|l| &l.kind) {
        Some(LayerKind::Disk(_)) => w.topology.layers.len(),
        _ => 1,
    };
    let names = ["fio", "dd", "jbd2/sda-8"].map(|n| w.comms.intern(n.as_bytes()));
    let mut places: Vec<Places> = (0..tops).map(|_| Places::new()).collect();
    let tasks = if zoned { 1 } else { 1 + rng.below(5) };
    for t in 0..tasks {
        let start = Nanos(rng.below(50_000) as i64);
        let steps = program(rng, &mut w, &mut places, zoned);
        w.tasks.push(Task {
            pid: 100 + t as u32,
            comm: names[t % names.len()],
            cpu: t as u16 % 3,
            start,
            steps,
        });
    }
    w
}

fn program(rng: &mut Rng, w: &mut Workload, at: &mut [Places], zoned: bool) -> Vec<Step> {
    let mut steps = Vec::new();
    for _ in 0..1 + rng.below(8) {
        let plugged = chance(rng, 60);
        if plugged {
            steps.push(Step::PlugStart);
        }
        let burst = pick(rng, &[2, 6, 50]);
        for _ in 0..1 + rng.below(burst) {
            let layer = rng.below(at.len());
            let b = bio(rng, layer as u16, &mut at[layer], zoned);
            w.bios.push(b);
            let id = w.bios.len() as u32 - 1;
            steps.push(Step::Submit(id));
            match rng.below(20) {
                0 => steps.push(Step::WaitFor(id)),
                1 => steps.push(Step::Wait(rng.below(4) as u32)),
                2 | 3 => steps.push(Step::Think(Nanos(rng.below(30_000) as i64))),
                4 => steps.push(Step::PlugStart),
                5 if plugged => steps.extend([Step::PlugFinish, Step::PlugStart]),
                _ => {}
            }
            if matches!(steps.last(), Some(Step::PlugStart)) && chance(rng, 90) {
                // A nested plug, closed again.
                let inner = steps.iter().rev().take(2).count();
                if inner == 2 && !plugged {
                    steps.push(Step::PlugFinish);
                }
            }
        }
        if plugged && chance(rng, 95) {
            steps.push(Step::PlugFinish);
        }
        match rng.below(4) {
            0 => steps.push(Step::Wait(0)),
            1 => steps.push(Step::At(Nanos(rng.below(5_000_000) as i64))),
            2 => steps.push(Step::Think(Nanos(rng.below(200_000) as i64))),
            _ => {}
        }
    }
    steps
}

fn bio(rng: &mut Rng, layer: u16, at: &mut Places, zoned: bool) -> BioSpec {
    let letters: &[&[u8]] = match rng.below(10) {
        0 if !zoned => &[b"FWS"],
        1 if !zoned => &[b"FWFS", b"FWS", b"WFS", b"FWFSM", b"WFSM"],
        2 | 3 => &[b"R", b"RA", b"RM"],
        4 if !zoned => &[b"D", b"W"],
        _ => &[b"W", b"WS", b"WM", b"WS"],
    };
    let rwbs = Rwbs::new(pick(rng, letters));
    let kinds = pick(rng, &[8u64, 8, 8, 8, 8, 4, 4, 1, 16, 64, 300]);
    let empty = rwbs == Rwbs::new(b"FWS") && chance(rng, 80);
    let sectors = if empty { 0 } else { kinds };
    BioSpec {
        layer,
        sector: if empty { 0 } else { at.take(rng, sectors) },
        bytes: sectors * 512,
        rwbs,
        // A flush never asks for an end at once: io_uring leaves fsync to a worker.
        by_work: false,
        retry_by: if !empty && chance(rng, 5) {
            Some(900)
        } else {
            None
        },
        no_merge: chance(rng, 5),
    }
}
