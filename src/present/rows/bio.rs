//! A bio as a line of text.

use super::{AsText, align, micros, seconds, short_bytes, show};
use crate::event::Fields;
use crate::frame::{dev, merge_word, pid, rwbs, sector};
use crate::lifecycle::{Bio, BioFate, Stamp};
use crate::present::table::cut;

fn start(b: &Bio) -> Stamp {
    let seen = [b.q, b.g, b.m, b.i, b.d, b.c]
        .into_iter()
        .find(|s| s.is_some());
    seen.unwrap_or(Stamp::NONE)
}

fn end(b: &Bio) -> String {
    match b.fate {
        BioFate::Completed | BioFate::EndedAlone(0) => "ok".to_string(),
        BioFate::EndedAlone(-11) => "retry".to_string(),
        BioFate::Failed(e) | BioFate::EndedAlone(e) => format!("err{e}"),
        BioFate::Open => "open".to_string(),
        BioFate::Lost => "lost".to_string(),
    }
}

/// How it came to its request, in seven columns.
fn how(b: &Bio) -> &'static str {
    match (b.merged, b.request) {
        (Some(m), _) => merge_word(m),
        (None, Some(_)) => "own",
        (None, None) => "-",
    }
}

impl AsText for Bio {
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

    fn text(&self, comm: Option<&str>, _fields: &Fields, out: &mut Vec<u8>) {
        let b = self;
        let joined = if b.g.is_some() { b.g } else { b.m };
        let cells = [
            (12, seconds(start(b))),
            (6, show(dev(b.dev))),
            (-5, show(rwbs(b.rwbs))),
            (11, show(sector(b.sector))),
            (5, short_bytes(b.bytes)),
            (7, show(pid(b.pid))),
            (-9, cut(comm.unwrap_or("-"), 9)),
            (-7, how(b).to_string()),
            (7, micros(b.q.to(joined))),
            (7, micros(b.d.to(b.c))),
            (7, micros(b.q.to(b.c))),
            (-6, end(b)),
        ];
        out.extend_from_slice(align(&cells).as_bytes());
    }
}
