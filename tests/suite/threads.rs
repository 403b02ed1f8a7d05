//! The figures that the threads told, beside those of the made workloads that stand for their loads: the table of
//! docs/model.md (with `BLKAN_BLESS=1` it is written there, else it must be up to date).

use super::predictions::{place, placed};
use super::support::run;
use serde_json::Value;
use std::collections::BTreeMap;

/// Every answer that is read, by its command.
struct Answers(BTreeMap<&'static str, Value>);

/// Commands of the table, without `blkan replay --workload`.
const PLUG_CUT: &str = "plug2k --plug-limit 31 --plug oldest";
const PLUGS: &str = "plug2k --plug oldest,newest-of-queue";
const SCAN: &str = "reader --plug scan,none";
const DEPTH1: &str = "zoned:depth=1,think_us=54 --zoned plug";
const PIPELINE: &str = "zoned:depth=64,think_us=65 --zoned pipeline";
const ZONE_PLUG_4K: &str = "zoned:depth=64,think_us=65 --zoned plug --max-sectors 4";
const ZONE_PLUG: &str = "zoned:depth=64,think_us=65 --zoned plug";
const RAW: &str = "block004 --device hdd:write_us=5900,flush_us=1200 --flush head,tail";
const DM: &str = "block004:lines=2 --device hdd:write_us=5900,flush_us=1200 --flush head,tail";

impl Answers {
    fn of(&mut self, command: &'static str) -> &Value {
        self.0.entry(command).or_insert_with(|| {
            let mut args = vec!["replay", "-q", "--json", "--workload"];
            args.extend(command.split(' '));
            let r = run(&args);
            assert_eq!(r.code, Some(0), "{command}: {}", r.err);
            serde_json::from_slice(&r.out).expect("JSON")
        })
    }

    /// A number of the disk of a row of a command.
    fn get(&mut self, command: &'static str, row: usize, what: &str) -> f64 {
        let run = &self.of(command)["runs"][row];
        if what == "tests" {
            return run["tests_per_bio"].as_f64().expect("tests");
        }
        let keys = run["key"].as_array().expect("numbers");
        let disk = keys
            .iter()
            .map(|k| &k["numbers"])
            .find(|n| n.get("requests").is_some());
        disk.and_then(|n| n[what].as_f64())
            .unwrap_or_else(|| panic!("{command}: no {what}"))
    }
}

/// `16320` → `16,320`.
fn whole(v: f64) -> String {
    let digits = format!("{v:.0}");
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// A line: thread, number, the thread's own, ours, command.
type Line = [String; 5];

fn line(thread: &str, number: &str, told: &str, ours: String, command: &str) -> Line {
    let command = match command.contains("--") {
        true => format!("`{command}`"),
        false => command.to_string(),
    };
    [thread.into(), number.into(), told.into(), ours, command]
}

fn plug_order(a: &mut Answers) -> Vec<Line> {
    let kib = |v: f64| format!("{:.2} KiB", v / 1024.0);
    let gain = a.get(PLUGS, 1, "bytes_per_s") / a.get(PLUGS, 0, "bytes_per_s");
    vec![
        line(
            "plug order, 2025",
            "mean write, oldest checked",
            "\"2 KiB\" (2.064 KiB)",
            kib(a.get(PLUG_CUT, 0, "issue_bytes")),
            PLUG_CUT,
        ),
        line(
            "",
            "mean write, newest checked",
            "\"4 KiB\"",
            kib(a.get(PLUGS, 1, "issue_bytes")),
            PLUGS,
        ),
        line(
            "",
            "bandwidth, newest ÷ oldest, at 180 K IOPS",
            "+82 %",
            format!("{:+.0} %", (gain - 1.0) * 100.0),
            PLUGS,
        ),
        line(
            "",
            "merges a bio, oldest, plug emptied every 31",
            "0.031",
            format!("{:.3}", a.get(PLUG_CUT, 0, "merged_per_bio")),
            PLUG_CUT,
        ),
        line(
            "",
            "merges a bio, newest",
            "0.500",
            format!("{:.3}", a.get(PLUGS, 1, "merged_per_bio")),
            PLUGS,
        ),
        line(
            "scan, 2021",
            "candidates tested a bio, scan",
            "not told",
            format!("{:.1}", a.get(SCAN, 0, "tests")),
            SCAN,
        ),
        line(
            "",
            "candidates tested a bio, none",
            "0",
            format!("{:.0}", a.get(SCAN, 1, "tests")),
            SCAN,
        ),
    ]
}

fn zones(a: &mut Answers) -> Vec<Line> {
    let k = |v: f64| format!("{:.1} K", v / 1000.0);
    let (one, many) = (
        a.get(DEPTH1, 0, "bios_per_s"),
        a.get(PIPELINE, 0, "bios_per_s"),
    );
    vec![
        line(
            "zones, 2025",
            "IOPS, depth 1, 54 µs of the task's own",
            "6,503",
            whole(one),
            DEPTH1,
        ),
        line(
            "",
            "IOPS, depth 64, pipelined, 65 µs of the task's own",
            "15.3 K",
            k(many),
            PIPELINE,
        ),
        line(
            "",
            "pipelined ÷ depth 1",
            "2.35",
            format!("{:.2}", many / one),
            "both",
        ),
        line(
            "",
            "the same with the write plug, requests of 4 KiB at most",
            "not told",
            k(a.get(ZONE_PLUG_4K, 0, "bios_per_s")),
            ZONE_PLUG_4K,
        ),
        line(
            "",
            "the same with the write plug, merging",
            "not told",
            k(a.get(ZONE_PLUG, 0, "bios_per_s")),
            ZONE_PLUG,
        ),
    ]
}

fn flush_order(a: &mut Answers) -> Vec<Line> {
    let bios = |a: &mut Answers| (a.get(RAW, 0, "flush_bios"), a.get(DM, 0, "flush_bios"));
    let (raw, dm) = bios(a);
    let slower = a.get(RAW, 1, "run_ns") / a.get(RAW, 0, "run_ns");
    let per_write = |a: &mut Answers, row| format!("{:.3}", a.get(DM, row, "issues_per_rq"));
    let sent = |a: &mut Answers, row| {
        whole(a.get(DM, row, "flushes") * a.get(DM, row, "issues_per_flush"))
    };
    let seconds = |a: &mut Answers, row| format!("{:.0} s", a.get(DM, row, "run_ns") / 1e9);
    vec![
        line(
            "flush order, 2020",
            "flush bios on the disk, raw and dm with 2 lines",
            "16,320 and 32,640",
            format!("{} and {}", whole(raw), whole(dm)),
            "the two below",
        ),
        line(
            "",
            "run time, raw, tail ÷ head",
            "1.15",
            format!("{slower:.2}"),
            RAW,
        ),
        line(
            "",
            "issues a write, raw, tail",
            "not told",
            format!("{:.2}", a.get(RAW, 1, "issues_per_rq")),
            RAW,
        ),
        line(
            "",
            "issues a write, dm, tail and head",
            "1.978 and 1.466",
            format!("{} and {}", per_write(a, 1), per_write(a, 0)),
            DM,
        ),
        line(
            "",
            "device flushes issued, dm, tail → head",
            "32,101 → 7,593",
            format!("{} → {}", sent(a, 1), sent(a, 0)),
            DM,
        ),
        line(
            "",
            "run time, dm, tail : head",
            "300 s : 130 s",
            format!("{} : {}", seconds(a, 1), seconds(a, 0)),
            DM,
        ),
    ]
}

#[test]
fn the_threads_own_figures_stand_beside_the_models() {
    let mut a = Answers(BTreeMap::new());
    let mut lines = plug_order(&mut a);
    lines.extend(zones(&mut a));
    lines.extend(flush_order(&mut a));
    let rows: Vec<String> = lines
        .iter()
        .map(|l| format!("| {} |", l.join(" | ")))
        .collect();
    let text = format!(
        "| thread | number | thread | model | command (`blkan replay --workload …`) |\n|---|---|---|---|---|\n{}",
        rows.join("\n")
    );
    place("threads", &text);
    assert_eq!(
        placed("threads").trim(),
        text,
        "the table of docs/model.md is not what the runs give: BLKAN_BLESS=1 writes it"
    );
    // What is said to fit does: within the 15 % of ratios of two policies, counts exactly, sizes within 1 %.
    let near = |v: f64, told: f64, by: f64| {
        assert!((v / told - 1.0).abs() <= by, "{v}, the thread has {told}")
    };
    near(a.get(PLUG_CUT, 0, "issue_bytes"), 2.064 * 1024.0, 0.01);
    near(a.get(PLUGS, 1, "issue_bytes"), 4096.0, 0.01);
    near(
        a.get(PLUGS, 1, "bytes_per_s") / a.get(PLUGS, 0, "bytes_per_s"),
        1.82,
        0.15,
    );
    near(a.get(PLUGS, 1, "merged_per_bio"), 0.5, 0.01);
    near(
        a.get(PIPELINE, 0, "bios_per_s") / a.get(DEPTH1, 0, "bios_per_s"),
        2.35,
        0.15,
    );
    near(
        a.get(RAW, 1, "run_ns") / a.get(RAW, 0, "run_ns"),
        1.15,
        0.15,
    );
    assert_eq!(
        (a.get(RAW, 0, "flush_bios"), a.get(DM, 0, "flush_bios")),
        (16320.0, 32640.0)
    );
}
