//! Who may import whom, as data; and the length and manners of the source.

use super::source::{Source, sources};
use super::support::{Differences, root};

/// Module → modules it may name through `crate::`. `error`, `units` and `stats` are open to all. Another
/// test compares it with the table of docs/architecture.md.
const IMPORTS: &[(&str, &[&str])] = &[
    ("error", &[]),
    ("units", &[]),
    ("stats", &[]),
    ("event", &[]),
    ("format", &["event"]),
    ("lifecycle", &["event"]),
    ("model", &["event", "lifecycle"]),
    ("frame", &["event", "lifecycle"]),
    ("metrics", &["event", "lifecycle"]),
    ("diagnose", &["event", "lifecycle", "metrics"]),
    (
        "present",
        &["event", "lifecycle", "metrics", "diagnose", "frame"],
    ),
    (
        "commands",
        &[
            "event",
            "format",
            "lifecycle",
            "model",
            "frame",
            "metrics",
            "diagnose",
            "present",
        ],
    ),
    ("cli", &["commands"]),
    ("main", &["cli", "commands"]),
];
const OPEN: &[&str] = &["error", "units", "stats"];

/// External crate → modules that may name it.
const KEPT: &[(&str, &[&str])] = &[
    ("clap", &["cli", "main"]),
    ("clap_complete", &["cli"]),
    ("clap_mangen", &["cli"]),
    ("polars", &["frame"]),
    ("polars_arrow", &["frame"]),
    ("polars_io", &["frame"]),
    ("polars_parquet", &["frame"]),
    ("plotters", &["present"]),
];

/// The modules named through `crate::` (or, in main.rs, `blkan::`) in a line-joined piece of code.
fn named_modules(code: &str, prefix: &str) -> Vec<String> {
    let mut out = Vec::new();
    for (at, _) in code.match_indices(prefix) {
        let before = code[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
            continue;
        }
        let rest = &code[at + prefix.len()..];
        match rest.strip_prefix('{') {
            Some(group) => out.extend(group_heads(group)),
            None => out.extend(ident(rest)),
        }
    }
    out
}

fn ident(s: &str) -> Option<String> {
    let s = s.trim_start();
    let n = s
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(s.len());
    (n > 0).then(|| s[..n].to_string())
}

/// The first names of `a::{b, c}, d}`.
fn group_heads(s: &str) -> Vec<String> {
    let (mut depth, mut start, mut out) = (0, 0, Vec::new());
    for (i, c) in s.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => {
                out.extend(ident(&s[start..i]));
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                out.extend(ident(&s[start..i]));
                start = i + 1;
            }
            _ => {}
        }
    }
    out
}

