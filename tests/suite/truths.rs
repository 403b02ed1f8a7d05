//! Numbers known without blkan (origin.toml: awk, fixtures/truth.py, btt, fio) against `stats --json` and `check`.

use super::support::{Case, Differences, cases, json, pick, same};
use serde_json::Value;
use std::collections::BTreeMap;

/// Each recording with what is known of its blkparse text, and our answer.
fn known() -> Vec<(Case, toml::Table, Value)> {
    let with_known = cases()
        .into_iter()
        .filter(|c| c.origin.contains_key("known"));
    let out: Vec<_> = with_known
        .map(|c| {
            let stats = json(&["stats"], &c.input("blkparse").expect("a blkparse text"));
            let known = c.origin["known"].as_table().expect("a table").clone();
            (c, known, stats)
        })
        .collect();
    assert!(
        out.len() >= 20,
        "only {} recordings with known numbers",
        out.len()
    );
    out
}

/// A number of origin.toml.
fn number(v: &toml::Value) -> f64 {
    v.as_float()
        .or_else(|| v.as_integer().map(|i| i as f64))
        .unwrap_or_else(|| panic!("{v} is no number"))
}

/// Checks that `got` at `path` is `want`.
pub fn expect(d: &mut Differences, case: &str, got: &Value, path: &str, want: f64) {
    let v = pick(got, path);
    d.check(v.as_ref().is_some_and(|v| same(v, want)), || {
        format!("{case}: {path} is {v:?}, known {want}")
    });
}

#[test]
fn lines_and_devices_are_those_of_the_file() {
    let mut d = Differences::default();
    for c in cases() {
        for (input, format, lines) in c.inputs() {
            let s = json(&["stats"], &input);
            expect(&mut d, &c.name, &s, "inputs[0].lines", lines as f64);
            d.check(
                pick(&s, "inputs[0].format") == Some(Value::from(format.as_str())),
                || format!("{}: {input:?} is no {format}", c.name),
            );
        }
    }
    for (c, known, s) in known() {
        let got: Vec<&str> = s["devices"]
            .as_array()
            .expect("devices")
            .iter()
            .filter_map(|x| x["dev"].as_str())
            .collect();
        let mut want: Vec<&str> = known.keys().map(String::as_str).collect();
        want.sort_by_key(|k| {
            k.split(',')
                .map(|n| n.parse::<u32>().unwrap_or(0))
                .collect::<Vec<_>>()
        });
        d.check(got == want, || {
            format!("{}: devices {got:?}, known {want:?}", c.name)
        });
    }
    d.done();
}

#[test]
fn events_are_those_awk_counts() {
    let mut d = Differences::default();
    for (c, known, s) in known() {
        for (dev, k) in &known {
            let want = serde_json::to_value(&k["events"]).expect("plain numbers");
            let mut got = pick(&s, &format!("devices[{dev}].events"));
            // Letters without an event are there, empty.
            if let Some(Value::Object(m)) = &mut got {
                m.retain(|_, rows| rows.as_object().is_some_and(|r| !r.is_empty()));
            }
            d.check(got.as_ref() == Some(&want), || {
                format!("{} {dev}: events {got:?}, known {want}", c.name)
            });
            let kind = pick(&s, &format!("devices[{dev}].kind"));
            d.check(
                kind == Some(Value::from(k["kind"].as_str().unwrap_or(""))),
                || format!("{} {dev}: kind {kind:?}", c.name),
            );
        }
    }
    d.done();
}

/// Entries of fixtures/truth.py → entries of the ledger.
const ENTRIES: &[(&str, &str)] = &[
    ("bios.G", "G"),
    ("bios.M", "M"),
    ("bios.F", "F"),
    ("bios.discard_merges", "discard_merges"),
    ("bios.ended_alone", "ended"),
    ("bios.C", "C"),
    ("bios.open", "waiting"),
    ("requests.completed_with_data", "C"),
    ("requests.empty_flushes_ended", "flush_ends"),
    ("requests.absorbed", "absorbed"),
    ("requests.open", "open"),
    ("issues.completed_with_data", "C"),
    ("issues.device_flushes", "C_flush"),
    ("issues.passthrough", "C_passthrough"),
    ("issues.requeued_after_issue", "R_after_D"),
    ("issues.open", "open"),
];

