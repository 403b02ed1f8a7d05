//! What no run may break, whatever the workload and the policy.

use super::cases::{Case, ZONE};
use super::truth::{Run, TrueRq, Truth};
use blkan::event::{Action, BlockEvent, DevId, Op};
use blkan::model::policy::{Ata, Kernel, PlugMode, Zoned};
use blkan::model::{Disk, LayerKind};
use std::collections::BTreeMap;

/// Laws that the run breaks, in words.
pub fn broken(case: &Case, run: &Run, truth: &Truth) -> Vec<String> {
    let mut f = Vec::new();
    time(run, &mut f);
    plugs(case, run, &mut f);
    endings(truth, &mut f);
    for (i, l) in case.workload.topology.layers.iter().enumerate() {
        let events: Vec<&BlockEvent> = of_device(run, l.dev);
        match &l.kind {
            LayerKind::Disk(d) => {
                accounts(&events, truth, l.dev, &mut f);
                limits(case, d, truth, l.dev, &mut f);
                device(case, d, run, i, &events, &mut f);
                flushes(d, truth, l.dev, &mut f);
                zones(case, truth, l.dev, &mut f);
            }
            _ => bio_based(&events, &mut f),
        }
    }
    f
}

fn of_device(run: &Run, dev: DevId) -> Vec<&BlockEvent> {
    let of = |(e, _): &&(BlockEvent, _)| e.dev == dev;
    run.events.iter().filter(of).map(|(e, _)| e).collect()
}

fn count(events: &[&BlockEvent], action: Action) -> i64 {
    events.iter().filter(|e| e.action == action).count() as i64
}

fn time(run: &Run, f: &mut Vec<String>) {
    for w in run.events.windows(2) {
        if w[1].0.time < w[0].0.time {
            f.push(format!("time goes back: {:?}", w[1].0));
        }
    }
    if run.tally.events != run.events.len() as u64 {
        f.push("tally: events".into());
    }
}

/// A plug holds no more than its limit, and no kernel but the scanning one tests more than one request a bio.
fn plugs(case: &Case, run: &Run, f: &mut Vec<String>) {
    let p = &case.policy;
    let layers = &case.workload.topology.layers;
    let disks = layers
        .iter()
        .filter(|l| matches!(l.kind, LayerKind::Disk(_)));
    // Stated here, not taken from the code under test (blk_plug_max_rq_count, block/blk-mq.c): 16 up to 5.15, 32 since 5.16;
    // of several queues four times as many up to 5.15, twice since.
    let scanning = p
        .kernel
        .map_or(p.plug == PlugMode::Scan, |k| k == Kernel::V5_15);
    let (one, times) = if scanning { (16, 4) } else { (32, 2) };
    let one = p.plug_limit.unwrap_or(one);
    let several = one * times;
    let limit = if disks.count() > 1 { several } else { one };
    for (e, _) in &run.events {
        let unplug = matches!(e.action, Action::Unplug | Action::UnplugTimer);
        if unplug && e.aux > u64::from(limit) {
            f.push(format!("plug: {} held, limit {limit}", e.aux));
        }
        let merge = matches!(
            e.action,
            Action::BackMerge | Action::FrontMerge | Action::RqMerge
        );
        if merge && p.nomerges == 2 {
            f.push(format!("merge under nomerges 2: {e:?}"));
        }
    }
    let t = &run.tally;
    let tests = match p.plug {
        PlugMode::None => 0,
        PlugMode::Scan => u64::MAX,
        _ => t.plug_attempts,
    };
    if t.plug_tests > tests || t.plug_merges > t.plug_tests {
        f.push(format!("tally: {t:?}"));
    }
}

