//! What still waited when the trace ended: what ended alone would tell only of those that got through.

use crate::units::Nanos;

/// See the module. Waits of data, so far.
#[derive(Debug, Default)]
pub(super) struct Open {
    /// Bios without a request, and their time since the Q.
    pub bios: u64,
    pub bios_ns: u64,
    /// Requests never issued, and their time since the insert, or the allocation where there was none.
    pub requests: u64,
    pub requests_ns: u64,
}

fn since(start: Option<Nanos>, now: i64) -> u64 {
    let ns = start.map_or(0, |s| now.saturating_sub(s.0));
    u64::try_from(ns).unwrap_or(0)
}

impl Open {
    /// A bio that got no request.
    pub fn before_g(&mut self, q: Option<Nanos>, now: i64) {
        self.bios += 1;
        self.bios_ns = self.bios_ns.saturating_add(since(q, now));
    }

    /// A request that was not issued.
    pub fn before_d(&mut self, start: Option<Nanos>, now: i64) {
        self.requests += 1;
        self.requests_ns = self.requests_ns.saturating_add(since(start, now));
    }

    /// How many.
    pub fn n(&self) -> u64 {
        self.bios + self.requests
    }

    /// All of it.
    pub fn ns(&self) -> u64 {
        self.bios_ns.saturating_add(self.requests_ns)
    }

    /// For rules that are about no wait of these.
    pub fn neither(&self) -> u64 {
        0
    }

    /// For rules about Q to G.
    pub fn without_request(&self) -> u64 {
        self.bios_ns
    }

    /// For rules about the time between G or I and D.
    pub fn unissued(&self) -> u64 {
        self.requests_ns
    }
}
