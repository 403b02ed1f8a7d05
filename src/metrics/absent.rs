//! Why a group's number is absent, from the trace as a whole down to the group.

use super::groups::{BIO_SPANS, GroupSum};
use super::report::Group;
use super::section::Context;
use super::why::Why;
use crate::event::Action;
use crate::lifecycle::{Bio, Request, RequestKind, Span, Stamp};

/// A stamp: its bit in a set of stamps, and the event that sets it.
#[derive(Clone, Copy, PartialEq)]
enum At {
    Q,
    G,
    I,
    D,
    C,
    M,
}

impl At {
    fn bit(self) -> u8 {
        1 << self as u8
    }

    fn action(self) -> Action {
        match self {
            At::Q => Action::Queue,
            At::G => Action::GetRq,
            At::I => Action::Insert,
            At::D => Action::Issue,
            At::C => Action::Complete,
            At::M => Action::BackMerge,
        }
    }
}

fn bit(at: At, s: Stamp) -> u8 {
    if s.is_some() { at.bit() } else { 0 }
}

/// The stamps of a request as a set.
pub(super) fn of_request(r: &Request) -> u8 {
    bit(At::Q, r.q) | bit(At::G, r.g) | bit(At::I, r.i) | bit(At::D, r.d) | bit(At::C, r.c)
}

/// The stamps of a bio as a set.
pub(super) fn of_bio(b: &Bio) -> u8 {
    bit(At::Q, b.q)
        | bit(At::G, b.g)
        | bit(At::I, b.i)
        | bit(At::D, b.d)
        | bit(At::C, b.c)
        | bit(At::M, b.m)
}

fn ends(s: Span) -> (At, At) {
    match s {
        Span::Q2G => (At::Q, At::G),
        Span::G2I => (At::G, At::I),
        Span::I2D => (At::I, At::D),
        Span::G2D => (At::G, At::D),
        Span::D2D => (At::D, At::D),
        Span::D2C | Span::FD2C => (At::D, At::C),
        Span::G2C => (At::G, At::C),
        Span::Q2C => (At::Q, At::C),
    }
}

/// Records the reason of every absent number of a group.
pub(super) fn explain(g: &Group, sum: &GroupSum, cx: &Context, why: &mut Why) {
    if g.issues_per_rq.is_none() {
        why.note("issues_per_rq", no_issues(sum, cx));
    }
    if g.bio_bytes.is_none() {
        why.note("bio_bytes", no_bio_sizes(sum, cx));
    }
    if g.issue_bytes.is_none() {
        why.note("issue_bytes", no_issue_sizes(sum, cx));
    }
    why.within("latency_ns", |why| {
        for (i, s) in Span::REQUEST.into_iter().enumerate() {
            if sum.rq.dist(i).is_none() {
                why.note(&s.name().to_lowercase(), no_request_span(i, s, sum, cx));
            }
        }
    });
    why.within("bio_latency_ns", |why| {
        for (i, name) in BIO_SPANS.into_iter().enumerate() {
            if sum.bio.dist(i).is_none() {
                why.note(name, no_bio_span(i, sum, cx));
            }
        }
    });
}

fn no_requests(sum: &GroupSum, cx: &Context) -> Option<String> {
    if cx.bio_based {
        return Some("bio-based device: it has no requests".to_string());
    }
    if sum.requests > 0 {
        return None;
    }
    let text = if sum.bios > 0 && sum.merged_bios == sum.bios {
        "all bios of this group were merged into requests of other groups"
    } else {
        "no request of this group"
    };
    Some(text.to_string())
}

/// Why issues and requests cannot be divided: a request whose completion vanished looks issued again when its sector is
/// used next, and without R events the two cannot be told apart.
pub(super) fn repeats(cx: &Context) -> Option<String> {
    cx.uncounted(Action::Requeue)
        .filter(|_| cx.fields.completions_may_vanish || cx.fields.whole_requests)
}

fn no_issues(sum: &GroupSum, cx: &Context) -> String {
    no_requests(sum, cx)
        .or_else(|| repeats(cx))
        .or_else(|| cx.missing(Action::Issue))
        .or_else(|| cx.missing(Action::Complete))
        .or_else(|| none_completed(sum))
        .unwrap_or_else(|| never(At::D, sum))
}

fn none_completed(sum: &GroupSum) -> Option<String> {
    (sum.completed == 0).then(|| "no request of this group completed".to_string())
}

