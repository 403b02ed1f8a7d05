//! How many requests were taken back.

use super::device::Device;
use crate::diagnose::latency::{label, many, times};
use crate::diagnose::{Facts, Problem};
use crate::event::{Action, DevId};
use crate::units::human_count;
use std::collections::BTreeMap;

/// Letters that are told, the most frequent first.
const LETTERS: usize = 4;

/// The sentence and its numbers.
pub(in crate::diagnose) fn problem(facts: &Facts<'_>) -> Problem {
    let mut numbers = BTreeMap::new();
    let seen = &facts.requeues.devices.devices;
    let issues: u64 = seen.iter().map(|d| d.1.issues).sum();
    let requeues: u64 = seen.iter().map(|d| d.1.requeues).sum();
    let recorded = facts.meta.fields.all_actions || facts.tracker.coverage.has(Action::Requeue);
    if issues == 0 {
        return ("This trace has no issues (D).".to_string(), numbers);
    }
    if !recorded {
        let text = format!(
            "This trace has no requeue events (R), and whether its recorder takes them is not known: of {} it cannot be said how many were taken back.",
            many(issues, "issue")
        );
        return (text, numbers);
    }
    numbers.insert("issues", issues as f64);
    numbers.insert("requeues", requeues as f64);
    numbers.insert("requeues_per_issue", requeues as f64 / issues as f64);
    if requeues == 0 {
        let text = format!(
            "No request was taken back: {}, no requeue (R).",
            many(issues, "issue")
        );
        return (text, numbers);
    }
    let mut by: Vec<&(DevId, Device)> = seen.iter().filter(|d| d.1.requeues > 0).collect();
    by.sort_by(|a, b| b.1.requeues.cmp(&a.1.requeues).then(a.0.cmp(&b.0)));
    let text: Vec<String> = by
        .iter()
        .take(3)
        .map(|(id, d)| sentence(facts, *id, d))
        .collect();
    let more = by.len().saturating_sub(3);
    let mut text = text.join(" ");
    if more > 0 {
        text.push_str(&format!(
            " {} took requests back.",
            many(more as u64, "more device")
        ));
    }
    if by.iter().all(|d| d.1.ended == 0) {
        text.push_str(" No request is seen to complete in this trace (C): what was with the device when it took one back, and so why, cannot be said.");
    }
    text.push_str(&facts.requeues.devices.said());
    (text, numbers)
}

fn sentence(facts: &Facts<'_>, id: DevId, d: &Device) -> String {
    let mut letters: Vec<_> = d.by_rwbs.iter().collect();
    letters.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    let letters: Vec<String> = letters
        .iter()
        .take(LETTERS)
        .map(|(rwbs, n)| format!("{} {rwbs}", human_count(**n)))
        .collect();
    let each = d.requeues as f64 / d.issues.max(1) as f64;
    let each = match each {
        e if e >= 0.0005 => format!(", {e:.3} an issue"),
        _ => String::new(),
    };
    let hit = match (d.hit, d.most) {
        (0, _) => String::new(),
        (1, most) => format!("; 1 request was hit, {}", times(u64::from(most))),
        (n, 1) => format!("; {} requests were hit, each once", human_count(n)),
        (n, most) => {
            let most = times(u64::from(most));
            format!("; {} requests were hit, one of them {most}", human_count(n))
        }
    };
    format!(
        "The driver of {} took requests back {} (R: {}) in {} (D){each}{hit}.",
        label(facts, id),
        times(d.requeues),
        letters.join(", "),
        many(d.issues, "issue"),
    )
}
