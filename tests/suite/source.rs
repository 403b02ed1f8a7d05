//! A small lexer for Rust source: enough to look for imports and calls without being fooled by comments and strings.

use super::support::{root, walk};
use std::path::PathBuf;

/// One source file.
pub struct Source {
    /// Relative to the root.
    pub path: PathBuf,
    pub text: String,
    /// The text with comments, strings and character literals blanked; same lines.
    pub code: String,
}

impl Source {
    /// Lines of code before a `#[cfg(test)]` module at the end of the file; none in a file of tests.
    pub fn production(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.code.lines().enumerate().map(|(i, l)| (i + 1, l));
        let of_tests = self.for_tests();
        let mut lines: Vec<_> = lines.collect();
        let end = lines
            .windows(2)
            .position(|w| w[0].1.trim() == "#[cfg(test)]" && w[1].1.contains("mod tests {"));
        lines.truncate(if of_tests {
            0
        } else {
            end.unwrap_or(lines.len())
        });
        lines.into_iter()
    }

    /// A module that only tests use, by its name.
    pub fn for_tests(&self) -> bool {
        let stem = self
            .path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let dir = self
            .path
            .parent()
            .and_then(|p| p.file_name())
            .unwrap_or_default();
        stem == "tests" || stem.ends_with("_tests") || stem == "testing" || dir == "tests"
    }

    /// The module at the top of the tree that the file belongs to (`lib` and `main` for themselves).
    pub fn module(&self) -> String {
        let below = self.path.strip_prefix("src").expect("a file of src");
        let first = below
            .components()
            .next()
            .expect("not empty")
            .as_os_str()
            .to_string_lossy()
            .into_owned();
        first.trim_end_matches(".rs").to_string()
    }
}

/// All Rust files below a directory of the repository.
pub fn sources(dir: &str) -> Vec<Source> {
    let files = walk(&root().join(dir))
        .into_iter()
        .filter(|p| p.extension().is_some_and(|e| e == "rs"));
    files
        .map(|p| {
            let text = std::fs::read_to_string(&p).expect("readable source");
            let path = p
                .strip_prefix(root())
                .expect("below the root")
                .to_path_buf();
            Source {
                path,
                code: blank(&text),
                text,
            }
        })
        .collect()
}

/// Replaces comments, strings and character literals by blanks.
pub fn blank(text: &str) -> String {
    let b: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut i = 0;
    while i < b.len() {
        let end = token(&b, i);
        if end == i {
            out.push(b[i]);
            i += 1;
        } else {
            out.extend(
                b[i..end]
                    .iter()
                    .map(|c| if *c == '\n' { '\n' } else { ' ' }),
            );
            i = end;
        }
    }
    out
}

/// The end of the comment or literal that starts at `i`; `i` if none does.
fn token(b: &[char], i: usize) -> usize {
    let at = |k: usize| b.get(k).copied().unwrap_or('\0');
    let word = i > 0 && (at(i - 1).is_alphanumeric() || at(i - 1) == '_');
    match at(i) {
        '/' if at(i + 1) == '/' => (i..b.len()).find(|k| b[*k] == '\n').unwrap_or(b.len()),
        '/' if at(i + 1) == '*' => block_comment(b, i),
        'r' if !word && (at(i + 1) == '"' || at(i + 1) == '#') => raw_string(b, i + 1).unwrap_or(i),
        'b' if !word && at(i + 1) == 'r' => raw_string(b, i + 2).unwrap_or(i),
        '"' => quoted(b, i, '"'),
        // A lifetime has no closing quote right behind its first letter.
        '\'' if at(i + 1) == '\\' || at(i + 2) == '\'' => quoted(b, i, '\''),
        _ => i,
    }
}

fn block_comment(b: &[char], i: usize) -> usize {
    let (mut depth, mut k) = (0, i);
    while k < b.len() {
        match (b[k], b.get(k + 1)) {
            ('/', Some('*')) => (depth, k) = (depth + 1, k + 2),
            ('*', Some('/')) => (depth, k) = (depth - 1, k + 2),
            _ => k += 1,
        }
        if depth == 0 {
            return k;
        }
    }
    b.len()
}

fn raw_string(b: &[char], i: usize) -> Option<usize> {
    let hashes = b[i..].iter().take_while(|c| **c == '#').count();
    if b.get(i + hashes) != Some(&'"') {
        return None;
    }
    let mut k = i + hashes + 1;
    while k < b.len() {
        if b[k] == '"'
            && b[k + 1..]
                .iter()
                .take(hashes)
                .filter(|c| **c == '#')
                .count()
                == hashes
        {
            return Some(k + 1 + hashes);
        }
        k += 1;
    }
    Some(b.len())
}

fn quoted(b: &[char], i: usize, end: char) -> usize {
    let mut k = i + 1;
    while k < b.len() && b[k] != end {
        k += if b[k] == '\\' { 2 } else { 1 };
    }
    (k + 1).min(b.len())
}

#[test]
fn comments_and_literals_are_blanked_and_lines_kept() {
    let s = "let a = \"x // }\"; // {\n/* { /* } */ */ f('{', b'\\'', 'a'); r#\"{\"}\"#; fn g<'a>(x: &'a str) {}";
    let got = blank(s);
    assert_eq!(got.lines().count(), 2);
    assert_eq!(got.matches('{').count(), 1, "{got}");
    assert!(got.contains("fn g<'a>(x: &'a str) {}"), "{got}");
}
