//! What must hold of every answer, whatever the trace: accounts, lines, reasons for what is unknown, sums over parts.

use super::support::{Case, Differences, cases, json, pick, run};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Every input of every case with its `stats`.
fn all() -> Vec<(String, Case, PathBuf, Value)> {
    let mut out = Vec::new();
    for c in cases() {
        for (input, format, _) in c.inputs() {
            let stats = json(&["stats"], &input);
            let c = Case {
                name: c.name.clone(),
                dir: c.dir.clone(),
                origin: c.origin.clone(),
            };
            out.push((format, c, input, stats));
        }
    }
    out
}

fn devices(stats: &Value) -> &Vec<Value> {
    stats["devices"].as_array().expect("devices")
}

#[test]
fn accounts_balance_and_nothing_is_lost() {
    let mut d = Differences::default();
    for (format, c, input, stats) in all() {
        for dev in devices(&stats) {
            let ledger = dev["ledger"].as_array().expect("a ledger");
            d.check(!ledger.is_empty(), || {
                format!("{}: no ledger", input.display())
            });
            for a in ledger {
                let at = || format!("{} {} {}", input.display(), dev["dev"], a["account"]);
                let sum = |k: &str| {
                    a[k].as_object()
                        .into_iter()
                        .flatten()
                        .filter_map(|e| e.1.as_i64())
                        .sum::<i64>()
                };
                d.check(a["balance"] == 0, || {
                    format!("{}: balance {}", at(), a["balance"])
                });
                d.check(
                    sum("in") - sum("out") == a["balance"].as_i64().unwrap_or(-1),
                    || format!("{}: entries do not add up", at()),
                );
                let lost = a["out"]["lost"].as_u64().unwrap_or(0);
                // Only a complete recording promises that: tracepoints in a log drop completions.
                let complete = format == "blkparse" && !c.hard();
                d.check(!complete || lost == 0, || format!("{}: {lost} lost", at()));
            }
        }
    }
    d.done();
}

#[test]
fn lines_are_events_or_skipped_or_damaged() {
    let mut d = Differences::default();
    for (_, _, input, stats) in all() {
        for i in stats["inputs"].as_array().expect("inputs") {
            d.check(line_law(i), || format!("{}: {i}", input.display()));
            let defects = i["defects"].as_object().map_or(0, |m| m.len());
            d.check(defects == 0, || {
                format!(
                    "{}: a good file with defects {}",
                    input.display(),
                    i["defects"]
                )
            });
        }
    }
    d.done();
}

/// *lines = events + skipped + defects of lines*.
pub fn line_law(input: &Value) -> bool {
    let n = |k: &str| input[k].as_u64().unwrap_or(u64::MAX / 4);
    let of_stream = |k: &str| matches!(k, "truncated_stream" | "corrupt_stream");
    let defects: u64 = input["defects"]
        .as_object()
        .into_iter()
        .flatten()
        .filter(|e| !of_stream(e.0))
        .filter_map(|e| e.1.as_u64())
        .sum();
    n("lines") == n("events") + n("skipped_lines") + defects
}

/// JSON pointers of all nulls.
pub fn nulls(v: &Value, at: &str, out: &mut Vec<String>) {
    match v {
        Value::Null => out.push(at.to_string()),
        Value::Array(a) => a
            .iter()
            .enumerate()
            .for_each(|(i, x)| nulls(x, &format!("{at}/{i}"), out)),
        Value::Object(o) => o.iter().for_each(|(k, x)| {
            nulls(
                x,
                &format!("{at}/{}", k.replace('~', "~0").replace('/', "~1")),
                out,
            )
        }),
        _ => {}
    }
}

#[test]
fn every_unknown_has_its_reason() {
    let mut d = Differences::default();
    for (_, _, input, stats) in all() {
        check_why(&mut d, &input.display().to_string(), &stats);
    }
    let one = "fixtures/blkparse/hard-no-scheduler/trace.txt";
    for args in [
        &["stats", "--every", "10us"][..],
        &["stats", "--by", "comm,op"],
        &["stats", "--btt"],
    ] {
        check_why(&mut d, &args.join(" "), &json(args, one.as_ref()));
    }
    d.done();
}

fn check_why(d: &mut Differences, name: &str, stats: &Value) {
    let mut found = Vec::new();
    nulls(stats, "", &mut found);
    let why = stats["why"].as_object().expect("why");
    for n in &found {
        let reason = why.get(n).and_then(Value::as_str).unwrap_or_default();
        d.check(!reason.is_empty(), || {
            format!("{name}: {n} is null and nothing says why")
        });
    }
    for p in why.keys() {
        d.check(stats.pointer(p) == Some(&Value::Null), || {
            format!("{name}: why explains {p}, which is no null")
        });
    }
}

