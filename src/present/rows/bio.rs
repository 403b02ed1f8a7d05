//! A bio as a row.

use super::{
    AsRow, Row, Value, align, cpu, dev, micros, name, pid, rwbs, seconds, sector, short_bytes,
    show, source_line, span, stamp, uint, word,
};
use crate::lifecycle::{Bio, BioFate, MergeKind, Stamp};
use crate::present::table::cut;

/// A bio and its submitter's name.
pub struct BioRow<'a> {
    /// The bio.
    pub bio: &'a Bio,
    /// The submitter.
    pub comm: Option<&'a str>,
}

fn merge_word(m: MergeKind) -> &'static str {
    match m {
        MergeKind::Back => "back",
        MergeKind::Front => "front",
        MergeKind::Discard => "discard",
        MergeKind::Request => "request",
    }
}

impl BioRow<'_> {
    fn start(&self) -> Stamp {
        let b = self.bio;
        let seen = [b.q, b.g, b.m, b.i, b.d, b.c]
            .into_iter()
            .find(|s| s.is_some());
        seen.unwrap_or(Stamp::NONE)
    }

    fn error(&self) -> Value {
        match self.bio.fate {
            BioFate::Failed(e) => Value::Int(i64::from(e)),
            BioFate::EndedAlone(e) if e != 0 => Value::Int(i64::from(e)),
            _ => Value::Absent,
        }
    }

    fn end(&self) -> String {
        match self.bio.fate {
            BioFate::Completed | BioFate::EndedAlone(0) => "ok".to_string(),
            BioFate::EndedAlone(-11) => "retry".to_string(),
            BioFate::Failed(e) | BioFate::EndedAlone(e) => format!("err{e}"),
            BioFate::Open => "open".to_string(),
            BioFate::Lost => "lost".to_string(),
        }
    }

    /// How it came to its request, in seven columns.
    fn how(&self) -> &'static str {
        match (self.bio.merged, self.bio.request) {
            (Some(m), _) => merge_word(m),
            (None, Some(_)) => "own",
            (None, None) => "-",
        }
    }
}

impl AsRow for BioRow<'_> {
    const COLUMNS: &'static [&'static str] = &[
        "id",
        "dev",
        "rwbs",
        "sector",
        "bytes",
        "pid",
        "comm",
        "cpu",
        "line",
        "fate",
        "error",
        "merged",
        "pieces",
        "request",
        "parent",
        "parent_dev",
        "unclean",
        "q_ns",
        "g_ns",
        "m_ns",
        "i_ns",
        "d_ns",
        "c_ns",
        "q2g_ns",
        "q2m_ns",
        "d2c_ns",
        "q2c_ns",
    ];

    fn head() -> String {
        let cells = [
            (12, "seconds"),
            (6, "dev"),
            (-5, "rwbs"),
            (11, "sector"),
            (5, "size"),
            (7, "pid"),
            (-9, "comm"),
            (-7, "joined"),
            (7, "Q2GM µs"),
            (7, "D2C µs"),
            (7, "Q2C µs"),
            (-6, "end"),
        ];
        align(&cells.map(|(w, s)| (w, s.to_string())))
    }

    fn fill(&self, row: &mut Row) {
        let b = self.bio;
        let id = |v: Option<u64>| v.map_or(Value::Absent, Value::Uint);
        row.0.clear();
        row.0.extend([
            uint(b.id),
            dev(b.dev),
            rwbs(b.rwbs),
            sector(b.sector),
            uint(b.bytes),
            pid(b.pid),
            name(self.comm),
            cpu(b.cpu),
            source_line(b.line),
            word(b.fate.name()),
            self.error(),
            b.merged.map_or(Value::Absent, |m| word(merge_word(m))),
            uint(b.pieces),
            id(b.request),
            id(b.parent),
            dev(b.parent_dev),
            Value::Bool(b.unclean),
        ]);
        row.0.extend([b.q, b.g, b.m, b.i, b.d, b.c].map(stamp));
        row.0
            .extend([b.q.to(b.g), b.q.to(b.m), b.d.to(b.c), b.q.to(b.c)].map(span));
    }

    fn text(&self, out: &mut Vec<u8>) {
        let b = self.bio;
        let joined = if b.g.is_some() { b.g } else { b.m };
        let cells = [
            (12, seconds(self.start())),
            (6, show(&dev(b.dev))),
            (-5, show(&rwbs(b.rwbs))),
            (11, show(&sector(b.sector))),
            (5, short_bytes(b.bytes)),
            (7, show(&pid(b.pid))),
            (-9, cut(self.comm.unwrap_or("-"), 9)),
            (-7, self.how().to_string()),
            (7, micros(b.q.to(joined))),
            (7, micros(b.d.to(b.c))),
            (7, micros(b.q.to(b.c))),
            (-6, self.end()),
        ];
        out.extend_from_slice(align(&cells).as_bytes());
    }
}
