//! Workloads from the corpus: every recording gives one, with the bios that were counted without blkan, and the device's
//! timing meets the recorded one.

use super::corpus::lab;
use super::support::Differences;
use blkan::event::BlockEvent;
use blkan::format::{ReadOptions, Trace};
use blkan::lifecycle::Tracker;
use blkan::model::workload::{Options, Recorded, Recorder};
use blkan::model::{LayerKind, Step};
use serde_json::Value;
use std::path::Path;

fn recorded(path: &Path) -> Result<Recorded, String> {
    let paths = [path.to_path_buf()];
    let mut trace = Trace::open(&paths, &ReadOptions::default()).expect("it opens");
    let mut tracker = Tracker::new(trace.meta().fields);
    let mut rec = Recorder::new(trace.meta().fields);
    let mut batch: Vec<BlockEvent> = Vec::new();
    while trace.next_batch(&mut batch).expect("it is read") {
        batch.iter().for_each(|e| tracker.observe(e, &mut rec));
        batch.clear();
    }
    tracker.finish(&mut rec);
    let comms = trace.meta().comms.clone();
    rec.finish(&comms, &Options::default())
        .map_err(|e| e.to_string())
}

/// Q events of a device as counted without blkan.
fn queued(facts: &Value, dev: &str) -> u64 {
    let q = facts["events"][dev]["Q"].as_object();
    q.into_iter().flatten().filter_map(|e| e.1.as_u64()).sum()
}

#[test]
fn lab_recordings_give_workloads_with_their_own_bios() {
    let mut d = Differences::default();
    for (name, text, facts) in lab() {
        let r = match recorded(&text) {
            Ok(r) => r,
            Err(e) => {
                d.check(false, || format!("{name}: refused: {e}"));
                continue;
            }
        };
        let retries = r
            .workload
            .bios
            .iter()
            .filter(|b| b.retry_by.is_some())
            .count() as u64;
        let layers = &r.workload.topology.layers;
        // The topmost device's bios are its Q events, but for those that were told to come again and came.
        if let (Some(top), false) = (layers.first(), name.contains("raid5")) {
            let dev = top.dev.to_string();
            let own = r.top_bios.get(&top.dev).copied().unwrap_or(0);
            // A worker also sends on what a zone's plug held, without a Q of its own.
            let again = queued(&facts, &dev).checked_sub(own);
            d.check(again.is_some_and(|n| n <= retries), || {
                format!(
                    "{name}: {own} bios and {retries} retries of {}",
                    queued(&facts, &dev)
                )
            });
        }
        let total: u64 = r.top_bios.values().sum();
        d.check(total == r.workload.bios.len() as u64, || {
            format!("{name}: bios without a device")
        });
        sound(&mut d, &name, &r);
        timed(&mut d, &name, &r);
    }
    d.done();
}

/// Every bio is submitted once, and every plug that is begun is finished.
fn sound(d: &mut Differences, name: &str, r: &Recorded) {
    let mut submitted = vec![0u32; r.workload.bios.len()];
    for t in &r.workload.tasks {
        let mut depth = 0i32;
        for s in &t.steps {
            match s {
                Step::Submit(b) => submitted[*b as usize] += 1,
                Step::PlugStart => depth += 1,
                Step::PlugFinish => depth -= 1,
                Step::Think(t) => d.check(t.0 > 0, || format!("{name}: {t:?}")),
                _ => {}
            }
            d.check((0..=1).contains(&depth), || {
                format!("{name}: plug depth {depth}")
            });
        }
        d.check(depth == 0, || format!("{name}: a plug stays open"));
    }
    d.check(submitted.iter().all(|n| *n == 1), || {
        format!("{name}: bios not submitted once")
    });
}

/// The chosen timing, run through the recorded issues, gives their mean D2C within 10 %, for classes of which there are
/// enough to tell.
fn timed(d: &mut Differences, name: &str, r: &Recorded) {
    let wanted = ["plug2k", "flush", "zoned", "cause", "k61"];
    for (layer, fit) in r.workload.topology.layers.iter().zip(&r.fits) {
        let Some(f) = fit else {
            d.check(!matches!(layer.kind, LayerKind::Disk(_)), || {
                format!("{name}: no timing")
            });
            continue;
        };
        for o in &f.ops {
            let [mean, p50, p99] = o.errors().map(|e| 100.0 * e);
            println!(
                "{name:24} {:8} {:8} {:6} {:9} ns  mean {mean:+5.1} %  p50 {p50:+5.1} %  p99 {p99:+5.1} %  {}",
                layer.dev.to_string(),
                o.op,
                o.n,
                o.recorded[0],
                f.kind
            );
            let judged = wanted.iter().any(|w| name.starts_with(w)) && o.n >= 1000;
            d.check(!judged || mean.abs() <= 10.0, || {
                format!("{name} {}: mean D2C {mean:+.1} %", o.op)
            });
        }
    }
}
