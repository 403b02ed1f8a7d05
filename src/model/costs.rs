//! What the block layer itself spends between two events. Fitted from a trace where it shows them.

use crate::units::Nanos;

/// All in ns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Costs {
    /// Q to G, when a request is free.
    pub getrq: Nanos,
    /// Q to M or F.
    pub merge: Nanos,
    /// One candidate of a plug tested for a merge. No trace shows it: counted, and free unless a workload names a price.
    pub test: Nanos,
    /// U to the first D or I of the plug.
    pub unplug: Nanos,
    /// One issue: D to the next D of the same batch.
    pub issue: Nanos,
    /// One insert: I to the next I of the same batch.
    pub insert: Nanos,
    /// A kworker's turn: queue run, requeue list, zone work (10–100 µs).
    pub hop: Nanos,
    /// End of one request after another in one interrupt: C to C.
    pub complete: Nanos,
    /// From the moment at which the flush queue decides on a device flush to its first issue, as recorded one after the
    /// other: the requeue work waits for a CPU, and a busy machine gives it one late. Used in turn, again and again; empty:
    /// `hop`. First of flushes that a new flush step starts, then of those that follow another flush at once.
    pub flush_hops: [Vec<Nanos>; 2],
    /// From the end of a command to the next try of one that was requeued, in the same way.
    pub reruns: Vec<Nanos>,
}

impl Default for Costs {
    /// Of the order of a present machine's; a trace gives better ones.
    fn default() -> Costs {
        Costs {
            getrq: Nanos(500),
            merge: Nanos(300),
            test: Nanos(0),
            unplug: Nanos(500),
            issue: Nanos(500),
            insert: Nanos(300),
            hop: Nanos(15_000),
            complete: Nanos(0),
            flush_hops: [Vec::new(), Vec::new()],
            reruns: Vec::new(),
        }
    }
}
