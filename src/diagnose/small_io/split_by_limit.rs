//! Bios longer than the device takes are cut.

use super::super::latency::many;
use super::super::rule::{Levels, Rule, Threshold};
use super::super::{Evidence, Facts, Finding, Question};
use super::say::{self, OfDevice, count, part, percent, size};

pub(in crate::diagnose) static RULE: Rule = Rule {
    id: "split-by-limit",
    question: Question::SmallIo,
    about: "bios cut by a limit of the device into small pieces",
    thresholds: &[
        Threshold {
            name: "pieces",
            value: 64.0,
            reason: say::FEW_REASON,
        },
        Threshold {
            name: "piece_bytes",
            value: 393_216.0,
            reason: "between 256 KiB, a limit that someone set, and 512 KiB, the least that drivers of disks set by \
                     themselves: longer pieces are no small I/O",
        },
        Threshold {
            name: "of_problem",
            value: 0.05,
            reason: "below, it is not why there is much small I/O",
        },
    ],
    ends: false,
    judge,
};

struct Cut<'a> {
    d: &'a OfDevice<'a>,
    pieces: u64,
    piece: u64,
    at_limit: u64,
    told: u64,
}

fn cut<'a>(f: &Facts<'_>, d: &'a OfDevice<'a>, levels: &Levels) -> Option<Cut<'a>> {
    let pieces = d.small_pieces(f.small_io.piece);
    let sizes = &d.plugs?.pieces;
    let piece = d.piece()?;
    (pieces as f64 >= levels.of(&RULE, "pieces")).then(|| Cut {
        d,
        pieces,
        piece,
        at_limit: sizes.get(&piece).copied().unwrap_or(0),
        told: sizes.values().sum(),
    })
}

fn judge(f: &Facts<'_>, levels: &Levels) -> Option<Finding> {
    let devices = say::devices(f);
    let whole = say::whole(f, &devices);
    let all = devices.iter().filter_map(|d| cut(f, d, levels));
    let most = say::most(&RULE, levels, whole, all.map(|c| (c.pieces, c.d.dev, c)))?;
    let c = &most.first;
    let shown = c.d.samples(|t| &t.cuts_shown);
    Some(Finding {
        id: RULE.id,
        question: RULE.question,
        claim: claim(f, c) + &say::others(f, &most.rest),
        share: most.share,
        confidence: if part(c.at_limit, c.told) >= 0.5 {
            0.95
        } else {
            0.75
        },
        evidence: evidence(f, c),
        doubt: doubt(f, c),
        r#try: tries(f, c),
        examples: shown.iter().map(|s| s.example(&f.meta.comms)).collect(),
    })
}

/// Which limit of the snapshot the pieces have the size of.
fn limit(f: &Facts<'_>, c: &Cut<'_>) -> Option<&'static str> {
    let q = f.queue.get(&c.d.dev)?;
    let is = |kib: Option<u64>| kib.is_some_and(|k| k.saturating_mul(1024) == c.piece);
    let chunk = q
        .chunk_sectors
        .is_some_and(|s| s > 0 && s.saturating_mul(512) == c.piece);
    match () {
        _ if is(q.max_sectors_kb) => Some("max_sectors_kb"),
        _ if is(q.max_hw_sectors_kb) => Some("max_hw_sectors_kb"),
        _ if chunk => Some("chunk_sectors"),
        _ => None,
    }
}

fn claim(f: &Facts<'_>, c: &Cut<'_>) -> String {
    let cut = c.d.sum(|t| t.cut);
    let by = match limit(f, c) {
        Some(name) => format!(", the device's {name}"),
        None => String::new(),
    };
    format!(
        "{} of {} to {} {} cut into {} pieces, most of them {}{by}.",
        many(cut, "bio"),
        say::tasks(f, &c.d.by_task(|t| t.cut)),
        say::device(f, c.d.dev),
        if cut == 1 { "was" } else { "were" },
        count(c.pieces),
        size(c.piece)
    )
}

fn evidence(f: &Facts<'_>, c: &Cut<'_>) -> Vec<Evidence> {
    let bios = c.d.sum(|t| t.bios);
    let cut = c.d.sum(|t| t.cut);
    let mut out = vec![
        Evidence::number(
            "cut_bios",
            cut as f64,
            format!("{} of {} cut (X)", count(cut), many(bios, "bio")),
        ),
        Evidence::number(
            "piece_bytes",
            c.piece as f64,
            format!(
                "{} of the pieces before the last have {}",
                percent(c.at_limit, c.told),
                size(c.piece)
            ),
        ),
    ];
    let untold = f
        .tracker
        .devices
        .iter()
        .find(|d| d.dev == c.d.dev)
        .map_or(0, |d| {
            let found = d
                .anomalies
                .iter()
                .find(|a| a.0.name() == "split_at_untold_sector");
            found.map_or(0, |a| a.1)
        });
    if untold > 0 {
        out.push(Evidence::number(
            "untold_cuts",
            untold as f64,
            format!(
                "{} without a place (no new sector in the log): the length is that of the next request",
                many(untold, "cut")
            ),
        ));
    }
    out
}

fn doubt(f: &Facts<'_>, c: &Cut<'_>) -> String {
    match limit(f, c) {
        Some(_) => "pieces that merge again on a device below would speak against it".to_string(),
        None => "which limit cuts is not in the trace (max_sectors_kb, max_segments, a chunk or zone border; --queue \
                 FILE tells the first and the third); pieces that merge again on a device below would speak against it"
            .to_string(),
    }
}

fn tries(f: &Facts<'_>, c: &Cut<'_>) -> Vec<String> {
    let dev = say::short(f, c.d.dev);
    vec![
        format!(
            "cat /sys/block/{dev}/queue/max_hw_sectors_kb > /sys/block/{dev}/queue/max_sectors_kb"
        ),
        format!("blkan replay --max-sectors {} TRACE", c.piece / 512 * 4),
        format!("blkan bios --dev {} TRACE (column pieces)", c.d.dev),
    ]
}
