//! blkparse's output in formats of its user's against its own text of the same recording: what a format carries must
//! come out the same.

use super::support::{Differences, blkan, finish, root};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

fn told(command: &str, formats: &[String], input: &Path) -> Vec<Value> {
    let mut c = blkan();
    c.args([command, "-q", "--json"]);
    for f in formats {
        c.args(["--blkparse-format", f]);
    }
    let r = finish(c.arg(input));
    assert_eq!(r.code, Some(0), "{command} {formats:?}: {}", r.err);
    let text = r.text();
    let values = serde_json::Deserializer::from_str(&text).into_iter();
    let mut all: Vec<Value> = values.map(|v| v.expect("JSON")).collect();
    // A device flush is told when its waiters are known, which needs the CPU: rows come in another order without it.
    all.sort_by_key(|v| v["id"].as_u64());
    all
}

/// Times relative to the first event, since `%z` tells the time of day.
fn since(row: &Value, key: &str, start: i64) -> Value {
    match (key, row[key].as_i64()) {
        ("q_ns" | "g_ns" | "i_ns" | "d_first_ns" | "d_ns" | "c_data_ns" | "c_ns", Some(t)) => {
            Value::from(t - start)
        }
        _ => row[key].clone(),
    }
}

/// A fixture: what was printed, how, and the same recording in blkparse's own text.
struct Print {
    name: String,
    file: PathBuf,
    own: PathBuf,
    formats: Vec<String>,
    /// Columns of `requests` that the format does not carry.
    lacks: Vec<String>,
    step_ns: i64,
}

fn prints() -> Vec<Print> {
    let dir = root().join("fixtures/blkparse-format");
    let text = fs::read_to_string(dir.join("formats.toml")).expect("formats.toml");
    let list: toml::Value = toml::from_str(&text).expect("TOML");
    let of = |p: &toml::Value| {
        let strings = |k: &str| -> Vec<String> {
            let list = p.get(k).and_then(toml::Value::as_array);
            let texts = list.into_iter().flatten().filter_map(toml::Value::as_str);
            texts.map(String::from).collect()
        };
        let name = p["file"].as_str().expect("a file");
        Print {
            name: name.to_string(),
            file: dir.join(name),
            own: root().join(p["text"].as_str().expect("a text")),
            formats: strings("formats"),
            lacks: strings("lacks"),
            step_ns: p
                .get("step_ns")
                .and_then(toml::Value::as_integer)
                .unwrap_or(1),
        }
    };
    list["print"]
        .as_array()
        .expect("[[print]]")
        .iter()
        .map(of)
        .collect()
}

#[test]
fn formats_carry_what_blkparses_own_text_carries() {
    let mut d = Differences::default();
    let mut compared = 0;
    for p in prints() {
        let want = told("stats", &[], &p.own).remove(0);
        let got = told("stats", &p.formats, &p.file).remove(0);
        for key in ["events", "ledger"] {
            let of = |s: &Value| s["devices"][0][key].clone();
            let (a, b) = (of(&want), of(&got));
            d.check(a == b, || format!("{}: {key}: {a} {b}", p.name));
        }
        let input = &got["inputs"][0];
        let sound = input["defects"] == serde_json::json!({});
        d.check(
            sound && input["events"] == want["inputs"][0]["events"],
            || format!("{}: {input}", p.name),
        );
        let start = |s: &Value| s["start_ns"].as_i64().expect("a time");
        compared += same_requests(&mut d, &p, start(&want), start(&got));
    }
    assert!(compared > 10_000, "only {compared} values compared");
    d.done();
}

/// Compares the rows, whose times begin at `a` and `b`; the number of values compared.
fn same_requests(d: &mut Differences, p: &Print, a: i64, b: i64) -> usize {
    let (want, got) = (
        told("requests", &[], &p.own),
        told("requests", &p.formats, &p.file),
    );
    d.check(want.len() == got.len(), || {
        format!("{}: {} {} requests", p.name, want.len(), got.len())
    });
    let mut compared = 0;
    for (x, y) in want.iter().zip(&got) {
        let keys = x.as_object().expect("a row").keys();
        for key in keys.filter(|k| *k != "line" && !p.lacks.contains(k)) {
            let (v, w) = (since(x, key, a), since(y, key, b));
            // Its own text hides sectors of empty requests and lengths of passthrough commands.
            let hidden = key == "sector" && v.is_null() && w == 0
                || key == "bytes" && x["kind"] == "passthrough";
            let near = |v: i64, w: i64| p.step_ns > 1 && (v - w).abs() < 2 * p.step_ns;
            let close = v.as_i64().zip(w.as_i64()).is_some_and(|(v, w)| near(v, w));
            d.check(v == w || hidden || close, || {
                format!(
                    "{}: {key} of request {} is {w}, in its own text {v}",
                    p.name, x["id"]
                )
            });
            compared += 1;
        }
    }
    compared
}

#[test]
fn a_format_that_lacks_what_is_needed_is_refused_by_name() {
    let input = root().join("fixtures/blkparse-format/hello-all.txt.gz");
    for (format, words) in [
        ("%a %S\\n", "has no time"),
        ("%t %a\\n", "%T, the second, is missing"),
        ("%T.%t %S\\n", "has no action (%a)"),
        ("%T%t %a\\n", "%T and %t stand side by side"),
        ("%T %a %", "'%' at byte 7"),
        ("%T %a \\q", "'\\q' at byte 7"),
        ("UT,%T %a\\n", "'UT' is no action"),
        ("%T %a\\n%S\\n", "more than one line"),
    ] {
        let mut c = blkan();
        let r = finish(c.args(["stats", "--blkparse-format", format]).arg(&input));
        assert_eq!(r.code, Some(2), "{format}: {}", r.err);
        assert!(
            r.err.contains(words) && r.err.contains(format),
            "{format}: {}",
            r.err
        );
    }
}

#[test]
fn lines_of_another_format_are_damage_and_it_is_told_where() {
    let mut c = blkan();
    let input = root().join("fixtures/blkparse-format/hello-csv.txt.gz");
    let r = finish(
        c.args(["stats", "--blkparse-format", "%a;%d;%T.%t\\n"])
            .arg(&input),
    );
    assert_eq!(r.code, Some(1), "{}", r.err);
    assert!(r.err.contains("not one event in 319 lines"), "{}", r.err);
    assert!(r.err.contains("there expected"), "{}", r.err);
}
