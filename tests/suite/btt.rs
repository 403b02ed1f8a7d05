//! btt 2.09's tables (fixtures/btt) against `stats --btt`, on recordings where btt is right.

use super::support::{Differences, cases, json, root, run};
use serde_json::Value;
use std::collections::BTreeMap;

/// Device (`ALL`, `259,0`) → phase → N, min, avg, max of the tables "Per Device" and "All Devices" of `btt -A`.
pub fn btt_tables(text: &str) -> BTreeMap<String, BTreeMap<String, [f64; 4]>> {
    let mut out: BTreeMap<String, BTreeMap<String, [f64; 4]>> = BTreeMap::new();
    let (mut section, mut phase) = (String::new(), String::new());
    for line in text.lines() {
        if line.starts_with("=====") {
            section = line.trim_matches(['=', ' ']).to_string();
            continue;
        }
        let all = section == "All Devices";
        if !all && section != "Per Device" {
            continue;
        }
        let joined = line
            .replace(",  ", ",")
            .replace(", ", ",")
            .replace(['(', ')'], "");
        let w: Vec<&str> = joined.split_whitespace().collect();
        if w.len() != 5 {
            continue;
        }
        if w[1] == "MIN" {
            phase = w[0].to_string();
            continue;
        }
        let n = |i: usize| w[i].parse::<f64>().ok();
        let (Some(min), Some(avg), Some(max), Some(count)) = (n(1), n(2), n(3), n(4)) else {
            continue;
        };
        let (dev, phase) = if all {
            ("ALL".to_string(), w[0].to_string())
        } else {
            (w[0].to_string(), phase.clone())
        };
        out.entry(dev)
            .or_default()
            .insert(phase, [count, min * 1e9, avg * 1e9, max * 1e9]);
    }
    out
}

/// Compares `stats --btt` with a table of btt: N, min and max to the nanosecond, the mean within its last digit.
pub fn compare_btt(d: &mut Differences, case: &str, stats: &Value, text: &str) {
    let table = btt_tables(text);
    d.check(table.contains_key("ALL") && table.len() >= 2, || {
        format!("{case}: no table of btt")
    });
    for (dev, phases) in &table {
        let rows = stats["btt"]["devices"][dev]
            .as_array()
            .cloned()
            .unwrap_or_default();
        for (phase, want) in phases {
            let Some(r) = rows.iter().find(|r| r["phase"] == phase.as_str()) else {
                d.check(false, || {
                    format!("{case} {dev}: no {phase}, btt has {want:?}")
                });
                continue;
            };
            let got = ["n", "min_ns", "avg_ns", "max_ns"].map(|k| r[k].as_f64().unwrap_or(-1.0));
            // btt's seconds are printed with nine decimals; avg is rounded there.
            let ok = got
                .iter()
                .zip(want)
                .zip([0.0, 0.01, 0.51, 0.01])
                .all(|((g, w), tol)| (g - w).abs() <= tol + w * 1e-12);
            d.check(ok, || {
                format!("{case} {dev} {phase}: {got:?}, btt {want:?}")
            });
        }
        for r in rows.iter().filter(|r| r["n"].as_u64() > Some(0)) {
            let phase = r["phase"].as_str().unwrap_or_default();
            // btt prints M2D in its table of all devices only.
            let known = phases.contains_key(phase) || (phase == "M2D" && dev != "ALL");
            d.check(known, || {
                format!("{case} {dev}: {phase} is not in btt's table")
            });
        }
    }
    let differences = stats["btt"]["differences"].as_object();
    d.check(differences.is_some_and(|m| m.is_empty()), || {
        format!("{case}: a clean trace, but {differences:?}")
    });
}

#[test]
fn clean_traces_give_btts_table() {
    let mut d = Differences::default();
    let mut seen = 0;
    for c in cases() {
        let Some(file) = c.origin.get("btt").and_then(toml::Value::as_str) else {
            continue;
        };
        let text = std::fs::read_to_string(root().join(file)).expect("btt's table");
        let stats = json(
            &["stats", "--btt"],
            &c.input("blkparse").expect("a blkparse text"),
        );
        compare_btt(&mut d, &c.name, &stats, &text);
        seen += 1;
    }
    assert!(seen >= 5, "only {seen} tables compared");
    d.done();
}

#[test]
fn overlaps_are_told() {
    let mut seen = 0;
    for c in cases() {
        if !c.name.contains("hard-overlap") {
            continue;
        }
        let s = json(&["stats", "--btt"], &c.input("blkparse").expect("a text"));
        let told = s["btt"]["differences"].as_object().expect("differences");
        assert!(
            told.keys().any(|k| k.contains("different extent")),
            "{}: {told:?}",
            c.name
        );
        seen += 1;
    }
    assert!(seen > 0);
}

#[test]
fn counts_do_not_depend_on_btt_being_asked() {
    let c = cases()
        .into_iter()
        .find(|c| c.name == "blkparse/cause-mqd")
        .expect("the case");
    let path = c
        .input("blkparse")
        .expect("its text")
        .to_string_lossy()
        .into_owned();
    let mut with: Value =
        serde_json::from_slice(&run(&["stats", "--json", "--btt", &path]).out).expect("JSON");
    let without: Value =
        serde_json::from_slice(&run(&["stats", "--json", &path]).out).expect("JSON");
    with.as_object_mut().expect("an object").remove("btt");
    assert_eq!(with, without);
}