fn no_bio_sizes(sum: &GroupSum, cx: &Context) -> String {
    if let Some(r) = cx.unsized_reason() {
        return r;
    }
    let zero = sum.bio_sizes.zero;
    if zero > 0 {
        return format!("all {zero} bios have no data");
    }
    cx.missing(Action::Queue)
        .unwrap_or_else(|| "no bio was queued in this group".to_string())
}

fn no_issue_sizes(sum: &GroupSum, cx: &Context) -> String {
    if let Some(r) = cx.unsized_reason() {
        return r;
    }
    let zero = sum.issue_sizes.zero;
    if zero > 0 {
        return format!("all {zero} issues have no data");
    }
    if sum.passthrough > 0 && sum.passthrough == sum.requests {
        return "passthrough commands have no size in the block layer's sense".to_string();
    }
    no_requests(sum, cx)
        .or_else(|| cx.missing(Action::Issue))
        .unwrap_or_else(|| never(At::D, sum))
}

/// The words for "requests of this group never show this event, though others on the device do".
fn never(at: At, sum: &GroupSum) -> String {
    let only_empty = sum.kinds == 1 << RequestKind::EmptyFlush as u8;
    let no_getrq = sum.has_kind(RequestKind::DeviceFlush) || sum.has_kind(RequestKind::Passthrough);
    match at {
        At::D if only_empty => {
            "empty flushes are never issued: a device flush (FF) is sent for them"
        }
        At::D => "no completed request of this group was seen issued",
        At::I if only_empty || no_getrq => {
            "requests of this kind are never inserted into a scheduler or software queue"
        }
        At::I => "requests of this group were issued directly, without an insert",
        At::G if no_getrq => {
            "requests of this kind are not made for a bio: they have no getrq and no queue event"
        }
        At::G => "no getrq seen for the requests of this group",
        At::Q if no_getrq => "requests of this kind carry no bio: they have no queue event",
        At::Q => "no queue event seen for the requests of this group",
        At::C => "no completion seen for the requests of this group",
        At::M => "no bio of this group was merged",
    }
    .to_string()
}

fn no_request_span(i: usize, s: Span, sum: &GroupSum, cx: &Context) -> String {
    if sum.rq.only_negative(i) {
        return skewed();
    }
    if cx.fields.whole_requests && matches!(s, Span::FD2C | Span::D2D) {
        return "not observable: a tool that prints finished requests shows the last issue alone"
            .to_string();
    }
    let (from, to) = ends(s);
    if let Some(r) = no_requests(sum, cx) {
        return r;
    }
    for at in [from, to, At::C] {
        if let Some(r) = cx.missing(at.action()) {
            return r;
        }
    }
    if let Some(r) = none_completed(sum) {
        return r;
    }
    for at in [from, to] {
        if sum.rq_stamps & at.bit() == 0 {
            return never(at, sum);
        }
    }
    if s == Span::D2D {
        return "no completed request of this group was issued more than once".to_string();
    }
    "no completed request of this group shows both ends".to_string()
}

fn skewed() -> String {
    "all samples came out negative (times of different CPUs, or damaged order)".to_string()
}

fn no_bio_span(i: usize, sum: &GroupSum, cx: &Context) -> String {
    if sum.bio.only_negative(i) {
        return skewed();
    }
    // In the order of BIO_SPANS.
    let (from, to) = match i {
        0 => (At::Q, At::Q),
        1 => (At::Q, At::G),
        2 => (At::G, At::I),
        3 => (At::Q, At::M),
        4 => (At::I, At::D),
        5 => (At::M, At::D),
        6 => (At::D, At::C),
        _ => (At::Q, At::C),
    };
    let requests_only = |at: At| !matches!(at, At::Q | At::C);
    if cx.bio_based && (requests_only(from) || requests_only(to)) {
        return "bio-based device: its bios do not become requests".to_string();
    }
    if let Some(r) = cx
        .missing(from.action())
        .or_else(|| cx.missing(to.action()))
    {
        return r;
    }
    if sum.bio_stamps == 0 {
        return "no bio in this group".to_string();
    }
    if i == 0 {
        return "no bio of this group followed another queue event on the device".to_string();
    }
    for at in [from, to] {
        if sum.bio_stamps & at.bit() == 0 {
            return bio_never(at);
        }
    }
    "no bio of this group shows both ends".to_string()
}

fn bio_never(at: At) -> String {
    match at {
        At::Q => "no queue event seen for the bios of this group",
        At::G => "no bio of this group got a request of its own",
        At::I => "no bio of this group starts a request that was inserted",
        At::D => "no request that carries a bio of this group was seen issued",
        At::C => "no bio of this group completed",
        At::M => "no bio of this group was merged",
    }
    .to_string()
}
