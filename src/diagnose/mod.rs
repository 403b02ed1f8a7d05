//! Causes: what in the system made the I/O look as it does. Probes follow the tracker and keep what rules need; rules
//! judge at the end. One folder a question, one file a rule.
//!
//! A finding names its share of the problem, what supports it, what would contradict it, and what to try. A rule whose
//! deciding events are not in the trace says less, or nothing; it never guesses.

mod busiest;
mod finding;
mod flushes;
mod latency;
mod requeues;
mod rule;
mod small_io;
#[cfg(test)]
mod testing;
mod unended;

pub use finding::{Answer, Evidence, Example, Finding, Overlap, Question, Sample};
pub use rule::{Decides, Levels, Rule, Shared, Threshold};

use unended::Unended;

use crate::event::{BlockEvent, DevId, QueueInfo, TraceMeta};
use crate::lifecycle::{Bio, FlushStep, Merge, Request, Sink, TrackerReport};
use crate::metrics::report::{Input, StatsReport};
use crate::units::Nanos;
use serde::Serialize;
use std::collections::BTreeMap;

/// The rules, by question.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    [
        small_io::RULES,
        flushes::RULES,
        latency::RULES,
        requeues::RULES,
    ]
    .into_iter()
    .flatten()
    .copied()
}

/// Thresholds that are not one rule's own.
pub fn shared() -> impl Iterator<Item = &'static Shared> {
    [&unended::SHARED, &latency::SHARED].into_iter()
}

/// Everything that a finding depends on by a number: thresholds with the id of their rule.
pub fn thresholds() -> impl Iterator<Item = (&'static str, &'static Threshold)> {
    let of_rules = rules().flat_map(|r| r.thresholds.iter().map(|t| (r.id, t)));
    of_rules.chain(shared().flat_map(|s| s.thresholds.iter().map(|t| (s.id, t))))
}

/// What rules may look at: the numbers of `stats`, and what the probes kept.
pub struct Facts<'a> {
    /// Names of tasks, and what the source can tell.
    pub meta: &'a TraceMeta,
    /// What the tracker knows.
    pub tracker: &'a TrackerReport,
    /// All numbers, grouped by rwbs.
    pub stats: &'a StatsReport,
    /// Attributes of queues, where `--queue` told them.
    pub queue: &'a BTreeMap<DevId, QueueInfo>,
    small_io: small_io::Seen,
    flushes: flushes::Seen,
    latency: latency::Seen,
    requeues: requeues::Seen,
}

/// What is known beside the trace when it has ended.
pub struct Known<'a> {
    /// Names of tasks, and what the source can tell.
    pub meta: &'a TraceMeta,
    /// What the tracker knows.
    pub tracker: &'a TrackerReport,
    /// All numbers, grouped by rwbs.
    pub stats: &'a StatsReport,
    /// Attributes of queues.
    pub queue: &'a BTreeMap<DevId, QueueInfo>,
}

/// Rules suggest this command too; what they say of it is left out as long as there is none.
const REPLAY: &str = "blkan replay";

/// The answer of `explain`.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Explanation {
    /// `blkan.explain/1`.
    pub schema: &'static str,
    /// Inputs.
    pub inputs: Vec<Input>,
    /// Last minus first event time, ns; `None`: the source tells no times.
    pub span_ns: Option<u64>,
    /// One an asked question.
    pub questions: Vec<Answer>,
    /// By question, the one that explains most first.
    pub findings: Vec<Finding>,
}

/// All probes; a sink beside the metrics.
pub struct Diagnoser {
    levels: Levels,
    small_io: small_io::Probe,
    flushes: flushes::Probe,
    latency: latency::Probe,
    requeues: requeues::Probe,
}

impl Diagnoser {
    /// Probes with these thresholds.
    pub fn new(levels: Levels) -> Diagnoser {
        Diagnoser {
            small_io: small_io::Probe::new(&levels),
            flushes: flushes::Probe::new(&levels),
            latency: latency::Probe::new(&levels),
            requeues: requeues::Probe::new(&levels),
            levels,
        }
    }

    /// The findings on these questions (none given: on all).
    pub fn finish(self, asked: &[Question], known: &Known<'_>) -> Explanation {
        let facts = Facts {
            meta: known.meta,
            tracker: known.tracker,
            stats: known.stats,
            queue: known.queue,
            small_io: self.small_io.finish(),
            flushes: self.flushes.finish(),
            latency: self.latency.finish(),
            requeues: self.requeues.finish(),
        };
        let unended = Unended::of(&facts, &self.levels);
        let mut findings = Vec::new();
        let mut questions = Vec::new();
        for q in Question::ALL {
            if !asked.is_empty() && !asked.contains(&q) {
                continue;
            }
            let of_question = |r: &&Rule| r.question == q;
            let mut found: Vec<Finding> = rules()
                .filter(of_question)
                .filter_map(|r| unended.weigh(r, (r.judge)(&facts, &self.levels)?))
                .collect();
            for f in &mut found {
                f.r#try.retain(|t| !t.contains(REPLAY));
            }
            found.sort_by(|a, b| b.share.total_cmp(&a.share).then(a.id.cmp(b.id)));
            let (problem, numbers) = match q {
                Question::SmallIo => small_io::problem(&facts),
                Question::Flushes => flushes::problem(&facts, &self.levels),
                Question::Latency => latency::problem(&facts),
                Question::Requeues => requeues::problem(&facts),
            };
            questions.push(Answer {
                question: q,
                problem,
                numbers,
                findings: found.iter().map(|f| f.id).collect(),
                overlap: Overlap::of(q, &found),
                unheard: rules()
                    .any(|r| r.question == q && r.ends)
                    .then(|| unended.silences())
                    .flatten(),
            });
            findings.append(&mut found);
        }
        Explanation {
            schema: "blkan.explain/1",
            inputs: known.stats.inputs.clone(),
            span_ns: known.stats.span_ns,
            questions,
            findings,
        }
    }
}

/// Numbers of a problem by name, behind the sentence that tells it.
type Problem = (String, BTreeMap<&'static str, f64>);

/// Every call goes to every probe.
impl Sink for Diagnoser {
    fn event(&mut self, ev: &BlockEvent) {
        self.small_io.event(ev);
        self.flushes.event(ev);
        self.latency.event(ev);
        self.requeues.event(ev);
    }
    fn bio(&mut self, b: &Bio) {
        self.small_io.bio(b);
        self.flushes.bio(b);
        self.latency.bio(b);
        self.requeues.bio(b);
    }
    fn request(&mut self, r: &Request) {
        self.small_io.request(r);
        self.flushes.request(r);
        self.latency.request(r);
        self.requeues.request(r);
    }
    fn issue(&mut self, r: &Request, ev: &BlockEvent) {
        self.small_io.issue(r, ev);
        self.flushes.issue(r, ev);
        self.latency.issue(r, ev);
        self.requeues.issue(r, ev);
    }
    fn merge(&mut self, m: &Merge) {
        self.small_io.merge(m);
        self.flushes.merge(m);
        self.latency.merge(m);
        self.requeues.merge(m);
    }
    fn flush_step(&mut self, s: &FlushStep) {
        self.small_io.flush_step(s);
        self.flushes.flush_step(s);
        self.latency.flush_step(s);
        self.requeues.flush_step(s);
    }
    fn depth(&mut self, dev: DevId, time: Nanos, depth: u32) {
        self.small_io.depth(dev, time, depth);
        self.flushes.depth(dev, time, depth);
        self.latency.depth(dev, time, depth);
        self.requeues.depth(dev, time, depth);
    }
}
