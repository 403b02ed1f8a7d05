//! `blkan check`.

use super::output::{Output, colored};
use super::session::{self, Consumer, Finished};
use super::stats::input;
use super::warnings::shown;
use super::{CheckOpts, Done, Rows, Window, open, warnings};
use crate::error::Result;
use crate::event::{Action, DevId};
use crate::format::ImportReport;
use crate::lifecycle::{Account, DeviceSummary};
use crate::metrics::blkparse_totals::{self, Comparison, DeviceTotals};
use crate::metrics::quality::{self, CheckDevice, CheckInput, CheckReport, DefectRow, Verdict};
use crate::metrics::report::{AccountRow, Losses, Recorder};
use crate::metrics::{BlkparseTotals, SummaryDevice};
use crate::present::{self, QueueRow, Style};
use serde::Serialize;
use std::collections::BTreeMap;

impl Consumer for BlkparseTotals {}

/// The report, and what `--queue` told.
#[derive(Serialize)]
struct WithQueue<'a> {
    #[serde(flatten)]
    report: &'a CheckReport,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    queue: &'a [QueueRow],
}

/// Runs the command.
///
/// # Errors
/// Unreadable input or output.
pub fn check(o: &CheckOpts) -> Result<Done> {
    let mut totals = BlkparseTotals::default();
    let finished = session::run(&o.input, &o.window, &o.output, &mut totals)?;
    let report = report(&o.window, &finished, &totals);
    let queue = queue_rows(&finished);
    let mut out = Output::new(&o.output);
    match o.output.rows {
        Rows::Json => out.write(&present::json::document(&WithQueue {
            report: &report,
            queue: &queue,
        })?)?,
        Rows::Text | Rows::Csv => {
            let style = Style::new(colored(&o.output));
            out.write(present::check_text(&report, &queue, &style, o.output.verbose).as_bytes())?;
        }
    }
    out.finish()?;
    Ok(match report.quality.verdict {
        Verdict::Unusable => Done::Unusable,
        _ if o.output.strict && finished.damaged() => Done::Damaged,
        _ => Done::Sound,
    })
}

/// What `--queue` told.
pub(super) fn queue_rows(f: &Finished) -> Vec<QueueRow> {
    let row = |q: &open::QueueDevice| QueueRow {
        name: q.name.clone(),
        dev: q.dev,
        info: q.info.clone(),
    };
    f.queue.iter().map(row).collect()
}

/// How far the trace can be trusted.
pub(super) fn report(window: &Window, f: &Finished, totals: &BlkparseTotals) -> CheckReport {
    let inputs: Vec<CheckInput> = f.reports.iter().map(check_input).collect();
    let devices: Vec<CheckDevice> = f
        .tracker
        .devices
        .iter()
        .map(|d| device(d, f, totals))
        .collect();
    let facts: Vec<_> = devices.iter().map(CheckDevice::facts).collect();
    let plain: Vec<_> = inputs.iter().map(|i| i.input.clone()).collect();
    let recorder = Recorder::from(&f.meta.fields);
    let mut quality = quality::judge(&plain, &facts, &recorder);
    super::stats::remedy(f, window).apply(&mut quality);
    let missing = quality::missing(&facts, &recorder);
    let (summary, summary_note) = summary(window, f, totals);
    let differ = summary
        .iter()
        .flat_map(|c| &c.rows)
        .filter(|r| !r.ok)
        .count();
    if differ > 0 {
        quality.add_care(
            "summary_differs",
            format!("{differ} numbers of blkparse's own summary differ from its lines"),
        );
    }
    let (start, end) = f.tracker.span.map_or((0, 0), |(a, b)| (a.0, b.0));
    for r in &f.reports {
        for note in &r.notes {
            quality.add_care("input_note", format!("{}: {note}", r.path));
        }
    }
    if f.tracker.untracked_events > 0 {
        quality.add_care(
            "untracked_events",
            warnings::untracked(f.tracker.untracked_events),
        );
    }
    CheckReport {
        schema: "blkan.check/1",
        quality,
        inputs,
        start_ns: f.meta.fields.clock.then_some(start),
        span_ns: f
            .meta
            .fields
            .clock
            .then_some(end.saturating_sub(start).unsigned_abs()),
        went_back: f.tracker.went_back,
        untracked_events: f.tracker.untracked_events,
        missing,
        devices,
        completions_may_vanish: f.meta.fields.completions_may_vanish,
        summary,
        summary_note,
    }
}

fn check_input(r: &ImportReport) -> CheckInput {
    let damage = r.defects.iter().map(|(k, c)| DefectRow {
        kind: k.name(),
        n: c.n,
        first: c
            .first
            .iter()
            .map(|(line, text)| (*line, shown(text)))
            .collect(),
        remedy: k.remedy(),
    });
    CheckInput {
        input: input(r),
        skipped: r.skipped.iter().map(|(k, n)| (k.name(), *n)).collect(),
        damage: damage.collect(),
        lines_accounted: r.law_holds(),
        started_unix_ns: r.started,
    }
}

