//! Running the binary, finding fixtures, and picking values out of JSON by a readable path.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What a run gave.
pub struct Run {
    pub code: Option<i32>,
    pub out: Vec<u8>,
    pub err: String,
}

impl Run {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.out).into_owned()
    }
}

/// The repository.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The binary, run from the repository's root with an environment that does not change its output.
pub fn blkan() -> Command {
    let mut c = Command::new(env!("CARGO_BIN_EXE_blkan"));
    c.current_dir(root())
        .env_remove("NO_COLOR")
        .env_remove("COLUMNS")
        .stdin(Stdio::null());
    c
}

/// Runs to the end.
pub fn run<S: AsRef<std::ffi::OsStr>>(args: &[S]) -> Run {
    finish(blkan().args(args))
}

/// Runs a prepared command to the end.
pub fn finish(c: &mut Command) -> Run {
    let o = c.output().expect("the binary starts");
    Run {
        code: o.status.code(),
        out: o.stdout,
        err: String::from_utf8_lossy(&o.stderr).into_owned(),
    }
}

/// Runs `args` on one input and reads the JSON.
pub fn json(args: &[&str], input: &Path) -> Value {
    let mut all: Vec<&str> = args.to_vec();
    let path = input.to_string_lossy();
    all.extend(["-q", "--json", &path]);
    let r = run(&all);
    assert_eq!(r.code, Some(0), "{all:?}: {}", r.err);
    serde_json::from_slice(&r.out).unwrap_or_else(|e| panic!("{all:?}: no JSON: {e}"))
}

/// One `fixtures/FORMAT/CASE` directory.
pub struct Case {
    /// `blkparse/plug2k-first`.
    pub name: String,
    /// Relative to the root, so that output that names it is the same everywhere.
    pub dir: PathBuf,
    pub origin: toml::Table,
}

impl Case {
    /// Inputs as origin.toml lists them: path relative to the root, format, lines.
    pub fn inputs(&self) -> Vec<(PathBuf, String, u64)> {
        let list = self.origin["input"].as_array().expect("[[input]]");
        let of = |t: &toml::Value, k: &str| t[k].as_str().expect(k).to_string();
        list.iter()
            .map(|t| {
                (
                    self.dir.join(of(t, "file")),
                    of(t, "format"),
                    t["lines"].as_integer().expect("lines") as u64,
                )
            })
            .collect()
    }

    /// The input of a format.
    pub fn input(&self, format: &str) -> Option<PathBuf> {
        self.inputs()
            .into_iter()
            .find(|i| i.1 == format)
            .map(|i| i.0)
    }

    /// Written by hand to be difficult.
    pub fn hard(&self) -> bool {
        self.name.contains("/hard-")
    }
}

/// Every case with an origin.toml, in order of name.
pub fn cases() -> Vec<Case> {
    let mut out = Vec::new();
    for format in sorted(&root().join("fixtures")) {
        for dir in sorted(&format) {
            let file = dir.join("origin.toml");
            let Ok(text) = fs::read_to_string(&file) else {
                continue;
            };
            let rel = dir
                .strip_prefix(root())
                .expect("below the root")
                .to_path_buf();
            let name = rel
                .strip_prefix("fixtures")
                .expect("in fixtures")
                .to_string_lossy()
                .into_owned();
            let origin =
                toml::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
            out.push(Case {
                name,
                dir: rel,
                origin,
            });
        }
    }
    assert!(
        out.len() > 40,
        "only {} fixtures: a broken checkout?",
        out.len()
    );
    out
}

/// The entries of a directory, sorted; none if it is no directory.
pub fn sorted(dir: &Path) -> Vec<PathBuf> {
    let mut v: Vec<PathBuf> = fs::read_dir(dir)
        .map(|d| d.flatten().map(|e| e.path()).collect())
        .unwrap_or_default();
    v.sort();
    v
}

/// All files below a directory.
pub fn walk(dir: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    for p in sorted(dir) {
        if p.is_dir() {
            out.extend(walk(&p))
        } else {
            out.push(p)
        }
    }
    out
}

/// Picks by `devices[8,0].groups[WS].latency_ns.q2c.mean`: a list's member is named by its `dev`, `from`, `account` or
/// by the values of its `by`, else by number. `a + b` adds two integers. A missing member is `None`.
pub fn pick(v: &Value, path: &str) -> Option<Value> {
    if let Some((a, b)) = path.split_once(" + ") {
        return Some(Value::from(pick(v, a)?.as_u64()? + pick(v, b)?.as_u64()?));
    }
    let mut at = v;
    for step in path.split('.') {
        let (name, member) = match step.split_once('[') {
            Some((n, m)) => (n, m.strip_suffix(']')),
            None => (step, None),
        };
        at = at.get(name)?;
        if let Some(m) = member {
            at = at
                .as_array()?
                .iter()
                .find(|x| named(x, m))
                .or_else(|| at.get(m.parse::<usize>().ok()?))?;
        }
    }
    Some(at.clone())
}

fn named(x: &Value, name: &str) -> bool {
    let by = |k: &str| x.get(k).and_then(Value::as_str) == Some(name);
    let group = x.get("by").and_then(Value::as_object);
    by("dev")
        || by("from")
        || by("account")
        || group.is_some_and(|g| g.values().any(|v| v.as_str() == Some(name)))
}

/// Whether a JSON number is a known one: integers exactly, others within a billionth (sums are exact; a mean is one
/// division).
pub fn same(got: &Value, want: f64) -> bool {
    match got.as_f64() {
        Some(x) => (x - want).abs() <= want.abs() * 1e-9,
        None => false,
    }
}

/// Collects differences, so that a test tells all of them at once.
#[derive(Default)]
pub struct Differences(Vec<String>);

impl Differences {
    pub fn check(&mut self, ok: bool, what: impl FnOnce() -> String) {
        if !ok {
            self.0.push(what());
        }
    }

    pub fn done(self) {
        let shown = self
            .0
            .iter()
            .take(60)
            .cloned()
            .collect::<Vec<_>>()
            .join("\n");
        assert!(self.0.is_empty(), "{} differences:\n{shown}", self.0.len());
    }
}

/// The fields of a CSV line; a quoted one may hold commas and doubled quotes.
pub fn fields(line: &str) -> Vec<String> {
    let (mut out, mut field, mut quoted) = (Vec::new(), String::new(), false);
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => field.extend(chars.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => out.push(std::mem::take(&mut field)),
            c => field.push(c),
        }
    }
    out.push(field);
    out
}
