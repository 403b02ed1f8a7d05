//! Reasons of a verdict in the words of what was asked: a window cuts requests in two, and a gap in sequence numbers may be
//! a filter. The trace is not to blame for either.

use crate::metrics::quality::{Quality, Reason, Verdict};

/// What the verdict must know besides the trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Remedy {
    /// `--from` or `--to` was given.
    pub window: bool,
    /// Losses were seen by sequence numbers.
    pub by_sequence: bool,
}

impl Remedy {
    /// Rewords the reasons.
    pub fn apply(self, q: &mut Quality) {
        if self.by_sequence {
            for r in q.reasons.iter_mut().filter(|r| r.code == "lost_events") {
                if let Some(n) = r.text.strip_prefix("the recorder lost ") {
                    let verb = if n == "1 event" { "is" } else { "are" };
                    r.text = format!(
                        "{n} {verb} missing by their sequence numbers (lost, or filtered out of the file)"
                    );
                }
            }
        }
        let cut = |code: &str| matches!(code, "start_unseen" | "completions_missing");
        if self.window && q.reasons.iter().any(|r| cut(r.code)) {
            q.reasons.retain(|r| !cut(r.code));
            q.reasons.push(Reason {
                code: "window",
                weight: Verdict::UsableWithCare,
                text: "--from/--to cut I/O at the window's edges".to_string(),
            });
            let worst = q.reasons.iter().map(|r| r.weight).max();
            q.verdict = worst.unwrap_or(Verdict::Complete);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_and_gaps_are_named() {
        let reason = |code, text: &str| Reason {
            code,
            weight: Verdict::UsableWithCare,
            text: text.to_string(),
        };
        let mut q = Quality {
            verdict: Verdict::UsableWithCare,
            reasons: vec![
                reason("lost_events", "the recorder lost 7 events"),
                reason(
                    "start_unseen",
                    "8,0: 2 events of I/O whose start is not in the trace",
                ),
            ],
        };
        let all = Remedy {
            window: true,
            by_sequence: true,
        };
        all.apply(&mut q);
        assert!(
            q.reasons[0]
                .text
                .starts_with("7 events are missing by their sequence")
        );
        assert!(q.reasons[1].text.starts_with("--from/--to cut I/O"));
    }
}
