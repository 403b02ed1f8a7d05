//! Every recording of the lab replayed under its own policy: whether `replay` finds that policy, and how near it then comes.
//! Printed as a table of docs/model.md (`cargo test --release self_replay -- --nocapture`; with `BLKAN_BLESS=1` it is written
//! there).

use super::corpus::lab;
use super::predictions::{Numbers, bar, main_disk, place, placed};
use super::self_reasons::{CLASSES, REASONS};
use super::support::{finish, json};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Mutex;

/// What is compared: its name, the head of its column, and how it is shown.
type Column = (&'static str, &'static str, fn(f64) -> String);

const COLUMNS: &[Column] = &[
    ("requests_per_bio", "requests a bio", thousandths),
    ("merged_per_bio", "merges a bio", thousandths),
    ("issue_bytes", "issue, KiB", |v| {
        format!("{:.2}", v / 1024.0)
    }),
    ("issues_per_rq", "issues a request", thousandths),
    ("flushes_per_step", "flushes a step", thousandths),
    ("issues_per_flush", "issues a flush", thousandths),
    ("d2c_ns", "D2C, ms", milliseconds),
    ("q2c_ns", "Q2C, ms", milliseconds),
    ("run_ns", "run, s", |v| format!("{:.3}", v / 1e9)),
];

fn thousandths(v: f64) -> String {
    format!("{v:.3}")
}

fn milliseconds(v: f64) -> String {
    format!("{:.3}", v / 1e6)
}

/// Part of a policy → its value.
type Parts = BTreeMap<&'static str, String>;

/// The policy that the recorder set, as far as it bears on the recorded devices: an exclusion of flushes needs a disk
/// behind libata (the SCSI disks of the lab are, but for those that scsi_debug makes), zone rules need zones.
fn set_by_the_recorder(facts: &Value) -> Parts {
    let of = |k: &str| {
        facts["policies"][k]
            .as_str()
            .unwrap_or_default()
            .to_string()
    };
    let devices = || facts["devices"].as_object().into_iter().flatten();
    let attribute = |k: &str| devices().find_map(|(_, d)| d[k].as_str().map(str::to_string));
    let libata =
        facts["scenario"] != "scsidbg" && devices().any(|(name, _)| name.starts_with("sd"));
    let zones = attribute("zoned").is_some_and(|z| z != "none");
    let off = || "off".to_string();
    let mut out = Parts::from([
        ("plug", of("plug")),
        ("flush", of("flush")),
        ("dm_flush", of("dm_flush")),
        ("ata", if libata { of("ata") } else { off() }),
        ("zoned", if zones { of("zoned") } else { off() }),
    ]);
    if let Some(n) = attribute("nomerges") {
        out.insert("nomerges", n);
    }
    // `none [mq-deadline] kyber`: the one in brackets.
    let sched = attribute("sched");
    let chosen = sched
        .as_deref()
        .and_then(|s| s.split_once('[')?.1.split_once(']'));
    if let Some((name, _)) = chosen {
        out.insert("sched", name.to_string());
    }
    if facts["args"] == "mqd" {
        // Set for the run alone; the attributes were read before.
        out.insert("sched", "mq-deadline".to_string());
    }
    out
}

/// The values that `replay` found for the same parts.
fn found(policy: &Value, recorded: &Parts) -> Parts {
    let text = |v: &Value| v.as_str().map_or_else(|| v.to_string(), str::to_string);
    recorded.keys().map(|k| (*k, text(&policy[*k]))).collect()
}

/// The simulated events under a policy of which these parts are told.
fn events(trace: &Path, dir: &Path, parts: &Parts) -> Vec<u8> {
    let told: Vec<String> = parts.iter().map(|(k, v)| format!("{k}={v}")).collect();
    let out = dir.join("events");
    let mut c = super::support::blkan();
    c.args(["replay", "-q", "--recorded", &told.join(","), "--trace-out"]);
    let r = finish(c.arg(&out).arg(trace));
    assert_eq!(r.code, Some(0), "{}: {}", trace.display(), r.err);
    fs::read(&out).expect("the simulated events")
}