/// Everything that began ends.
fn endings(truth: &Truth, f: &mut Vec<String>) {
    for r in truth.rqs.values() {
        let data = r.op == Op::Flush || r.bytes > 0;
        let done = r
            .ends
            .iter()
            .filter(|e| e.1 > 0 || r.op == Op::Flush)
            .count();
        let ok = if r.absorbed {
            r.ends.is_empty() && r.issued.is_empty()
        } else {
            !r.ends.is_empty() && !r.in_driver && done == usize::from(data)
        };
        if !ok {
            f.push(format!("endings: {r:?}"));
        }
    }
    for b in truth.bios.values() {
        let ends = b.alone.len() + b.requests.len();
        let again = b.requests.is_empty() && b.alone.len() == 1;
        if b.q.is_none() || (ends != b.cuts + 1 && !again) {
            f.push(format!("a bio and its ends: {b:?}"));
        }
    }
}

/// The accounts of a device of requests, from its raw events.
fn accounts(events: &[&BlockEvent], truth: &Truth, dev: DevId, f: &mut Vec<String>) {
    let n = |a| count(events, a);
    let rqs: Vec<&TrueRq> = truth.rqs.values().filter(|r| r.dev == dev).collect();
    let is_end = |e: &&&BlockEvent| e.action == Action::Complete;
    let ends: Vec<&&BlockEvent> = events.iter().filter(is_end).collect();
    let with_data = ends.iter().filter(|e| e.bytes > 0 && e.error == 0).count() as i64;
    let flushes = ends.iter().filter(|e| e.rwbs.op() == Op::Flush).count() as i64;
    let alone = ends.iter().filter(|e| e.error == -11).count() as i64;
    let empty = rqs
        .iter()
        .filter(|r| r.bytes == 0 && r.op != Op::Flush)
        .count() as i64;
    let bios = n(Action::Queue) + n(Action::Split)
        - n(Action::GetRq)
        - n(Action::BackMerge)
        - n(Action::FrontMerge)
        - alone;
    let requests = n(Action::GetRq) - with_data - empty - n(Action::RqMerge);
    let issues = n(Action::Issue) - with_data - flushes - n(Action::Requeue);
    if (bios, requests, issues) != (0, 0, 0) {
        f.push(format!(
            "accounts: bios {bios}, requests {requests}, issues {issues}"
        ));
    }
}

fn bio_based(events: &[&BlockEvent], f: &mut Vec<String>) {
    let left = count(events, Action::Queue) + count(events, Action::Split)
        - count(events, Action::Complete)
        - count(events, Action::BioComplete);
    if left != 0 {
        f.push(format!("accounts: {left} bios of a device of bios"));
    }
}

/// No request is longer, has more bios, or crosses a border than its queue allows.
fn limits(case: &Case, d: &Disk, truth: &Truth, dev: DevId, f: &mut Vec<String>) {
    let kb = case.policy.max_sectors_kb;
    let longest = kb.map_or(u64::from(d.max_sectors), |kb| u64::from(kb) * 2);
    let chunk = match d.chunk_sectors {
        0 => d.zone_sectors,
        n => u64::from(n),
    };
    let data = |r: &&TrueRq| r.dev == dev && matches!(r.op, Op::Read | Op::Write) && r.bytes > 0;
    for r in truth.rqs.values().filter(data).filter(|r| !r.absorbed) {
        let n = r.bytes >> 9;
        let crosses = chunk > 0 && r.sector / chunk != (r.sector + n - 1) / chunk;
        if n > longest || r.bios.len() > d.max_segments as usize || crosses {
            f.push(format!("limits: {r:?}"));
        }
    }
}

