//! Small programs whose events are known by hand from the kernel's rules.

mod flush;
mod plug;
mod stacks;

use super::*;
use crate::event::{Action, DevId, Fields, NO_SECTOR, Rwbs};
use crate::lifecycle::{AnomalyKind, Sink, Tracker};
use crate::model::device::Command;
use crate::model::program::{BioSpec, Step, Task};
use crate::model::topology::{self, Layer, LayerKind, Topology};
use crate::units::Nanos;

/// Every command takes as long as told; flushes as long as told for them.
pub(super) struct Fixed(pub i64, pub i64);

impl Service for Fixed {
    fn done_at(&mut self, now: Nanos, c: &Command) -> Nanos {
        let flush = c.op == crate::event::Op::Flush;
        Nanos(now.0 + if flush { self.1 } else { self.0 })
    }
}

/// Keeps events, and follows them like a recording's.
pub(super) struct Log {
    pub events: Vec<(BlockEvent, Of)>,
    pub tracker: Tracker,
}

struct Nothing;
impl Sink for Nothing {}

impl Out for Log {
    fn event(&mut self, ev: &BlockEvent, of: Of) {
        self.events.push((*ev, of));
        self.tracker.observe(ev, &mut Nothing);
    }
}

/// Costs that tell steps apart in what is printed.
pub(super) const COSTS: Costs = Costs {
    getrq: Nanos(2),
    merge: Nanos(1),
    test: Nanos(0),
    unplug: Nanos(3),
    issue: Nanos(1),
    insert: Nanos(1),
    hop: Nanos(20),
    complete: Nanos(0),
    flush_hops: [Vec::new(), Vec::new()],
    reruns: Vec::new(),
};

pub(super) struct World {
    pub w: Workload,
    pub policy: Policy,
    pub costs: Costs,
    pub service: (i64, i64),
}

pub(super) fn disk(d: topology::Disk) -> LayerKind {
    LayerKind::Disk(d)
}

impl World {
    /// Devices 8,0 8,1 … of these kinds.
    pub fn new(kinds: Vec<LayerKind>) -> World {
        let mut topology = Topology::default();
        for (i, kind) in kinds.into_iter().enumerate() {
            let dev = DevId::new(8, i as u32);
            topology.layers.push(Layer {
                dev,
                name: None,
                kind,
            });
        }
        World {
            w: Workload {
                topology,
                ..Workload::default()
            },
            policy: Policy::default(),
            costs: COSTS,
            service: (1000, 500),
        }
    }

    /// One ordinary disk.
    pub fn plain() -> World {
        World::new(vec![disk(topology::Disk::default())])
    }

    pub fn bio(&mut self, layer: u16, rwbs: &str, sector: u64, sectors: u64) -> u32 {
        self.w.bios.push(BioSpec {
            layer,
            sector,
            bytes: sectors * 512,
            rwbs: Rwbs::new(rwbs.as_bytes()),
            retry_by: None,
            by_work: false,
            no_merge: false,
        });
        self.w.bios.len() as u32 - 1
    }

    /// A task from words: `plug`, `unplug`, `think N`, `wait N`, `RWBS SECTOR+N [on LAYER]`, one a line or after commas.
    pub fn task(&mut self, start: i64, text: &str) -> &mut World {
        let mut steps = Vec::new();
        for word in text
            .split([',', '\n'])
            .map(str::trim)
            .filter(|w| !w.is_empty())
        {
            let f: Vec<&str> = word.split_whitespace().collect();
            steps.push(match f[0] {
                "plug" => Step::PlugStart,
                "unplug" => Step::PlugFinish,
                "think" => Step::Think(Nanos(f[1].parse().unwrap())),
                "at" => Step::At(Nanos(f[1].parse().unwrap())),
                "wait" => Step::Wait(f[1].parse().unwrap()),
                "waitfor" => Step::WaitFor(f[1].parse().unwrap()),
                rwbs => {
                    let (s, n) = f.get(1).map_or(("0", "0"), |p| p.split_once('+').unwrap());
                    let on = f.get(3).map_or(0, |l| l.parse().unwrap());
                    Step::Submit(self.bio(on, rwbs, s.parse().unwrap(), n.parse().unwrap()))
                }
            });
        }
        let n = self.w.tasks.len();
        self.w.tasks.push(Task {
            pid: 100 + n as u32,
            comm: CommId::NONE,
            cpu: 0,
            start: Nanos(start),
            steps,
        });
        self
    }

    pub fn run_with_tally(&self) -> (Vec<(BlockEvent, Of)>, Tally) {
        let mut services: Vec<Box<dyn Service>> = Vec::new();
        for _ in &self.w.topology.layers {
            services.push(Box::new(Fixed(self.service.0, self.service.1)));
        }
        let mut log = Log {
            events: Vec::new(),
            tracker: Tracker::new(Fields::BLKTRACE),
        };
        let tally = simulate(&self.w, &self.policy, &self.costs, &mut services, &mut log).unwrap();
        assert_eq!(tally.events, log.events.len() as u64);
        let report = log.tracker.finish(&mut Nothing);
        assert_eq!(report.went_back, 0);
        for d in &report.devices {
            for a in &d.ledger {
                assert_eq!(a.balance(), 0, "{} {a:?}", d.dev);
            }
            assert_eq!(d.completions.balance(), 0, "{} {:?}", d.dev, d.completions);
            // Random programs write where others do: that alone is odd.
            let odd = d
                .anomalies
                .iter()
                .filter(|(k, _)| *k != AnomalyKind::Overlap);
            assert!(odd.clone().all(|(_, n)| *n == 0), "{:?}", d.anomalies);
        }
        (log.events, tally)
    }

    pub fn run(&self) -> Vec<(BlockEvent, Of)> {
        self.run_with_tally().0
    }
}

/// `ACT RWBS SECTOR+N`, with `@TIME` where asked; the device's minor before it unless 0.
pub(super) fn line(e: &BlockEvent) -> String {
    let mut s = e.action.code().to_string();
    match e.action {
        Action::Plug => {}
        Action::Unplug | Action::UnplugTimer => s += &format!(" {}", e.aux),
        Action::Split => s += &format!(" {} {}/{}", e.rwbs, e.sector, e.aux),
        _ if e.sector == NO_SECTOR => s += &format!(" {}", e.rwbs),
        _ => s += &format!(" {} {}+{}", e.rwbs, e.sector, e.sectors()),
    }
    if e.error != 0 {
        s += &format!(" [{}]", e.error);
    }
    match e.dev.minor() {
        0 => s,
        n => format!("{n}:{s}"),
    }
}

pub(super) fn lines(events: &[(BlockEvent, Of)]) -> Vec<String> {
    events.iter().map(|(e, _)| line(e)).collect()
}

/// The events must be these, in this order; separated by `,` or line ends.
#[track_caller]
pub(super) fn expect(w: &World, text: &str) {
    let want: Vec<&str> = text
        .split([',', '\n'])
        .map(str::trim)
        .filter(|w| !w.is_empty())
        .collect();
    let got = lines(&w.run());
    assert_eq!(got.join("\n"), want.join("\n"));
}
