//! From what the user names to files: a directory or a base name stands for the per-CPU files that blktrace wrote
//! (`DEVICE.blktrace.CPU`, compressed or not).
//!
//! Knows nothing of what is in them.

use crate::error::{Error, Kind, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What the name of a per-CPU file says.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Part {
    /// The device as blktrace names it (`/` replaced by `_`).
    pub(super) device: String,
    /// The CPU.
    pub(super) cpu: u32,
}

/// A file to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) path: PathBuf,
    pub(super) part: Option<Part>,
    /// Remarks on the choice of files.
    pub(super) notes: Vec<String>,
}

/// What stands between the device and the CPU in a file's name.
const MARK: &str = ".blktrace.";
/// Suffixes that may follow the CPU.
const PACKED: [&str; 4] = [".gz", ".zst", ".xz", ".bz2"];

/// Device and CPU by a file's name.
fn part(path: &Path) -> Option<Part> {
    let name = path.file_name()?.to_str()?;
    let bare = PACKED
        .iter()
        .find_map(|p| name.strip_suffix(p))
        .unwrap_or(name);
    let (device, cpu) = bare.rsplit_once(MARK)?;
    let digits = !cpu.is_empty() && cpu.bytes().all(|b| b.is_ascii_digit());
    (digits && !device.is_empty()).then_some(())?;
    Some(Part {
        device: device.to_string(),
        cpu: cpu.parse().ok()?,
    })
}

/// The files that `paths` stand for, each once and in order: what progress is measured by.
///
/// # Errors
/// A directory without per-CPU files, or one that cannot be read.
pub fn expanded(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    Ok(expand(paths)?.into_iter().map(|n| n.path).collect())
}

/// The files that `paths` stand for, with remarks on those that seem to be missing.
///
/// # Errors
/// A directory without per-CPU files, or one that cannot be read.
pub(super) fn expand(paths: &[PathBuf]) -> Result<Vec<Named>> {
    let mut out: Vec<Named> = Vec::new();
    for path in paths {
        for named in one(path)? {
            if named.part.is_none() || out.iter().all(|n| n.path != named.path) {
                out.push(named);
            }
        }
    }
    remark(&mut out);
    Ok(out)
}

fn one(path: &Path) -> Result<Vec<Named>> {
    let alone = || Named {
        path: path.to_path_buf(),
        part: part(path),
        notes: Vec::new(),
    };
    if path == Path::new("-") {
        return Ok(vec![alone()]);
    }
    if path.is_dir() {
        let all = parts_in(path)?;
        if all.is_empty() {
            return Err(Error::new(
                Kind::Io,
                "is a directory without per-CPU files of blktrace, expected a trace file",
            )
            .path(path)
            .hint("name the files in it; several files are read as one trace"));
        }
        return Ok(all);
    }
    // Whatever is wrong with a path that exists is told when it is opened.
    if std::fs::symlink_metadata(path).is_ok() {
        return Ok(vec![alone()]);
    }
    let found = by_base_name(path).unwrap_or_default();
    Ok(if found.is_empty() {
        vec![alone()]
    } else {
        found
    })
}

/// The per-CPU files of the device `path` names, as `blkparse -i` takes it.
fn by_base_name(path: &Path) -> Option<Vec<Named>> {
    let name = path.file_name()?.to_str()?;
    let device = name.strip_suffix(".blktrace").unwrap_or(name);
    let dir = match path.parent() {
        Some(p) if p != Path::new("") => p,
        _ => Path::new("."),
    };
    let of_device = |n: &Named| n.part.as_ref().is_some_and(|p| p.device == device);
    let mut all: Vec<Named> = parts_in(dir).ok()?.into_iter().filter(of_device).collect();
    if path.parent() == Some(Path::new("")) {
        for n in &mut all {
            n.path = n
                .path
                .strip_prefix(dir)
                .map_or(n.path.clone(), Path::to_path_buf);
        }
    }
    Some(all)
}

/// All per-CPU files in a directory, by device and CPU. Of a file and its compressed copy the file.
fn parts_in(dir: &Path) -> Result<Vec<Named>> {
    let fail = |e| {
        Error::io(Some(dir), "cannot read the directory", e)
            .hint("you may not list it, or it is gone; name the files in it")
    };
    let mut found: BTreeMap<Part, PathBuf> = BTreeMap::new();
    for entry in std::fs::read_dir(dir).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        let Some(p) = part(&path).filter(|_| path.is_file()) else {
            continue;
        };
        let kept = found.entry(p).or_insert_with(|| path.clone());
        let plain = |p: &Path| !PACKED.iter().any(|x| p.to_string_lossy().ends_with(x));
        if !plain(kept) && (plain(&path) || path < *kept) {
            *kept = path;
        }
    }
    let named = |(part, path)| Named {
        path,
        part: Some(part),
        notes: Vec::new(),
    };
    Ok(found.into_iter().map(named).collect())
}

