//! Tables in files: one or many, Parquet or Arrow, also in the directories of a partitioned data set.

use super::FileKind;
use super::collect::{queried, query_type, signed};
use super::column::Record;
use super::hive;
use crate::error::{Error, Kind, Result};
use crate::event::BlockEvent;
use crate::lifecycle::{Bio, Request};
use polars::prelude::{
    ArrowSchema, Column, DataFrame, DataType, IntoColumn, NamedFrom, PlSmallStr, PolarsError,
    PolarsResult, Schema, SchemaRef, Series,
};
use polars_io::SerReader;
use polars_io::ipc::IpcReader;
use polars_io::parquet::read::ParquetReader;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The files of each table.
pub(super) struct Files(BTreeMap<&'static str, Vec<Part>>);

/// A file of a table.
struct Part {
    path: PathBuf,
    kind: FileKind,
    /// Its columns, with the types of queries.
    columns: Schema,
    /// What its directories say.
    keys: Vec<(String, Option<String>)>,
}

impl Files {
    /// All tables below these paths.
    pub fn find(paths: &[PathBuf]) -> Result<Files> {
        let mut files = Vec::new();
        for p in paths {
            walk(p, &mut files)?;
        }
        let mut all: BTreeMap<&'static str, Vec<Part>> = BTreeMap::new();
        for (path, kind) in files {
            let columns = schema(&path, kind).map_err(|e| unreadable(&path, &e))?;
            let Some(table) = table_of(&columns) else {
                let what = "is no table of events, requests or bios";
                return Err(Error::new(Kind::Format, what)
                    .path(&path)
                    .hint("such files come from: blkan requests -o FILE.parquet TRACE"));
            };
            let above = path.parent().into_iter().flat_map(Path::components);
            let keys = above
                .filter_map(|c| hive::pair(&c.as_os_str().to_string_lossy()))
                .collect();
            all.entry(table).or_default().push(Part {
                path,
                kind,
                columns,
                keys,
            });
        }
        Ok(Files(all))
    }

    /// The columns of each table: those of blkan in their order, then what else any of its files has.
    pub fn schemas(&self) -> BTreeMap<&'static str, SchemaRef> {
        let of = |(table, parts): (&&'static str, &Vec<Part>)| {
            let mut schema: Schema = match *table {
                BlockEvent::TABLE => (*queried::<BlockEvent>()).clone(),
                Request::TABLE => (*queried::<Request>()).clone(),
                _ => (*queried::<Bio>()).clone(),
            };
            for part in parts {
                for (name, kind) in part.columns.iter() {
                    if !schema.contains(name) {
                        schema.with_column(name.clone(), kind.clone());
                    }
                }
                for (key, _) in &part.keys {
                    if !schema.contains(key) {
                        schema.with_column(key.as_str().into(), DataType::String);
                    }
                }
            }
            (*table, Arc::new(schema))
        };
        self.0.iter().map(of).collect()
    }

    /// Reads these columns of a table.
    pub fn read(&self, table: &str, schema: &Schema, columns: &[PlSmallStr]) -> Result<DataFrame> {
        let mut all: Option<DataFrame> = None;
        for part in self.0.get(table).into_iter().flatten() {
            let failed = |e: PolarsError| unreadable(&part.path, &e);
            let frame = part.read(schema, columns).map_err(failed)?;
            match &mut all {
                None => all = Some(frame),
                Some(all) => {
                    all.vstack_mut_owned(frame).map_err(failed)?;
                }
            }
        }
        Ok(all.unwrap_or_default())
    }
}

impl Part {
    fn read(&self, schema: &Schema, names: &[PlSmallStr]) -> PolarsResult<DataFrame> {
        let held: Vec<String> = names
            .iter()
            .filter(|n| self.columns.contains(n.as_str()))
            .map(|n| n.to_string())
            .collect();
        let (rows, mut frame) = self.held(held)?;
        signed(&mut frame)?;
        let mut columns: Vec<Column> = Vec::with_capacity(names.len());
        for name in names {
            let key = self.keys.iter().find(|(k, _)| k == name.as_str());
            let column = match (frame.column(name), key) {
                (Ok(c), _) => c.clone(),
                (Err(_), Some((_, value))) => {
                    let one = Series::new(name.clone(), [value.as_deref()]);
                    one.into_column().new_from_index(0, rows)
                }
                (Err(_), None) => {
                    let kind = schema.get(name).unwrap_or(&DataType::Null);
                    Column::full_null(name.clone(), rows, kind)
                }
            };
            columns.push(column);
        }
        DataFrame::new(rows, columns)
    }

