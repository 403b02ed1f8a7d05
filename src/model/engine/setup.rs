//! From a workload and a policy to the state at the start.

use super::Sim;
use super::arena::Arena;
use super::clock::{Clock, Due};
use super::state::{Context, Disk, Frame, Sleep, Zones};
use super::{Out, Tally};
use crate::error::{Error, Result};
use crate::event::{CommId, DevId, NO_CPU, NO_PID};
use crate::model::parts::Limits;
use crate::model::parts::ata::Link;
use crate::model::parts::deadline::Deadline;
use crate::model::parts::flush::FlushQueue;
use crate::model::parts::plug::Plug;
use crate::model::parts::split::Cut;
use crate::model::parts::throttle::Throttle;
use crate::model::parts::zones::{Layout, Locks, Pipes, WritePlugs};
use crate::model::policy::{Sched, Switch, Zoned};
use crate::model::program::Step;
use crate::model::topology::{self, LayerKind};
use crate::model::{Costs, Policy, Service, Workload};
use crate::units::Nanos;
use std::collections::{BTreeMap, VecDeque};

/// Most requests of a scheduler: twice the smaller of the depth and 128 (`blk_mq_default_nr_requests`,
/// block/blk-mq-sched.h, 6.12).
const SCHED_TAGS: u32 = 128;

/// Refuses workloads that name what they do not have.
pub(super) fn check(w: &Workload, services: usize) -> Result<()> {
    let layers = w.topology.layers.len();
    if services != layers {
        return Err(Error::usage(format!(
            "{layers} devices, but service times for {services}"
        )));
    }
    for (i, l) in w.topology.layers.iter().enumerate() {
        check_layer(i, layers, &l.kind)?;
    }
    if let Some(b) = w.bios.iter().position(|b| usize::from(b.layer) >= layers) {
        return Err(Error::usage(format!("bio {b} goes to an unknown device")));
    }
    let bad =
        |b: &&crate::model::BioSpec| !b.bytes.is_multiple_of(512) || b.sector > u64::MAX / 1024;
    if let Some(b) = w.bios.iter().find(bad) {
        return Err(Error::usage(format!(
            "a bio of {} bytes at sector {} is not of whole sectors of a disk",
            b.bytes, b.sector
        )));
    }
    check_steps(w)
}

fn check_layer(i: usize, layers: usize, kind: &LayerKind) -> Result<()> {
    let lower: Vec<u16> = match kind {
        LayerKind::Disk(d) => {
            let zero = d.depth == 0 || d.nr_requests == 0 || d.max_sectors == 0;
            return match zero || d.max_segments == 0 {
                true => Err(Error::usage(format!("device {i} takes no request at all"))),
                false => Ok(()),
            };
        }
        LayerKind::Linear(lines) => lines.iter().map(|l| l.to).collect(),
        LayerKind::Mirror(to) => to.clone(),
        LayerKind::Stripe { chunk: 0, .. } => Vec::new(),
        LayerKind::Stripe { to, .. } => to.clone(),
    };
    let below = |t: &u16| usize::from(*t) > i && usize::from(*t) < layers;
    match !lower.is_empty() && lower.iter().all(below) {
        true => Ok(()),
        false => Err(Error::usage(format!(
            "device {i} is stacked on none, or on one that does not come after it"
        ))),
    }
}

fn check_steps(w: &Workload) -> Result<()> {
    let mut submitted = vec![false; w.bios.len()];
    for t in &w.tasks {
        for s in &t.steps {
            let (Step::Submit(b) | Step::WaitFor(b)) = s else {
                continue;
            };
            let Some(seen) = submitted.get_mut(*b as usize) else {
                return Err(Error::usage(format!("task {} names no bio {b}", t.pid)));
            };
            if matches!(s, Step::Submit(_)) && std::mem::replace(seen, true) {
                return Err(Error::usage(format!("bio {b} is submitted twice")));
            }
        }
    }
    Ok(())
}

fn scheduler(d: &topology::Disk, p: &Policy) -> (bool, u32, u32) {
    let depth = p.depth.unwrap_or(d.depth).max(1);
    let sched = p.sched.unwrap_or(d.sched);
    let tags = match (sched, sched == d.sched, p.depth) {
        (_, true, None) => d.nr_requests,
        (Sched::None, _, _) => depth,
        (Sched::MqDeadline, _, _) => 2 * depth.min(SCHED_TAGS),
    };
    (sched == Sched::MqDeadline, depth, tags)
}

/// A disk with what the policy changes of it.
fn changed(d: &topology::Disk, p: &Policy) -> topology::Disk {
    let mut d = *d;
    if let Some(kib) = p.max_sectors_kb {
        d.max_sectors = kib.max(1).saturating_mul(2);
    }
    if let Some(bytes) = p.zone_size {
        d.zone_sectors = bytes >> 9;
    }
    let zoned = p.zoned != Zoned::Off || p.zone_size.is_some();
    if d.chunk_sectors == 0 && (zoned || !d.zones_guessed) {
        // A zone's size is its queue's chunk (`blk_revalidate_disk_zones`).
        d.chunk_sectors = u32::try_from(d.zone_sectors).unwrap_or(0);
    }
    d
}

/// Writeback throttling up to the limit that the trace shows, else to three quarters of the depth, as 24 of 32 were recorded
/// (`rq_depth_calc_max_depth`, block/blk-rq-qos.c).
fn throttle(d: &topology::Disk, wbt: Switch, depth: u32) -> Throttle {
    let most = match (wbt, d.wbt_limit) {
        (Switch::Off, _) => 0,
        (Switch::On, 0 | topology::WBT_NOT_REACHED) => (depth - depth.div_ceil(4)).max(1),
        (Switch::On, n) => n,
    };
    Throttle::new(most, d.wbt_steps, d.write_cache)
}