/// What was found, against what was set: `=`, `same events` where the two cannot be told apart in this trace, else the
/// parts that differ in their events.
fn verdict(trace: &Path, set: &Parts, got: &Parts) -> String {
    if set == got {
        return "=".to_string();
    }
    let dir = tempfile::tempdir().expect("a directory");
    let own = events(trace, dir.path(), got);
    if own == events(trace, dir.path(), set) {
        return "same events".to_string();
    }
    let wrong = set.iter().filter(|(k, v)| got.get(*k) != Some(*v));
    let matters = |(k, v): &(&&'static str, &String)| {
        let mut one = got.clone();
        one.insert(k, v.to_string());
        own != events(trace, dir.path(), &one)
    };
    let named: Vec<String> = wrong
        .filter(matters)
        .map(|(k, _)| format!("{k} {}", got[k]))
        .collect();
    format!("**wrong**: {}", named.join(", "))
}

/// One recording.
struct Row {
    name: String,
    set: Parts,
    verdict: String,
    recorded: Numbers,
    replayed: Numbers,
    /// Merges in plugs, recorded and replayed: of the recordings that are about them, these must be equal.
    plug_merges: Option<(u64, u64)>,
}

fn plug_merges(part: &Value) -> u64 {
    let of = |d: &Value| d["merge"]["by"]["plug"].as_u64().unwrap_or(0);
    part["devices"]
        .as_array()
        .into_iter()
        .flatten()
        .map(of)
        .sum()
}

impl Row {
    fn of(name: &str, trace: &Path, facts: &Value) -> Row {
        let r = json(&["replay"], trace);
        let set = set_by_the_recorder(facts);
        let got = found(&r["self"]["policy"], &set);
        let of_plugs = name.contains("plug2k");
        Row {
            verdict: verdict(trace, &set, &got),
            set,
            recorded: main_disk(&r["recorded"]["key"]),
            replayed: main_disk(&r["self"]["key"]),
            plug_merges: of_plugs.then(|| (plug_merges(&r["recorded"]), plug_merges(&r["self"]))),
            name: name.to_string(),
        }
    }

    /// Recorded and replayed value of a column; `None` where the recording has none of it.
    fn values(&self, what: &str) -> Option<(f64, f64)> {
        let of = |n: &Numbers| n.get(what).copied();
        of(&self.recorded).map(|rec| (rec, of(&self.replayed).unwrap_or(f64::INFINITY)))
    }

    fn met(&self, what: &str) -> Option<bool> {
        let (rec, sim) = self.values(what)?;
        Some(match rec {
            0.0 => sim <= 0.01,
            _ => (sim / rec - 1.0).abs() <= bar(what, &self.recorded),
        })
    }

    fn wrong(&self) -> bool {
        self.verdict.starts_with("**wrong**")
    }

    /// Whether the row needs a reason: a number beyond its bar, a wrong policy, or plug merges that are not the same.
    fn misses(&self) -> bool {
        let numbers = COLUMNS
            .iter()
            .any(|(what, ..)| self.met(what) == Some(false));
        numbers || self.wrong() || self.plug_merges.is_some_and(|(a, b)| a != b)
    }

    fn line(&self, why: &str) -> String {
        let cell = |(what, _, show): &Column| match self.values(what) {
            None => "–".to_string(),
            Some((rec, sim)) => {
                let missed = if self.met(what) == Some(false) {
                    " **!**"
                } else {
                    ""
                };
                format!("{} / {}{missed}", show(sim), show(rec))
            }
        };
        let mut cells: Vec<String> = COLUMNS.iter().map(cell).collect();
        if let Some((rec, sim)) = self.plug_merges {
            cells[1].push_str(&format!(" ({sim} / {rec} in plugs)"));
        }
        let set = |k: &str| self.set.get(k).map_or("", String::as_str);
        let mut policy = vec![set("plug").to_string()];
        let special = [
            ("sched", "none"),
            ("flush", "head"),
            ("ata", "off"),
            ("dm_flush", "per-device"),
            ("zoned", "off"),
            ("nomerges", "0"),
        ];
        for (k, usual) in special {
            if self.set.contains_key(k) && set(k) != usual {
                policy.push(format!("{k} {}", set(k)));
            }
        }
        format!(
            "| {} | {} | {} | {} | {why} |",
            self.name,
            policy.join(", "),
            self.verdict,
            cells.join(" | ")
        )
    }
}

