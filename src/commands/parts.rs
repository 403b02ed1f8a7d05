//! Rows written as a data set of many traces: `DIR/requests/host=db7/dev=259,0/NAME.parquet`.

use super::output::Output;
use super::{OutputOpts, PartKey};
use crate::error::{Error, Result};
use crate::event::Fields;
use crate::frame::{Column, FileKind, Get, Record, Table, Value, directory};
use rustc_hash::FxHashMap;
use std::path::{Path, PathBuf};

/// Rows of all files together that are held before the fullest file takes its own: some 80 MiB.
const WAITING: usize = 1 << 18;
/// Files that are open at once: most systems allow a process 1,024.
const OPEN: usize = 500;

/// A table in many files.
pub struct Parts<T: Record> {
    table: PathBuf,
    name: String,
    kind: FileKind,
    keys: Vec<Key<T>>,
    left_out: Vec<String>,
    parts: FxHashMap<String, Part<T>>,
    place: String,
    waiting: usize,
}

/// What a directory is named for.
enum Key<T: Record> {
    Column(&'static Column<T>),
    Fixed(String),
}

/// A file of it. It gets its name once it is whole: readers of the data set never see a half.
struct Part<T: Record> {
    table: Table<T>,
    out: Output,
    hidden: PathBuf,
    path: PathBuf,
    buffer: Vec<u8>,
}

impl<T: Record> Parts<T> {
    /// A data set in `dir`. `trace` is the first input.
    ///
    /// # Errors
    /// A key that names nothing; a build without tables.
    pub fn new(dir: &Path, kind: FileKind, asked: &[PartKey], trace: &Path) -> Result<Parts<T>> {
        let name = name_of(trace);
        // Says at once what this build has not.
        Table::<T>::new(kind, &[]).map(|_| ())?;
        let mut keys = Vec::new();
        let mut left_out = Vec::new();
        for k in asked {
            let key = key::<T>(k, &name)?;
            if let Key::Column(c) = &key {
                left_out.push(c.name.to_string());
            }
            keys.push(key);
        }
        Ok(Parts {
            table: dir.join(T::TABLE),
            name,
            kind,
            keys,
            left_out,
            parts: FxHashMap::default(),
            place: String::new(),
            waiting: 0,
        })
    }

    /// Adds a row.
    ///
    /// # Errors
    /// A file that is there already, too many files, or one that cannot be written.
    pub fn push(&mut self, record: &T, comm: Option<&str>, fields: &Fields) -> Result<()> {
        self.place.clear();
        for key in &self.keys {
            match key {
                Key::Fixed(directory) => self.place.push_str(directory),
                Key::Column(c) => {
                    let value = c.value(record, comm, fields);
                    let text = match &value {
                        Value::Text(t) => Some(&**t),
                        _ => None,
                    };
                    self.place.push_str(&directory(c.name, text));
                }
            }
            self.place.push('/');
        }
        if !self.parts.contains_key(&self.place) {
            let part = self.open()?;
            self.parts.insert(self.place.clone(), part);
        }
        if let Some(p) = self.parts.get_mut(&self.place) {
            let before = p.table.waiting();
            p.table.push(record, comm, fields, &mut p.buffer)?;
            self.waiting = self.waiting + p.table.waiting() - before;
            p.spill()?;
        }
        if self.waiting >= WAITING {
            self.relieve()?;
        }
        Ok(())
    }

    fn open(&self) -> Result<Part<T>> {
        if self.parts.len() >= OPEN {
            let what = format!("more than {OPEN} files at once");
            return Err(Error::usage(what).hint(
                "partition by fewer keys, or by one with fewer values: dev, host, not comm",
            ));
        }
        let dir = self.table.join(&self.place);
        let ext = self.kind.extension();
        let path = dir.join(format!("{}.{ext}", self.name));
        if path.exists() {
            return Err(Error::usage("is there already").path(&path).hint(
                "another trace of that name: add trace=NAME to --partition; the same again: remove it first",
            ));
        }
        let cannot = |e| Error::io(Some(&dir), "cannot make the directory", e);
        std::fs::create_dir_all(&dir).map_err(cannot)?;
        let hidden = dir.join(format!(".{}.{ext}.part", self.name));
        let to = OutputOpts {
            file: Some(hidden.clone()),
            ..OutputOpts::default()
        };
        Ok(Part {
            table: Table::new(self.kind, &self.left_out)?,
            out: Output::new(&to),
            hidden,
            path,
            buffer: Vec::new(),
        })
    }