#[test]
fn accounts_are_those_of_the_reference() {
    let mut d = Differences::default();
    for (c, known, s) in known() {
        for (dev, k) in &known {
            for (account, a) in k["ledger"].as_table().expect("accounts") {
                let at = format!("devices[{dev}].ledger[{account}]");
                expect(&mut d, &c.name, &s, &format!("{at}.balance"), 0.0);
                for (name, n) in a["in"].as_table().expect("entries") {
                    expect(&mut d, &c.name, &s, &format!("{at}.in.{name}"), number(n));
                }
                for (name, n) in a["out"].as_table().expect("entries") {
                    let long = format!("{account}.{name}");
                    let ours = ENTRIES
                        .iter()
                        .find(|e| e.0 == long)
                        .unwrap_or_else(|| panic!("{long} has no place"))
                        .1;
                    expect(&mut d, &c.name, &s, &format!("{at}.out.{ours}"), number(n));
                }
                let lost = pick(&s, &format!("{at}.out.lost"))
                    .and_then(|v| v.as_u64())
                    .unwrap_or(0);
                d.check(lost == 0, || {
                    format!("{} {dev}: {lost} lost in {account}", c.name)
                });
            }
        }
    }
    d.done();
}

const COUNTS: &[&str] = &[
    "bios",
    "merged_bios",
    "requests",
    "completed",
    "failed",
    "issues",
    "requeues",
    "issues_per_rq",
];
const SPANS: &[&str] = &[
    "q2g", "g2i", "i2d", "g2d", "d2d", "d2c", "fd2c", "g2c", "q2c",
];

#[test]
fn groups_are_those_of_the_reference() {
    let mut d = Differences::default();
    for (c, known, s) in known() {
        for (dev, k) in &known {
            let Some(groups) = k.get("groups").and_then(toml::Value::as_table) else {
                continue;
            };
            let several = empty_kinds(k) > 1;
            for (rwbs, g) in groups {
                check_group(
                    &mut d,
                    &c.name,
                    &s,
                    &format!("devices[{dev}].groups[{rwbs}]"),
                    g,
                    several,
                );
            }
        }
    }
    d.done();
}

/// What of a distribution does not depend on how ends are given to empty flushes. Which of several waiting flushes an
/// unnamed zero-length completion ends is a matter of rules; their mean is not, unless they are of several kinds.
fn fields(g: &toml::Value, name: &str, several: bool) -> &'static [&'static str] {
    let ends_unnamed = number(&g["issues"]) == 0.0 && matches!(name, "g2c" | "q2c");
    match (ends_unnamed, several) {
        (false, _) => &["n", "mean", "min", "max"],
        (true, false) => &["n", "mean"],
        (true, true) => &["n"],
    }
}

/// How many kinds of empty flushes a device has: groups with requests that are never issued.
fn empty_kinds(device: &toml::Value) -> usize {
    let groups = device.get("groups").and_then(toml::Value::as_table);
    let empty = |g: &toml::Value| number(&g["issues"]) == 0.0 && number(&g["requests"]) > 0.0;
    groups.map_or(0, |t| t.values().filter(|g| empty(g)).count())
}

