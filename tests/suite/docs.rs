//! The pages say what is so: commands in them run, output in them is the output, links lead somewhere. With
//! `BLKAN_BLESS=1` shown output without `…` is written anew.

use super::golden::blessing;
use super::support::{Differences, root, walk};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn pages() -> Vec<PathBuf> {
    let mut v: Vec<PathBuf> = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"]
        .iter()
        .map(|p| root().join(p))
        .collect();
    v.extend(
        walk(&root().join("docs"))
            .into_iter()
            .filter(|p| p.extension().is_some_and(|e| e == "md")),
    );
    assert!(v.len() >= 8, "{v:?}");
    v
}

/// A command of a ```console block and the lines below it.
#[derive(Debug, PartialEq)]
struct Shown {
    command: String,
    output: String,
}

/// The commands of all ```console blocks.
fn shown(text: &str) -> Vec<Shown> {
    let mut out: Vec<Shown> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        if line.starts_with("```") {
            inside = line == "```console";
        } else if inside && let Some(c) = line.strip_prefix("$ ") {
            out.push(Shown {
                command: c.to_string(),
                output: String::new(),
            });
        } else if inside && let Some(last) = out.last_mut() {
            last.output.push_str(line);
            last.output.push('\n');
        }
    }
    out
}

/// The shell line that runs the built binary; `None` for commands that are not blkan.
fn runnable(command: &str) -> Option<String> {
    let cargo = "cargo run --release -- ";
    let lean = "cargo run --release --no-default-features --features plots -- ";
    let own = [cargo, lean]
        .iter()
        .find_map(|p| command.strip_prefix(p))
        .map(|rest| format!("blkan {rest}"));
    own.or_else(|| {
        (command.starts_with("blkan ") || command.contains("| blkan ")).then(|| command.to_string())
    })
}

