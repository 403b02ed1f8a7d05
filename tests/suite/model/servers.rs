//! Devices of known timing that remember what reached them.

use blkan::event::Op;
use blkan::model::{Command, Service};
use blkan::stats::Rng;
use blkan::units::Nanos;
use std::sync::{Arc, Mutex};

/// How long one command takes.
#[derive(Clone, Copy, Debug)]
pub enum Time {
    /// Always so long.
    Fixed(i64),
    /// Exponential with this mean.
    Exponential(f64),
    /// Equally likely from one to the other.
    Between(i64, i64),
}

/// A command that was served.
#[derive(Clone, Copy, Debug)]
pub struct Served {
    pub op: Op,
    pub sector: u64,
    pub bytes: u64,
    pub beside: u32,
    pub reached: i64,
    pub done: i64,
}

pub type Log = Arc<Mutex<Vec<Served>>>;

/// `free.len()` servers behind one queue, first come first served.
pub struct Servers {
    free: Vec<i64>,
    time: Time,
    rng: Rng,
    log: Log,
}

/// A device, and what it will remember.
pub fn servers(n: usize, time: Time, seed: u64) -> (Box<dyn Service>, Log) {
    let log = Log::default();
    let s = Servers {
        free: vec![i64::MIN; n],
        time,
        rng: Rng::new(seed),
        log: log.clone(),
    };
    (Box::new(s), log)
}

impl Service for Servers {
    fn done_at(&mut self, now: Nanos, c: &Command) -> Nanos {
        let took = match self.time {
            Time::Fixed(ns) => ns,
            Time::Exponential(mean) => exponential(&mut self.rng, mean),
            Time::Between(a, b) => a + self.rng.below((b - a + 1) as usize) as i64,
        };
        let first = self.free.iter_mut().min().unwrap();
        let done = now.0.max(*first) + took;
        *first = done;
        self.log.lock().unwrap().push(Served {
            op: c.op,
            sector: c.sector,
            bytes: c.bytes,
            beside: c.beside,
            reached: now.0,
            done,
        });
        Nanos(done)
    }
}

/// A time from an exponential law.
pub fn exponential(rng: &mut Rng, mean: f64) -> i64 {
    (-(1.0 - rng.unit()).ln() * mean).round() as i64
}
