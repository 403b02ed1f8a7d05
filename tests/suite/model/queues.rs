//! Queues whose numbers are known in closed form.

use super::cases::Case;
use super::servers::{Time, exponential};
use super::truth::{Run, Truth, run};
use blkan::event::{Action, DevId, Fields, Op, Rwbs};
use blkan::lifecycle::{Request, Sink, Span, Tracker};
use blkan::model::policy::*;
use blkan::model::*;
use blkan::stats::Rng;
use blkan::units::Nanos;

/// A block layer that takes no time.
const FREE: Costs = Costs {
    getrq: Nanos(0),
    merge: Nanos(0),
    test: Nanos(0),
    unplug: Nanos(0),
    issue: Nanos(0),
    insert: Nanos(0),
    hop: Nanos(0),
    complete: Nanos(0),
    flush_hops: [Vec::new(), Vec::new()],
    reruns: Vec::new(),
};

fn disk(depth: u32, sched: Sched) -> Disk {
    Disk {
        depth,
        nr_requests: match sched {
            Sched::None => depth,
            Sched::MqDeadline => 1 << 20,
        },
        sched,
        write_cache: true,
        ..Disk::default()
    }
}

fn write(sector: u64, sectors: u64) -> BioSpec {
    BioSpec {
        layer: 0,
        sector,
        bytes: sectors * 512,
        rwbs: Rwbs::new(b"WS"),
        retry_by: None,
        by_work: false,
        no_merge: false,
    }
}

fn flush() -> BioSpec {
    BioSpec {
        rwbs: Rwbs::new(b"FWS"),
        ..write(0, 0)
    }
}

fn case(disk: Disk, servers: usize, time: Time) -> Case {
    Case {
        workload: Workload {
            topology: Topology {
                layers: vec![Layer {
                    dev: DevId::new(8, 0),
                    name: None,
                    kind: LayerKind::Disk(disk),
                }],
            },
            ..Workload::default()
        },
        policy: Policy::default(),
        costs: FREE,
        devices: vec![(servers, time)],
    }
}

/// Adds a task that does `steps`; bios in them are numbered from `bios.len()` on before the call.
fn task(c: &mut Case, start: i64, steps: Vec<Step>) {
    let n = c.workload.tasks.len() as u32;
    c.workload.tasks.push(Task {
        pid: 1000 + n,
        comm: blkan::event::CommId::NONE,
        cpu: 0,
        start: Nanos(start),
        steps,
    });
}

fn submit(c: &mut Case, b: BioSpec) -> Step {
    c.workload.bios.push(b);
    Step::Submit(c.workload.bios.len() as u32 - 1)
}

/// One write at each of these times, each by a task of its own, no two adjoining.
fn arrivals(c: &mut Case, times: impl Iterator<Item = i64>) {
    for (i, t) in times.enumerate() {
        let s = submit(c, write(i as u64 * 100, 8));
        task(c, t, vec![s]);
    }
}

/// Q to the end of each request, in order of Q.
fn latencies(run: &Run) -> Vec<i64> {
    let t = Truth::of(run);
    assert!(t.faults.is_empty(), "{:?}", t.faults);
    let mut bios: Vec<_> = t.bios.values().collect();
    bios.sort_by_key(|b| b.line);
    let end = |b: &&super::truth::TrueBio| t.rqs[&b.requests[0]].ends[0].0;
    bios.iter().map(|b| end(b) - b.q.unwrap()).collect()
}

fn ran(c: &Case) -> Run {
    run(c, 1).unwrap()
}

const S: i64 = 100_000;

#[test]
fn one_server_with_regular_arrivals() {
    for sched in [Sched::None, Sched::MqDeadline] {
        // Slower than served: nobody waits.
        let mut c = case(disk(1, sched), 1, Time::Fixed(S));
        arrivals(&mut c, (0..500).map(|i| i * 150_000));
        assert!(latencies(&ran(&c)).iter().all(|l| *l == S), "{sched:?}");
        // Faster: the n-th waits n times the difference.
        let mut c = case(disk(1, sched), 1, Time::Fixed(S));
        arrivals(&mut c, (0..500).map(|i| i * 80_000));
        let want: Vec<i64> = (0..500).map(|n| S + n * 20_000).collect();
        assert_eq!(latencies(&ran(&c)), want, "{sched:?}");
    }
}

/// Mean and its standard error from 25 batches.
fn batches(v: &[i64]) -> (f64, f64) {
    let mean = |v: &[i64]| v.iter().sum::<i64>() as f64 / v.len() as f64;
    let of: Vec<f64> = v.chunks_exact(v.len() / 25).map(mean).collect();
    let m = of.iter().sum::<f64>() / of.len() as f64;
    let var = of.iter().map(|x| (x - m).powi(2)).sum::<f64>() / (of.len() - 1) as f64;
    (m, (var / of.len() as f64).sqrt())
}

