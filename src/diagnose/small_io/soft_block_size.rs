//! The page cache of a raw block device works in blocks below a page, and sends one bio a block.

use super::super::rule::{Levels, Rule, Threshold};
use super::super::{Evidence, Facts, Finding, Question};
use super::say::{self, OfDevice, count, part, percent, size};

/// Bytes of a page.
const PAGE: u64 = 4096;

pub(in crate::diagnose) static RULE: Rule = Rule {
    id: "soft-block-size",
    question: Question::SmallIo,
    about: "runs of equal bios that fill an aligned page: a block size below the page size",
    thresholds: &[
        Threshold {
            name: "gap_us",
            value: 50_000.0,
            reason: "the parts of a page are queued in one loop (block_write_full_folio), microseconds apart unless the \
                     task is interrupted or preempted there, which a loaded machine does for tens of ms; that the plug \
                     and the first part are still open is asked besides",
        },
        Threshold {
            name: "parts",
            value: 64.0,
            reason: say::FEW_REASON,
        },
        Threshold {
            name: "of_size",
            value: 0.6,
            reason: "of all bios of that size: writeback sends nothing but whole pages, where program I/O of the same \
                     size fills aligned pages by chance or in long runs only",
        },
        Threshold {
            name: "beyond",
            value: 0.5,
            reason: "of the parts: where most pages go on where the one before ended in the same plug, a program that \
                     submits a sequence of small blocks looks the same; then the capacity must tell, or that kworkers \
                     send them, which write pages back and do no I/O of programs",
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

struct Found<'a> {
    d: &'a OfDevice<'a>,
    block: u64,
    parts: u64,
    of_size: u64,
    capacity: Option<u64>,
    /// Most pages are parts of longer runs.
    runs: bool,
}

fn found<'a>(f: &Facts<'_>, d: &'a OfDevice<'a>, levels: &Levels) -> Option<Found<'a>> {
    let at = |name| levels.of(&RULE, name);
    let k = (0..3).max_by_key(|k| d.sum(|t| t.parts[*k]))?;
    let (parts, of_size) = (d.sum(|t| t.parts[k]), d.sum(|t| t.of_size[k]));
    let block = 512 << k;
    let enough = parts as f64 >= at("parts") && part(parts, of_size) >= at("of_size");
    let capacity = say::report(f, d.dev).and_then(|r| r.capacity);
    let partition = d.plugs.is_some_and(|p| p.of_partition * 2 > p.queued);
    let known = capacity.filter(|_| !partition);
    let agrees = known.is_none_or(|c| soft_block(f, d, c) == block);
    let runs = part(d.sum(|t| t.beyond[k]), parts) > at("beyond");
    let told = !runs || known.is_some() || written_back(f, d, k);
    (enough && agrees && told).then_some(Found {
        d,
        block,
        parts,
        of_size,
        capacity: known,
        runs,
    })
}

/// Most parts are sent by kworkers: writeback.
fn written_back(f: &Facts<'_>, d: &OfDevice<'_>, k: usize) -> bool {
    let by = d.by_task(|t| t.parts[k]);
    let first = by.first().and_then(|(comm, _)| f.meta.comms.raw(*comm));
    first.is_some_and(|name| name.starts_with(b"kworker/"))
}

/// fs/block_dev.c, block/bdev.c:set_init_blocksize (6.1, 6.12): the largest power of two that divides the capacity, between
/// the logical block size and a page.
fn soft_block(f: &Facts<'_>, d: &OfDevice<'_>, capacity: u64) -> u64 {
    let logical = f.queue.get(&d.dev).and_then(|q| q.logical_block_size);
    let by_capacity = 1u64 << capacity.trailing_zeros().min(12);
    by_capacity.max(logical.unwrap_or(512)).min(PAGE)
}

fn judge(f: &Facts<'_>, levels: &Levels) -> Option<Finding> {
    let devices = say::devices(f);
    let whole = say::whole(f, &devices);
    let all = devices.iter().filter_map(|d| found(f, d, levels));
    let most = say::most(&RULE, levels, whole, all.map(|x| (x.parts, x.d.dev, x)))?;
    let x = &most.first;
    let shown = x.d.samples(|t| &t.parts_shown);
    Some(Finding {
        id: RULE.id,
        question: RULE.question,
        claim: claim(f, x) + &say::others(f, &most.rest),
        share: most.share,
        confidence: confidence(f, x),
        evidence: evidence(f, x),
        doubt: doubt(f, x),
        r#try: tries(f, x),
        examples: shown.iter().map(|s| s.example(&f.meta.comms)).collect(),
    })
}

