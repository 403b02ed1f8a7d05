//! `blkan sql` and data sets. Numbers are those counted without blkan (origin.toml), or follow from the question.

use super::support::{Differences, cases, run};
use serde_json::Value;
use std::fs;
use std::path::Path;

const TRACE: &str = "fixtures/blkparse/plug2k-first/blkparse.txt.gz";

fn ask(sql: &str, inputs: &[&str]) -> Vec<Value> {
    let mut args = vec!["sql", "-q", "--json", sql];
    args.extend(inputs);
    let r = run(&args);
    assert_eq!(r.code, Some(0), "{args:?}: {}", r.err);
    let lines = r.text();
    let parsed = lines
        .lines()
        .map(|l| serde_json::from_str(l).expect("JSON"));
    parsed.collect()
}

#[test]
fn counts_and_means_are_those_known_without_blkan() {
    let mut d = Differences::default();
    let mut compared = 0;
    for c in cases() {
        let Some(known) = c.origin.get("known").and_then(|k| k.as_table()) else {
            continue;
        };
        let input = c.input("blkparse").expect("a blkparse text");
        let input = input.to_string_lossy();
        for (dev, k) in known {
            let count = "select action, rwbs, count(*) as n from events";
            let rows = ask(
                &format!("{count} where dev = '{dev}' group by action, rwbs"),
                &[&input],
            );
            let want = k["events"].as_table().expect("events");
            let all = want.values().filter_map(|of| of.as_table());
            let all: usize = all.map(|of| of.len()).sum();
            d.check(rows.len() == all, || format!("{} {dev}: {rows:?}", c.name));
            for r in &rows {
                let (a, l) = (r["action"].as_str(), r["rwbs"].as_str());
                let of = want.get(a.unwrap_or_default());
                let n = of.and_then(|of| of.get(l.unwrap_or_default()));
                let n = n.and_then(toml::Value::as_integer);
                d.check(n.is_some() && n == r["n"].as_i64(), || {
                    format!("{} {dev}: {r}, known {n:?}", c.name)
                });
                compared += 1;
            }
            compared += known_means(&mut d, &c.name, &input, dev, k);
        }
    }
    assert!(compared > 200, "only {compared} numbers");
    d.done();
}

/// Numbers and means of groups with those of origin.toml; how many.
fn known_means(d: &mut Differences, case: &str, input: &str, dev: &str, k: &toml::Value) -> usize {
    let Some(groups) = k.get("groups").and_then(|g| g.as_table()) else {
        return 0;
    };
    let rows = ask(
        &format!(
            "select rwbs, count(d2c_ns) as n, avg(d2c_ns) as mean from requests \
             where dev = '{dev}' and outcome in ('completed', 'failed') group by rwbs"
        ),
        &[input],
    );
    let mut compared = 0;
    for (rwbs, g) in groups {
        let Some(want) = g.get("d2c") else { continue };
        let row = rows.iter().find(|r| r["rwbs"] == rwbs.as_str());
        let row = row.unwrap_or(&Value::Null);
        let mean = want["mean"].as_float().expect("a mean");
        let close = row["mean"]
            .as_f64()
            .is_some_and(|m| (m - mean).abs() <= mean.abs() * 1e-9);
        d.check(close && row["n"].as_i64() == want["n"].as_integer(), || {
            format!("{case} {dev} {rwbs}: {row}, known {want}")
        });
        compared += 1;
    }
    compared
}

