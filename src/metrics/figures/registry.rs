//! The plots. A new one is a file, a field in `gather!`, and a member of [`PLOTS`].

use super::gather::{Drawn, Gather, Scene};
use super::{depth, flushes, issues, latency, merges, offsets, phases, plugs, rates, sizes, spans};
use crate::event::BlockEvent;
use crate::lifecycle::{Bio, FlushStep, Merge, Request};
use crate::units::Nanos;

/// A plot as lists and documentation know it.
#[derive(Clone, Copy, Debug)]
pub struct Plot {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// How to read it, in one line.
    pub about: &'static str,
    draw: fn(&mut Gathered, &Scene<'_>) -> Drawn,
}

impl Plot {
    /// The plot of a name.
    pub fn named(name: &str) -> Option<&'static Plot> {
        PLOTS.iter().find(|p| p.name == name)
    }

    pub(super) fn draw(&self, g: &mut Gathered, s: &Scene<'_>) -> Drawn {
        (self.draw)(g, s)
    }
}

/// All plots, in the order of lists and reports.
pub static PLOTS: &[Plot] = &[
    Plot {
        name: "latency",
        title: "Latency over time",
        about: "How long requests took, when they ended; a stronger shade is more of them.",
        draw: |g, s| latency::draw(take(&mut g.latency, s), s),
    },
    Plot {
        name: "latency-ecdf",
        title: "Latency, share at or below",
        about: "For each phase and rwbs: the share of requests that took at most so long.",
        draw: |g, s| spans::ecdf(&g.spans, s),
    },
    Plot {
        name: "latency-hist",
        title: "Latency, how often",
        about: "For each phase and rwbs: requests by time taken, eight classes a power of two.",
        draw: |g, s| spans::histogram(&g.spans, s),
    },
    Plot {
        name: "phases",
        title: "Where the time goes",
        about: "Mean time of requests with data in each phase, on top of each other, by when they ended.",
        draw: |g, s| phases::draw(take(&mut g.phases, s), s),
    },
    Plot {
        name: "sizes",
        title: "Sizes asked and issued",
        about: "Bios as they were queued beside requests as the driver got them, by power of two.",
        draw: |g, s| sizes::draw(take(&mut g.sizes, s), s),
    },
    Plot {
        name: "depth",
        title: "Queue depth",
        about: "Requests that the driver has: issued and not completed.",
        draw: |g, s| depth::draw(take(&mut g.depth, s), s),
    },
    Plot {
        name: "rates",
        title: "IOPS and bandwidth",
        about: "What completed a second, by kind.",
        draw: |g, s| rates::draw(take(&mut g.rates, s), s),
    },
    Plot {
        name: "offsets",
        title: "Offsets over time",
        about: "First sectors of what was issued; a stronger shade is more of them.",
        draw: |g, s| offsets::draw(take(&mut g.offsets, s), s),
    },
    Plot {
        name: "issues",
        title: "Issues per request",
        about: "How often completed requests had been issued, and when the driver gave requests back.",
        draw: |g, s| issues::draw(take(&mut g.issues, s), s),
    },
    Plot {
        name: "flushes",
        title: "Flushes",
        about: "Flushes asked by bios, sent to the device, and the steps that wait for them.",
        draw: |g, s| flushes::draw(take(&mut g.flushes, s), s),
    },
    Plot {
        name: "merges",
        title: "Merge share",
        about: "The share of bios that joined a request of another bio, and where.",
        draw: |g, s| merges::draw(take(&mut g.merges, s), s),
    },
    Plot {
        name: "plugs",
        title: "Plug lengths",
        about: "How many requests a task's plug held when it was emptied.",
        draw: |g, s| plugs::draw(&g.plugs, s),
    },
];

fn take<G: Gather>(g: &mut G, s: &Scene<'_>) -> G {
    std::mem::replace(g, G::new(s.span.0))
}

macro_rules! gather {
    ($($field:ident: $kind:ty),* $(,)?) => {
        /// All accumulators of a device.
        pub(super) struct Gathered {
            $(pub(super) $field: $kind,)*
        }

        impl Gathered {
            /// `origin`: the time of the trace's first event.
            pub fn new(origin: Nanos) -> Gathered {
                Gathered { $($field: <$kind>::new(origin),)* }
            }
        }

        gather!(@calls [$($field)*]
            event(ev: &BlockEvent);
            bio(b: &Bio);
            request(r: &Request);
            issue(r: &Request, ev: &BlockEvent);
            merge(m: &Merge);
            flush_step(s: &FlushStep);
            depth(from: Nanos, to: Nanos, depth: u32);
        );
    };
    (@calls $fields:tt $($call:ident($($a:ident: $t:ty),*);)*) => {
        $(gather!(@call $fields $call ($($a: $t),*) ($($a),*));)*
    };
    (@call [$($field:ident)*] $call:ident ($($a:ident: $t:ty),*) $pass:tt) => {
        impl Gathered {
            #[inline]
            pub fn $call(&mut self, $($a: $t),*) {
                $(self.$field.$call $pass;)*
            }
        }
    };
}

gather! {
    latency: latency::Latency,
    spans: spans::Spans,
    phases: phases::Phases,
    sizes: sizes::Sizes,
    depth: depth::Depth,
    rates: rates::Rates,
    offsets: offsets::Offsets,
    issues: issues::Issues,
    flushes: flushes::Flushes,
    merges: merges::Merges,
    plugs: plugs::Plugs,
}