fn output_of(line: &str) -> Result<String, String> {
    let bin = Path::new(env!("CARGO_BIN_EXE_blkan"))
        .parent()
        .expect("a directory");
    let path = format!(
        "{}:{}",
        bin.display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let mut c = Command::new("bash");
    c.args(["-e", "-o", "pipefail", "-c", line])
        .current_dir(root())
        .env("PATH", path)
        .stdin(Stdio::null());
    let o = c.output().map_err(|e| e.to_string())?;
    match o.status.success() {
        true => Ok(String::from_utf8_lossy(&o.stdout).into_owned()),
        false => Err(format!(
            "{:?} {}",
            o.status.code(),
            String::from_utf8_lossy(&o.stderr)
        )),
    }
}

/// Whether `got` is `want`, where a line `…` stands for any lines.
fn matches(want: &str, got: &str) -> bool {
    let parts: Vec<&str> = want.split("…\n").collect();
    let (Some(first), Some(last)) = (parts.first(), parts.last()) else {
        return false;
    };
    if parts.len() == 1 {
        return want == got;
    }
    let Some(mut rest) = got.strip_prefix(first) else {
        return false;
    };
    for p in &parts[1..parts.len() - 1] {
        match rest.find(p) {
            Some(i) => rest = &rest[i + p.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[test]
fn commands_in_the_pages_give_what_the_pages_show() {
    let bless = blessing();
    let mut d = Differences::default();
    let mut ran = 0;
    for page in pages() {
        let text = fs::read_to_string(&page).expect("a page");
        for s in shown(&text) {
            let Some(line) = runnable(&s.command) else {
                continue;
            };
            ran += 1;
            match output_of(&line) {
                Err(e) => d.check(false, || {
                    format!("{}: $ {}: {e}", page.display(), s.command)
                }),
                Ok(got) if bless && !s.output.is_empty() && !s.output.contains("…\n") => {
                    rewrite(&page, &s, &got)
                }
                Ok(got) => d.check(s.output.is_empty() || matches(&s.output, &got), || {
                    format!(
                        "{}: $ {}\nshown:\n{}\nprinted:\n{got}",
                        page.display(),
                        s.command,
                        s.output
                    )
                }),
            }
        }
    }
    assert!(ran >= 3, "only {ran} commands found");
    d.done();
}

/// Puts what a command printed below it.
fn rewrite(page: &Path, s: &Shown, got: &str) {
    let text = fs::read_to_string(page).expect("a page");
    let old = format!("$ {}\n{}", s.command, s.output);
    let new = format!("$ {}\n{got}", s.command);
    fs::write(page, text.replacen(&old, &new, 1)).expect("a writable checkout");
}

#[test]
fn console_blocks_are_read() {
    let text = "x\n```console\n$ blkan a\nout\n\nmore\n$ blkan b\n```\n```sh\n$ no\n```\n";
    let s = shown(text);
    assert_eq!(s.len(), 2);
    assert_eq!(
        (s[0].command.as_str(), s[0].output.as_str()),
        ("blkan a", "out\n\nmore\n")
    );
    assert!(
        matches("a\n…\nz\n", "a\nb\nc\nz\n")
            && !matches("a\n…\nz\n", "a\nb\n")
            && !matches("a\n", "a\nb\n")
    );
}

/// Targets of `[text](target)` outside code.
fn links(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        if line.starts_with("```") {
            inside = !inside;
        }
        if inside {
            continue;
        }
        for (i, _) in line.match_indices("](") {
            out.extend(line[i + 2..].split(')').next().map(str::to_string));
        }
    }
    out
}

/// The anchor of a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    kept.chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

#[test]
fn links_lead_somewhere() {
    let mut d = Differences::default();
    let mut n = 0;
    for page in pages() {
        let text = fs::read_to_string(&page).expect("a page");
        for link in links(&text).into_iter().filter(|l| !l.contains("://")) {
            n += 1;
            let (file, part) = link.split_once('#').unwrap_or((&link, ""));
            let target = if file.is_empty() {
                page.clone()
            } else {
                page.parent().expect("a directory").join(file)
            };
            d.check(target.exists(), || {
                format!("{}: {link} does not exist", page.display())
            });
            if !part.is_empty() {
                let heads = fs::read_to_string(&target).unwrap_or_default();
                let there = heads
                    .lines()
                    .any(|l| l.starts_with('#') && anchor(l.trim_start_matches('#')) == part);
                d.check(there, || {
                    format!("{}: {link}: no such heading", page.display())
                });
            }
        }
    }
    assert!(n > 10, "only {n} links");
    d.done();
}

#[test]
fn every_page_can_be_reached() {
    let mut seen = vec![root().join("README.md")];
    let mut i = 0;
    while i < seen.len() {
        let page = seen[i].clone();
        i += 1;
        for link in links(&fs::read_to_string(&page).unwrap_or_default()) {
            let target = page
                .parent()
                .expect("a directory")
                .join(link.split('#').next().unwrap_or_default());
            let Ok(target) = target.canonicalize() else {
                continue;
            };
            if target.extension().is_some_and(|e| e == "md")
                && !seen
                    .iter()
                    .any(|s| s.canonicalize().is_ok_and(|s| s == target))
            {
                seen.push(target);
            }
        }
    }
    let mut d = Differences::default();
    for p in pages() {
        let there = seen
            .iter()
            .any(|s| s.canonicalize().ok() == p.canonicalize().ok());
        d.check(there, || format!("{} is linked from nowhere", p.display()));
    }
    d.done();
}

#[test]
fn every_crate_is_accounted_for() {
    let manifest: toml::Table =
        toml::from_str(&fs::read_to_string(root().join("Cargo.toml")).expect("Cargo.toml"))
            .expect("TOML");
    let page =
        fs::read_to_string(root().join("docs/dependencies.md")).expect("docs/dependencies.md");
    let mut d = Differences::default();
    for table in ["dependencies", "dev-dependencies"] {
        for name in manifest[table].as_table().expect("a table").keys() {
            d.check(page.contains(&format!("| `{name}` |")), || {
                format!("docs/dependencies.md says nothing of {name}")
            });
        }
    }
    let named = page
        .lines()
        .filter_map(|l| l.strip_prefix("| `")?.split('`').next());
    for name in named {
        let there = ["dependencies", "dev-dependencies"]
            .iter()
            .any(|t| manifest[*t].get(name).is_some());
        d.check(there, || {
            format!("docs/dependencies.md names {name}, which is not in Cargo.toml")
        });
    }
    d.done();
}