fn disk(dev: DevId, worker: u32, d: &topology::Disk, p: &Policy) -> Disk {
    let d = changed(d, p);
    let (elevator, depth, tags) = scheduler(&d, p);
    let limits = Limits::of(&d, p.nomerges);
    let zones = match (p.zoned, d.zone_sectors) {
        (Zoned::Off, _) | (_, 0) => Zones::Off,
        (Zoned::Lock, _) => Zones::Lock(Locks::default()),
        (Zoned::Plug, _) => Zones::Plug(WritePlugs::default()),
        (Zoned::Pipeline, _) => Zones::Pipe(Pipes::default()),
    };
    Disk {
        dev,
        limits,
        cut: Cut {
            max_sectors: u64::from(d.max_sectors),
            chunk_sectors: u64::from(d.chunk_sectors),
            physical_sectors: 1,
            logical_sectors: 1,
        },
        depth,
        write_cache: d.write_cache,
        fua: d.fua,
        free_tags: tags,
        tag_waiters: VecDeque::new(),
        throttle: throttle(&d, p.wbt, depth),
        throttle_waiters: VecDeque::new(),
        in_flight: 0,
        held: 0,
        link: Link::new(p.ata),
        dispatch: VecDeque::new(),
        deadline: elevator.then(|| Deadline::new(limits)),
        software: VecDeque::new(),
        flushes: FlushQueue::default(),
        requeued: VecDeque::new(),
        zones,
        layout: Layout::of(&d),
        busy: 0,
        restart: false,
        worker,
        again: false,
        next_end: Nanos(i64::MIN),
    }
}

impl<'a> Sim<'a> {
    pub(super) fn new(
        workload: &'a Workload,
        policy: &'a Policy,
        costs: &'a Costs,
        services: &'a mut [Box<dyn Service>],
        out: &'a mut dyn Out,
    ) -> Sim<'a> {
        let names = workload.comms.names();
        let kworker = names.iter().position(|n| n.starts_with(b"kworker"));
        let cpus = workload.tasks.iter().map(|t| t.cpu);
        let mut sim = Sim {
            workload,
            policy,
            costs,
            services,
            out,
            clock: Clock::default(),
            bios: Arena::default(),
            rqs: Arena::default(),
            ctxs: Arena::default(),
            disks: Arena::default(),
            tally: Tally::default(),
            next_bio: 0,
            next_rq: 0,
            flush_turns: [0; 2],
            rerun_turn: 0,
            ended: vec![false; workload.bios.len()],
            bio_waiters: BTreeMap::new(),
            retriers: BTreeMap::new(),
            zone_workers: BTreeMap::new(),
            kworker: kworker.map_or(CommId::NONE, |i| CommId(i as u16)),
            interrupt_cpu: cpus
                .filter(|c| *c != NO_CPU)
                .max()
                .map_or(0, |c| c.saturating_add(1).min(NO_CPU - 2)),
            held: Vec::new(),
            merges: Vec::new(),
        };
        sim.add_tasks();
        sim.add_disks();
        sim
    }

    fn add_tasks(&mut self) {
        // The earliest start may lie before 0, where blkparse wrapped.
        let first = self.workload.tasks.iter().map(|t| t.start).min();
        self.clock.now = first.unwrap_or(Nanos(0));
        for (i, t) in self.workload.tasks.iter().enumerate() {
            let mut c = Context::new(t.pid, t.comm, t.cpu, self.empty_plug());
            c.task = Some(i);
            c.frames.push(Frame::Program);
            c.sleep = Sleep::Runs;
            let id = self.ctxs.add(c);
            self.clock.set(t.start, Due::Context(id));
        }
    }

    fn add_disks(&mut self) {
        let pids = self.workload.tasks.iter().map(|t| t.pid);
        let retry = self.workload.bios.iter().filter_map(|b| b.retry_by);
        let mut pid = pids
            .chain(retry)
            .filter(|p| *p != NO_PID)
            .max()
            .unwrap_or(0);
        for l in &self.workload.topology.layers {
            pid = pid.saturating_add(1);
            let worker = self.worker(pid);
            let d = match &l.kind {
                LayerKind::Disk(d) => *d,
                _ => topology::Disk::default(),
            };
            self.disks.add(disk(l.dev, worker, &d, self.policy));
        }
    }

    /// A worker of the kernel.
    pub(super) fn worker(&mut self, pid: u32) -> u32 {
        let cpu = self.interrupt_cpu + 1;
        let c = Context::new(pid, self.kworker, cpu, self.empty_plug());
        self.ctxs.add(c)
    }

    fn empty_plug(&self) -> Plug {
        Plug::new(self.policy)
    }

    /// The context of an io_uring worker; new ones look like the context that asks, but for their pid.
    pub(super) fn retrier(&mut self, pid: u32, like: u32) -> u32 {
        if let Some(c) = self.retriers.get(&pid) {
            return *c;
        }
        let (comm, cpu) = (self.ctxs[like].comm, self.ctxs[like].cpu);
        let comm = self.comm_of(pid).unwrap_or(comm);
        let c = self
            .ctxs
            .add(Context::new(pid, comm, cpu, self.empty_plug()));
        self.retriers.insert(pid, c);
        c
    }

    fn comm_of(&self, pid: u32) -> Option<CommId> {
        let t = self.workload.tasks.iter().find(|t| t.pid == pid);
        t.map(|t| t.comm)
    }
}