    /// Its rows, and those of its columns.
    fn held(&self, names: Vec<String>) -> PolarsResult<(usize, DataFrame)> {
        let file = File::open(&self.path)?;
        match self.kind {
            FileKind::Parquet => {
                let mut reader = ParquetReader::new(file);
                let rows = reader.num_rows()?;
                if names.is_empty() {
                    return Ok((rows, DataFrame::empty_with_height(rows)));
                }
                let frame = reader.with_columns(Some(names)).finish()?;
                Ok((rows, frame))
            }
            FileKind::Arrow => {
                // Its reader cannot tell the rows without reading a column.
                let some = names.first().cloned();
                let first = self.columns.iter_names().next().map(|n| n.to_string());
                let asked = match some {
                    Some(_) => names.clone(),
                    None => first.into_iter().collect(),
                };
                let frame = IpcReader::new(file).with_columns(Some(asked)).finish()?;
                Ok((frame.height(), frame))
            }
        }
    }
}

/// Whether queries read this path as tables and not as a trace: by its first bytes, or, of a directory, by what is in it.
///
/// # Errors
/// A directory that cannot be read.
pub fn holds_tables(path: &Path) -> Result<bool> {
    if path.is_dir() {
        let mut files = Vec::new();
        // Without any, it may be a directory of per-CPU files.
        return match walk(path, &mut files) {
            Ok(()) => Ok(true),
            Err(e) if e.kind == Kind::Usage => Ok(false),
            Err(e) => Err(e),
        };
    }
    Ok(path != Path::new("-") && kind_of(path).is_some())
}

/// What a file is by its first bytes.
fn kind_of(path: &Path) -> Option<FileKind> {
    use std::io::Read;
    let mut head = [0; 6];
    File::open(path).ok()?.read_exact(&mut head).ok()?;
    match &head {
        [b'P', b'A', b'R', b'1', ..] => Some(FileKind::Parquet),
        b"ARROW1" => Some(FileKind::Arrow),
        _ => None,
    }
}

/// The files at or below `path`, in the order of their names. Hidden ones are left out, as other readers do.
fn walk(path: &Path, out: &mut Vec<(PathBuf, FileKind)>) -> Result<()> {
    let cannot = |e| Error::io(Some(path), "cannot read", e);
    if !path.is_dir() {
        let Some(kind) = kind_of(path) else {
            let what = "is no Parquet or Arrow file";
            return Err(Error::new(Kind::Format, what)
                .path(path)
                .hint("a query is over traces, or over tables, not both"));
        };
        out.push((path.to_path_buf(), kind));
        return Ok(());
    }
    let before = out.len();
    let mut names: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(path).map_err(cannot)? {
        names.push(entry.map_err(cannot)?.path());
    }
    names.sort();
    for p in names {
        let name = p.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with(['.', '_']) {
            continue;
        }
        if p.is_dir() {
            match walk(&p, out) {
                Err(e) if e.kind != Kind::Usage => return Err(e),
                _ => {}
            }
        } else if FileKind::of_path(&p).is_some() {
            walk(&p, out)?;
        }
    }
    if out.len() == before {
        return Err(Error::usage("no .parquet or .arrow file in it")
            .path(path)
            .hint("such files come from: blkan requests -o FILE.parquet TRACE"));
    }
    Ok(())
}

fn schema(path: &Path, kind: FileKind) -> PolarsResult<Schema> {
    let file = File::open(path)?;
    let arrow: Arc<ArrowSchema> = match kind {
        FileKind::Parquet => ParquetReader::new(file).schema()?,
        FileKind::Arrow => IpcReader::new(file).schema()?,
    };
    let typed = arrow.iter_values().map(|f| {
        let kind = DataType::from_arrow_field(f);
        (f.name.clone(), query_type(&kind))
    });
    Ok(typed.collect())
}

/// Which table has such columns. They are numbers, and so never among the keys of a partitioned data set.
fn table_of(columns: &Schema) -> Option<&'static str> {
    let marks = [
        ("time_ns", BlockEvent::TABLE),
        ("d_first_ns", Request::TABLE),
        ("m_ns", Bio::TABLE),
    ];
    let found = marks.iter().find(|(mark, _)| columns.contains(mark));
    found.map(|(_, table)| *table)
}

fn unreadable(path: &Path, e: &PolarsError) -> Error {
    let text = e.to_string();
    let first = text.lines().next().unwrap_or_default();
    Error::new(Kind::Format, format!("cannot read this table: {first}"))
        .path(path)
        .hint("is the file whole? write it again from its trace")
}
