//! Sub-populations that moved, and those that did not.

use super::cells::{PARTS, Sum};
use super::moved::moved;
use super::run::{Kind, Population, RunDevice};
use crate::event::DevId;
use crate::stats::Rng;
use std::collections::BTreeMap;

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
            },
            bytes: (1 << (class - 1), 1 << (class - 1)),
            blocks: (0..100).map(block).collect(),
        }
    });
    RunDevice {
        dev: DevId::new(8, 0),
        name: None,
        kind: "request",
        populations: populations.collect(),
        quantities: Vec::new(),
        blocks: 100,
        tasks: BTreeMap::new(),
        ops: BTreeMap::new(),
        bios: None,
        bytes: None,
    }
}

#[test]
fn the_one_kind_that_moved_is_named_and_nothing_else() {
    for seed in 0..10 {
        let (a, b) = (device(seed, 1.0), device(seed + 100, 1.3));
        let got = moved(&[Some(&a)], &[Some(&b)]);
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

#[test]
fn chance_moves_nothing() {
    let found: usize = (0..40)
        .map(|seed| {
            let (a, b) = (device(seed, 1.0), device(seed + 1000, 1.0));
            moved(&[Some(&a)], &[Some(&b)]).len()
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
    let got = moved(&side(&a), &side(&b));
    assert!(
        got.iter()
            .any(|m| m.span == "D2C" && m.rwbs.as_deref() == Some("WS")),
        "{got:?}"
    );
}