#[test]
fn threads_change_nothing() {
    let mut d = Differences::default();
    for c in cases().iter().filter(|c| !c.hard()) {
        for (input, _, _) in c.inputs() {
            let path = input.to_string_lossy().into_owned();
            for args in [&["stats", "--json"][..], &["requests", "--csv"]] {
                let with = |n: &str| run(&[args, &["--threads", n, &path]].concat());
                let (one, two) = (with("1"), with("2"));
                d.check(one.code == Some(0) && !one.out.is_empty(), || {
                    format!("{path}: {}", one.err)
                });
                d.check(one.out == two.out && one.err == two.err, || {
                    format!("{path}: {args:?} depends on --threads")
                });
            }
        }
    }
    d.done();
}

#[test]
fn the_same_twice_is_the_same() {
    for args in [
        &["stats"][..],
        &["stats", "--json"],
        &["check"],
        &["bios", "--json"],
        &["events", "--csv"],
    ] {
        let all = [args, &["fixtures/blkparse/stack-crypt/blkparse.txt.gz"]].concat();
        let (a, b) = (run(&all), run(&all));
        assert_eq!(a.code, Some(0), "{all:?}: {}", a.err);
        assert!(a.out == b.out, "{all:?} gives two answers");
    }
}

#[test]
fn distributions_are_possible() {
    let mut d = Differences::default();
    for (_, _, input, stats) in all() {
        possible(&mut d, &input.display().to_string(), &stats);
    }
    d.done();
}

/// Order of the quantiles, no time longer than the trace, histograms that add up.
pub fn possible(d: &mut Differences, name: &str, stats: &Value) {
    // Null where the source tells no times.
    let span = match &stats["span_ns"] {
        Value::Null => f64::INFINITY,
        ns => ns.as_f64().unwrap_or(-1.0),
    };
    for dev in devices(stats) {
        for g in dev["groups"].as_array().expect("groups") {
            let at = || format!("{name} {} {}", dev["dev"], g["by"]);
            for set in ["latency_ns", "bio_latency_ns"] {
                for (phase, t) in g[set]
                    .as_object()
                    .expect("latencies")
                    .iter()
                    .filter(|e| !e.1.is_null())
                {
                    let v = ["min", "p50", "p90", "p99", "p999", "max"]
                        .map(|k| t[k].as_f64().unwrap_or(-1.0));
                    let mean = t["mean"].as_f64().unwrap_or(-1.0);
                    let order = v.windows(2).all(|w| w[0] <= w[1]);
                    // The sum of n integers is exact; the quotient is not.
                    let inside = v[0] >= 0.0
                        && v[5] <= span
                        && mean >= v[0] * (1.0 - 1e-12)
                        && mean <= v[5] * (1.0 + 1e-12);
                    d.check(order && inside && t["n"].as_u64() > Some(0), || {
                        format!("{}: {phase} {t} in {span} ns", at())
                    });
                }
            }
            for set in ["bio_bytes", "issue_bytes"] {
                let Some(h) = g[set]["histogram"].as_array() else {
                    continue;
                };
                let sum: u64 = h.iter().filter_map(|e| e[1].as_u64()).sum();
                d.check(g[set]["n"].as_u64() == Some(sum), || {
                    format!("{}: {set} histogram adds up to {sum}", at())
                });
            }
        }
    }
}

#[test]
fn counts_agree_among_themselves() {
    let mut d = Differences::default();
    for (_, _, input, stats) in all() {
        for dev in devices(&stats) {
            let of = |k: &str| sum_groups(dev, k);
            let events = |a: &str| {
                dev["events"][a]
                    .as_object()
                    .into_iter()
                    .flatten()
                    .filter_map(|e| e.1.as_u64())
                    .sum::<u64>()
            };
            let at = || format!("{} {}", input.display(), dev["dev"]);
            d.check(of("bios") == events("Q"), || {
                format!("{}: bios {} but {} Q", at(), of("bios"), events("Q"))
            });
            d.check(of("issues") == events("D"), || {
                format!("{}: issues {} but {} D", at(), of("issues"), events("D"))
            });
            d.check(of("requeues") == events("R"), || {
                format!(
                    "{}: requeues {} but {} R",
                    at(),
                    of("requeues"),
                    events("R")
                )
            });
            d.check(of("failed") <= of("completed"), || {
                format!("{}: more failed than completed", at())
            });
            d.check(
                of("completed") + of("open") + of("lost") <= of("requests"),
                || format!("{}: requests end twice", at()),
            );
            let ff = dev["events"]["D"]["FF"].as_u64().unwrap_or(0);
            d.check(dev["flush"]["sent"].as_u64().unwrap_or(0) == ff, || {
                format!(
                    "{}: flushes sent {} but {ff} D FF",
                    at(),
                    dev["flush"]["sent"]
                )
            });
        }
    }
    d.done();
}