fn production_code(s: &Source) -> String {
    s.production()
        .map(|(_, l)| l)
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn imports_follow_the_table() {
    let mut d = Differences::default();
    let all = sources("src");
    let modules: Vec<String> = all
        .iter()
        .map(Source::module)
        .filter(|m| m != "lib")
        .collect();
    for s in all.iter().filter(|s| s.module() != "lib") {
        let from = s.module();
        let Some((_, may)) = IMPORTS.iter().find(|(m, _)| *m == from) else {
            d.check(false, || {
                format!("{}: module {from} is not in the table", s.path.display())
            });
            continue;
        };
        let prefix = if from == "main" { "blkan::" } else { "crate::" };
        for to in named_modules(&production_code(s), prefix) {
            let ok = to == from || OPEN.contains(&to.as_str()) || may.contains(&to.as_str());
            d.check(ok || !modules.contains(&to), || {
                format!("{}: {from} imports {to}", s.path.display())
            });
        }
    }
    d.done();
}

/// The names in backquotes.
fn quoted(cell: &str) -> Vec<String> {
    let odd = cell.split('`').skip(1).step_by(2);
    odd.map(str::to_string).collect()
}

/// The rows of docs/architecture.md's table of modules: the modules of a row, and what each may import. Modules of one
/// row are told together (`cli`, `main`).
fn documented() -> Vec<(Vec<String>, Vec<String>)> {
    let page = std::fs::read_to_string(root().join("docs/architecture.md")).expect("the page");
    let rows = page
        .lines()
        .skip_while(|l| !l.contains("may import"))
        .skip(2)
        .take_while(|l| l.starts_with('|'));
    let cells: Vec<Vec<String>> = rows
        .map(|l| {
            l.trim_matches('|')
                .split(" | ")
                .map(str::to_string)
                .collect()
        })
        .collect();
    let all: Vec<String> = cells.iter().flat_map(|c| quoted(&c[0])).collect();
    cells
        .iter()
        .map(|c| {
            let (of, named) = (quoted(&c[0]), quoted(&c[2]));
            let may = match c[2].trim().starts_with("all but") {
                true => {
                    let out = |m: &&String| !named.contains(*m) && !of.contains(*m);
                    let open = |m: &&String| !OPEN.contains(&m.as_str());
                    all.iter().filter(out).filter(open).cloned().collect()
                }
                false => named,
            };
            (of, may)
        })
        .collect()
}

#[test]
fn the_page_shows_the_same_table() {
    let mut d = Differences::default();
    let rows = documented();
    let told: Vec<&String> = rows.iter().flat_map(|r| &r.0).collect();
    for (m, _) in IMPORTS {
        d.check(told.iter().any(|t| t == m), || {
            format!("docs/architecture.md does not list {m}")
        });
    }
    for (of, may) in &rows {
        for m in of {
            let Some((_, held)) = IMPORTS.iter().find(|(name, _)| name == m) else {
                d.check(false, || {
                    format!("docs/architecture.md lists {m}, the test does not")
                });
                continue;
            };
            // Modules of one row may name each other: main.rs calls cli.
            let mut held: Vec<&str> = held.to_vec();
            held.retain(|h| !of.iter().any(|o| o == h));
            let mut may: Vec<&str> = may.iter().map(String::as_str).collect();
            held.sort_unstable();
            may.sort_unstable();
            d.check(held == may, || {
                format!("{m}: the page lets it import {may:?}, the test {held:?}")
            });
        }
    }
    d.done();
}

#[test]
fn the_import_scan_sees_groups_and_inline_paths() {
    let code = "use crate::{a::{x, y}, b, c::Z};\nfn f() { crate::d::g(); other_crate::e::h(); }";
    assert_eq!(named_modules(code, "crate::"), ["a", "b", "c", "d"]);
}

#[test]
fn no_path_climbs_out_of_its_module() {
    let mut d = Differences::default();
    for s in sources("src") {
        // src/a/b.rs is module a::b: two `super` reach the crate's root, where only the table may lead.
        let depth = s.path.components().count() - 2 + usize::from(!s.path.ends_with("mod.rs"));
        for (n, line) in s.production() {
            let most = line
                .split(|c: char| !(c.is_alphanumeric() || c == ':' || c == '_'))
                .map(|w| w.matches("super::").count())
                .max();
            d.check(most.unwrap_or(0) < depth.max(1), || {
                format!("{}:{n}: leaves its module by super", s.path.display())
            });
        }
    }
    d.done();
}

#[test]
fn kept_crates_stay_where_they_belong() {
    let mut d = Differences::default();
    for s in sources("src") {
        let code = s.code.clone();
        for (name, may) in KEPT {
            let named = !named_modules(&code, &format!("{name}::")).is_empty();
            d.check(!named || may.contains(&s.module().as_str()), || {
                format!("{} names {name}", s.path.display())
            });
        }
    }
    let plotters = sources("src")
        .iter()
        .filter(|s| s.code.contains("plotters::"))
        .count();
    d.check(plotters <= 1, || format!("{plotters} files name plotters"));
    d.done();
}

#[test]
fn files_and_functions_stay_short() {
    let mut d = Differences::default();
    for s in sources("src").iter().chain(&sources("tests")) {
        let n = s.text.lines().count();
        d.check(n <= 500, || format!("{}: {n} lines", s.path.display()));
        for (name, line, len) in functions(&s.code) {
            d.check(len <= 60, || {
                format!("{}:{line}: fn {name} has {len} lines", s.path.display())
            });
        }
    }
    d.done();
}

/// Name, first line and number of lines of every function with a body.
fn functions(code: &str) -> Vec<(String, usize, usize)> {
    let mut out = Vec::new();
    for (at, _) in code.match_indices("fn ") {
        let before = code[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let (Some(name), Some(len)) = (ident(&code[at + 3..]), body_end(&code[at..])) else {
            continue;
        };
        let lines = code[at..at + len].matches('\n').count() + 1;
        out.push((name, code[..at].matches('\n').count() + 1, lines));
    }
    out
}

/// Where the body of the function that starts `s` ends; `None` if it has none.
fn body_end(s: &str) -> Option<usize> {
    let open = s.find(['{', ';'])?;
    let mut depth = 0;
    for (i, c) in s[open..].char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            // `[u8; 4]` in the signature: the body comes later.
            ';' if depth == 0
                && s[..open].matches('[').count() == s[..open].matches(']').count() =>
            {
                return None;
            }
            ';' if depth == 0 => return Some(open + i + body_end(&s[open + i + 1..])? + 1),
            _ => continue,
        }
        if depth == 0 {
            return Some(open + i + 1);
        }
    }
    None
}

