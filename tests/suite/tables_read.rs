//! What is in the tables: read again with polars and compared cell by cell with the rows of `--json` and `--csv`, and
//! with numbers counted without blkan.

use super::support::{Differences, cases, fields, run};
use polars::prelude::{AnyValue, DataFrame};
use polars_io::SerReader;
use polars_io::ipc::IpcReader;
use polars_io::parquet::read::ParquetReader;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::{Path, PathBuf};

const FORMS: [&str; 2] = ["--parquet", "--arrow"];

/// The table that a command writes.
fn table(command: &str, form: &str, more: &[&str], input: &Path) -> DataFrame {
    let path = input.to_string_lossy();
    let mut args = vec![command, "-q", form, &path];
    args.extend(more);
    let r = run(&args);
    assert_eq!(r.code, Some(0), "{args:?}: {}", r.err);
    let at = Cursor::new(r.out);
    let read = match form {
        "--parquet" => ParquetReader::new(at).finish(),
        _ => IpcReader::new(at).finish(),
    };
    read.unwrap_or_else(|e| panic!("{args:?}: {e}"))
}

fn lines(command: &str, form: &str, more: &[&str], input: &Path) -> Vec<String> {
    let path = input.to_string_lossy();
    let mut args = vec![command, "-q", form, &path];
    args.extend(more);
    let text = run(&args).text();
    text.lines().map(str::to_string).collect()
}

/// A cell as JSON has it; the types of the tables are those of the page, not looser ones.
fn as_json(v: &AnyValue<'_>) -> Value {
    match v {
        AnyValue::Null => Value::Null,
        AnyValue::Boolean(b) => Value::from(*b),
        AnyValue::UInt32(n) => Value::from(*n),
        AnyValue::UInt64(n) => Value::from(*n),
        AnyValue::Int32(n) => Value::from(*n),
        AnyValue::Int64(n) => Value::from(*n),
        AnyValue::String(s) => Value::from(*s),
        AnyValue::StringOwned(s) => Value::from(s.as_str()),
        other => panic!("a cell of another type: {other:?}"),
    }
}

/// A cell as CSV has it.
fn as_csv(v: &Value) -> String {
    match v {
        Value::Null => String::new(),
        Value::String(s) => s.clone(),
        other => other.to_string(),
    }
}

/// All cells, row by row.
fn cells(df: &DataFrame) -> Vec<Vec<Value>> {
    let row = |n| {
        let of = df.columns().iter();
        of.map(|c| as_json(&c.get(n).expect("a cell"))).collect()
    };
    (0..df.height()).map(row).collect()
}

fn names(df: &DataFrame) -> Vec<String> {
    let of = df.columns().iter();
    of.map(|c| c.name().to_string()).collect()
}

/// Compares one command's tables with its JSON and CSV; the number of rows.
fn compare(d: &mut Differences, command: &str, more: &[&str], input: &Path) -> usize {
    let json: Vec<Value> = lines(command, "--json", more, input)
        .iter()
        .map(|l| serde_json::from_str(l).expect("JSON"))
        .collect();
    let csv: Vec<Vec<String>> = lines(command, "--csv", more, input)
        .iter()
        .map(|l| fields(l))
        .collect();
    let at = |form: &str| format!("{} {command} {form} {more:?}", input.display());
    for form in FORMS {
        let df = table(command, form, more, input);
        d.check(csv.first() == Some(&names(&df)), || {
            format!("{}: columns {:?}", at(form), names(&df))
        });
        let same = (df.height(), df.height() + 1) == (json.len(), csv.len());
        d.check(same, || format!("{}: {} rows", at(form), df.height()));
        let names = names(&df);
        for (n, row) in cells(&df).iter().enumerate().take(json.len()) {
            let object: serde_json::Map<String, Value> =
                names.iter().cloned().zip(row.iter().cloned()).collect();
            d.check(json[n] == Value::Object(object), || {
                format!("{}: row {n}: {row:?}, JSON {}", at(form), json[n])
            });
            let plain: Vec<String> = row.iter().map(as_csv).collect();
            d.check(csv.get(n + 1) == Some(&plain), || {
                format!("{}: row {n}: {row:?}, CSV {:?}", at(form), csv.get(n + 1))
            });
        }
    }
    json.len()
}

#[test]
fn tables_hold_the_rows_of_json_and_csv() {
    let mut inputs: Vec<PathBuf> = cases()
        .iter()
        .filter(|c| c.hard() || c.name == "same-run/hello-perf")
        .flat_map(|c| c.inputs().into_iter().map(|i| i.0))
        .collect();
    // A long one, and one whose numbers are absurd.
    inputs.push("fixtures/blkparse/plug2k-tail/blkparse.txt.gz".into());
    inputs.push("fixtures/hostile/huge-numbers.txt".into());
    inputs.push("fixtures/hostile/non-utf8-comm.txt".into());
    assert!(inputs.len() > 20, "{inputs:?}");
    let mut d = Differences::default();
    let mut rows = 0;
    for input in &inputs {
        for command in ["events", "requests", "bios"] {
            rows += compare(&mut d, command, &[], input);
        }
    }
    assert!(rows > 10_000, "only {rows} rows");
    d.done();
}

