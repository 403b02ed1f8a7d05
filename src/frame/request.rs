//! The columns of requests.

use super::cell::{cpu, dev, line, pid, rwbs, sector, span, stamp, word};
use super::column::{Column, Record};
use crate::event::Fields;
use crate::lifecycle::{Outcome, Request, Span};
use std::borrow::Cow;

fn error(r: &Request) -> Option<i32> {
    match r.outcome {
        Outcome::Failed(e) => Some(e.into()),
        _ => None,
    }
}

/// A tool that tells finished requests shows no more of them than their ends.
fn lived(_: &Request, f: &Fields) -> bool {
    !f.whole_requests
}

fn clocked(_: &Request, f: &Fields) -> bool {
    f.clock
}

impl Record for Request {
    const TABLE: &'static str = "requests";
    const COLUMNS: &'static [Column<Request>] = &[
        Column::id("id", |r| Some(r.id)),
        Column::text("dev", |r, _| dev(r.dev).map(Cow::Owned)),
        Column::text("kind", |r, _| word(r.kind.name())),
        Column::text("rwbs", |r, _| rwbs(r.rwbs).map(Cow::Owned)),
        Column::sector("sector", |r| sector(r.sector)),
        Column::bytes("bytes", |r: &Request| Some(r.bytes)).when(|_, f| f.sizes),
        Column::number("pid", |r| pid(r.pid)),
        Column::text("comm", |_, comm| comm.map(Cow::Borrowed)),
        Column::number("cpu", |r| cpu(r.cpu)),
        Column::number("line", |r| line(r.line)),
        Column::text("outcome", |r, _| word(r.outcome.name())),
        Column::errno("error", error),
        Column::text("pairing", |r, _| word(r.pairing.name())),
        Column::count("issues", |r: &Request| Some(r.issues))
            .when(|r, f| lived(r, f) || r.issues > 0),
        Column::count("requeues", |r: &Request| Some(r.requeues)).when(lived),
        Column::count("inserts", |r: &Request| Some(r.inserts))
            .when(|r, f| lived(r, f) || r.inserts > 0),
        Column::count("completions", |r| Some(r.completions)),
        Column::count("bios", |r: &Request| Some(r.bios)).when(lived),
        Column::count("merged", |r: &Request| Some(r.merged)).when(lived),
        Column::count("waiters", |r: &Request| Some(r.waiters)).when(lived),
        Column::bool("preflush", |r: &Request| Some(r.preflush)).when(lived),
        Column::bool("postflush", |r: &Request| Some(r.postflush)).when(lived),
        Column::time("q_ns", |r: &Request| stamp(r.q)).when(clocked),
        Column::time("g_ns", |r: &Request| stamp(r.g)).when(clocked),
        Column::time("i_ns", |r: &Request| stamp(r.i)).when(clocked),
        Column::time("d_first_ns", |r: &Request| stamp(r.d_first)).when(clocked),
        Column::time("d_ns", |r: &Request| stamp(r.d)).when(clocked),
        Column::time("c_data_ns", |r: &Request| stamp(r.c_data)).when(clocked),
        Column::time("c_ns", |r: &Request| stamp(r.c)).when(clocked),
        Column::span("q2g_ns", |r| span(r.span(Span::Q2G))),
        Column::span("g2i_ns", |r| span(r.span(Span::G2I))),
        Column::span("i2d_ns", |r| span(r.span(Span::I2D))),
        Column::span("g2d_ns", |r| span(r.span(Span::G2D))),
        Column::span("d2d_ns", |r| span(r.span(Span::D2D))),
        Column::span("d2c_ns", |r| span(r.span(Span::D2C))),
        Column::span("fd2c_ns", |r| span(r.span(Span::FD2C))),
        Column::span("g2c_ns", |r| span(r.span(Span::G2C))),
        Column::span("q2c_ns", |r| span(r.span(Span::Q2C))),
    ];
}
