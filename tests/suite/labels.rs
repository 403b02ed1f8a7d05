//! `explain` against recordings whose cause is known because it was set up: what must be found, what must not, what must
//! come first; and how far each threshold can move before an answer changes.

use super::corpus::corpus;
use super::support::Differences;
use blkan::commands::{self, ExplainOpts, InputOpts, OutputOpts};
use blkan::diagnose::{Explanation, Levels, rules, shared, thresholds};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn explained(path: &Path, levels: Vec<Levels>) -> Vec<Explanation> {
    let o = ExplainOpts {
        input: InputOpts {
            traces: vec![path.to_path_buf()],
            threads: 1,
            ..InputOpts::default()
        },
        output: OutputOpts {
            quiet: true,
            ..OutputOpts::default()
        },
        ..ExplainOpts::default()
    };
    match commands::explained(&o, levels) {
        Ok(e) => e.explanations,
        Err(e) => panic!("{}: {e}", path.display()),
    }
}

/// Ids found on a question, the one that explains most first.
fn found(e: &Explanation, question: &str) -> Vec<String> {
    let answers = e.questions.iter();
    let of_it = answers.filter(|a| a.question.name() == question);
    of_it
        .flat_map(|a| a.findings.iter().map(|f| f.to_string()))
        .collect()
}

fn names(v: &Value, key: &str) -> Vec<String> {
    let list = v[key].as_array().cloned().unwrap_or_default();
    list.iter()
        .filter_map(|x| x.as_str().map(str::to_string))
        .collect()
}

/// What a label says that the answer does not keep.
fn broken(label: &Value, got: &[String]) -> Vec<String> {
    let mut out = Vec::new();
    if let Some(top) = label["top"].as_str()
        && got.first().map(String::as_str) != Some(top)
    {
        out.push(format!("top is not {top}"));
    }
    for must in names(label, "must") {
        if !got.contains(&must) {
            out.push(format!("{must} is missing"));
        }
    }
    for not in names(label, "absent") {
        if got.contains(&not) {
            out.push(format!("{not} was given"));
        }
    }
    let any = names(label, "any_of");
    if !any.is_empty() && !any.iter().any(|a| got.contains(a)) {
        out.push(format!("none of {any:?}"));
    }
    out
}

/// Labels by trace and question, and all recordings.
fn labelled() -> Option<(Value, BTreeMap<String, PathBuf>)> {
    let lab = corpus("lab")?;
    let text = std::fs::read_to_string(lab.join("labels.json")).expect("labels");
    let labels = serde_json::from_str(&text).expect("JSON");
    let mut traces = BTreeMap::new();
    for dir in std::fs::read_dir(&lab).expect("lab").flatten() {
        let text = dir.path().join("blkparse.txt.gz");
        if text.is_file() && dir.file_name() != "big" {
            traces.insert(dir.file_name().to_string_lossy().into_owned(), text);
        }
    }
    Some((labels, traces))
}

#[test]
fn labelled_recordings_get_their_labels() {
    let Some((labels, traces)) = labelled() else {
        return;
    };
    let mut d = Differences::default();
    let mut right: BTreeMap<String, [u32; 2]> = BTreeMap::new();
    for (name, path) in &traces {
        let e = explained(path, vec![Levels::default()]);
        let e = e.first().expect("one a level");
        for a in &e.questions {
            let question = a.question.name();
            let label = &labels[name][question];
            let got = found(e, question);
            let mark = match (label.is_object(), broken(label, &got).is_empty()) {
                (false, _) => "unlabelled",
                (true, true) => "ok",
                (true, false) => "WRONG",
            };
            println!("{name:24} {question:9} {mark:10} {}", got.join(" "));
            for wrong in broken(label, &got) {
                d.check(false, || {
                    format!("{name} {question}: {wrong}; given {got:?}")
                });
            }
            for must in names(label, "must")
                .iter()
                .chain(label["top"].as_str().map(str::to_string).iter())
            {
                right.entry(must.clone()).or_default()[usize::from(!got.contains(must))] += 1;
            }
        }
    }
    println!("\n{:24} {:>6} {:>6}", "cause", "found", "missed");
    for (id, [yes, no]) in right {
        println!("{id:24} {yes:>6} {no:>6}");
    }
    d.done();
}

/// Every threshold moved down and up.
fn moves() -> Vec<(&'static str, &'static str, f64)> {
    let each = |(id, t): (_, &blkan::diagnose::Threshold)| [0.8, 1.2].map(|f| (id, t.name, f));
    thresholds().flat_map(each).collect()
}

#[test]
fn thresholds_can_move_by_a_fifth() {
    let Some((labels, traces)) = labelled() else {
        return;
    };
    let moves = moves();
    let mut changed: Vec<Vec<String>> = vec![Vec::new(); moves.len()];
    for (name, path) in &traces {
        let Some(questions) = labels[name.as_str()].as_object() else {
            continue;
        };
        let mut levels = vec![Levels::default()];
        levels.extend(moves.iter().map(|(r, t, f)| Levels::moved(r, t, *f)));
        let all = explained(path, levels);
        let (was, moved) = all.split_first().expect("one a level");
        for (i, is) in moved.iter().enumerate() {
            for (q, label) in questions {
                let top = |e| found(e, q).first().cloned();
                if top(is) != top(was) || !broken(label, &found(is, q)).is_empty() {
                    changed[i].push(format!("{name} {q}"));
                }
            }
        }
    }
    let mut d = Differences::default();
    for ((rule, name, factor), changed) in moves.iter().zip(changed) {
        println!("{rule:22} {name:24} × {factor}: {} changed", changed.len());
        d.check(changed.is_empty(), || {
            format!("{rule} {name} × {factor}: {changed:?}")
        });
    }
    d.done();
}

#[test]
fn every_threshold_is_used_by_its_name_and_has_a_reason() {
    let mut ids = std::collections::BTreeSet::new();
    for rule in rules() {
        assert!(ids.insert(rule.id), "{} twice", rule.id);
        assert!(!rule.about.is_empty());
        for t in rule.thresholds {
            assert!(Levels::default().of(rule, t.name) == t.value);
        }
    }
    for group in shared() {
        assert!(ids.insert(group.id), "{} twice", group.id);
        for t in group.thresholds {
            assert!(Levels::default().of(group, t.name) == t.value);
        }
    }
    for (id, t) in thresholds() {
        assert!(t.reason.len() > 20, "{id} {}: why?", t.name);
    }
}

#[test]
fn every_rule_has_its_part_of_the_docs() {
    let docs = super::support::root().join("docs/diagnosis");
    let mut d = Differences::default();
    for rule in rules() {
        let name = format!("{}.md", rule.question.name());
        let page = std::fs::read_to_string(docs.join(&name)).unwrap_or_default();
        let heading = page
            .lines()
            .any(|l| l.starts_with('#') && l.contains(rule.id));
        d.check(heading, || {
            format!("docs/diagnosis/{name} has no part on {}", rule.id)
        });
    }
    d.done();
}