#[test]
fn function_lengths_are_counted() {
    let code = "fn a() {\n x {\n }\n}\ntrait T { fn b(); }\nfn c(x: [u8; 4]) -> u8 {\n}\n";
    let got = functions(code);
    assert_eq!(got, [("a".to_string(), 1, 4), ("c".to_string(), 6, 2)]);
}

#[test]
fn nothing_panics_without_a_proof() {
    const CALLS: &[&str] = &[
        ".unwrap()",
        ".expect(",
        "panic!(",
        "unreachable!(",
        "todo!(",
        "unimplemented!(",
    ];
    let mut d = Differences::default();
    for s in sources("src") {
        let text: Vec<&str> = s.text.lines().collect();
        for (n, line) in s.production() {
            let Some(call) = CALLS.iter().find(|c| line.contains(**c)) else {
                continue;
            };
            let from = n.saturating_sub(3);
            let proof = text[from..n]
                .iter()
                .any(|l| l.split_once("//").is_some_and(|c| c.1.contains("annot")));
            d.check(proof, || {
                format!(
                    "{}:{n}: {call} without a `// cannot …` that proves it",
                    s.path.display()
                )
            });
        }
    }
    d.done();
}

#[test]
fn every_file_says_what_it_is_for() {
    let mut d = Differences::default();
    for s in sources("src").iter().chain(&sources("tests")) {
        d.check(s.for_tests() || s.text.starts_with("//!"), || {
            format!("{} has no header", s.path.display())
        });
    }
    d.done();
}

/// The quoted names behind `key` in production code, for registries whose members are data.
fn quoted_after(s: &Source, key: &str) -> Vec<String> {
    let lines: Vec<usize> = s.production().map(|(n, _)| n).collect();
    let text = s
        .text
        .lines()
        .enumerate()
        .filter(|(i, _)| lines.contains(&(i + 1)));
    text.filter_map(|(_, l)| {
        l.trim()
            .strip_prefix(key)?
            .trim()
            .strip_prefix('"')?
            .split('"')
            .next()
            .map(str::to_string)
    })
    .collect()
}

#[test]
fn every_format_has_a_page() {
    let mut names = Vec::new();
    for s in sources("src/format")
        .iter()
        .filter(|s| s.text.contains("FormatInfo {"))
    {
        names.extend(
            quoted_after(s, "name:")
                .into_iter()
                .map(|n| (s.path.clone(), n)),
        );
    }
    assert!(
        names.len() >= 3,
        "found only {names:?}: has the way formats name themselves changed?"
    );
    let mut d = Differences::default();
    for (path, n) in names {
        let page = root().join(format!("docs/formats/{n}.md"));
        d.check(page.is_file(), || {
            format!("{}: format {n} has no {}", path.display(), page.display())
        });
    }
    d.done();
}

#[test]
fn every_metric_section_has_its_part_of_the_docs() {
    let all = sources("src/metrics");
    let registry = all
        .iter()
        .find(|s| s.path.ends_with("metrics/registry.rs"))
        .expect("src/metrics/registry.rs");
    let list = registry
        .text
        .rsplit("sections! {")
        .next()
        .unwrap_or_default();
    let names: Vec<&str> = list
        .lines()
        .filter(|l| l.contains("; \"") || l.contains(", \""))
        .filter_map(|l| l.trim().split(':').next())
        .collect();
    assert!(
        names.len() >= 4,
        "found only {names:?}: has the registry's form changed?"
    );
    let docs = std::fs::read_to_string(root().join("docs/metrics.md")).expect("docs/metrics.md");
    let heads: Vec<String> = docs
        .lines()
        .filter(|l| l.starts_with('#'))
        .map(str::to_lowercase)
        .collect();
    let mut d = Differences::default();
    for n in names {
        d.check(heads.iter().any(|h| h.contains(n)), || {
            format!("docs/metrics.md has no section on {n}")
        });
    }
    d.done();
}
