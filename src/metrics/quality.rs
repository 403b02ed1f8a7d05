//! How far a trace can be trusted: one verdict and its reasons, the same for `stats` and `check`.

pub use super::check_report::{CheckDevice, CheckInput, CheckReport, DefectRow};
use super::report::{AccountRow, Device, Input, Losses, Recorder, StatsReport};
use crate::event::DevId;
use crate::units::human_count;
use serde::Serialize;
use std::collections::BTreeMap;

/// The verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Nothing was lost, nothing is damaged, every account balances.
    Complete,
    /// The numbers hold, within the reasons given.
    UsableWithCare,
    /// The numbers would mislead.
    Unusable,
}

impl Verdict {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Complete => "complete",
            Verdict::UsableWithCare => "usable with care",
            Verdict::Unusable => "unusable",
        }
    }
}

/// Why a verdict is not better.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reason {
    /// Stable name.
    pub code: &'static str,
    /// How bad.
    pub weight: Verdict,
    /// In words, with numbers.
    pub text: String,
}

/// A verdict and its reasons, worst first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Quality {
    /// The worst of the reasons.
    pub verdict: Verdict,
    /// Empty: complete.
    pub reasons: Vec<Reason>,
}

impl Quality {
    /// Adds a reason for care that only `check` can find.
    pub fn add_care(&mut self, code: &'static str, text: String) {
        self.reasons.push(care(code, text));
        self.verdict = self.verdict.max(Verdict::UsableWithCare);
    }
}

/// What the verdict looks at of a device.
pub struct DeviceFacts<'a> {
    /// Device.
    pub dev: DevId,
    /// dm, md: no requests.
    pub bio_based: bool,
    /// Letter → events.
    pub events: BTreeMap<&'a str, u64>,
    /// The three accounts.
    pub ledger: &'a [AccountRow],
    /// Losses.
    pub losses: &'a Losses,
}

/// An event class that is not in the trace, and what that makes unknown.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Missing {
    /// Letter.
    pub event: &'static str,
    /// Quantities that cannot be known.
    pub unknown: &'static [&'static str],
    /// Why this may be so.
    pub note: &'static str,
}

/// Requests (bios on bio-based devices) whose end is not in the trace.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Shortfall {
    /// `requests`, `issues` or `bios`.
    pub account: &'static str,
    /// All that came in.
    pub started: u64,
    /// Of these, without an end: given up during the trace.
    pub lost: u64,
    /// Of these, without an end when the trace ended.
    pub open: u64,
    /// (lost + open) ÷ started.
    pub share: f64,
}

const UNSEEN: [&str; 5] = [
    "complete_without_issue",
    "issue_without_getrq",
    "requeue_without_request",
    "merge_without_request",
    "split_without_bio",
];
const CLOCK: [&str; 2] = ["complete_before_issue", "time_went_back"];

/// The verdict on a `stats` report. With `filtered` its event counts are those of a part, and say nothing of what the
/// trace lacks.
pub fn of_stats(r: &StatsReport, filtered: bool) -> Quality {
    let facts: Vec<DeviceFacts<'_>> = r.devices.iter().map(facts).collect();
    let mut reasons = Vec::new();
    if !filtered {
        judge_classes(&facts, &r.recorder, &mut reasons);
    }
    finish(&r.inputs, &facts, &r.recorder, reasons)
}

/// What the verdict looks at.
pub fn facts(d: &Device) -> DeviceFacts<'_> {
    DeviceFacts {
        dev: d.dev,
        bio_based: d.kind == "bio",
        events: d
            .events
            .iter()
            .map(|(a, by)| (*a, by.values().sum()))
            .filter(|(_, n)| *n > 0)
            .collect(),
        ledger: &d.ledger,
        losses: &d.losses,
    }
}