fn device(d: &DeviceSummary, f: &Finished, totals: &BlkparseTotals) -> CheckDevice {
    let ledger: Vec<AccountRow> = d.ledger.iter().map(account).collect();
    CheckDevice {
        dev: d.dev,
        name: f.names.get(&d.dev).cloned(),
        kind: if d.bio_based { "bio" } else { "request" },
        events: totals.device(d.dev).map(letters).unwrap_or_default(),
        shortfall: quality::shortfall(d.bio_based, &ledger),
        ledger,
        losses: Losses {
            completions_missing: d.completions_missing,
            anomalies: d.anomalies.iter().map(|(k, n)| (k.name(), *n)).collect(),
        },
    }
}

fn letters(t: &DeviceTotals) -> BTreeMap<&'static str, u64> {
    let mut out = BTreeMap::new();
    for a in Action::ALL {
        if let (Some(letter), n @ 1..) = (a.letter(), t.actions(a)) {
            *out.entry(letter).or_default() += n;
        }
    }
    out
}

fn account(a: &Account) -> AccountRow {
    AccountRow {
        account: a.name,
        r#in: a.inn.iter().copied().collect(),
        out: a.out.iter().copied().collect(),
        balance: a.balance(),
    }
}

/// blkparse's summary against our counts, or why there is nothing to compare.
fn summary(
    window: &Window,
    f: &Finished,
    totals: &BlkparseTotals,
) -> (Vec<Comparison>, Option<&'static str>) {
    let printed: Vec<Vec<SummaryDevice>> = f
        .reports
        .iter()
        .map(open::summary)
        .filter(|s| !s.is_empty())
        .collect();
    let one = match printed.as_slice() {
        [] => {
            return (
                Vec::new(),
                Some("the input does not end with a summary of blkparse"),
            );
        }
        [one] if f.reports.len() == 1 => one,
        _ => {
            return (
                Vec::new(),
                Some("several inputs: a summary covers one of them only"),
            );
        }
    };
    if window.cuts_time() {
        return (
            Vec::new(),
            Some("--from and --to: the summary covers the whole trace"),
        );
    }
    let with = |s: &SummaryDevice, dev: Option<DevId>| {
        let counted = dev.and_then(|d| totals.device(d));
        let s = SummaryDevice { dev, ..s.clone() };
        blkparse_totals::compare(&s, counted, f.damaged())
    };
    let named = |s: &SummaryDevice| {
        let by_name = || f.names.iter().find(|(_, n)| **n == s.name).map(|(d, _)| *d);
        s.dev.or_else(by_name).or_else(|| s.name.parse().ok())
    };
    let (sure, open): (Vec<_>, Vec<_>) = one.iter().partition(|s| named(s).is_some());
    let devices = f.tracker.devices.iter().map(|d| d.dev);
    let unnamed: Vec<DevId> = devices
        .filter(|d| !f.names.contains_key(d))
        .take(UNNAMED)
        .collect();
    let mut compared: Vec<Comparison> = sure.iter().map(|s| with(s, named(s))).collect();
    compared.extend(by_numbers(&open, &unnamed, &with));
    if window.devs.is_empty() {
        return (compared, None);
    }
    compared.retain(|c| c.dev.is_some_and(|d| totals.device(d).is_some()));
    let none = "the summary does not tell which of its names the given devices have";
    let note = compared.is_empty().then_some(none);
    (compared, note)
}

/// Devices without a name that are tried on each name without a device.
const UNNAMED: usize = 64;

/// Printed devices that have no number, against devices that have no name: by what their numbers agree with, each
/// device once.
fn by_numbers(
    open: &[&SummaryDevice],
    unnamed: &[DevId],
    with: &dyn Fn(&SummaryDevice, Option<DevId>) -> Comparison,
) -> Vec<Comparison> {
    let fits = |s: &SummaryDevice| -> Vec<usize> {
        let agrees = |i: &usize| with(s, unnamed.get(*i).copied()).agrees();
        (0..unnamed.len()).filter(agrees).collect()
    };
    let all: Vec<Vec<usize>> = open.iter().take(UNNAMED).map(|s| fits(s)).collect();
    let mut taken: Vec<bool> = vec![false; unnamed.len()];
    let one = |(n, s): (usize, &&SummaryDevice)| {
        let fit = all.get(n).map(Vec::as_slice).unwrap_or_default();
        let Some(i) = fit.iter().copied().find(|i| !taken[*i]) else {
            // It is one of those left, or of none.
            return match unnamed.is_empty() {
                true => with(s, None),
                false => Comparison::not_found(&s.name),
            };
        };
        taken[i] = true;
        let c = with(s, unnamed.get(i).copied());
        let rivals = all.iter().filter(|f| f.contains(&i)).count();
        match (fit.len(), rivals) {
            (1, 1) => c,
            _ => c.of_one_of_several(),
        }
    };
    open.iter().enumerate().map(one).collect()
}