fn check_group(
    d: &mut Differences,
    case: &str,
    s: &Value,
    at: &str,
    g: &toml::Value,
    several: bool,
) {
    for name in COUNTS.iter().filter(|n| g.get(n).is_some()) {
        expect(d, case, s, &format!("{at}.{name}"), number(&g[*name]));
    }
    let sizes = ["bio_bytes", "issue_bytes"].map(|n| (n, n.to_string()));
    let spans = SPANS.iter().map(|n| (*n, format!("latency_ns.{n}")));
    for (name, path) in sizes.into_iter().chain(spans) {
        match g.get(name) {
            Some(dist) => {
                for field in fields(g, name, several) {
                    expect(
                        d,
                        case,
                        s,
                        &format!("{at}.{path}.{field}"),
                        number(&dist[field]),
                    );
                }
            }
            // Sizes of passthrough commands are not in the reference.
            None if name == "issue_bytes" && number(&g["passthrough"]) > 0.0 => {}
            None => {
                let v = pick(s, &format!("{at}.{path}"));
                d.check(v == Some(Value::Null), || {
                    format!("{case}: {at}.{path} is {v:?}, the trace has none")
                });
            }
        }
    }
}

#[test]
fn flushes_and_merges_are_those_of_the_reference() {
    let mut d = Differences::default();
    for (c, known, s) in known() {
        for (dev, k) in &known {
            let at = format!("devices[{dev}]");
            let f = &k["flush"];
            for name in ["bios", "sent", "requeued", "completed"] {
                expect(
                    &mut d,
                    &c.name,
                    &s,
                    &format!("{at}.flush.{name}"),
                    number(&f[name]),
                );
            }
            // An empty flush with FUA asks twice on a device without FUA; the reference counts its one end.
            let twice = k
                .get("groups")
                .and_then(|g| g.get("FWFSM"))
                .is_some_and(|g| number(&g["issues"]) == 0.0);
            if number(&f["completed"]) > 0.0 && !twice {
                let want = number(&f["served"]) / number(&f["completed"]);
                expect(
                    &mut d,
                    &c.name,
                    &s,
                    &format!("{at}.flush.steps_per_flush"),
                    want,
                );
            }
            if let Some(share) = k.get("merged_share") {
                expect(
                    &mut d,
                    &c.name,
                    &s,
                    &format!("{at}.merge.share"),
                    number(share),
                );
            }
        }
    }
    d.done();
}

/// fio's average counts what the task waited for, scheduling included: it is never less than the flush itself.
#[test]
fn fsync_takes_no_longer_than_fio_saw() {
    let mut seen = 0;
    for (c, known, s) in known() {
        let Some(fio) = c.origin.get("fio").and_then(|f| f.get("sync_avg_ns")) else {
            continue;
        };
        let mut best = 0.0f64;
        for (dev, k) in &known {
            let Some(want) = k.get("empty_flush_q2c_mean_ns") else {
                continue;
            };
            if empty_kinds(k) > 1 {
                continue;
            }
            let v = pick(
                &s,
                &format!("devices[{dev}].groups[FWS].bio_latency_ns.q2c.mean"),
            );
            let got = v.and_then(|v| v.as_f64()).unwrap_or(-1.0);
            assert!(
                (got - number(want)).abs() < 1.0,
                "{} {dev}: FWS Q2C {got}, known {want}",
                c.name
            );
            best = best.max(got);
            seen += 1;
        }
        println!(
            "{}: FWS Q2C {:.2} ms, fio sync {:.2} ms",
            c.name,
            best / 1e6,
            number(fio) / 1e6
        );
        assert!(
            best > 0.0 && best <= number(fio),
            "{}: {best} ns against fio's {fio} ns",
            c.name
        );
    }
    assert!(
        seen >= 3,
        "only {seen} devices with flushes and fio's figures"
    );
}

/// What may explain a row of blkparse's summary that is not exactly what its lines add up to.
const EXPLAINED: &[&str] = &[
    "this blkparse drops the parts of a KiB of each event",
    "blkparse prints its ordinary writes in this row",
];

/// Whether `check` found a row of the summary to be true, exactly or for a reason that is known.
pub fn sound_row(row: &Value) -> bool {
    let reason = &row["reason"];
    let explained = reason.is_null() || reason.as_str().is_some_and(|r| EXPLAINED.contains(&r));
    row["ok"] == true && explained
}

