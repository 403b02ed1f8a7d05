//! A request as a line of text.

use super::{AsText, align, micros, seconds, short_bytes, show};
use crate::event::Fields;
use crate::frame::{dev, rwbs, sector};
use crate::lifecycle::{Outcome, Request, RequestKind, Span, Stamp};

/// The first of its stamps that was seen.
fn start(r: &Request) -> Stamp {
    let seen = [r.q, r.g, r.i, r.d_first, r.d, r.c_data, r.c]
        .into_iter()
        .find(|s| s.is_some());
    seen.unwrap_or(Stamp::NONE)
}

fn kind(r: &Request) -> &'static str {
    match r.kind {
        RequestKind::Io => "io",
        RequestKind::EmptyFlush => "empty",
        RequestKind::DeviceFlush => "flush",
        RequestKind::Passthrough => "pass",
    }
}

fn end(r: &Request) -> String {
    match r.outcome {
        Outcome::Completed => "ok".to_string(),
        Outcome::Failed(e) => format!("err{e}"),
        Outcome::Absorbed => "merged".to_string(),
        Outcome::Open => "open".to_string(),
        Outcome::Lost => "lost".to_string(),
    }
}

impl AsText for Request {
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

    fn text(&self, _comm: Option<&str>, fields: &Fields, out: &mut Vec<u8>) {
        let r = self;
        let span = |s| micros(r.span(s));
        let start = match fields.clock {
            true => start(r),
            false => Stamp::NONE,
        };
        let life = !fields.whole_requests;
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
        let size = match fields.sizes {
            true => short_bytes(r.bytes),
            false => "-".to_string(),
        };
        let cells = [
            (12, seconds(start)),
            (6, show(dev(r.dev))),
            (-5, show(rwbs(r.rwbs))),
            (-5, kind(r).to_string()),
            (11, show(sector(r.sector))),
            (5, size),
            (4, number(life, r.bios)),
            (5, repeats),
            (7, span(Span::Q2G)),
            (7, span(Span::G2D)),
            (7, span(Span::D2C)),
            (7, span(Span::G2C)),
            (-6, end(r)),
        ];
        out.extend_from_slice(align(&cells).as_bytes());
    }
}
