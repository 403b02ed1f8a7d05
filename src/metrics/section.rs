//! What a metric section is: an accumulator of one device that is fed from the tracker and fills its part of the
//! device's report.

use super::CollectorOptions;
use super::keys::Keys;
use super::report::Device;
use super::why::Why;
use crate::event::{Action, BlockEvent, CommTable, Coverage, DevId, Fields, Letters};
use crate::lifecycle::{Bio, FlushStep, Merge, Request};

/// A section as lists and documentation know it.
#[derive(Clone, Copy, Debug)]
pub struct SectionInfo {
    /// Its name: the field of `devices[]` it fills.
    pub name: &'static str,
    /// What it tells, in one line.
    pub about: &'static str,
}

/// What a section may ask when it is finished.
pub(super) struct Context<'a> {
    pub dev: DevId,
    /// What the whole trace showed.
    pub trace: &'a Coverage,
    /// What this device showed, filters aside.
    pub seen: &'a Coverage,
    pub bio_based: bool,
    /// ns that rates and time-weighted means are over.
    pub span_ns: u64,
    pub comms: &'a CommTable,
    pub keys: &'a Keys,
    /// What the recorder can show.
    pub fields: &'a Fields,
    /// A filter is in force that tells flush bios from device flushes.
    pub parts_flushes: bool,
    /// The recorder dropped completions: what depends on all of them is not known, and this is why.
    pub vanished: Option<String>,
}

impl Context<'_> {
    /// Why the number of such events is not known although none was seen. A class that every trace shows (Q, G, D, C) is
    /// missing if the whole trace has none; one that need not happen (R, M) only where it was not surely recorded: by a
    /// recorder of chosen actions, or in a trace without G, which was filtered at its recording.
    pub fn uncounted(&self, a: Action) -> Option<String> {
        let rare = matches!(a, Action::Requeue | Action::BackMerge);
        let requests = matches!(a, Action::GetRq | Action::Issue | Action::Requeue);
        let whole = self.fields.all_actions && self.trace.has(Action::GetRq);
        if rare && whole || self.bio_based && (requests || a == Action::BackMerge) {
            return None;
        }
        self.missing_in_trace(a).map(|r| match rare {
            true => format!("{r}, and it is not known whether they were recorded"),
            false => r,
        })
    }

    /// Why lengths are not known, if they are not.
    pub fn unsized_reason(&self) -> Option<String> {
        (!self.fields.sizes).then(|| "not observable: this source tells no lengths".to_string())
    }

    /// Why nothing can be said of when anything happened.
    pub fn timeless(&self) -> Option<String> {
        let told = "not observable: this source tells how long requests took, but not when";
        (!self.fields.clock).then(|| told.to_string())
    }

    /// Why operations that need these letters are not told apart.
    pub fn unlettered(&self, needed: Letters) -> Option<String> {
        let text = match self.fields.letters {
            have if have >= needed => return None,
            Letters::None => "not observable: this source does not tell what was done",
            _ => "not observable: this source tells writes from all else, and no more",
        };
        Some(text.to_string())
    }

    fn missing_in_trace(&self, a: Action) -> Option<String> {
        self.missing(a).filter(|r| r.ends_with("in this trace"))
    }

    /// The reason that events of this kind are missing, if they are.
    pub fn missing(&self, a: Action) -> Option<String> {
        let any = |c: &Coverage| {
            c.has(a)
                || a == Action::Complete && c.has(Action::BioComplete)
                || a == Action::BackMerge && (c.has(Action::FrontMerge) || c.has(Action::RqMerge))
        };
        let what = match a {
            Action::Queue => "queue",
            Action::GetRq => "getrq",
            Action::Insert => "insert",
            Action::Issue => "issue",
            Action::Complete => "completion",
            Action::BackMerge => "merge",
            Action::Requeue => "requeue",
            other => other.tracepoint(),
        };
        if !any(self.trace) && self.fields.whole_requests {
            Some(format!(
                "not observable: a tool that prints finished requests leaves no {what} events in this trace"
            ))
        } else if !any(self.trace) {
            Some(format!("no {what} events in this trace"))
        } else if !any(self.seen) {
            Some(format!("no {what} events on this device"))
        } else {
            None
        }
    }
}

/// An accumulator. Calls mirror [`crate::lifecycle::Sink`]; only what passed the filters arrives.
pub(super) trait Section: Sized {
    fn new(o: &CollectorOptions) -> Self;
    fn event(&mut self, _ev: &BlockEvent) {}
    /// A queue event this long (ns) after the device's previous one; negative where the clock slipped.
    fn q2q(&mut self, _ev: &BlockEvent, _ns: i64) {}
    fn bio(&mut self, _bio: &Bio) {}
    fn request(&mut self, _rq: &Request) {}
    fn issue(&mut self, _rq: &Request, _ev: &BlockEvent) {}
    fn merge(&mut self, _m: &Merge) {}
    fn flush_step(&mut self, _s: &FlushStep) {}
    /// For `ns` the device had `depth` requests issued and not completed (0 ns: it reached that depth).
    fn depth(&mut self, _ns: u64, _depth: u32) {}
    /// Fills the section's part of `out`; each `None` it leaves there gets its reason.
    fn finish(&self, cx: &Context, why: &mut Why, out: &mut Device);
}