#[test]
fn a_data_set_answers_as_its_traces_do() {
    let dir = tempfile::tempdir().expect("a directory");
    let data = format!("{}/", dir.path().display());
    let others = ["fixtures/blkparse/stack-part/blkparse.txt.gz", TRACE];
    for (n, trace) in others.iter().enumerate() {
        for (command, form) in [("requests", "--parquet"), ("bios", "--arrow")] {
            let keys = format!("host=h/{n},dev");
            let r = run(&[
                command,
                "-q",
                form,
                "-o",
                &data,
                "--partition",
                &keys,
                trace,
            ]);
            assert_eq!((r.code, r.out.len()), (Some(0), 0), "{}", r.err);
        }
    }
    let requests = "select dev, rwbs, count(*) as n, sum(bytes) as bytes, avg(g2c_ns) as g2c, \
                    max(line) as line from requests";
    let bios = "select dev, merged, count(*) as n, sum(q2c_ns) as q2c, count(comm) as c from bios";
    for (n, trace) in others.iter().enumerate() {
        let place = format!("where host = 'h/{n}'");
        for (sql, keys) in [(requests, "dev, rwbs"), (bios, "dev, merged")] {
            let here = ask(&format!("{sql} {place} group by {keys}"), &[&data]);
            let there = ask(&format!("{sql} group by {keys}"), &[trace]);
            assert!(!there.is_empty() && here == there, "{here:?}\n{there:?}");
        }
    }
    // Two tables beside each other, and files named one by one.
    let both = "select count(*) as n from bios b join requests r \
                on b.request = r.id and b.host = r.host where b.host = 'h/1' and r.kind = 'io'";
    let own =
        "select count(*) as n from bios b join requests r on b.request = r.id where r.kind = 'io'";
    let n = ask(own, &[TRACE]);
    assert_eq!(ask(both, &[&data]), n);
    assert!(n[0]["n"].as_i64() > Some(1000), "{n:?}");
    let one = dir.path().join("requests/host=h%2F1/dev=259,0");
    let file = one.join("blkparse.parquet");
    let count = "select host, count(*) as n from requests group by host";
    let (of_file, of_dir) = (
        ask(count, &[&file.to_string_lossy()]),
        ask(count, &[&one.to_string_lossy()]),
    );
    assert!(
        of_file == of_dir && of_file[0]["host"] == "h/1",
        "{of_file:?}"
    );
    assert_eq!(
        fs::read_dir(&one).expect("the directory").count(),
        1,
        "no leftovers"
    );
}

#[test]
fn nothing_of_a_data_set_is_written_over() {
    let dir = tempfile::tempdir().expect("a directory");
    let data = format!("{}/", dir.path().display());
    let write = |keys: &str| run(&["requests", "-q", "-o", &data, "--partition", keys, TRACE]);
    assert_eq!(write("host=a,trace").code, Some(0));
    let file = dir
        .path()
        .join("requests/host=a/trace=blkparse/blkparse.parquet");
    let before = fs::read(&file).expect("the file");
    let r = write("host=a,trace");
    assert_eq!(r.code, Some(2), "{}", r.err);
    assert!(
        r.err.contains("is there already") && r.err.contains("trace=NAME"),
        "{}",
        r.err
    );
    assert_eq!(fs::read(&file).expect("the file"), before);
    for (keys, what) in [
        ("nosuch", "no such key"),
        ("bytes", "no such key"),
        ("dev=8,0", "is a column"),
        ("=x", "expected a name"),
    ] {
        let r = write(keys);
        assert_eq!(r.code, Some(2), "{keys}: {}", r.err);
        assert!(r.err.contains(what), "{keys}: {}", r.err);
    }
    let r = run(&["requests", "--partition", "dev", TRACE]);
    assert_eq!(r.code, Some(2), "{}", r.err);
}

#[test]
fn a_query_that_cannot_be_answered_says_what_could() {
    for (sql, words) in [
        (
            "select d2c from requests",
            &["d2c", "d2c_ns (requests)"][..],
        ),
        ("select q2c_n from bios", &["q2c_n", "q2c_ns (bios)"]),
        ("select * from request", &["request", "requests"]),
        ("selekt 1", &["cannot be answered", "tables"]),
        (
            "select nosuchfunction(bytes) from bios",
            &["nosuchfunction"],
        ),
        ("", &["cannot be answered"]),
        ("select 1; select 2", &["one"]),
        ("drop table requests", &["'drop'", "only read"]),
        ("\n-- all\nDELETE FROM bios", &["'DELETE'", "only read"]),
    ] {
        // It is refused before the trace is read.
        for trace in [TRACE, "no-such-trace"] {
            let r = run(&["sql", sql, trace]);
            assert_eq!((r.code, r.out.len()), (Some(2), 0), "{sql}: {}", r.err);
            assert!(r.err.contains("hint: "), "{sql}: {}", r.err);
            for w in words {
                assert!(r.err.contains(w), "{sql}: {w}: {}", r.err);
            }
        }
    }
    let r = run(&["sql", "select 1 from bios", "no-such-trace"]);
    assert_eq!(r.code, Some(1), "{}", r.err);
    let r = run(&["sql", "queries/no-such.sql", TRACE]);
    assert_eq!(r.code, Some(1), "{}", r.err);
    let r = run(&["sql", "select 1 from bios", "fixtures"]);
    assert!(r.code != Some(0) && r.err.contains("fixtures"), "{}", r.err);
}

