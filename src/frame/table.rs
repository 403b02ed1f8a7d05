//! Tables as files, by polars. Rows are gathered and encoded a group at a time, so that memory does not grow with the
//! trace.

use super::FileKind;
use super::column::{Column, Get, Record};
use crate::error::{Error, Kind, Result};
use polars::prelude::{
    BooleanChunked, Column as PolarsColumn, CompatLevel, DataFrame, DataType, Field, Int32Chunked,
    Int64Chunked, IntoColumn, NewChunkedArray, PlSmallStr, PolarsError, Schema, StringChunked,
    UInt32Chunked, UInt64Chunked,
};
use polars_io::SerWriter;
use polars_io::ipc::{self, IpcCompression, IpcWriter};
use polars_io::parquet::write as parquet;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

/// Rows of a row group (Parquet) or record batch (Arrow).
const GROUP: usize = 1 << 16;

/// A table on its way into a file.
pub struct Table<T: Record> {
    rows: Vec<(T, Option<u32>)>,
    names: Names,
    group: usize,
    file: File,
    encoded: Encoded,
}

enum File {
    Parquet(Box<parquet::BatchedWriter<Encoded>>),
    Arrow(Box<ipc::BatchedWriter<Encoded>>),
}

impl<T: Record> Table<T> {
    /// An empty table.
    ///
    /// # Errors
    /// None in this build.
    pub fn new(kind: FileKind) -> Result<Table<T>> {
        Table::with_groups(kind, GROUP)
    }

    /// An empty table whose groups have `group` rows.
    ///
    /// # Errors
    /// As [`Table::new`].
    pub(super) fn with_groups(kind: FileKind, group: usize) -> Result<Table<T>> {
        let encoded = Encoded::default();
        let to = encoded.clone();
        let file = match kind {
            FileKind::Parquet => parquet::ParquetWriter::new(to)
                // One thread more would be one more than --threads allows.
                .set_parallel(false)
                .batched(&schema::<T>())
                .map(|w| File::Parquet(Box::new(w))),
            FileKind::Arrow => IpcWriter::new(to)
                .with_compression(Some(IpcCompression::LZ4))
                // Texts as LargeUtf8: readers older than 2024 do not know views.
                .with_compat_level(CompatLevel::oldest())
                .batched(&schema::<T>(), vec![Default::default(); T::COLUMNS.len()])
                .map(|w| File::Arrow(Box::new(w))),
        };
        Ok(Table {
            rows: Vec::new(),
            names: Names::default(),
            group,
            file: file.map_err(failed)?,
            encoded,
        })
    }

    /// Adds a row; what has become bytes by it is appended to `out`.
    ///
    /// # Errors
    /// Polars cannot encode a group (no table of ours).
    pub fn push(&mut self, record: &T, comm: Option<&str>, out: &mut Vec<u8>) -> Result<()> {
        let comm = comm.map(|n| self.names.number(n));
        self.rows.push((*record, comm));
        if self.rows.len() >= self.group {
            self.encode()?;
        }
        self.encoded.move_to(out);
        Ok(())
    }

    /// Appends the last group and the file's end to `out`.
    ///
    /// # Errors
    /// As [`Table::push`].
    pub fn finish(mut self, out: &mut Vec<u8>) -> Result<()> {
        if !self.rows.is_empty() {
            self.encode()?;
        }
        match &mut self.file {
            File::Parquet(w) => w.finish().map(|_size| ()),
            File::Arrow(w) => w.finish(),
        }
        .map_err(failed)?;
        self.encoded.move_to(out);
        Ok(())
    }

    fn encode(&mut self) -> Result<()> {
        let columns = T::COLUMNS.iter().map(|c| self.column(c)).collect();
        let group = DataFrame::new(self.rows.len(), columns).map_err(failed)?;
        self.rows.clear();
        match &mut self.file {
            File::Parquet(w) => w.write_batch(&group),
            File::Arrow(w) => w.write_batch(&group),
        }
        .map_err(failed)
    }

    fn column(&self, c: &Column<T>) -> PolarsColumn {
        let name = PlSmallStr::from_static(c.name);
        let rows = self.rows.iter();
        match c.get {
            Get::Bool(f) => {
                BooleanChunked::from_iter_options(name, rows.map(|r| f(&r.0))).into_column()
            }
            Get::U32(f) => {
                UInt32Chunked::from_iter_options(name, rows.map(|r| f(&r.0))).into_column()
            }
            Get::U64(f) => {
                UInt64Chunked::from_iter_options(name, rows.map(|r| f(&r.0))).into_column()
            }
            Get::I32(f) => {
                Int32Chunked::from_iter_options(name, rows.map(|r| f(&r.0))).into_column()
            }
            Get::I64(f) => {
                Int64Chunked::from_iter_options(name, rows.map(|r| f(&r.0))).into_column()
            }
            Get::Text(f) => {
                let cells = rows.map(|r| f(&r.0, self.names.name(r.1)));
                StringChunked::from_iter_options(name, cells).into_column()
            }
        }
    }
}

fn schema<T: Record>() -> Schema {
    let of = |c: &Column<T>| match c.get {
        Get::Bool(_) => DataType::Boolean,
        Get::U32(_) => DataType::UInt32,
        Get::U64(_) => DataType::UInt64,
        Get::I32(_) => DataType::Int32,
        Get::I64(_) => DataType::Int64,
        Get::Text(_) => DataType::String,
    };
    let fields = T::COLUMNS
        .iter()
        .map(|c| Field::new(PlSmallStr::from_static(c.name), of(c)));
    Schema::from_iter(fields)
}

fn failed(e: PolarsError) -> Error {
    Error::new(Kind::Io, format!("cannot encode the table: {e}"))
}

/// Task names by number: a row outlives the name it is pushed with.
#[derive(Default)]
struct Names {
    all: Vec<String>,
    numbers: FxHashMap<String, u32>,
}

impl Names {
    fn number(&mut self, name: &str) -> u32 {
        if let Some(n) = self.numbers.get(name) {
            return *n;
        }
        // A trace has at most 2^16 names.
        let n = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        self.all.push(name.to_string());
        self.numbers.insert(name.to_string(), n);
        n
    }

    fn name(&self, number: Option<u32>) -> Option<&str> {
        let n = usize::try_from(number?).ok()?;
        self.all.get(n).map(String::as_str)
    }
}

/// What polars has written. It keeps its end; ours empties it between groups, so that a write that fails (a full disk, a
/// reader that went away) is met where results are written and keeps its cause.
#[derive(Clone, Default)]
struct Encoded(Rc<RefCell<Vec<u8>>>);

impl Encoded {
    fn move_to(&self, out: &mut Vec<u8>) {
        out.append(&mut self.0.borrow_mut());
    }
}

impl Write for Encoded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
