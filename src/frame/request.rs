//! The columns of requests.

use super::cell::{cpu, dev, line, pid, rwbs, sector, span, stamp, word};
use super::column::{Column, Record};
use crate::lifecycle::{Outcome, Request, Span};
use std::borrow::Cow;

fn error(r: &Request) -> Option<i32> {
    match r.outcome {
        Outcome::Failed(e) => Some(e.into()),
        _ => None,
    }
}

impl Record for Request {
    const TABLE: &'static str = "requests";
    const COLUMNS: &'static [Column<Request>] = &[
        Column::u64("id", |r| Some(r.id)),
        Column::text("dev", |r, _| dev(r.dev).map(Cow::Owned)),
        Column::text("kind", |r, _| word(r.kind.name())),
        Column::text("rwbs", |r, _| rwbs(r.rwbs).map(Cow::Owned)),
        Column::u64("sector", |r| sector(r.sector)),
        Column::u64("bytes", |r| Some(r.bytes)),
        Column::u32("pid", |r| pid(r.pid)),
        Column::text("comm", |_, comm| comm.map(Cow::Borrowed)),
        Column::u32("cpu", |r| cpu(r.cpu)),
        Column::u32("line", |r| line(r.line)),
        Column::text("outcome", |r, _| word(r.outcome.name())),
        Column::i32("error", error),
        Column::text("pairing", |r, _| word(r.pairing.name())),
        Column::u32("issues", |r| Some(r.issues)),
        Column::u32("requeues", |r| Some(r.requeues)),
        Column::u32("inserts", |r| Some(r.inserts)),
        Column::u32("completions", |r| Some(r.completions)),
        Column::u32("bios", |r| Some(r.bios)),
        Column::u32("merged", |r| Some(r.merged)),
        Column::u32("waiters", |r| Some(r.waiters)),
        Column::bool("preflush", |r| Some(r.preflush)),
        Column::bool("postflush", |r| Some(r.postflush)),
        Column::i64("q_ns", |r| stamp(r.q)),
        Column::i64("g_ns", |r| stamp(r.g)),
        Column::i64("i_ns", |r| stamp(r.i)),
        Column::i64("d_first_ns", |r| stamp(r.d_first)),
        Column::i64("d_ns", |r| stamp(r.d)),
        Column::i64("c_data_ns", |r| stamp(r.c_data)),
        Column::i64("c_ns", |r| stamp(r.c)),
        Column::i64("q2g_ns", |r| span(r.span(Span::Q2G))),
        Column::i64("g2i_ns", |r| span(r.span(Span::G2I))),
        Column::i64("i2d_ns", |r| span(r.span(Span::I2D))),
        Column::i64("g2d_ns", |r| span(r.span(Span::G2D))),
        Column::i64("d2d_ns", |r| span(r.span(Span::D2D))),
        Column::i64("d2c_ns", |r| span(r.span(Span::D2C))),
        Column::i64("fd2c_ns", |r| span(r.span(Span::FD2C))),
        Column::i64("g2c_ns", |r| span(r.span(Span::G2C))),
        Column::i64("q2c_ns", |r| span(r.span(Span::Q2C))),
    ];
}
