//! Whether a trace of one side is a trace of the other: then nothing that is found can be a difference.

use crate::metrics::compare::Run;
use crate::metrics::compare::report::Same;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

/// Runs of A that are runs of B.
pub(super) fn same_traces(a: &[Run], b: &[Run]) -> Vec<Same> {
    let paths = |r: &Run| -> Vec<String> { r.inputs.iter().map(|i| i.path.clone()).collect() };
    let all_b: Vec<Vec<String>> = b.iter().map(paths).collect();
    let mut out = Vec::new();
    for (i, x) in a.iter().map(paths).enumerate() {
        for (j, y) in all_b.iter().enumerate() {
            let Some(what) = same(&x, y) else { continue };
            let how = match what {
                Likeness::Path => "the same path",
                Likeness::File => "two names of one file",
                Likeness::Bytes => "two files with the same bytes",
            };
            let who = match (a.len(), b.len()) {
                (1, 1) => "A and B are".to_string(),
                _ => format!("Run {} of A and run {} of B are", i + 1, j + 1),
            };
            out.push(Same {
                what: what.name(),
                a: i + 1,
                b: j + 1,
                text: format!("{who} the same trace ({how}): between these nothing can differ."),
            });
        }
    }
    out
}

/// The more telling last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Likeness {
    Path,
    File,
    Bytes,
}

impl Likeness {
    fn name(self) -> &'static str {
        match self {
            Likeness::Path => "path",
            Likeness::File => "file",
            Likeness::Bytes => "bytes",
        }
    }
}

/// Traces of several files are the same if all of them are; the weakest likeness counts.
fn same(a: &[String], b: &[String]) -> Option<Likeness> {
    if a.is_empty() || a.len() != b.len() {
        return None;
    }
    let each: Option<Vec<Likeness>> = a.iter().zip(b).map(|(x, y)| alike(x, y)).collect();
    each?.into_iter().max()
}

fn alike(a: &str, b: &str) -> Option<Likeness> {
    let (x, y) = (fs::metadata(a).ok()?, fs::metadata(b).ok()?);
    // A pipe is read once: what comes out of it twice is not the same.
    if !x.is_file() || !y.is_file() {
        return None;
    }
    if a == b {
        return Some(Likeness::Path);
    }
    if one_file(a, b) || one_inode(&x, &y) {
        return Some(Likeness::File);
    }
    (x.len() == y.len() && equal(Path::new(a), Path::new(b))).then_some(Likeness::Bytes)
}

fn one_file(a: &str, b: &str) -> bool {
    matches!((fs::canonicalize(a), fs::canonicalize(b)), (Ok(x), Ok(y)) if x == y)
}

#[cfg(unix)]
fn one_inode(a: &fs::Metadata, b: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    a.dev() == b.dev() && a.ino() == b.ino()
}

#[cfg(not(unix))]
fn one_inode(_: &fs::Metadata, _: &fs::Metadata) -> bool {
    false
}

/// Whether two files of one length hold the same; what cannot be read is not the same.
fn equal(a: &Path, b: &Path) -> bool {
    let (Ok(mut a), Ok(mut b)) = (File::open(a), File::open(b)) else {
        return false;
    };
    const PART: u64 = 1 << 16;
    let (mut x, mut y) = (Vec::new(), Vec::new());
    loop {
        x.clear();
        y.clear();
        let read = |f: &mut File, to: &mut Vec<u8>| f.take(PART).read_to_end(to).is_ok();
        if !read(&mut a, &mut x) || !read(&mut b, &mut y) || x != y {
            return false;
        }
        if x.is_empty() {
            return true;
        }
    }
}
