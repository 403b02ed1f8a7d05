use blkan::event::*;
use blkan::lifecycle::*;
use blkan::units::Nanos;
use std::collections::BTreeMap;
use std::io::*;
#[derive(Default)]
struct S {
    rq: BTreeMap<(DevId, String), (u64, u64, f64, u64, f64, u64)>,
    pair: BTreeMap<(DevId, &'static str), u64>,
    out: BTreeMap<(DevId, &'static str, &'static str), u64>,
    bios: BTreeMap<(DevId, &'static str), u64>,
    steps: BTreeMap<(DevId, StepKind), (u64, f64)>,
    waiters: BTreeMap<DevId, u64>,
    merges: BTreeMap<(DevId, MergeKind, MergeBy), u64>,
    neg: u64,
    fws: (u64, f64),
    verbose: bool,
}
impl Sink for S {
    fn bio(&mut self, b: &Bio) {
        *self.bios.entry((b.dev, b.fate.name())).or_default() += 1;
        if b.bytes == 0 && b.rwbs.preflush() {
            if let Some(x) = b.q.to(b.c) {
                self.fws.0 += 1;
                self.fws.1 += x as f64;
            }
        }
        if self.verbose && !b.q.is_some() {
            println!("{b:?}")
        }
    }
    fn request(&mut self, r: &Request) {
        *self.pair.entry((r.dev, r.pairing.name())).or_default() += 1;
        *self
            .out
            .entry((r.dev, r.kind.name(), r.outcome.name()))
            .or_default() += 1;
        if r.kind == RequestKind::DeviceFlush {
            *self.waiters.entry(r.dev).or_default() += r.waiters as u64;
        }
        for s in Span::REQUEST {
            if r.span(s).is_some_and(|x| x < 0) {
                self.neg += 1
            }
        }
        if self.verbose && r.outcome == Outcome::Lost {
            println!("{r:?}")
        }
        if r.outcome.done() {
            let e = self.rq.entry((r.dev, r.rwbs.to_string())).or_default();
            e.0 += 1;
            if let Some(x) = r.span(Span::G2C) {
                e.1 += 1;
                e.2 += x as f64
            }
            if let Some(x) = r.span(Span::D2C) {
                e.3 += 1;
                e.4 += x as f64
            }
            e.5 += r.issues as u64;
        }
    }
    fn merge(&mut self, m: &Merge) {
        *self.merges.entry((m.dev, m.kind, m.by)).or_default() += 1
    }
    fn flush_step(&mut self, s: &FlushStep) {
        let e = self.steps.entry((s.dev, s.kind)).or_default();
        e.0 += 1;
        e.1 += (s.end.0 - s.start.0) as f64;
    }
}
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let mut t = String::new();
    let mut v = vec![];
    flate2::read::MultiGzDecoder::new(std::fs::File::open(&a[1]).unwrap())
        .read_to_end(&mut v)
        .unwrap();
    t.push_str(&String::from_utf8_lossy(&v));
    let mut evs = vec![];
    let mut comms = CommTable::default();
    let bpf = a[1].contains("bpf");
    for (n, l) in t.lines().enumerate() {
        let f: Vec<&str> = l.split_whitespace().collect();
        if f.len() < 6 {
            continue;
        }
        if bpf {
            let Some(act) = Action::from_tracepoint(f[3].as_bytes()) else {
                continue;
            };
            let Ok(ns) = f[0].parse::<i64>() else {
                continue;
            };
            let mut e = BlockEvent::new(Nanos(ns), f[4].parse().unwrap_or(DevId::NONE), act);
            e.cpu = f[1].parse().unwrap();
            e.pid = f[2].parse().unwrap();
            e.sector = f[5].parse().unwrap();
            e.bytes = f[6].parse::<u64>().unwrap() * 512;
            e.rwbs = Rwbs::new(f[7].as_bytes());
            e.line = n as u32 + 1;
            if act == Action::Remap {
                let (d, s) = f[8].split_once(':').unwrap();
                e.aux_dev = d.parse().unwrap();
                e.aux = s.parse().unwrap();
            }
            if act == Action::Split {
                e.aux = f[8].parse().unwrap();
            }
            if matches!(act, Action::Complete | Action::BioComplete) {
                e.error = f[8].parse().unwrap();
            }
            if e.rwbs == Rwbs::N {
                e.flags = 1;
                if let Ok(b) = f[8].parse::<u64>() {
                    if matches!(act, Action::Issue) {
                        e.bytes = b
                    }
                }
            }
            evs.push(e);
            continue;
        }
        let Some(act) = Action::from_letter(f[5].as_bytes()) else {
            continue;
        };
        let Ok(dev) = f[0].parse::<DevId>() else {
            continue;
        };
        let Some(time) = Nanos::parse_secs(f[3].as_bytes()) else {
            continue;
        };
        let mut e = BlockEvent::new(time, dev, act);
        e.cpu = f[1].parse().unwrap();
        e.pid = f[4].parse().unwrap();
        e.line = n as u32 + 1;
        e.rwbs = Rwbs::new(f[6].as_bytes()).canonical();
        if let Some(c) = l.find(" [") {
            e.comm = comms.intern(l[c + 2..].trim_end_matches(']').as_bytes());
        }
        if f.len() > 9 && f[8] == "+" {
            e.sector = f[7].parse().unwrap();
            e.bytes = f[9].parse::<u64>().unwrap() * 512;
            if act == Action::Remap {
                e.aux_dev = f[11]
                    .trim_matches(|c| c == '(' || c == ')')
                    .parse()
                    .unwrap();
                e.aux = f[12].parse().unwrap();
            }
        } else if act == Action::Split {
            e.sector = f[7].parse().unwrap();
            e.aux = f[9].parse().unwrap();
        } else if act == Action::Complete || act == Action::Requeue {
            if f[7].starts_with('[') {
                e.flags = 1;
            } else if let Ok(s) = f[7].parse() {
                e.sector = s;
            }
        } else if act == Action::Issue && f.len() > 7 && f[7].parse::<u64>().is_ok() {
            e.flags = 1;
            e.bytes = f[7].parse().unwrap();
        }
        if act == Action::Complete {
            let x = f[f.len() - 1].trim_matches(|c| c == '[' || c == ']');
            e.error = x.parse::<u32>().unwrap_or(0) as u16 as i16;
        }
        evs.push(e);
    }
    if bpf {
        evs.sort_by_key(|e| e.time);
    }
    let mut fields = Fields::BLKTRACE;
    fields.completions_may_vanish = bpf;
    let t0 = std::time::Instant::now();
    let mut tr = Tracker::new(fields);
    let mut s = S::default();
    s.verbose = a.len() > 2;
    for e in &evs {
        tr.observe(e, &mut s);
    }
    let r = tr.finish(&mut s);
    eprintln!(
        "{} events {:?} ns/ev {:.0}",
        evs.len(),
        t0.elapsed(),
        t0.elapsed().as_nanos() as f64 / evs.len().max(1) as f64
    );
    for d in &r.devices {
        for ac in &d.ledger {
            let nz = |v: &Vec<(&'static str, u64)>| {
                v.iter()
                    .filter(|x| x.1 > 0)
                    .map(|x| format!("{}={}", x.0, x.1))
                    .collect::<Vec<_>>()
                    .join(" ")
            };
            println!(
                "{} {:9} {} -> {}  BAL {}",
                d.dev,
                ac.name,
                nz(&ac.inn),
                nz(&ac.out),
                ac.balance()
            );
        }
        if !d.anomalies.is_empty() {
            println!(
                "   {:?}",
                d.anomalies
                    .iter()
                    .map(|x| (x.0.name(), x.1))
                    .collect::<Vec<_>>()
            );
        }
        for j in &d.remaps {
            println!("   {j:?}");
        }
    }
    if a.len() > 3 || true {
        for (k, e) in &s.rq {
            println!(
                "{} {:6} n={} g2c n={} {:.0}  d2c n={} {:.0} iss/rq {:.4}",
                k.0,
                k.1,
                e.0,
                e.1,
                e.2 / e.1.max(1) as f64,
                e.3,
                e.4 / e.3.max(1) as f64,
                e.5 as f64 / e.0 as f64
            );
        }
        println!(
            "pair {:?}\nout {:?}\nbios {:?}\nsteps {:?}\nwaiters {:?}\nmerges {:?} neg {} fws n={} mean={:.0}",
            s.pair,
            s.out,
            s.bios,
            s.steps,
            s.waiters,
            s.merges,
            s.neg,
            s.fws.0,
            s.fws.1 / s.fws.0.max(1) as f64
        );
    }
}