/// The verdict.
pub fn judge(inputs: &[Input], devices: &[DeviceFacts<'_>], recorder: &Recorder) -> Quality {
    let mut reasons = Vec::new();
    judge_classes(devices, recorder, &mut reasons);
    finish(inputs, devices, recorder, reasons)
}

fn finish(
    inputs: &[Input],
    devices: &[DeviceFacts<'_>],
    recorder: &Recorder,
    mut reasons: Vec<Reason>,
) -> Quality {
    for i in inputs {
        judge_input(i, &mut reasons);
    }
    for d in devices {
        judge_device(d, recorder, &mut reasons);
    }
    reasons.sort_by_key(|r| std::cmp::Reverse(r.weight));
    let worst = reasons.iter().map(|r| r.weight).max();
    Quality {
        verdict: worst.unwrap_or(Verdict::Complete),
        reasons,
    }
}

fn judge_classes(devices: &[DeviceFacts<'_>], recorder: &Recorder, out: &mut Vec<Reason>) {
    let only_plugs = |d: &DeviceFacts<'_>| d.events.keys().all(|a| matches!(*a, "P" | "U" | "UT"));
    if devices.iter().all(only_plugs) {
        out.push(unusable(
            "no_io",
            "no event of a bio or a request".to_string(),
        ));
        return;
    }
    // Traces without I are usual, those without M and R too, and their numbers hold.
    let grave = |m: &Missing| !matches!(m.event, "I" | "R" | "M");
    for m in missing(devices, recorder).into_iter().filter(grave) {
        let text = format!("no {} events: {} unknown", m.event, m.unknown.join(", "));
        out.push(care("missing_events", text));
    }
}

fn care(code: &'static str, text: String) -> Reason {
    Reason {
        code,
        weight: Verdict::UsableWithCare,
        text,
    }
}

fn unusable(code: &'static str, text: String) -> Reason {
    Reason {
        code,
        weight: Verdict::Unusable,
        text,
    }
}

/// `1 line`, `2 lines`.
fn some(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", human_count(n), if n == 1 { one } else { many })
}

fn judge_input(i: &Input, out: &mut Vec<Reason>) {
    let of_stream = |k: &str| matches!(k, "truncated_stream" | "corrupt_stream");
    let lines: u64 = i
        .defects
        .iter()
        .filter(|(k, _)| !of_stream(k))
        .map(|(_, n)| n)
        .sum();
    if lines > i.events {
        out.push(unusable(
            "damage",
            format!(
                "{} damaged, only {}",
                some(lines, "line", "lines"),
                some(i.events, "event", "events")
            ),
        ));
    } else if lines > 0 {
        out.push(care("damage", some(lines, "damaged line", "damaged lines")));
    }
    if i.defects.keys().any(|k| of_stream(k)) {
        out.push(care(
            "stream",
            format!("{} ends too early or is damaged", i.path),
        ));
    }
    if let Some(n) = i.lost_events.filter(|n| *n > 0) {
        out.push(care(
            "lost_events",
            format!("the recorder lost {}", some(n, "event", "events")),
        ));
    }
    if i.late_events > 0 {
        out.push(care(
            "late_events",
            format!("{} out of order", some(i.late_events, "event", "events")),
        ));
    }
}

fn judge_device(d: &DeviceFacts<'_>, recorder: &Recorder, out: &mut Vec<Reason>) {
    judge_ledger(d, out);
    judge_completions(d, recorder, out);
    judge_anomalies(d, out);
}

fn judge_ledger(d: &DeviceFacts<'_>, out: &mut Vec<Reason>) {
    for a in d.ledger.iter().filter(|a| a.balance != 0) {
        let all: u64 = a.r#in.values().sum();
        let text = format!(
            "{}: the account of {} is off by {}",
            d.dev, a.account, a.balance
        );
        let grave = a.balance.unsigned_abs() > all / 10;
        out.push(if grave {
            unusable("ledger", text)
        } else {
            care("ledger", text)
        });
    }
}

fn judge_completions(d: &DeviceFacts<'_>, recorder: &Recorder, out: &mut Vec<Reason>) {
    let short = shortfall(d.bio_based, d.ledger);
    let grave = |s: &&Shortfall| s.lost > 0 || (s.open >= 10 && s.share > 0.05);
    // The worse of the two tells enough.
    let worst = short
        .iter()
        .filter(grave)
        .max_by(|a, b| a.share.total_cmp(&b.share));
    if let Some(s) = worst {
        let (without, started) = (human_count(s.lost + s.open), human_count(s.started));
        let share = percent(s.share);
        let what = s.account;
        let text = if recorder.completions_may_vanish {
            format!(
                "{}: the recorder lost the completions of {without} of {started} {what} ({share})",
                d.dev
            )
        } else {
            format!(
                "{}: {without} of {started} {what} never completed ({share})",
                d.dev
            )
        };
        out.push(care("completions_missing", text));
    } else if d.losses.completions_missing > 0 {
        let n = some(d.losses.completions_missing, "completion", "completions");
        out.push(care(
            "completions_missing",
            format!("{}: {n} missing", d.dev),
        ));
    }
}

/// Bios that begin with a G or an M, where the trace has Q events.
fn bios_unseen(d: &DeviceFacts<'_>) -> u64 {
    let queued = d.events.get("Q").is_some_and(|n| *n > 0);
    let account = d.ledger.iter().find(|a| a.account == "bios");
    let n = account.and_then(|a| a.r#in.get("start_unseen").copied());
    n.filter(|_| queued).unwrap_or(0)
}

fn judge_anomalies(d: &DeviceFacts<'_>, out: &mut Vec<Reason>) {
    let sum =
        |names: &[&str]| -> u64 { names.iter().filter_map(|n| d.losses.anomalies.get(n)).sum() };
    let unseen = sum(&UNSEEN) + bios_unseen(d);
    if unseen > 0 {
        let n = some(unseen, "event", "events");
        out.push(care(
            "start_unseen",
            format!("{}: {n} of I/O whose start is not in the trace", d.dev),
        ));
    }
    let clock = sum(&CLOCK);
    if clock > 0 {
        out.push(care(
            "clock",
            format!(
                "{}: {} of clocks that disagree",
                d.dev,
                some(clock, "sign", "signs")
            ),
        ));
    }
}

/// A share as `12.3 %`; tiny ones as `< 0.1 %`.
pub fn percent(share: f64) -> String {
    if share > 0.0 && share < 0.001 {
        "< 0.1 %".to_string()
    } else {
        format!("{:.1} %", share * 100.0)
    }
}

/// What never ended, by the accounts of requests and of issues (bio-based devices: of bios). Requests cover the ends of
/// empty flushes, which are never issued; issues cover device flushes and passthrough, which are never allocated.
pub fn shortfall(bio_based: bool, ledger: &[AccountRow]) -> Vec<Shortfall> {
    let names: &[&str] = if bio_based {
        &["bios"]
    } else {
        &["requests", "issues"]
    };
    let accounts = names
        .iter()
        .filter_map(|n| ledger.iter().find(|a| a.account == *n));
    accounts.filter_map(short).collect()
}

fn short(a: &AccountRow) -> Option<Shortfall> {
    let started: u64 = a.r#in.values().sum();
    let out = |k: &str| a.out.get(k).copied().unwrap_or(0);
    // `waiting` are bios that were open when the trace ended.
    let (lost, open) = (out("lost"), out("open") + out("waiting"));
    (started > 0).then(|| Shortfall {
        account: a.account,
        started,
        lost,
        open,
        share: (lost + open) as f64 / started as f64,
    })
}

/// Why depth and rates of a device are not known, where the recorder may drop completions and some are missing.
pub fn vanished(bio_based: bool, ledger: &[AccountRow], given_up: u64) -> Option<String> {
    let short = shortfall(bio_based, ledger);
    let worst = short
        .iter()
        .filter(|s| s.lost + s.open > 0)
        .max_by_key(|s| (s.account == "issues", s.lost + s.open));
    let none = match worst {
        Some(s) => format!(
            "{} of {} {} have none",
            human_count(s.lost + s.open),
            human_count(s.started),
            s.account
        ),
        None if given_up > 0 => format!("{} are missing", human_count(given_up)),
        None => return None,
    };
    Some(format!(
        "this recorder drops completions: {none}; depth and rates would be wrong"
    ))
}

/// What one device of a report lacks. A class that need not happen is only missing if the whole trace lacks it.
pub fn missing_of(d: &Device, r: &StatsReport) -> Vec<Missing> {
    let all: Vec<DeviceFacts<'_>> = r.devices.iter().map(facts).collect();
    let everywhere = missing(&all, &r.recorder);
    let rare = |m: &Missing| matches!(m.event, "R" | "M");
    missing(&[facts(d)], &r.recorder)
        .into_iter()
        .filter(|m| !rare(m))
        .chain(
            everywhere
                .iter()
                .filter(|m| rare(m) && d.kind != "bio")
                .cloned(),
        )
        .collect()
}

/// Event classes that none of the devices has although their kind of device makes them; of those that need not happen
/// (R, M) only where they were not surely recorded.
pub fn missing(devices: &[DeviceFacts<'_>], recorder: &Recorder) -> Vec<Missing> {
    const CLASSES: [Missing; 7] = [
        Missing {
            event: "Q",
            unknown: &["Q2G", "Q2C", "bios", "submitters"],
            note: "the recorder did not ask for them",
        },
        Missing {
            event: "G",
            unknown: &["Q2G", "G2I", "G2D", "G2C"],
            note: "the recorder did not ask for them; requests are known from their issue on",
        },
        Missing {
            event: "I",
            unknown: &["G2I", "I2D"],
            note: "usual where no I/O scheduler is set",
        },
        Missing {
            event: "D",
            unknown: &["I2D", "G2D", "D2C", "issues per request", "depth"],
            note: "the recorder did not ask for them",
        },
        Missing {
            event: "C",
            unknown: &["D2C", "G2C", "Q2C", "depth"],
            note: "the recorder did not ask for them, or could not see them",
        },
        Missing {
            event: "R",
            unknown: &["requeues"],
            note: "there were none, or the recorder did not ask for them",
        },
        Missing {
            event: "M",
            unknown: &["merges"],
            note: "there were none, or the recorder did not ask for them",
        },
    ];
    let has = |a: &str, of_requests: bool| {
        let mut devs = devices.iter().filter(|d| !of_requests || !d.bio_based);
        devs.any(|d| d.events.contains_key(a))
    };
    let any_request_based = devices.iter().any(|d| !d.bio_based);
    CLASSES
        .into_iter()
        .filter(|m| {
            let rare = matches!(m.event, "R" | "M");
            let of_requests = rare || matches!(m.event, "G" | "I" | "D");
            let there = has(m.event, of_requests) || m.event == "M" && has("F", true);
            // A trace of every action without G was filtered when it was recorded.
            let surely_none = rare && recorder.all_actions && has("G", false);
            (any_request_based || !of_requests) && !there && !surely_none
        })
        .collect()
}
