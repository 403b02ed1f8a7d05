//! Random programs under every policy: accounts balance, limits hold, nothing hangs.

use super::*;
use crate::model::policy::{Ata, DmFlush, FlushInsert, PlugMode, Sched, Switch, Zoned};
use crate::model::topology::Line;
use crate::stats::Rng;
use std::collections::BTreeMap;

fn pick<T: Copy>(r: &mut Rng, all: &[T]) -> T {
    all[r.below(all.len())]
}

fn random_disk(r: &mut Rng) -> LayerKind {
    disk(topology::Disk {
        depth: pick(r, &[1, 2, 31, 1023]),
        nr_requests: pick(r, &[2, 62, 1023]),
        sched: pick(r, Sched::ALL),
        max_sectors: pick(r, &[8, 64, 2560]),
        max_segments: pick(r, &[2, 128]),
        chunk_sectors: pick(r, &[0, 64]),
        write_cache: r.below(4) > 0,
        fua: r.below(2) > 0,
        zone_sectors: 256,
        first_sequential: pick(r, &[0, 512]),
        takes_lists: false,
        virt_boundary: r.below(2) > 0,
        wbt_limit: 3,
    })
}

fn random_world(seed: u64) -> World {
    let mut r = Rng::new(seed);
    let (a, b) = (random_disk(&mut r), random_disk(&mut r));
    let upper = match r.below(4) {
        0 => LayerKind::Mirror(vec![1, 2]),
        1 => LayerKind::Stripe {
            chunk: 16,
            to: vec![1, 2],
        },
        _ => LayerKind::Linear(
            [(0, 1, 0), (1000, 1, 4000), (2000, 2, 0)]
                .map(|(from, to, at)| Line {
                    from,
                    len: 1000,
                    to,
                    at,
                })
                .to_vec(),
        ),
    };
    let mut w = World::new(vec![upper, a, b]);
    w.policy = Policy {
        plug: pick(&mut r, PlugMode::ALL),
        plug_limit: pick(&mut r, &[None, Some(3)]),
        nomerges: r.below(3) as u8,
        flush: pick(&mut r, FlushInsert::ALL),
        ata: pick(&mut r, Ata::ALL),
        dm_flush: pick(&mut r, DmFlush::ALL),
        wbt: pick(&mut r, Switch::ALL),
        zoned: pick(&mut r, Zoned::ALL),
        ..Policy::default()
    };
    w.costs.complete = Nanos(r.below(2) as i64 * 5);
    for t in 0..4 {
        let mut text = String::new();
        for _ in 0..60 {
            let on = r.below(3);
            let (s, n) = (r.below(300) * 8, (1 + r.below(4)) * 4);
            text += &match r.below(12) {
                0 => format!("FWS on 0 {on}").replace(" on 0", " 0+0 on"),
                1 => format!("FWFS {s}+{n} on {on}"),
                2 => format!("WFS {s}+{n} on {on}"),
                3 => "plug".into(),
                4 => "unplug".into(),
                5 => format!("think {}", r.below(900)),
                6 => format!("wait {}", r.below(4)),
                7 => format!("R {s}+{n} on {on}"),
                _ => format!("W {s}+{n} on {on}, W {}+{n} on {on}", s + n),
            };
            text += ",";
        }
        w.task(t * 50, &(text + "wait 0"));
    }
    for b in &mut w.w.bios {
        if r.below(6) == 0 {
            b.retry_by = Some(900 + r.below(2) as u32);
        }
    }
    w
}

#[test]
fn random_programs_end_with_all_accounts_closed() {
    for seed in 0..300 {
        let w = random_world(seed);
        let events = w.run();
        assert_eq!(events, w.run(), "seed {seed}");
        let mut flight: BTreeMap<DevId, i64> = BTreeMap::new();
        for (e, _) in &events {
            let d = flight.entry(e.dev).or_default();
            match e.action {
                Action::Issue => *d += 1,
                Action::Requeue => *d -= 1,
                Action::Complete
                    if e.dev.minor() > 0 && (e.bytes > 0 || e.rwbs == Rwbs::FF) && e.error == 0 =>
                {
                    *d -= 1
                }
                _ => {}
            }
            let LayerKind::Disk(k) = w.w.topology.layers[e.dev.minor() as usize].kind else {
                continue;
            };
            // A command that bounces is counted until its R.
            assert!(*d <= i64::from(k.depth) + 1, "seed {seed} {}", line(e));
        }
        assert!(
            flight.iter().all(|(d, n)| d.minor() == 0 || *n == 0),
            "seed {seed}"
        );
    }
}