#[test]
fn all_forms_hold_the_same_and_text_is_narrow() {
    let sql = "select *, d2c_ns / 1000.0 as us from requests order by id limit 50";
    let text = run(&["sql", "-q", sql, TRACE]).text();
    assert!(text.lines().count() == 52, "{text}");
    let long = text.lines().find(|l| l.chars().count() > 100);
    assert!(
        long.is_none() && text.contains("--csv shows all, also requeues"),
        "{long:?}"
    );
    let sql = "select rwbs, count(*) as n, avg(d2c_ns) as d2c, sum(requeues) as r from requests group by rwbs";
    let csv = run(&["sql", "-q", "--csv", sql, TRACE]).text();
    let rows = ask(sql, &[TRACE]);
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("rwbs,n,d2c,r"));
    for r in &rows {
        let cell = |k: &str| match &r[k] {
            Value::Null => String::new(),
            Value::String(s) => s.clone(),
            v => v.to_string(),
        };
        let want = ["rwbs", "n", "d2c", "r"].map(cell).join(",");
        assert_eq!(lines.next(), Some(want.as_str()));
    }
    assert_eq!(lines.next(), None);
    let text = run(&["sql", "-q", sql, TRACE]).text();
    assert!(
        text.starts_with("rwbs") && text.lines().count() == rows.len() + 1,
        "{text}"
    );
    // Groups come in no order of their own: the same answer every time.
    for n in ["1", "2", "3", "4"] {
        assert_eq!(
            run(&["sql", "-q", "--csv", "--threads", n, sql, TRACE]).text(),
            csv
        );
    }
}

#[test]
fn whole_numbers_have_signs() {
    let sql =
        "select count(*) as n, min(bytes - sector) as d, max(sector) - min(bytes) as s from bios";
    let row = &ask(
        &format!("{sql} where sector > bytes and bytes > 0"),
        &[TRACE],
    )[0];
    let int = |k: &str| row[k].as_i64().expect("a number");
    assert!(int("n") > 0 && int("d") < 0, "{row}");
    // The farthest bio is as long as the shortest one there: 4 KiB.
    assert_eq!(int("d"), -int("s"), "{row}");
}

#[test]
fn queries_in_the_repository_run() {
    let dir = tempfile::tempdir().expect("a directory");
    let data = format!("{}/", dir.path().display());
    for command in ["requests", "bios"] {
        let r = run(&[
            command,
            "-q",
            "-o",
            &data,
            "--partition",
            "host,trace,dev",
            TRACE,
        ]);
        assert_eq!(r.code, Some(0), "{}", r.err);
    }
    let names = ["requests", "bios", "merges", "flushes"];
    for name in names {
        let path = format!("queries/{name}.sql");
        let rows = ask(&path, &[&data]);
        assert!(!rows.is_empty(), "{name}");
    }
    // Counted without blkan: fixtures/truth.py.
    let flush = &ask("queries/flushes.sql", &[&data])[0];
    for (k, want) in [
        ("bios", 70),
        ("steps", 70),
        ("sent", 52),
        ("requeued", 0),
        ("completed", 52),
    ] {
        assert_eq!(flush[k], want, "{k}: {flush}");
    }
    let share = ask("queries/merges.sql", &[&data])[0]["share"].as_f64();
    assert!(
        share.is_some_and(|s| (s - 0.016171909614532565).abs() < 1e-12),
        "{share:?}"
    );
    let here = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("queries"));
    assert_eq!(
        here.expect("queries/").count(),
        names.len(),
        "each is run here"
    );
}