/// What reached the device: no more than its depth, each completion told after it was done, and on an ATA link flushes alone.
fn device(
    case: &Case,
    d: &Disk,
    run: &Run,
    layer: usize,
    events: &[&BlockEvent],
    f: &mut Vec<String>,
) {
    let served = run.served[layer].lock().unwrap();
    let depth = case.policy.depth.unwrap_or(d.depth);
    if let Some(s) = served.iter().find(|s| s.beside >= depth) {
        f.push(format!("depth {depth}: {s:?}"));
    }
    let ends = |e: &&&BlockEvent| {
        e.action == Action::Complete && (e.bytes > 0 || e.rwbs.op() == Op::Flush) && e.error == 0
    };
    let told = events.iter().filter(ends).map(|e| e.time.0);
    let mut told: Vec<i64> = told.collect();
    let mut done: Vec<i64> = served.iter().map(|s| s.done).collect();
    told.sort_unstable();
    done.sort_unstable();
    if told.len() != done.len() || told.iter().zip(&done).any(|(t, d)| t < d) {
        f.push(format!(
            "ends: {} told, {} done, or told before",
            told.len(),
            done.len()
        ));
    }
    let bytes: u64 = events.iter().filter(ends).map(|e| e.bytes).sum();
    if bytes != served.iter().map(|s| s.bytes).sum::<u64>() {
        f.push("ends: other bytes than the device had".into());
    }
    if case.policy.ata == Ata::Off {
        return;
    }
    // Done at one time and begun at the same does not overlap.
    let mut until = [i64::MIN; 2];
    for s in served.iter() {
        let flush = usize::from(s.op == Op::Flush);
        let other = until[1 - flush];
        if s.reached < other || (flush == 1 && s.reached < until[1]) {
            f.push(format!("a flush is not alone: {s:?}"));
        }
        until[flush] = until[flush].max(s.done);
    }
}

/// Each flush step is served by a device flush that was sent after the step began and ended before the step did.
fn flushes(d: &Disk, truth: &Truth, dev: DevId, f: &mut Vec<String>) {
    let of = || truth.rqs.values().filter(move |r| r.dev == dev);
    let sent: Vec<(usize, usize)> = of()
        .filter(|r| r.op == Op::Flush)
        .filter_map(|r| {
            Some((
                r.lines(Action::Issue).next_back()?,
                r.lines(Action::Complete).next()?,
            ))
        })
        .collect();
    if !d.write_cache && !sent.is_empty() {
        f.push("flush of a device without a cache".into());
    }
    if sent.windows(2).any(|w| w[1].0 < w[0].1) {
        f.push("flush beside a flush".into());
    }
    let mut steps = 0;
    for r in of().filter(|r| d.write_cache && r.op != Op::Flush && !r.absorbed) {
        let pre = r.letters.preflush();
        let post = r.letters.fua() && !d.fua;
        steps += usize::from(pre) + usize::from(post);
        let began = r.lines(Action::GetRq).next().unwrap_or(0);
        let ended = r.lines(Action::Complete).next_back().unwrap_or(0);
        let first_issue = r.lines(Action::Issue).next().unwrap_or(ended);
        let data_end = r.data_end().unwrap_or(began);
        let between = |a: usize, b: usize| sent.iter().any(|(i, c)| *i > a && *c < b);
        if (pre && !between(began, first_issue)) || (post && !between(data_end, ended)) {
            f.push(format!("a step without a flush: {r:?}"));
        }
        if (pre || post) && r.bios.len() > 1 {
            f.push(format!("merge of a flush: {r:?}"));
        }
    }
    if sent.len() > steps {
        f.push(format!("flushes: {} for {steps} steps", sent.len()));
    }
}

/// One write a zone in the device.
fn zones(case: &Case, truth: &Truth, dev: DevId, f: &mut Vec<String>) {
    if !matches!(case.policy.zoned, Zoned::Lock | Zoned::Plug) {
        return;
    }
    let mut lives: BTreeMap<u64, Vec<(usize, usize)>> = BTreeMap::new();
    let writes = |r: &&TrueRq| r.dev == dev && r.op == Op::Write && !r.absorbed && r.bytes > 0;
    for r in truth.rqs.values().filter(writes) {
        let ends = r.lines(Action::Requeue).chain(r.data_end());
        let life = r.lines(Action::Issue).zip(ends);
        lives.entry(r.sector / ZONE).or_default().extend(life);
    }
    for (zone, mut l) in lives {
        l.sort_unstable();
        if l.windows(2).any(|w| w[1].0 < w[0].1) {
            f.push(format!("zone {zone}: two writes at once"));
        }
    }
}
