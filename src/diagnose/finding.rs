//! What `explain` says: questions, findings, and the lines of the trace that show them (schema `blkan.explain/1`,
//! docs/output.md).

use crate::event::{BlockEvent, CommTable, DevId, NO_SECTOR, Rwbs};
use crate::lifecycle::{Bio, Request};
use crate::units::Nanos;
use serde::Serialize;
use std::collections::BTreeMap;

/// What people ask of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Question {
    /// Why so much small I/O?
    SmallIo,
    /// Why so many flushes?
    Flushes,
    /// Where does the time go?
    Latency,
    /// Why are requests issued more than once?
    Requeues,
}

impl Question {
    /// All, in the order of the answer.
    pub const ALL: [Question; 4] = [
        Question::SmallIo,
        Question::Flushes,
        Question::Latency,
        Question::Requeues,
    ];

    /// The word of `--why`.
    pub fn name(self) -> &'static str {
        match self {
            Question::SmallIo => "small-io",
            Question::Flushes => "flushes",
            Question::Latency => "latency",
            Question::Requeues => "requeues",
        }
    }

    /// As people ask it.
    pub fn asked(self) -> &'static str {
        match self {
            Question::SmallIo => "Why so much small I/O?",
            Question::Flushes => "Why so many flushes?",
            Question::Latency => "Where does the time go?",
            Question::Requeues => "Why are requests issued more than once?",
        }
    }
}

impl Serialize for Question {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(self.name())
    }
}

/// A number that supports a finding, and the sentence that holds it.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Evidence {
    /// Stable name for programs.
    pub name: &'static str,
    /// The number; `None` where the evidence is not one.
    pub value: Option<f64>,
    /// For people.
    pub text: String,
}

impl Evidence {
    /// A number.
    pub fn number(name: &'static str, value: f64, text: impl Into<String>) -> Evidence {
        Evidence {
            name,
            value: Some(value),
            text: text.into(),
        }
    }

    /// What is not a number.
    pub fn said(name: &'static str, text: impl Into<String>) -> Evidence {
        Evidence {
            name,
            value: None,
            text: text.into(),
        }
    }
}

/// An event of the trace that shows what is claimed.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Example {
    /// Line or record of the source, from 1; `None` where that is not known.
    pub line: Option<u32>,
    /// On the trace's clock.
    pub time_ns: i64,
    /// `259,0 Q WS 8095112 + 4 [fio]`.
    pub text: String,
}

/// An event kept until the names of tasks are known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    line: u32,
    time: Nanos,
    dev: DevId,
    action: &'static str,
    rwbs: Rwbs,
    sector: u64,
    bytes: u64,
    comm: crate::event::CommId,
}

impl Sample {
    /// The event itself.
    pub fn event(ev: &BlockEvent) -> Sample {
        Sample {
            line: ev.line,
            time: ev.time,
            dev: ev.dev,
            action: ev.action.letter().unwrap_or("?"),
            rwbs: ev.rwbs,
            sector: ev.sector,
            bytes: ev.bytes,
            comm: ev.comm,
        }
    }

    /// The first event of a bio.
    pub fn bio(b: &Bio) -> Sample {
        let (action, at) = match (b.q.get(), b.m.get()) {
            (Some(t), _) => ("Q", t),
            (None, Some(t)) => ("M", t),
            _ => ("G", b.g.get().unwrap_or(Nanos(0))),
        };
        Sample {
            line: b.line,
            time: at,
            dev: b.dev,
            action,
            rwbs: b.rwbs,
            sector: b.sector,
            bytes: b.bytes,
            comm: b.comm,
        }
    }

    /// The first event of a request, with its own sector and length: later merges changed the request's.
    pub fn request(r: &Request) -> Sample {
        let first = [(r.g, "G"), (r.i, "I"), (r.d_first, "D"), (r.c, "C")];
        let seen = first.iter().find_map(|(s, a)| s.get().map(|t| (t, *a)));
        let (time, action) = seen.unwrap_or((Nanos(0), "?"));
        let merged = r.merged > 0;
        Sample {
            line: r.line,
            time,
            dev: r.dev,
            action,
            rwbs: r.rwbs,
            sector: if merged { r.first_sector } else { r.sector },
            bytes: if merged { r.first_bytes } else { r.bytes },
            comm: r.comm,
        }
    }

    /// With its names.
    pub fn example(&self, comms: &CommTable) -> Example {
        let mut text = format!("{} {} {}", self.dev, self.action, self.rwbs);
        if self.sector != NO_SECTOR {
            text.push_str(&format!(" {} + {}", self.sector, self.bytes / 512));
        }
        if let Some(comm) = comms.name(self.comm) {
            text.push_str(&format!(" [{comm}]"));
        }
        Example {
            line: (self.line != u32::MAX).then_some(self.line),
            time_ns: self.time.0,
            text,
        }
    }
}

/// A cause in the system that the trace shows.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Finding {
    /// One of the ids of docs/diagnosis.md.
    pub id: &'static str,
    /// Which question it answers.
    pub question: Question,
    /// One sentence in plain words.
    pub claim: String,
    /// How much of the problem it explains, 0 to 1. Findings of a question are ranked by it.
    pub share: f64,
    /// How sure it is, 0 to 1: falls where the trace lacks the events that decide.
    pub confidence: f64,
    /// What supports it.
    pub evidence: Vec<Evidence>,
    /// What would speak against it, and whether that was looked for.
    pub doubt: String,
    /// What to try.
    pub r#try: Vec<String>,
    /// Lines of the trace that show it.
    pub examples: Vec<Example>,
}

/// How large the problem is that a question asks about.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Answer {
    /// The question.
    pub question: Question,
    /// The problem in numbers, one sentence; or that there is none, or why the trace cannot tell.
    pub problem: String,
    /// Numbers of the problem by name.
    pub numbers: BTreeMap<&'static str, f64>,
    /// Ids of its findings, the one that explains most first.
    pub findings: Vec<&'static str>,
    /// Why some rules were not heard; `None`: all were.
    pub unheard: Option<String>,
    /// Where the shares of its findings are more than the whole together; not there: they are not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overlap: Option<Overlap>,
}

/// Findings that count the same bios, flushes, waiting time or issues.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Overlap {
    /// The sum of their shares.
    pub sum: f64,
    /// In words.
    pub text: String,
}

impl Overlap {
    /// Of the findings of one question.
    pub fn of(question: Question, found: &[Finding]) -> Option<Overlap> {
        let sum: f64 = found.iter().map(|f| f.share).sum();
        let what = match question {
            Question::SmallIo => "small bios",
            Question::Flushes => "flush steps",
            Question::Latency => "waiting time",
            Question::Requeues => "issues",
        };
        let total = match (sum * 100.0).round() {
            p if p > 100.0 => format!("{p:.0} %"),
            _ => "more than 100 %".to_string(),
        };
        let text = format!("Together {total}: these causes overlap, they share {what}.");
        // Shares are quotients: their last bits may be off.
        (sum > 1.0 + 1e-6).then_some(Overlap { sum, text })
    }
}
