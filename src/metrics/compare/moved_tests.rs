//! Sub-populations that moved, and those that did not.

use super::cells::{PARTS, Sum};
use super::moved::moved;
use super::populations::{Kind, Population};
use super::report::Moved;
use super::run::RunDevice;
use crate::event::DevId;
use crate::stats::Rng;

/// A device with three kinds of requests, whose times scatter by a factor of two and drift along the trace; `slow`
/// multiplies the D2C of the second kind.
fn device(seed: u64, slow: f64) -> RunDevice {
    let mut rng = Rng::new(seed);
    let kinds = [("R", 13, "dd"), ("WS", 13, "fio"), ("WS", 17, "fio")];
    let populations = kinds.iter().enumerate().map(|(k, (rwbs, class, task))| {
        let block = |i: usize| {
            let mut b = [Sum::default(); PARTS.len()];
            for _ in 0..20 {
                let drift = 1.0 + i as f64 / 100.0;
                let factor = if k == 1 { slow } else { 1.0 };
                for (part, base) in [(0, 1e4), (4, 1e6)] {
                    let f = if part == 4 { factor } else { 1.0 };
                    let ns = base * drift * f * (0.5 + rng.unit());
                    b[part] = b[part].plus(Sum {
                        n: 1.0,
                        sum: ns,
                        log: ns.ln(),
                    });
                }
            }
            b
        };
        Population {
            kind: Kind {
                rwbs: rwbs.to_string(),
                class: *class,
                task: task.to_string(),
                pid: None,
            },
            bytes: (1 << (class - 1), 1 << (class - 1)),
            blocks: (0..100).map(block).collect(),
        }
    });
    RunDevice {
        populations: populations.collect(),
        blocks: 100,
        ..RunDevice::named(DevId::new(8, 0), None, "request")
    }
}

#[test]
fn the_one_kind_that_moved_is_named_and_nothing_else() {
    for seed in 0..10 {
        let (a, b) = (device(seed, 1.0), device(seed + 100, 1.3));
        let got = moved(&[Some(&a)], &[Some(&b)]).0;
        let [m] = got.as_slice() else {
            panic!("{got:?}");
        };
        assert_eq!(
            (m.rwbs.as_deref(), m.comm.as_deref()),
            (Some("WS"), Some("fio"))
        );
        assert_eq!(
            (m.bytes, m.third, m.span),
            (Some([4096, 4096]), None, "D2C")
        );
        assert!((1.25..1.35).contains(&m.ratio), "{m:?}");
        let name = "WS requests of 4.00 KiB by fio: ";
        assert!(
            m.text.starts_with(name) && m.text.contains("D2C 1."),
            "{}",
            m.text
        );
        assert!(m.ratio_interval[0] > 1.2 && m.ratio_interval[1] < 1.4);
    }
}

/// Every sub-population parted into two pids, the requests of `one` of which are slower.
fn parted(seed: u64, pids: [u32; 2], slow: f64, one: Option<usize>) -> RunDevice {
    let halves = [0, 1].map(|i| {
        let slow = if one.is_none_or(|o| o == i) {
            slow
        } else {
            1.0
        };
        device(seed + 500 * i as u64, slow)
    });
    let mut all = Vec::new();
    for (half, pid) in halves.into_iter().zip(pids) {
        for mut p in half.populations {
            p.kind.pid = Some(pid);
            all.push(p);
        }
    }
    all.sort_by(|a, b| a.kind.cmp(&b.kind));
    RunDevice {
        populations: all,
        ..device(seed, 1.0)
    }
}

#[test]
fn a_pid_is_named_if_it_alone_moved_and_both_sides_have_it() {
    let pid = |m: &Moved| (m.pid, m.rwbs.clone(), m.bytes);
    let ws = || Some("WS".to_string());
    for seed in 0..5 {
        let a = parted(seed, [7, 8], 1.0, None);
        let first = |b: &RunDevice| {
            let got = moved(&[Some(&a)], &[Some(b)]).0;
            got.first().map(pid)
        };
        let one = parted(seed + 100, [7, 8], 1.3, Some(1));
        assert_eq!(first(&one), Some((Some(8), ws(), Some([4096, 4096]))));
        let both = parted(seed + 100, [7, 8], 1.3, None);
        assert_eq!(first(&both), Some((None, ws(), Some([4096, 4096]))));
        // Pids of another run: one of them is the same by chance.
        let others = parted(seed + 100, [8, 9], 1.3, None);
        assert_eq!(first(&others), Some((None, ws(), Some([4096, 4096]))));
    }
}

#[test]
fn chance_moves_nothing() {
    let found: usize = (0..40)
        .map(|seed| {
            let (a, b) = (device(seed, 1.0), device(seed + 1000, 1.0));
            moved(&[Some(&a)], &[Some(&b)]).0.len()
        })
        .sum();
    assert!(found <= 3, "{found}");
}

#[test]
fn repeated_runs_show_it_too() {
    let runs = |from: u64, slow: f64| -> Vec<RunDevice> {
        (from..from + 4).map(|s| device(s, slow)).collect()
    };
    let (a, b) = (runs(0, 1.0), runs(50, 1.3));
    fn side(r: &[RunDevice]) -> Vec<Option<&RunDevice>> {
        r.iter().map(Some).collect()
    }
    let got = moved(&side(&a), &side(&b)).0;
    assert!(
        got.iter()
            .any(|m| m.span == "D2C" && m.rwbs.as_deref() == Some("WS")),
        "{got:?}"
    );
}
