//! The registry of metric sections: the one list that feeding, finishing and documentation follow.

use super::CollectorOptions;
use super::report::Device;
use super::section::{Context, Section, SectionInfo};
use super::why::Why;
use crate::event::BlockEvent;
use crate::lifecycle::{Bio, FlushStep, Merge, Request};

/// A device in the answer (its struct, its JSON, its unknowns and their reasons), measured.
const OF_DEVICE: usize = 6_000;

/// Makes the list below into a static slice and a struct whose calls are static, since `event` runs for every line.
macro_rules! sections {
    ($($field:ident: $ty:ty, $about:literal;)*) => {
        /// Every metric section; each has its part of docs/metrics.md.
        pub static SECTIONS: &[SectionInfo] =
            &[$(SectionInfo { name: stringify!($field), about: $about }),*];

        /// All sections of one device (of one interval).
        pub(super) struct Sections {
            $(pub(super) $field: $ty,)*
            /// Something arrived.
            pub(super) used: bool,
        }

        impl Sections {
            pub(super) fn new(o: &CollectorOptions) -> Sections {
                Sections { $($field: <$ty>::new(o),)* used: false }
            }
            sections!(@feed event(ev: &BlockEvent) $($field)*);
            sections!(@feed q2q(ev: &BlockEvent, ns: i64) $($field)*);
            sections!(@feed bio(b: &Bio) $($field)*);
            sections!(@feed request(rq: &Request) $($field)*);
            sections!(@feed issue(rq: &Request, ev: &BlockEvent) $($field)*);
            sections!(@feed merge(m: &Merge) $($field)*);
            sections!(@feed flush_step(s: &FlushStep) $($field)*);
            sections!(@feed depth(ns: u64, depth: u32) $($field)*);
            /// Bytes it takes, and will take in an answer, roughly.
            pub(super) fn footprint(&self) -> usize {
                size_of::<Sections>() + OF_DEVICE + self.groups.footprint()
            }
            pub(super) fn finish(&self, cx: &Context, why: &mut Why, out: &mut Device) {
                $(self.$field.finish(cx, why, out);)*
            }
        }
    };
    (@feed $call:ident $args:tt $($field:ident)*) => {
        sections!(@one $call $args [$($field)*]);
    };
    (@one $call:ident ($($a:ident: $t:ty),*) [$($field:ident)*]) => {
        sections!(@body $call ($($a: $t),*) ($($a),*) [$($field)*]);
    };
    (@body $call:ident ($($a:ident: $t:ty),*) $pass:tt [$($field:ident)*]) => {
        #[inline]
        pub(super) fn $call(&mut self, $($a: $t),*) {
            self.used = true;
            $(self.$field.$call $pass;)*
        }
    };
}

sections! {
    events: super::events::Events, "raw counts of events by action and rwbs";
    groups: super::groups::Groups, "bios, requests, sizes and latencies by the --by keys";
    flush: super::flush::Flushes, "flush steps asked, device flushes sent, sharing and waiting";
    merge: super::merge::MergeCounts, "merges by kind and place";
    depth: super::depth::DepthSum, "requests issued and not completed";
    iostat: super::iostat::IostatSum, "the same seconds as iostat -x would show them";
}