/// Says which CPUs of a device have no file among those to be read.
fn remark(all: &mut [Named]) {
    let mut cpus: BTreeMap<(PathBuf, String), BTreeSet<u32>> = BTreeMap::new();
    let key = |n: &Named| {
        let dir = n.path.parent().map(Path::to_path_buf).unwrap_or_default();
        n.part.as_ref().map(|p| ((dir, p.device.clone()), p.cpu))
    };
    for (device, cpu) in all.iter().filter_map(key) {
        cpus.entry(device).or_default().insert(cpu);
    }
    for n in all.iter_mut() {
        let Some((device, cpu)) = key(n) else {
            continue;
        };
        let Some(have) = cpus.get(&device).filter(|c| c.first() == Some(&cpu)) else {
            continue;
        };
        n.notes.extend(missing(&device.0, &device.1, have));
    }
}

/// Remarks on one device's files: those that lie beside the chosen ones, and holes in the numbering.
fn missing(dir: &Path, device: &str, have: &BTreeSet<u32>) -> Vec<String> {
    let dir = if dir == Path::new("") {
        Path::new(".")
    } else {
        dir
    };
    let beside = parts_in(dir).unwrap_or_default();
    let of_device = beside.iter().filter_map(|n| n.part.as_ref());
    let there: BTreeSet<u32> = of_device
        .filter(|p| p.device == device)
        .map(|p| p.cpu)
        .collect();
    let mut out = Vec::new();
    let left: Vec<u32> = there.difference(have).copied().collect();
    if !left.is_empty() {
        out.push(format!(
            "{device}{MARK}{} of the same recording lies beside and is not read; name {device} or the directory to read all",
            list(&left)
        ));
    }
    let top = have.last().copied().unwrap_or(0).min(1 << 16);
    let holes: Vec<u32> = (0..top)
        .filter(|c| !have.contains(c) && !there.contains(c))
        .collect();
    if !holes.is_empty() {
        out.push(format!(
            "there is no {device}{MARK}{}: if that CPU was online, its events are missing",
            list(&holes)
        ));
    }
    out
}

/// `1, 3-5`, the first few.
fn list(cpus: &[u32]) -> String {
    let runs: Vec<String> = cpus
        .chunk_by(|a, b| a.checked_add(1) == Some(*b))
        .filter_map(|run| match (run.first(), run.last()) {
            (Some(a), Some(b)) if a == b => Some(a.to_string()),
            (Some(a), Some(b)) => Some(format!("{a}-{b}")),
            _ => None,
        })
        .collect();
    let shown = runs.iter().take(8).cloned().collect::<Vec<_>>().join(", ");
    if runs.len() > 8 {
        shown + ", …"
    } else {
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touch(dir: &Path, names: &[&str]) {
        for n in names {
            std::fs::write(dir.join(n), b"x").expect("a temporary file");
        }
    }

    fn names(all: &[Named]) -> Vec<String> {
        let name = |n: &Named| n.path.file_name().map(|s| s.to_string_lossy().into_owned());
        all.iter().filter_map(name).collect()
    }

    #[test]
    fn names_tell_device_and_cpu() {
        let of = |s: &str| part(Path::new(s)).map(|p| (p.device, p.cpu));
        assert_eq!(of("/x/sda.blktrace.12"), Some(("sda".into(), 12)));
        assert_eq!(
            of("a.blktrace.b.blktrace.0.gz"),
            Some(("a.blktrace.b".into(), 0))
        );
        for none in [
            "sda.blktrace.",
            "sda.blktrace.x",
            ".blktrace.1",
            "sda.1",
            "sda.blktrace.+1",
            "/",
        ] {
            assert_eq!(of(none), None, "{none}");
        }
    }

    #[test]
    fn directories_and_base_names_stand_for_their_parts() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let d = dir.path();
        touch(
            d,
            &[
                "sda.blktrace.0",
                "sda.blktrace.2.gz",
                "sda.blktrace.10",
                "sda.blktrace.2",
                "sdb.blktrace.0.zst",
                "notes.txt",
            ],
        );
        let all = expand(&[d.to_path_buf()]).expect("readable");
        assert_eq!(
            names(&all),
            [
                "sda.blktrace.0",
                "sda.blktrace.2",
                "sda.blktrace.10",
                "sdb.blktrace.0.zst"
            ]
        );
        assert_eq!(
            all[0].notes,
            ["there is no sda.blktrace.1, 3-9: if that CPU was online, its events are missing"]
        );
        assert!(all[1..].iter().all(|n| n.notes.is_empty()));
        for base in ["sda", "sda.blktrace"] {
            assert_eq!(
                names(&expand(&[d.join(base)]).expect("readable")).len(),
                3,
                "{base}"
            );
        }
        let one = expand(&[d.join("sda.blktrace.2")]).expect("readable");
        assert_eq!(one.len(), 1);
        assert!(one[0].notes[0].contains("0, 10"), "{:?}", one[0].notes);
        // Named twice, read once.
        assert_eq!(
            expand(&[d.join("sda"), d.join("sda.blktrace.0")])
                .expect("readable")
                .len(),
            3
        );
        assert_eq!(
            names(&expand(&[d.join("sdc")]).expect("left to the opener")),
            ["sdc"]
        );
        let empty = tempfile::tempdir().expect("a temporary directory");
        let e = expand(&[empty.path().to_path_buf()])
            .map(|_| ())
            .unwrap_err();
        assert!(e.to_string().contains("is a directory"), "{e}");
    }
}
