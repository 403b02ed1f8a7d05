//! What a task did between two bios: plugs begun and emptied, sleep.
//!
//! A window of a program is what the submitter's own `blk_start_plug` and `blk_finish_plug` enclose. The block layer also
//! empties a plug at its limits (`blk_add_rq_to_plug`, block/blk-mq.c) and where the task sleeps: those are no ends.

use super::record::{Mark, MarkKind, Seen};
use crate::units::Nanos;

/// One bio of a task, and what the task did until its next one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Act {
    /// Place of the bio in the recording's.
    pub bio: u32,
    /// The plug got a first request with or after it.
    pub opens: bool,
    /// The plug was finished after it.
    pub finishes: bool,
    /// The task slept after it, with requests in its plug.
    pub slept: bool,
    /// The plug was emptied while the bio waited for its request.
    pub waited: bool,
    /// Plugs emptied.
    pub flushes: u32,
    /// Its plug held requests until the next bio: it did not sleep, or the plug would have been emptied.
    pub awake: bool,
    /// Requests the task issued itself.
    pub issues: u32,
    /// Requests the task inserted.
    pub inserts: u32,
}

/// How plugs show in the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shows {
    /// P events.
    pub plugs: bool,
    /// U events.
    pub unplugs: bool,
    /// Nothing of plugs was recorded, though it may have happened: bios that follow each other at once share one.
    pub guess: bool,
}

/// Bios of one submission follow each other within this time, where nothing else tells (facts P0).
const TOGETHER: i64 = 20_000;

/// The acts of one task, of its `marks` in order of time.
pub fn acts(marks: &[Mark], seen: &[Seen], shows: Shows) -> Vec<Act> {
    let mut out: Vec<Act> = Vec::new();
    let mut plugged = false;
    for m in marks {
        if let MarkKind::Queue(k) = m.kind {
            out.push(Act {
                bio: k,
                awake: plugged,
                ..Act::default()
            });
            continue;
        }
        let Some(act) = out.last_mut() else { continue };
        let bio = seen.get(act.bio as usize);
        note(act, m, bio, shows, &mut plugged);
        act.awake = plugged;
    }
    if shows.guess {
        guess(&mut out, seen);
    }
    out
}

fn note(act: &mut Act, m: &Mark, bio: Option<&Seen>, shows: Shows, plugged: &mut bool) {
    match m.kind {
        MarkKind::Plug => {
            act.opens = true;
            // Emptied just before: at its limit, and begun again with the request that found it full.
            act.finishes = false;
            *plugged = true;
        }
        MarkKind::Unplug | MarkKind::UnplugTimer => {
            act.flushes += 1;
            *plugged = false;
            if bio.is_some_and(|b| waits_at(b, m.time)) {
                act.waited = true;
            } else if m.kind == MarkKind::Unplug {
                act.finishes = true;
            } else {
                act.slept = true;
            }
        }
        MarkKind::Issue => {
            act.issues += 1;
            if *plugged && shows.plugs && !shows.unplugs {
                act.flushes += 1;
                act.finishes = true;
                *plugged = false;
            }
        }
        MarkKind::Insert => act.inserts += 1,
        MarkKind::Queue(_) => {}
    }
}

/// Whether the bio had neither a request nor joined one by then, but has later.
fn waits_at(b: &Seen, t: Nanos) -> bool {
    let done = match (b.g, b.m) {
        (Some(g), Some(m)) => Some(g.min(m)),
        (g, m) => g.or(m),
    };
    done.is_some_and(|d| t < d)
}

fn guess(acts: &mut [Act], seen: &[Seen]) {
    let q = |a: &Act| seen.get(a.bio as usize).map(|b| b.q);
    let mut inside = false;
    for k in 0..acts.len() {
        let (now, next) = (acts.get(k).and_then(q), acts.get(k + 1).and_then(q));
        let joins = match (now, next) {
            (Some(a), Some(b)) => (b - a).0 < TOGETHER,
            _ => false,
        };
        let Some(act) = acts.get_mut(k) else { break };
        act.opens = joins && !inside;
        act.finishes = inside && !joins;
        inside = joins;
    }
}