#[test]
fn filters_pick_the_same_rows() {
    let input = Path::new("fixtures/blkparse/plug2k-first/blkparse.txt.gz");
    let mut d = Differences::default();
    let all = table("requests", "--parquet", &[], input).height();
    for more in [
        &["--rwbs", "FF"][..],
        &["--op", "write", "--from", "0.1", "--to", "0.2"],
    ] {
        let n = compare(&mut d, "requests", more, input);
        assert!(n > 0 && n < all, "{more:?}: {n} of {all}");
    }
    d.done();
}

fn text(df: &DataFrame, column: &str, row: usize) -> String {
    let c = df.column(column).expect("a column");
    as_csv(&as_json(&c.get(row).expect("a cell")))
}

fn int(df: &DataFrame, column: &str, row: usize) -> Option<i64> {
    let c = df.column(column).expect("a column");
    as_json(&c.get(row).expect("a cell")).as_i64()
}

/// Rows of a device by action and letters.
fn events_by_letters(df: &DataFrame, dev: &str) -> BTreeMap<String, BTreeMap<String, i64>> {
    let mut out: BTreeMap<String, BTreeMap<String, i64>> = BTreeMap::new();
    for n in (0..df.height()).filter(|n| text(df, "dev", *n) == dev) {
        let of = out.entry(text(df, "action", n)).or_default();
        *of.entry(text(df, "rwbs", n)).or_default() += 1;
    }
    out
}

/// Number and sum of a span over the completed requests of a device with these letters.
fn span(df: &DataFrame, dev: &str, rwbs: &str, column: &str) -> (i64, i64) {
    let of = |n: &usize| {
        text(df, "dev", *n) == dev
            && text(df, "rwbs", *n) == rwbs
            && ["completed", "failed"].contains(&text(df, "outcome", *n).as_str())
    };
    let spans = (0..df.height())
        .filter(of)
        .filter_map(|n| int(df, column, n));
    spans.fold((0, 0), |(n, sum), ns| (n + 1, sum + ns))
}

#[test]
fn counts_and_sums_are_those_known_without_blkan() {
    let mut d = Differences::default();
    let mut compared = 0;
    for c in cases() {
        let Some(known) = c.origin.get("known").and_then(|k| k.as_table()) else {
            continue;
        };
        let input = c.input("blkparse").expect("a blkparse text");
        let events = table("events", "--arrow", &[], &input);
        let requests = table("requests", "--parquet", &[], &input);
        for (dev, k) in known {
            let want = serde_json::to_value(&k["events"]).expect("plain numbers");
            let got = serde_json::to_value(events_by_letters(&events, dev)).expect("numbers");
            d.check(got == want, || {
                format!("{} {dev}: {got}, known {want}", c.name)
            });
            let groups = k.get("groups").and_then(|g| g.as_table());
            for (rwbs, g) in groups.into_iter().flatten() {
                compared += known_spans(&mut d, &c.name, &requests, dev, rwbs, g);
            }
        }
    }
    assert!(compared > 50, "only {compared} spans");
    d.done();
}

/// Compares requests and spans of a group with origin.toml's; the number of spans.
fn known_spans(
    d: &mut Differences,
    case: &str,
    df: &DataFrame,
    dev: &str,
    rwbs: &str,
    known: &toml::Value,
) -> usize {
    let of = |n: &usize| text(df, "dev", *n) == dev && text(df, "rwbs", *n) == rwbs;
    let rows = (0..df.height()).filter(of).count() as i64;
    let want = known.get("requests").and_then(toml::Value::as_integer);
    d.check(want.is_none_or(|w| w == rows), || {
        format!("{case} {dev} {rwbs}: {rows} requests, known {want:?}")
    });
    let mut compared = 0;
    for name in ["g2d", "d2c"] {
        let Some(k) = known.get(name) else { continue };
        let n = k["n"].as_integer().expect("n");
        let sum = k["mean"].as_float().expect("a mean") * n as f64;
        let got = span(df, dev, rwbs, &format!("{name}_ns"));
        let same = got.0 == n && (got.1 as f64 - sum).abs() <= sum.abs() * 1e-9;
        d.check(same, || {
            format!("{case} {dev} {rwbs} {name}: {got:?}, known {n} of {sum} ns")
        });
        compared += 1;
    }
    compared
}
