//! A request as a row.

use super::{
    AsRow, Row, Value, align, cpu, dev, known, micros, name, pid, rwbs, seconds, sector,
    short_bytes, show, source_line, stamp, uint, word,
};
use crate::event::Fields;
use crate::lifecycle::{Outcome, Request, RequestKind, Span, Stamp};

/// A request and its task's name.
pub struct RequestRow<'a> {
    /// The request.
    pub rq: &'a Request,
    /// The task of its first event.
    pub comm: Option<&'a str>,
    /// What the source can tell.
    pub fields: Fields,
}

impl RequestRow<'_> {
    /// The first of its stamps that was seen.
    fn start(&self) -> Stamp {
        let r = self.rq;
        let seen = [r.q, r.g, r.i, r.d_first, r.d, r.c_data, r.c]
            .into_iter()
            .find(|s| s.is_some());
        seen.unwrap_or(Stamp::NONE)
    }

    fn kind(&self) -> &'static str {
        match self.rq.kind {
            RequestKind::Io => "io",
            RequestKind::EmptyFlush => "empty",
            RequestKind::DeviceFlush => "flush",
            RequestKind::Passthrough => "pass",
        }
    }

    fn end(&self) -> String {
        match self.rq.outcome {
            Outcome::Completed => "ok".to_string(),
            Outcome::Failed(e) => format!("err{e}"),
            Outcome::Absorbed => "merged".to_string(),
            Outcome::Open => "open".to_string(),
            Outcome::Lost => "lost".to_string(),
        }
    }
}

impl AsRow for RequestRow<'_> {
    const COLUMNS: &'static [&'static str] = &[
        "id",
        "dev",
        "kind",
        "rwbs",
        "sector",
        "bytes",
        "pid",
        "comm",
        "cpu",
        "line",
        "outcome",
        "error",
        "pairing",
        "issues",
        "requeues",
        "inserts",
        "completions",
        "bios",
        "merged",
        "waiters",
        "preflush",
        "postflush",
        "q_ns",
        "g_ns",
        "i_ns",
        "d_first_ns",
        "d_ns",
        "c_data_ns",
        "c_ns",
        "q2g_ns",
        "g2i_ns",
        "i2d_ns",
        "g2d_ns",
        "d2d_ns",
        "d2c_ns",
        "fd2c_ns",
        "g2c_ns",
        "q2c_ns",
    ];

    fn head() -> String {
        let cells = [
            (12, "seconds"),
            (6, "dev"),
            (-5, "rwbs"),
            (-5, "kind"),
            (11, "sector"),
            (5, "size"),
            (4, "bios"),
            (5, "D/R"),
            (7, "Q2G µs"),
            (7, "G2D µs"),
            (7, "D2C µs"),
            (7, "G2C µs"),
            (-6, "end"),
        ];
        align(&cells.map(|(w, s)| (w, s.to_string())))
    }

    fn fill(&self, row: &mut Row) {
        let r = self.rq;
        let error = match r.outcome {
            Outcome::Failed(e) => Value::Int(i64::from(e)),
            _ => Value::Absent,
        };
        row.0.clear();
        row.0.extend([
            uint(r.id),
            dev(r.dev),
            word(r.kind.name()),
            rwbs(r.rwbs),
            sector(r.sector),
            known(self.fields.sizes, uint(r.bytes)),
            pid(r.pid),
            name(self.comm),
            cpu(r.cpu),
            source_line(r.line),
            word(r.outcome.name()),
            error,
            word(r.pairing.name()),
        ]);
        // A tool that tells finished requests shows no more of them than their ends.
        let life = !self.fields.whole_requests;
        row.0.extend([
            known(life || r.issues > 0, uint(r.issues)),
            known(life, uint(r.requeues)),
            known(life || r.inserts > 0, uint(r.inserts)),
            uint(r.completions),
            known(life, uint(r.bios)),
            known(life, uint(r.merged)),
            known(life, uint(r.waiters)),
        ]);
        let flushes = [r.preflush, r.postflush].map(Value::Bool);
        row.0.extend(flushes.map(|v| known(life, v)));
        let stamps = [r.q, r.g, r.i, r.d_first, r.d, r.c_data, r.c].map(stamp);
        row.0.extend(stamps.map(|v| known(self.fields.clock, v)));
        row.0.extend(Span::REQUEST.map(|s| super::span(r.span(s))));
    }

    fn text(&self, out: &mut Vec<u8>) {
        let r = self.rq;
        let span = |s| micros(r.span(s));
        let start = match self.fields.clock {
            true => self.start(),
            false => Stamp::NONE,
        };
        let life = !self.fields.whole_requests;
        let number = |known: bool, n: u32| {
            if known {
                n.to_string()
            } else {
                "-".to_string()
            }
        };
        let repeats = format!(
            "{}/{}",
            number(life || r.issues > 0, r.issues),
            number(life, r.requeues)
        );
        let size = match self.fields.sizes {
            true => short_bytes(r.bytes),
            false => "-".to_string(),
        };
        let cells = [
            (12, seconds(start)),
            (6, show(&dev(r.dev))),
            (-5, show(&rwbs(r.rwbs))),
            (-5, self.kind().to_string()),
            (11, show(&sector(r.sector))),
            (5, size),
            (4, number(life, r.bios)),
            (5, repeats),
            (7, span(Span::Q2G)),
            (7, span(Span::G2D)),
            (7, span(Span::D2C)),
            (7, span(Span::G2C)),
            (-6, self.end()),
        ];
        out.extend_from_slice(align(&cells).as_bytes());
    }
}
