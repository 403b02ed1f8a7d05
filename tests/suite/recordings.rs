//! One recording twice: the binary files of blktrace and the text that blkparse made of them must give the same events
//! and the same numbers, but for what the text hides.

use super::support::fields;
use super::support::{Differences, blkan, cases, finish, json, root, run};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;

/// Rows of `events --csv` by column.
pub struct Rows {
    pub columns: BTreeMap<String, usize>,
    pub rows: Vec<Vec<String>>,
}

impl Rows {
    pub fn of(path: &Path) -> Rows {
        let r = run(&["events", "--csv", "-q", &path.to_string_lossy()]);
        assert_eq!(r.code, Some(0), "{}: {}", path.display(), r.err);
        let text = r.text();
        let mut lines = text.lines().map(fields);
        let head = lines.next().expect("a header");
        Rows {
            columns: head.into_iter().enumerate().map(|(i, n)| (n, i)).collect(),
            rows: lines.collect(),
        }
    }

    pub fn get<'a>(&self, row: &'a [String], column: &str) -> &'a str {
        &row[self.columns[column]]
    }
}

/// What the text does not say of an event, and why; `true` if this column may differ.
fn hidden(column: &str, action: &str, text: &str, passthrough: bool) -> bool {
    match (column, action) {
        // A line of text, a record in its file.
        ("line", _) => true,
        // Printed only if the event has a length.
        ("sector", "Q" | "G" | "D" | "I" | "M" | "F") => text.is_empty(),
        // No task is printed.
        ("comm", "C" | "R" | "A") => text.is_empty(),
        // No length is printed with a completion.
        ("bytes", "C" | "R") => passthrough,
        // Printed are both sectors, which are equal if dm was the one to cut.
        ("bytes", "X") => text == "0",
        _ => false,
    }
}

/// The text's summary does not tell the names of devices with equal counts: what `text` leaves open is forgotten.
fn forget_names(text: &Value, in_: &mut Value) {
    let devices = text["devices"].as_array().into_iter().flatten();
    for (i, _) in devices.enumerate().filter(|(_, d)| d["name"].is_null()) {
        in_["devices"][i]["name"] = Value::Null;
        if let Some(why) = in_["why"].as_object_mut() {
            why.remove(&format!("/devices/{i}/name"));
        }
    }
}

/// Compares a recording's files (a directory or a base name) with its text; the requests completed.
pub fn compare(d: &mut Differences, name: &str, binary: &Path, text: &Path) -> u64 {
    let (a, b) = (Rows::of(text), Rows::of(binary));
    d.check(a.rows.len() == b.rows.len(), || {
        format!(
            "{name}: {} events in the text, {} in the files",
            a.rows.len(),
            b.rows.len()
        )
    });
    for (x, y) in a.rows.iter().zip(&b.rows) {
        let (action, passthrough) = (a.get(x, "action"), a.get(x, "passthrough") == "true");
        for (column, at) in &a.columns {
            let same = x[*at] == y[*at];
            d.check(same || hidden(column, action, &x[*at], passthrough), || {
                format!(
                    "{name}: {column} '{}' in the text, '{}' in the files: {y:?}",
                    x[*at], y[*at]
                )
            });
        }
    }
    let (mut s, mut t) = (json(&["stats"], text), json(&["stats"], binary));
    s["inputs"] = Value::Null;
    t["inputs"] = Value::Null;
    forget_names(&s.clone(), &mut s);
    forget_names(&s.clone(), &mut t);
    d.check(s == t, || {
        format!("{name}: other numbers: {}", first_difference("", &s, &t))
    });
    let groups = t["devices"].as_array().into_iter().flatten();
    groups
        .flat_map(|dev| dev["groups"].as_array().into_iter().flatten())
        .filter_map(|g| g["completed"].as_u64())
        .sum()
}

/// The first place where two documents differ.
fn first_difference(at: &str, a: &Value, b: &Value) -> String {
    match (a, b) {
        (Value::Object(x), Value::Object(y)) if x.keys().eq(y.keys()) => {
            let differ = x.iter().find(|(k, v)| y[*k] != **v);
            differ.map_or(String::new(), |(k, v)| {
                first_difference(&format!("{at}/{k}"), v, &y[k])
            })
        }
        (Value::Array(x), Value::Array(y)) if x.len() == y.len() => {
            let differ = x.iter().zip(y).enumerate().find(|(_, (v, w))| v != w);
            differ.map_or(String::new(), |(i, (v, w))| {
                first_difference(&format!("{at}/{i}"), v, w)
            })
        }
        _ => format!("{at}: {a} in the text, {b} in the files"),
    }
}

/// The shipped recordings: name, directory, text.
fn shipped() -> Vec<(String, std::path::PathBuf, std::path::PathBuf)> {
    let binary = cases()
        .into_iter()
        .filter(|c| c.name.starts_with("blktrace/"));
    let out: Vec<_> = binary
        .map(|c| {
            let text = c.origin["text"].as_str().expect("text").into();
            (c.name, c.dir, text)
        })
        .collect();
    assert!(out.len() >= 4, "only {} recordings", out.len());
    out
}

#[test]
fn files_and_text_of_a_recording_agree() {
    let mut d = Differences::default();
    for (name, dir, text) in shipped() {
        let completed = compare(&mut d, &name, &dir, &text);
        d.check(completed > 0, || format!("{name}: no request completed"));
    }
    d.done();
}

#[test]
fn a_directory_a_base_name_and_the_files_are_one_recording() {
    let dir = "fixtures/blktrace/stack-part";
    let files = [
        format!("{dir}/vda.blktrace.0.gz"),
        format!("{dir}/vda.blktrace.1.gz"),
    ];
    let of = |paths: &[&str]| {
        let r = run(&[&["stats", "--json"], paths].concat());
        assert!(
            r.code == Some(0) && r.err.is_empty(),
            "{paths:?}: {}",
            r.err
        );
        r.out
    };
    let whole = of(&[dir]);
    for paths in [
        vec![&*format!("{dir}/vda")],
        files.iter().map(String::as_str).collect(),
    ] {
        assert!(of(&paths) == whole, "{paths:?}");
    }
    let r = run(&["stats", "--json", &files[0]]);
    assert_eq!(r.code, Some(0), "{}", r.err);
    assert!(
        r.err
            .contains("vda.blktrace.1 of the same recording lies beside"),
        "{}",
        r.err
    );
    let v: Value = serde_json::from_slice(&whole).expect("JSON");
    assert_eq!(v["devices"][0]["name"], "vda");
}

/// What `blktrace -o -` gives to a pipe: CPU after CPU, buffer by buffer.
#[test]
fn a_pipe_gives_the_same_numbers() {
    let dir = root().join("fixtures/blktrace/stack-part");
    let mut c = std::process::Command::new("gzip");
    c.arg("-dc")
        .args([dir.join("vda.blktrace.1.gz"), dir.join("vda.blktrace.0.gz")]);
    let mut gzip = c.stdout(Stdio::piped()).spawn().expect("gzip starts");
    let stream = gzip.stdout.take().expect("a pipe");
    let r = finish(blkan().args(["stats", "--json", "-"]).stdin(stream));
    gzip.wait().expect("gzip ends");
    assert_eq!(r.code, Some(0), "{}", r.err);
    let piped: Value = serde_json::from_slice(&r.out).expect("JSON");
    let whole = json(&["stats"], &dir);
    assert_eq!(piped["devices"][0]["groups"], whole["devices"][0]["groups"]);
    assert_eq!(piped["inputs"][0]["events"], 11_849 + 17_354);
}
