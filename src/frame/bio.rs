//! The columns of bios.

use super::cell::{cpu, dev, line, pid, rwbs, sector, span, stamp, word};
use super::column::{Column, Record};
use crate::lifecycle::{Bio, BioFate, MergeKind};
use std::borrow::Cow;

/// How a bio joined another's request.
pub fn merge_word(m: MergeKind) -> &'static str {
    match m {
        MergeKind::Back => "back",
        MergeKind::Front => "front",
        MergeKind::Discard => "discard",
        MergeKind::Request => "request",
    }
}

/// The errno of a bio that failed.
pub fn error(b: &Bio) -> Option<i32> {
    match b.fate {
        BioFate::Failed(e) => Some(e.into()),
        BioFate::EndedAlone(e) if e != 0 => Some(e.into()),
        _ => None,
    }
}

impl Record for Bio {
    const TABLE: &'static str = "bios";
    const COLUMNS: &'static [Column<Bio>] = &[
        Column::id("id", |b| Some(b.id)),
        Column::text("dev", |b, _| dev(b.dev).map(Cow::Owned)),
        Column::text("rwbs", |b, _| rwbs(b.rwbs).map(Cow::Owned)),
        Column::sector("sector", |b| sector(b.sector)),
        Column::bytes("bytes", |b| Some(b.bytes)),
        Column::number("pid", |b| pid(b.pid)),
        Column::text("comm", |_, comm| comm.map(Cow::Borrowed)),
        Column::number("cpu", |b| cpu(b.cpu)),
        Column::number("line", |b| line(b.line)),
        Column::text("fate", |b, _| word(b.fate.name())),
        Column::errno("error", error),
        Column::text("merged", |b, _| b.merged.map(merge_word).and_then(word)),
        Column::count("pieces", |b| Some(b.pieces)),
        Column::id("request", |b| b.request),
        Column::id("parent", |b| b.parent),
        Column::text("parent_dev", |b, _| dev(b.parent_dev).map(Cow::Owned)),
        Column::bool("unclean", |b| Some(b.unclean)),
        Column::time("q_ns", |b| stamp(b.q)),
        Column::time("g_ns", |b| stamp(b.g)),
        Column::time("m_ns", |b| stamp(b.m)),
        Column::time("i_ns", |b| stamp(b.i)),
        Column::time("d_ns", |b| stamp(b.d)),
        Column::time("c_ns", |b| stamp(b.c)),
        Column::span("q2g_ns", |b| span(b.q.to(b.g))),
        Column::span("q2m_ns", |b| span(b.q.to(b.m))),
        Column::span("d2c_ns", |b| span(b.d.to(b.c))),
        Column::span("q2c_ns", |b| span(b.q.to(b.c))),
    ];
}
