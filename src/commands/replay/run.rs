//! One simulation, measured by the same code as a recording.

use crate::error::Result;
use crate::event::{BlockEvent, DevId, Fields, TraceMeta};
use crate::lifecycle::{Bio, FlushStep, Merge, Request, Sink, Tracker};
use crate::metrics::report::StatsReport;
use crate::metrics::{Collector, CollectorOptions, Extras};
use crate::model::engine::{Of, Out, Tally, simulate};
use crate::model::reblock::reblocked;
use crate::model::signature::Signature;
use crate::model::{Costs, Policy, Service, Workload};
use crate::units::Nanos;
use rustc_hash::FxHasher;
use std::collections::BTreeMap;
use std::hash::Hasher;

/// Makes the devices of a run anew: they have a state. One a layer.
pub type Devices = Box<dyn Fn(&Policy, u64) -> Result<Vec<Box<dyn Service>>>>;

/// What is replayed.
pub struct Base {
    /// Tasks and bios.
    pub workload: Workload,
    /// What the block layer's steps cost.
    pub costs: Costs,
    /// Makes the devices.
    pub devices: Devices,
    /// Makes those with another recording's timing, which take the place of `devices` once the recorded policy is found.
    pub elsewhere: Option<Devices>,
    /// Of what is drawn.
    pub seed: u64,
    /// A made workload: its devices are whatever they are said to be.
    pub made: bool,
}

/// Numbers and signature, fed together.
#[derive(Default)]
pub struct Measures {
    /// The numbers; `None` where only the signature is wanted.
    pub collector: Option<Collector>,
    /// What tells policies apart.
    pub signature: Signature,
}

impl Measures {
    /// With the numbers.
    pub fn full() -> Measures {
        Measures {
            collector: Some(Collector::new(CollectorOptions::default())),
            signature: Signature::default(),
        }
    }
}

impl Sink for Measures {
    fn event(&mut self, ev: &BlockEvent) {
        self.signature.event(ev);
        if let Some(c) = &mut self.collector {
            c.event(ev);
        }
    }
    fn bio(&mut self, b: &Bio) {
        self.signature.bio(b);
        if let Some(c) = &mut self.collector {
            c.bio(b);
        }
    }
    fn request(&mut self, r: &Request) {
        self.signature.request(r);
        if let Some(c) = &mut self.collector {
            c.request(r);
        }
    }
    fn issue(&mut self, r: &Request, ev: &BlockEvent) {
        self.signature.issue(r, ev);
        if let Some(c) = &mut self.collector {
            c.issue(r, ev);
        }
    }
    fn merge(&mut self, m: &Merge) {
        self.signature.merge(m);
        if let Some(c) = &mut self.collector {
            c.merge(m);
        }
    }
    fn flush_step(&mut self, s: &FlushStep) {
        self.signature.flush_step(s);
        if let Some(c) = &mut self.collector {
            c.flush_step(s);
        }
    }
    fn depth(&mut self, dev: DevId, time: Nanos, depth: u32) {
        if let Some(c) = &mut self.collector {
            c.depth(dev, time, depth);
        }
    }
}

/// Takes the simulated events as a reader would give them.
struct Feed<'a> {
    tracker: Tracker,
    measures: Measures,
    print: FxHasher,
    also: Option<&'a mut dyn FnMut(&BlockEvent)>,
}

impl Out for Feed<'_> {
    fn event(&mut self, ev: &BlockEvent, _: Of) {
        self.print.write_i64(ev.time.0);
        self.print.write_u64(ev.sector ^ ev.bytes.rotate_left(32));
        self.print
            .write_u32(ev.pid.rotate_left(8) ^ ev.action as u32);
        self.tracker.observe(ev, &mut self.measures);
        if let Some(f) = &mut self.also {
            f(ev);
        }
    }
}

/// The outcome of a run.
pub struct Simulated {
    /// As `stats` gives; `None` where only the signature was wanted.
    pub stats: Option<StatsReport>,
    /// What tells policies apart.
    pub signature: Signature,
    /// Costs.
    pub tally: Tally,
    /// Equal for equal sequences of events.
    pub print: u64,
}

impl Base {
    /// Names and abilities of the simulated trace: those of a blktrace recording.
    pub fn meta(&self) -> TraceMeta {
        let layers = &self.workload.topology.layers;
        let named = layers.iter().filter_map(|l| Some((l.dev, l.name.clone()?)));
        TraceMeta {
            comms: self.workload.comms.clone(),
            names: named.collect(),
            fields: Fields {
                rq_merge_named: true,
                sector_of_empty: true,
                ..Fields::BLKTRACE
            },
        }
    }

    /// Runs under `policy`; `full`: with all numbers. `also` sees every event.
    ///
    /// # Errors
    /// A workload that cannot end, or devices that cannot be made.
    pub fn run(
        &self,
        policy: &Policy,
        full: bool,
        also: Option<&mut dyn FnMut(&BlockEvent)>,
    ) -> Result<Simulated> {
        let reblocked = policy.soft_block_size.map(|b| reblocked(&self.workload, b));
        let workload = reblocked.as_ref().unwrap_or(&self.workload);
        let meta = self.meta();
        let mut measures = match full {
            true => Measures::full(),
            false => Measures::default(),
        };
        if let Some(c) = &mut measures.collector {
            c.names(&meta.comms);
        }
        let mut feed = Feed {
            tracker: Tracker::new(meta.fields),
            measures,
            print: FxHasher::default(),
            also,
        };
        let mut services = (self.devices)(policy, self.seed)?;
        let tally = simulate(workload, policy, &self.costs, &mut services, &mut feed)?;
        let mut measures = feed.measures;
        let tracker = feed.tracker.finish(&mut measures);
        let extras = Extras {
            inputs: Vec::new(),
            capacity: BTreeMap::new(),
            names: meta.names.clone(),
        };
        let collector = measures.collector.take();
        Ok(Simulated {
            stats: collector.map(|c| c.finish(tracker, &meta, extras)),
            signature: measures.signature,
            tally,
            print: feed.print.finish(),
        })
    }
}