/// Pollaczek and Khinchine: the mean wait is ρ S (1 + c²) / 2 (1 − ρ), with c² 0 for a fixed and 1 for an exponential
/// service, in whatever order those that wait are served.
#[test]
fn one_server_with_random_arrivals() {
    let n = 40_000;
    for (load, time, c2) in [
        (0.5, Time::Fixed(S), 0.0),
        (0.8, Time::Fixed(S), 0.0),
        (0.6, Time::Exponential(S as f64), 1.0),
    ] {
        for sched in [Sched::None, Sched::MqDeadline] {
            let mut rng = Rng::new(5);
            let mut at = 0;
            let mut c = case(disk(1, sched), 1, time);
            let between = S as f64 / load;
            let times = std::iter::repeat_with(|| {
                at += exponential(&mut rng, between);
                at
            });
            arrivals(&mut c, times.take(n));
            let (mean, error) = batches(&latencies(&ran(&c)));
            let wait = load * S as f64 * (1.0 + c2) / (2.0 * (1.0 - load));
            let theory = wait + S as f64;
            assert!(error < 0.06 * theory, "{load} {sched:?}: too few, {error}");
            let off = (mean - theory).abs() / error;
            assert!(off < 4.0, "{load} {sched:?}: {mean} for {theory} ± {error}");
        }
    }
}

/// `tasks` that each write `each` times, one after another.
fn closed(c: &mut Case, tasks: u64, each: u64) {
    for t in 0..tasks {
        let mut steps = Vec::new();
        for i in 0..each {
            let b = write((t << 24) + i * 100, 8);
            steps.push(submit(c, b));
            steps.push(Step::Wait(0));
        }
        task(c, 0, steps);
    }
}

fn span(run: &Run) -> i64 {
    let at = |e: Option<&(blkan::event::BlockEvent, _)>| e.unwrap().0.time.0;
    at(run.events.last()) - at(run.events.first())
}

#[test]
fn k_channels_do_k_times_as_much() {
    for sched in [Sched::None, Sched::MqDeadline] {
        for k in [1usize, 4, 16] {
            // Limited by the device's own channels, and by the depth that the block layer keeps to.
            for (depth, channels) in [(64, k), (k, 64)] {
                let mut c = case(disk(depth as u32, sched), channels, Time::Fixed(S));
                closed(&mut c, 64, 20);
                assert_eq!(span(&ran(&c)), 64 * 20 * S / k as i64, "{sched:?} {k}");
            }
        }
    }
}

/// Little's law, as an identity of integers: the time integral of the number of commands in the device is the sum of the times
/// that they spent there.
#[test]
fn littles_law() {
    #[derive(Default)]
    struct Area {
        area: i64,
        depth: i64,
        since: i64,
        spent: i64,
        n: u64,
    }
    impl Sink for Area {
        fn request(&mut self, r: &Request) {
            self.spent += r.span(Span::D2C).unwrap();
            self.n += 1;
        }
        fn depth(&mut self, _: DevId, time: Nanos, depth: u32) {
            self.area += self.depth * (time.0 - self.since);
            (self.depth, self.since) = (i64::from(depth), time.0);
        }
    }
    let mut c = case(disk(9, Sched::None), 3, Time::Exponential(S as f64));
    closed(&mut c, 20, 100);
    let run = ran(&c);
    let (mut a, mut tracker) = (Area::default(), Tracker::new(Fields::BLKTRACE));
    for (ev, _) in &run.events {
        tracker.observe(ev, &mut a);
    }
    tracker.finish(&mut a);
    assert_eq!((a.n, a.depth), (2000, 0));
    assert_eq!(a.area, a.spent);
    let mean = a.area as f64 / span(&run) as f64;
    assert!((8.5..=9.0).contains(&mean), "{mean}: 20 tasks keep 9 busy");
}

/// Sectors in the order in which they reached the device.
fn order(run: &Run) -> Vec<u64> {
    let served = run.served[0].lock().unwrap();
    served.iter().map(|s| s.sector).collect()
}

#[test]
fn without_a_scheduler_the_first_come_are_the_first_served() {
    let mut c = case(disk(3, Sched::None), 2, Time::Between(1_000, S));
    let mut rng = Rng::new(9);
    for i in 0..400 {
        let sector = rng.below(1 << 30) as u64;
        let s = submit(&mut c, write(sector * 100, 8));
        task(&mut c, i * 7_000, vec![s]);
    }
    let asked: Vec<u64> = c.workload.bios.iter().map(|b| b.sector).collect();
    assert_eq!(order(&ran(&c)), asked);
}

