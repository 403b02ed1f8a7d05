//! Hand-made traces on which sector-keyed tools go wrong (`btt_says` in each origin.toml), and the true values.

use super::support::{Differences, cases, json, pick, same};
use serde_json::Value;

#[test]
fn hard_cases_have_their_true_values() {
    let mut d = Differences::default();
    let hard: Vec<_> = cases().into_iter().filter(|c| c.hard()).collect();
    assert!(hard.len() >= 25, "only {} hard cases", hard.len());
    for c in hard {
        let stats = json(&["stats"], &c.input("blkparse").expect("a text"));
        let list = c.origin["expect"].as_array().expect("[[expect]]");
        for e in list {
            let path = e["path"].as_str().expect("a path");
            let got = pick(&stats, path);
            if e.get("null").is_some() {
                d.check(got == Some(Value::Null), || {
                    format!("{}: {path} is {got:?}, should be unknown", c.name)
                });
                continue;
            }
            let ok = got.as_ref().is_some_and(|g| matches(g, &e["value"]));
            d.check(ok, || {
                format!("{}: {path} is {got:?}, truth {}", c.name, e["value"])
            });
        }
    }
    d.done();
}

/// Whether a value is the one that is known.
pub fn matches(got: &Value, want: &toml::Value) -> bool {
    match want {
        toml::Value::Integer(i) => got.as_i64() == Some(*i),
        toml::Value::Float(f) => same(got, *f),
        toml::Value::String(s) => got.as_str() == Some(s),
        _ => false,
    }
}

#[test]
fn paths_pick_by_name() {
    let v: Value = serde_json::from_str(
        r#"{"devices":[{"dev":"8,0","groups":[{"by":{"rwbs":"R"},"open":2,"lost":3}]}]}"#,
    )
    .expect("JSON");
    assert_eq!(
        pick(&v, "devices[8,0].groups[R].open"),
        Some(Value::from(2))
    );
    assert_eq!(
        pick(
            &v,
            "devices[8,0].groups[R].open + devices[8,0].groups[R].lost"
        ),
        Some(Value::from(5))
    );
    assert_eq!(pick(&v, "devices[9,0].groups[R].open"), None);
}