/// Every recording, on all CPUs.
fn rows() -> Vec<Row> {
    let todo = Mutex::new(lab());
    let done = Mutex::new(Vec::new());
    let work = || {
        loop {
            let next = todo.lock().expect("no thread panics with it").pop();
            let Some((name, trace, facts)) = next else {
                return;
            };
            let row = Row::of(&name, &trace, &facts);
            done.lock().expect("no thread panics with it").push(row);
        }
    };
    std::thread::scope(|s| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            s.spawn(work);
        }
    });
    let mut out = done.into_inner().expect("no thread panics with it");
    out.sort_by(|a, b| a.name.cmp(&b.name));
    out
}

/// The reasons of a recording.
fn reasons(name: &str) -> Vec<&'static str> {
    REASONS
        .iter()
        .filter(|(n, _)| *n == name)
        .flat_map(|(_, c)| c.iter().copied())
        .collect()
}

/// Rows that miss something and no reason is known, reasons of rows that miss nothing, classes that are not explained.
fn unexplained(all: &[Row]) -> Vec<String> {
    let mut out = Vec::new();
    for r in all {
        match (r.misses(), reasons(&r.name).is_empty()) {
            (true, true) => out.push(format!("misses, and no reason is told: {}", r.line(""))),
            (false, false) => out.push(format!(
                "misses nothing: its reasons {:?} are out of date: {}",
                reasons(&r.name),
                r.name
            )),
            _ => {}
        }
    }
    for (name, classes) in REASONS {
        if !all.iter().any(|r| r.name == *name) {
            out.push(format!("no recording {name}"));
        }
        for c in classes
            .iter()
            .filter(|c| !CLASSES.iter().any(|(k, _)| k == *c))
        {
            out.push(format!("{name}: reason '{c}' is explained nowhere"));
        }
    }
    out
}

fn table(all: &[Row]) -> String {
    let heads: Vec<&str> = COLUMNS.iter().map(|c| c.1).collect();
    let mut out = format!(
        "| recording | recorded policy | found | {} | why |\n|{}\n",
        heads.join(" | "),
        "---|".repeat(heads.len() + 4)
    );
    for r in all {
        out.push_str(&r.line(&reasons(&r.name).join(", ")));
        out.push('\n');
    }
    out.push('\n');
    for (class, text) in CLASSES {
        out.push_str(&format!("- **{class}**: {text}\n"));
    }
    out.trim_end().to_string()
}

#[test]
fn self_replay_of_every_recording_of_the_lab() {
    let all = rows();
    if all.is_empty() {
        return;
    }
    let numbers: Vec<bool> = all
        .iter()
        .flat_map(|r| COLUMNS.iter().filter_map(|(w, ..)| r.met(w)))
        .collect();
    let met = numbers.iter().filter(|m| **m).count();
    let whole = all.iter().filter(|r| !r.misses()).count();
    let count = |v: &str| all.iter().filter(|r| r.verdict == v).count();
    let wrong: Vec<&str> = all
        .iter()
        .filter(|r| r.wrong())
        .map(|r| r.name.as_str())
        .collect();
    let sums = format!(
        "{met} of {} numbers of {} recordings within their bar ({:.0} %); {whole} recordings within all of them. The policy found is the recorded one \
         in {}, one of the very same events in {}, another in {}.",
        numbers.len(),
        all.len(),
        met as f64 * 100.0 / numbers.len() as f64,
        count("="),
        count("same events"),
        wrong.len()
    );
    let text = format!("{sums}\n\n{}", table(&all));
    println!("{text}");
    place("self-replay", &text);
    let stored = placed("self-replay");
    // What it reaches today, less a little.
    assert!(met * 100 >= numbers.len() * MET, "{sums}");
    assert!(wrong.len() <= WRONG, "{sums}: {wrong:?}");
    let bad = unexplained(&all);
    assert!(bad.is_empty(), "{}", bad.join("\n"));
    assert!(
        stored.trim() == text,
        "the table of docs/model.md is not what the runs give: BLKAN_BLESS=1 writes it"
    );
}

/// Numbers within their bars, in percent.
const MET: usize = 84;
/// Recordings whose policy is taken for another.
const WRONG: usize = 12;