fn sum_groups(dev: &Value, key: &str) -> u64 {
    dev["groups"]
        .as_array()
        .expect("groups")
        .iter()
        .filter_map(|g| g[key].as_u64())
        .sum()
}

const PARTS: &[&str] = &[
    "bios",
    "merged_bios",
    "requests",
    "completed",
    "failed",
    "issues",
    "requeues",
    "open",
    "lost",
];

#[test]
fn any_grouping_adds_up_to_the_whole() {
    let mut d = Differences::default();
    for name in [
        "blkparse/stack-crypt",
        "same-run/scsi-queuefull",
        "blkparse/flush-head-dm2",
    ] {
        let c = cases().into_iter().find(|c| c.name == name).expect(name);
        let input = c.input("blkparse").expect("a text");
        let whole = json(&["stats"], &input);
        for by in ["op", "comm", "pid", "cpu", "size", "dev", "op,comm"] {
            let parts = json(&["stats", "--by", by], &input);
            for (a, b) in devices(&whole).iter().zip(devices(&parts)) {
                for k in PARTS {
                    let (x, y) = (sum_groups(a, k), sum_groups(b, k));
                    d.check(x == y, || {
                        format!("{name} {}: {k} {x}, by {by} {y}", a["dev"])
                    });
                }
            }
        }
    }
    d.done();
}

#[test]
fn intervals_add_up_to_the_whole() {
    let mut d = Differences::default();
    for name in [
        "blkparse/stack-crypt",
        "same-run/scsi-queuefull",
        "blkparse/plug2k-first",
    ] {
        let c = cases().into_iter().find(|c| c.name == name).expect(name);
        let input = c.input("blkparse").expect("a text");
        let s = json(&["stats", "--every", "100ms"], &input);
        let series = s["series"].as_array().expect("a series");
        d.check(series.len() > 3, || {
            format!("{name}: only {} intervals", series.len())
        });
        let mut sums: BTreeMap<(String, String), u64> = BTreeMap::new();
        for (i, part) in series.iter().enumerate() {
            let follows = i == 0 || series[i - 1]["to_ns"] == part["from_ns"];
            d.check(follows, || {
                format!("{name}: interval {i} starts at {}", part["from_ns"])
            });
            for dev in devices(part) {
                add_counts(&mut sums, dev);
            }
        }
        let mut whole = BTreeMap::new();
        devices(&s)
            .iter()
            .for_each(|dev| add_counts(&mut whole, dev));
        d.check(sums == whole, || {
            format!("{name}: intervals {sums:?}\nwhole {whole:?}")
        });
    }
    d.done();
}

/// Events by action and letters, and groups' counts of what ended.
fn add_counts(to: &mut BTreeMap<(String, String), u64>, dev: &Value) {
    let name = dev["dev"].as_str().expect("a device").to_string();
    for (action, by) in dev["events"].as_object().expect("events") {
        for (rwbs, n) in by.as_object().expect("counts") {
            *to.entry((name.clone(), format!("{action} {rwbs}")))
                .or_default() += n.as_u64().expect("a count");
        }
    }
    for g in dev["groups"].as_array().expect("groups") {
        for k in ["bios", "issues", "requeues", "completed", "failed"] {
            // Null: a part without such events.
            let n = g[k].as_u64().unwrap_or(0);
            if n > 0 {
                *to.entry((name.clone(), format!("{k} {}", g["by"])))
                    .or_default() += n;
            }
        }
    }
}

#[test]
fn a_window_holds_what_lies_in_it() {
    let path = "fixtures/blkparse/plug2k-first/blkparse.txt.gz";
    let rows = |from: &str, to: &str| {
        let r = run(&["events", "--csv", "--from", from, "--to", to, path]);
        assert_eq!(r.code, Some(0), "{}", r.err);
        r.text().lines().count() - 1
    };
    let (a, b, both) = (rows("0", "0.5"), rows("0.5", "1"), rows("0", "1"));
    assert!(a > 0 && b > 0, "{a} and {b} events");
    assert_eq!(a + b, both, "a window takes its start and leaves its end");
}

#[test]
fn filters_choose_among_the_same_numbers() {
    let path = "fixtures/same-run/scsi-queuefull/blkparse.txt.gz";
    let whole = json(&["stats"], path.as_ref());
    let part = json(&["stats", "--rwbs", "WS"], path.as_ref());
    for k in PARTS {
        let at = format!("devices[8,0].groups[WS].{k}");
        assert_eq!(pick(&part, &at), pick(&whole, &at), "{at}");
    }
    let groups = part["devices"][0]["groups"].as_array().expect("groups");
    assert!(groups.iter().all(|g| g["by"]["rwbs"] == "WS"), "{groups:?}");
}