/// `halves`, `quarters`, `eighths`.
fn fraction(block: u64) -> &'static str {
    match PAGE / block {
        2 => "halves",
        4 => "quarters",
        _ => "eighths",
    }
}

fn claim(f: &Facts<'_>, x: &Found<'_>) -> String {
    let bios = x.d.sum(|t| t.bios);
    let mut text = format!(
        "{} of the bios to {} are {} {} of 4 KiB pages",
        percent(x.parts, bios),
        say::device(f, x.d.dev),
        size(x.block),
        fraction(x.block)
    );
    match x.capacity {
        Some(c) => text.push_str(&format!(
            ", since the device's capacity is an odd multiple of {}: {} = 2^{} × {}, so its block size is {} and each \
             dirty block becomes a bio of its own.",
            size(x.block),
            count(c),
            c.trailing_zeros(),
            count(c >> c.trailing_zeros()),
            size(x.block)
        )),
        None => text.push_str(&format!(
            ": the pattern of a page cache whose block size is {}, as of a device whose capacity is no multiple of 4 KiB.",
            size(x.block)
        )),
    }
    text
}

/// Without the capacity a program that writes the parts of a page at once looks the same: likely at most.
fn confidence(f: &Facts<'_>, x: &Found<'_>) -> f64 {
    let plugs = f.tracker.coverage.has(crate::event::Action::Plug);
    match (x.capacity.is_some(), plugs && !x.runs) {
        (true, _) => 0.97,
        (false, true) => 0.8,
        (false, false) => 0.6,
    }
}

fn evidence(f: &Facts<'_>, x: &Found<'_>) -> Vec<Evidence> {
    let mut out = vec![
        Evidence::number(
            "page_parts",
            x.parts as f64,
            format!(
                "{} of {} bios of {} come in runs of {} by one task in one plug that exactly fill an aligned page ({})",
                count(x.parts),
                count(x.of_size),
                size(x.block),
                PAGE / x.block,
                percent(x.parts, x.of_size)
            ),
        ),
        Evidence::said(
            "tasks",
            format!(
                "sent by {}",
                say::tasks(f, &x.d.by_task(|t| t.parts.iter().sum()))
            ),
        ),
    ];
    if let Some(c) = x.capacity {
        out.push(Evidence::number(
            "capacity_power_of_two",
            f64::from(c.trailing_zeros()),
            format!(
                "capacity {} B: the largest power of two that divides it is 2^{} = {} B",
                count(c),
                c.trailing_zeros(),
                count(1 << c.trailing_zeros().min(62))
            ),
        ));
    }
    if let Some(p) = x.d.plugs.filter(|p| p.bios > 0) {
        let said = match part(p.merged, p.bios) {
            m if m >= 0.9 * (1.0 - x.block as f64 / PAGE as f64) => "merging joins the parts again",
            _ => "merging leaves most parts alone",
        };
        out.push(Evidence::number(
            "merged_share",
            part(p.merged, p.bios),
            format!(
                "{} of the bios were merged: {said}",
                percent(p.merged, p.bios)
            ),
        ));
    }
    out
}

fn doubt(f: &Facts<'_>, x: &Found<'_>) -> String {
    let name = short_path(f, x);
    match x.capacity {
        Some(_) => "a capacity that is a multiple of 4 KiB would speak against it, as would runs that begin inside a \
                    page; neither is so"
            .to_string(),
        None => format!(
            "a capacity of {name} that is a multiple of 4,096 speaks against it; the trace does not tell the capacity \
             (--capacity BYTES, --queue FILE). A program that writes two halves of a page at once looks the same"
        ),
    }
}

fn short_path(f: &Facts<'_>, x: &Found<'_>) -> String {
    format!("/dev/{}", say::short(f, x.d.dev))
}

fn tries(f: &Facts<'_>, x: &Found<'_>) -> Vec<String> {
    let path = short_path(f, x);
    let mut out = Vec::new();
    if x.capacity.is_none() {
        out.push(format!(
            "blockdev --getbsz {path} (expect {}) and blockdev --getsize64 {path} (expect an odd multiple of {})",
            x.block, x.block
        ));
    }
    out.push(
        "a partition whose size is a multiple of 4 KiB (its block size follows its own size), a filesystem, or direct I/O"
            .to_string(),
    );
    out.push("blkan replay --soft-block-size 4096 TRACE".to_string());
    out
}