#[test]
fn a_plug_leaves_in_the_order_of_its_kernel() {
    let issued = |plug, sched| {
        let mut c = case(disk(64, sched), 64, Time::Fixed(S));
        c.policy.plug = plug;
        let mut steps = vec![Step::PlugStart];
        for sector in [500, 300, 900, 100] {
            steps.push(submit(&mut c, write(sector, 8)));
        }
        steps.push(Step::PlugFinish);
        task(&mut c, 0, steps);
        order(&ran(&c))
    };
    let straight = [500, 300, 900, 100];
    for plug in PlugMode::ALL.iter().copied() {
        let want = match plug {
            PlugMode::Newest | PlugMode::NewestOfQueue => [100, 900, 300, 500],
            _ => straight,
        };
        assert_eq!(issued(plug, Sched::None), want, "{plug:?}");
        let sorted = [100, 300, 500, 900];
        assert_eq!(issued(plug, Sched::MqDeadline), sorted, "{plug:?}");
    }
}

/// Pages as two halves, 31 requests to be had, on a device that is done before the next bio comes: the plug is emptied at 31
/// requests, and one whose oldest is tested merges once in 32 bios; one whose newest is tested merges every second half.
#[test]
fn a_head_checked_plug_merges_one_bio_in_32() {
    let merged = |plug| {
        let mut c = case(disk(31, Sched::None), 64, Time::Fixed(1));
        c.policy.plug = plug;
        c.costs.getrq = Nanos(1_000);
        c.costs.merge = Nanos(1_000);
        let mut steps = Vec::new();
        let mut rng = Rng::new(3);
        for _ in 0..40 {
            steps.push(Step::PlugStart);
            for _ in 0..64 {
                let page = rng.below(1 << 40) as u64 * 8;
                steps.push(submit(&mut c, write(page, 4)));
                steps.push(submit(&mut c, write(page + 4, 4)));
            }
            steps.extend([Step::PlugFinish, Step::Wait(0)]);
        }
        task(&mut c, 0, steps);
        let bios = c.workload.bios.len();
        let run = ran(&c);
        let m = run
            .events
            .iter()
            .filter(|(e, _)| e.action == Action::BackMerge);
        m.count() as f64 / bios as f64
    };
    assert_eq!(merged(PlugMode::Oldest), 1.0 / 32.0);
    for plug in [
        PlugMode::Scan,
        PlugMode::NewestOfQueue,
        PlugMode::TailElseOldest,
    ] {
        assert_eq!(merged(plug), 0.5, "{plug:?}");
    }
    assert_eq!(merged(PlugMode::None), 0.0);
}

/// Tasks that do nothing but flush: the first is served alone, all that came meanwhile by the next flush, and so on in turn.
/// So `m` flushes of each of `n` tasks need 2 m device flushes (m for one task).
#[test]
fn flushes_in_turn_are_shared() {
    for (n, m) in [(1, 50), (2, 50), (7, 50), (30, 20)] {
        let mut c = case(disk(64, Sched::None), 1, Time::Fixed(S));
        for _ in 0..n {
            let mut steps = Vec::new();
            for _ in 0..m {
                steps.extend([submit(&mut c, flush()), Step::Wait(0)]);
            }
            task(&mut c, 0, steps);
        }
        let run = ran(&c);
        let sent = run.served[0].lock().unwrap();
        let flushes = sent.iter().filter(|s| s.op == Op::Flush).count();
        assert_eq!(flushes, if n == 1 { m } else { 2 * m }, "{n} tasks");
    }
}

/// Writes of 4 KiB that cannot merge, to one zone, in order: one at a time by lock or plug, as many as the device has channels
/// if they are pipelined. They reach the device in order, always.
#[test]
fn writes_to_a_zone_keep_their_order() {
    const N: u64 = 300;
    let took = |zoned, sched| {
        let mut c = case(disk(64, sched), 4, Time::Fixed(S));
        if let Some(LayerKind::Disk(d)) =
            c.workload.topology.layers.first_mut().map(|l| &mut l.kind)
        {
            (d.max_sectors, d.zone_sectors) = (8, 1 << 16);
        }
        c.policy.zoned = zoned;
        c.policy.zone_size = Some(512 << 16);
        let mut steps = Vec::new();
        for i in 0..N {
            steps.push(submit(&mut c, write(i * 8, 8)));
        }
        task(&mut c, 0, steps);
        let run = ran(&c);
        let want: Vec<u64> = (0..N).map(|i| i * 8).collect();
        assert_eq!(order(&run), want, "{zoned:?}");
        span(&run)
    };
    assert_eq!(took(Zoned::Lock, Sched::MqDeadline), N as i64 * S);
    assert_eq!(took(Zoned::Plug, Sched::None), N as i64 * S);
    assert_eq!(took(Zoned::Plug, Sched::MqDeadline), N as i64 * S);
    assert_eq!(took(Zoned::Pipeline, Sched::None), N as i64 * S / 4);
}