#[test]
fn rows_that_differ_are_not_sound() {
    use serde_json::json;
    assert!(sound_row(&json!({"ok": true, "reason": null})));
    assert!(sound_row(&json!({"ok": true, "reason": EXPLAINED[0]})));
    assert!(!sound_row(&json!({"ok": true, "reason": "something new"})));
    assert!(!sound_row(&json!({"ok": false, "reason": EXPLAINED[0]})));
}

#[test]
fn check_agrees_with_the_summary_of_each_text() {
    let mut d = Differences::default();
    for (c, known, _) in known() {
        let r = json(&["check"], &c.input("blkparse").expect("a blkparse text"));
        d.check(r["verdict"] == "complete", || {
            format!("{}: verdict {} {}", c.name, r["verdict"], r["reasons"])
        });
        let rows: Vec<&Value> = r["summary"]
            .as_array()
            .into_iter()
            .flatten()
            .flat_map(|x| x["rows"].as_array().into_iter().flatten())
            .collect();
        d.check(rows.len() >= 10 * known.len(), || {
            format!("{}: only {} rows compared", c.name, rows.len())
        });
        for row in rows {
            d.check(sound_row(row), || format!("{}: {row}", c.name));
        }
    }
    d.done();
}

/// Tracepoint → letter.
const LETTERS: &[(&str, &str)] = &[
    ("block_bio_queue", "Q"),
    ("block_getrq", "G"),
    ("block_rq_insert", "I"),
    ("block_rq_issue", "D"),
    ("block_rq_requeue", "R"),
    ("block_rq_complete", "C"),
    ("block_bio_complete", "C"),
    ("block_bio_backmerge", "M"),
    ("block_rq_merge", "M"),
    ("block_bio_frontmerge", "F"),
    ("block_split", "X"),
    ("block_bio_remap", "A"),
];

#[test]
fn bpftrace_logs_hold_what_awk_counts() {
    let mut d = Differences::default();
    let mut seen = 0;
    for c in cases() {
        let (Some(input), Some(known)) = (c.input("bpftrace"), c.origin.get("tracepoints")) else {
            continue;
        };
        let s = json(&["stats"], &input);
        for (dev, k) in known
            .as_table()
            .expect("devices")
            .iter()
            .filter(|(dev, _)| *dev != "-")
        {
            let mut want: BTreeMap<(&str, String), i64> = BTreeMap::new();
            for (tracepoint, by) in k.as_table().expect("tracepoints") {
                let Some((_, letter)) = LETTERS.iter().find(|l| l.0 == tracepoint) else {
                    continue;
                };
                for (rwbs, n) in by.as_table().expect("counts") {
                    *want.entry((letter, rwbs.clone())).or_default() +=
                        n.as_integer().expect("a count");
                }
            }
            for ((letter, rwbs), n) in want {
                expect(
                    &mut d,
                    &c.name,
                    &s,
                    &format!("devices[{dev}].events.{letter}.{rwbs}"),
                    n as f64,
                );
                seen += 1;
            }
        }
    }
    assert!(seen > 40, "only {seen} counts compared");
    d.done();
}

#[test]
fn the_bcc_log_holds_what_awk_counts() {
    let mut d = Differences::default();
    let mut seen = 0;
    for c in cases() {
        let (Some(input), Some(known)) = (c.input("bcc-trace"), c.origin.get("functions")) else {
            continue;
        };
        let s = json(&["stats"], &input);
        for (tracepoint, by) in known["any"].as_table().expect("functions") {
            let letter = LETTERS
                .iter()
                .find(|l| l.0 == tracepoint)
                .expect("a known function")
                .1;
            for (rwbs, n) in by.as_table().expect("counts") {
                expect(
                    &mut d,
                    &c.name,
                    &s,
                    &format!("devices[0].events.{letter}.{rwbs}"),
                    number(n),
                );
                seen += 1;
            }
        }
    }
    assert!(seen >= 4, "only {seen} counts compared");
    d.done();
}
