//! How fast it runs.

use super::cases::Case;
use super::servers::{Time, servers};
use blkan::event::{BlockEvent, CommId, DevId, Rwbs};
use blkan::model::engine::{Of, Out, simulate};
use blkan::model::policy::*;
use blkan::model::*;
use blkan::stats::Rng;
use blkan::units::Nanos;
use std::time::Instant;

struct Nothing(u64);

impl Out for Nothing {
    fn event(&mut self, ev: &BlockEvent, _: Of) {
        self.0 = self.0.wrapping_add(ev.time.0 as u64);
    }
}

/// Tasks that write random half pages in plugs of 64 pages, and wait.
fn writers(tasks: u32, sessions: usize, sched: Sched) -> Case {
    let mut rng = Rng::new(2);
    let disk = Disk {
        depth: 64,
        nr_requests: 128,
        sched,
        ..Disk::default()
    };
    let layer = Layer {
        dev: DevId::new(8, 0),
        name: None,
        kind: LayerKind::Disk(disk),
    };
    let mut w = Workload::default();
    w.topology.layers.push(layer);
    for t in 0..tasks {
        let mut steps = Vec::new();
        for _ in 0..sessions {
            steps.push(Step::PlugStart);
            for _ in 0..64 {
                let page = rng.below(1 << 40) as u64 * 8;
                for sector in [page, page + 4] {
                    steps.push(Step::Submit(w.bios.len() as u32));
                    w.bios.push(BioSpec {
                        layer: 0,
                        sector,
                        bytes: 2048,
                        rwbs: Rwbs::new(b"WS"),
                        retry_by: None,
                        by_work: false,
                        no_merge: false,
                    });
                }
            }
            steps.extend([Step::PlugFinish, Step::Wait(0)]);
        }
        w.tasks.push(Task {
            pid: 100 + t,
            comm: CommId::NONE,
            cpu: 0,
            start: Nanos(0),
            steps,
        });
    }
    Case {
        workload: w,
        policy: Policy::default(),
        costs: Costs::default(),
        devices: vec![(8, Time::Fixed(20_000))],
    }
}

/// Events a second of this machine for each way through the block layer.
fn rates() -> Vec<(String, f64)> {
    let mut out = Vec::new();
    for sched in Sched::ALL.iter().copied() {
        let mut case = writers(4, 1000, sched);
        for plug in PlugMode::ALL.iter().copied() {
            case.policy.plug = plug;
            let (service, _log) = servers(case.devices[0].0, case.devices[0].1, 1);
            let mut services = vec![service];
            let mut nothing = Nothing(0);
            let start = Instant::now();
            let w = &case.workload;
            let tally =
                simulate(w, &case.policy, &case.costs, &mut services, &mut nothing).unwrap();
            let took = start.elapsed().as_secs_f64();
            assert!(tally.events > 1_000_000 && nothing.0 > 0);
            out.push((format!("{sched:?} {plug:?}"), tally.events as f64 / took));
        }
    }
    out
}

/// A million events a second is asked for; a third of it leaves room for a busy machine. Run with `--ignored` on a quiet one.
#[test]
#[ignore = "timed"]
fn a_million_events_a_second() {
    for (name, rate) in rates() {
        println!("{name}: {:.2} M events/s", rate / 1e6);
        assert!(rate > 333_000.0, "{name}: {rate}");
    }
}