    /// Ends the group of the file that holds most rows.
    fn relieve(&mut self) -> Result<()> {
        if let Some(p) = self.parts.values_mut().max_by_key(|p| p.table.waiting()) {
            self.waiting -= p.table.waiting();
            p.table.flush(&mut p.buffer)?;
            p.spill()?;
        }
        Ok(())
    }

    /// Ends all files and gives them their names.
    ///
    /// # Errors
    /// One that cannot be written.
    pub fn finish(&mut self) -> Result<()> {
        let mut places: Vec<String> = self.parts.keys().cloned().collect();
        places.sort();
        for place in places {
            let Some(mut p) = self.parts.remove(&place) else {
                continue;
            };
            let done = p.table.finish(&mut p.buffer);
            let done = done.and_then(|()| p.out.write(&p.buffer));
            let done = done.and_then(|()| p.out.finish()).and_then(|()| {
                let cannot = |e| Error::io(Some(&p.path), "cannot name the result", e);
                std::fs::rename(&p.hidden, &p.path).map_err(cannot)
            });
            if done.is_err() {
                let _ = std::fs::remove_file(&p.hidden);
            }
            done?;
        }
        Ok(())
    }
}

impl<T: Record> Drop for Parts<T> {
    fn drop(&mut self) {
        // What a failed run leaves would lie there unseen. If it cannot be removed, it stays hidden.
        for p in self.parts.values() {
            let _ = std::fs::remove_file(&p.hidden);
        }
    }
}

impl<T: Record> Part<T> {
    fn spill(&mut self) -> Result<()> {
        if !self.buffer.is_empty() {
            self.out.write(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }
}

fn key<T: Record>(k: &PartKey, trace: &str) -> Result<Key<T>> {
    let column = T::COLUMNS.iter().find(|c| c.name == k.name);
    let text = |c: &&Column<T>| matches!(c.get, Get::Text(_));
    match (column, &k.value) {
        (Some(_), Some(_)) => {
            let what = format!("--partition {}=: {0} is a column", k.name);
            Err(Error::usage(what).hint(format!("its values come from the rows: {}", k.name)))
        }
        (Some(c), None) if text(&c) => Ok(Key::Column(c)),
        (None, Some(v)) => Ok(Key::Fixed(directory(&k.name, Some(v)))),
        (None, None) if k.name == "host" => Ok(Key::Fixed(directory("host", Some(&host()?)))),
        (None, None) if k.name == "trace" => Ok(Key::Fixed(directory("trace", Some(trace)))),
        _ => {
            let names = T::COLUMNS.iter().filter(text).map(|c| c.name);
            let names: Vec<&str> = names.collect();
            let what = format!("--partition {}: no such key", k.name);
            Err(Error::usage(what).hint(format!(
                "one of {}; host, trace; or a name and its value: {}=VALUE",
                names.join(", "),
                k.name
            )))
        }
    }
}

/// This machine's name, for traces recorded on it.
fn host() -> Result<String> {
    let path = Path::new("/proc/sys/kernel/hostname");
    let cannot = |e| Error::io(Some(path), "cannot read", e).hint("name it: host=NAME");
    let text = std::fs::read_to_string(path).map_err(cannot)?;
    Ok(text.trim().to_string())
}

/// A trace's name: its file's, without what tells packing and form.
fn name_of(trace: &Path) -> String {
    if trace == Path::new("-") {
        return "stdin".to_string();
    }
    let name = trace.file_name().unwrap_or_default().to_string_lossy();
    let mut rest = &*name;
    for ext in [".gz", ".xz", ".zst", ".bz2", ".txt", ".log"] {
        rest = rest
            .strip_suffix(ext)
            .filter(|r| !r.is_empty())
            .unwrap_or(rest);
    }
    // A leading dot would hide it from readers.
    let rest = rest.trim_start_matches(['.', '_']);
    if rest.is_empty() { "trace" } else { rest }.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_traces() {
        for (path, want) in [
            ("a/b.txt.gz", "b"),
            ("blkparse.log", "blkparse"),
            ("nvme0n1.blktrace.0.gz", "nvme0n1.blktrace.0"),
            ("-", "stdin"),
            (".gz", "gz"),
            ("_x", "x"),
        ] {
            assert_eq!(name_of(Path::new(path)), want, "{path}");
        }
    }
}
