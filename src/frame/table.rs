//! Tables as files, by polars. Rows are gathered and encoded a group at a time, so that memory does not grow with the
//! trace. Every column's unit stands in its metadata.

use super::FileKind;
use super::column::{Column, Record};
use super::rows::{Rows, data_type, failed};
use crate::error::Result;
use crate::event::Fields;
use polars::prelude::{
    ArrowField, ArrowSchema, CompatLevel, DataFrame, Field, PlSmallStr, PolarsResult, Schema,
};
use polars_arrow::io::ipc::write as ipc;
use polars_io::parquet::write as parquet;
use polars_parquet::write::{KeyValue, schema_to_metadata_key};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::rc::Rc;
use std::sync::Arc;

/// Rows of a row group (Parquet) or record batch (Arrow).
const GROUP: usize = 1 << 16;

/// A table on its way into a file.
pub struct Table<T: Record> {
    rows: Rows<T>,
    columns: Vec<&'static Column<T>>,
    group: usize,
    file: File,
    encoded: Encoded,
}

enum File {
    Parquet(Box<parquet::BatchedWriter<Encoded>>),
    Arrow(Box<ipc::FileWriter<Encoded>>),
}

impl<T: Record> Table<T> {
    /// An empty table of all columns but those named.
    ///
    /// # Errors
    /// None in this build.
    pub fn new(kind: FileKind, left_out: &[String]) -> Result<Table<T>> {
        Table::with_groups(kind, left_out, GROUP)
    }

    /// An empty table whose groups have `group` rows.
    ///
    /// # Errors
    /// As [`Table::new`].
    pub(super) fn with_groups(
        kind: FileKind,
        left_out: &[String],
        group: usize,
    ) -> Result<Table<T>> {
        let named = |c: &&Column<T>| left_out.iter().any(|l| l == c.name);
        let columns: Vec<&'static Column<T>> = T::COLUMNS.iter().filter(|c| !named(c)).collect();
        let encoded = Encoded::default();
        let to = encoded.clone();
        let file = match kind {
            FileKind::Parquet => parquet_writer(&columns, to),
            FileKind::Arrow => arrow_writer(&columns, to),
        };
        Ok(Table {
            rows: Rows::default(),
            columns,
            group,
            file: file.map_err(failed)?,
            encoded,
        })
    }

    /// Adds a row; what has become bytes by it is appended to `out`.
    ///
    /// # Errors
    /// Polars cannot encode a group (no table of ours).
    pub fn push(
        &mut self,
        record: &T,
        comm: Option<&str>,
        fields: &Fields,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        self.rows.push(record, comm, fields);
        if self.rows.len() >= self.group {
            self.encode()?;
        }
        self.encoded.move_to(out);
        Ok(())
    }

    /// Rows that are not bytes yet.
    pub fn waiting(&self) -> usize {
        self.rows.len()
    }

    /// Ends the group early: many tables at once are not to hold one each.
    ///
    /// # Errors
    /// As [`Table::push`].
    pub fn flush(&mut self, out: &mut Vec<u8>) -> Result<()> {
        if self.rows.len() > 0 {
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
        self.flush(out)?;
        match &mut self.file {
            File::Parquet(w) => w.finish().map(|_size| ()),
            File::Arrow(w) => w.finish(),
        }
        .map_err(failed)?;
        self.encoded.move_to(out);
        Ok(())
    }

    fn encode(&mut self) -> Result<()> {
        let group = self.rows.take(&self.columns)?;
        match &mut self.file {
            File::Parquet(w) => w.write_batch(&group),
            File::Arrow(w) => write_arrow(w, &group),
        }
        .map_err(failed)
    }
}

fn parquet_writer<T: Record>(columns: &[&Column<T>], to: Encoded) -> PolarsResult<File> {
    let told = arrow_schema(columns, CompatLevel::newest());
    let mut pairs = vec![schema_to_metadata_key(&told)];
    pairs.extend(about::<T>().map(|(k, v)| KeyValue {
        key: k.to_string(),
        value: Some(v.to_string()),
    }));
    let schema: Schema = columns.iter().map(|c| field(c)).collect();
    let writer = parquet::ParquetWriter::new(to)
        // One thread more would be one more than --threads allows.
        .set_parallel(false)
        .with_key_value_metadata(Some(parquet::KeyValueMetadata::Static(pairs)))
        .batched(&schema)?;
    Ok(File::Parquet(Box::new(writer)))
}

fn arrow_writer<T: Record>(columns: &[&Column<T>], to: Encoded) -> PolarsResult<File> {
    let options = ipc::WriteOptions {
        compression: Some(ipc::Compression::LZ4),
    };
    let schema = Arc::new(arrow_schema(columns, CompatLevel::oldest()));
    let mut writer = ipc::FileWriter::new(to, schema, None, options);
    writer.set_custom_schema_metadata(Arc::new(
        about::<T>()
            .map(|(k, v)| (PlSmallStr::from_static(k), PlSmallStr::from_str(v)))
            .into(),
    ));
    writer.start()?;
    Ok(File::Arrow(Box::new(writer)))
}

fn write_arrow(w: &mut ipc::FileWriter<Encoded>, group: &DataFrame) -> PolarsResult<()> {
    // Texts as LargeUtf8: readers older than 2024 do not know views.
    for batch in group.iter_chunks(CompatLevel::oldest(), false) {
        w.write(&batch, None)?;
    }
    Ok(())
}

/// What a file says of itself.
fn about<T: Record>() -> [(&'static str, &'static str); 2] {
    [
        ("blkan.table", T::TABLE),
        ("blkan.version", env!("CARGO_PKG_VERSION")),
    ]
}

fn field<T: Record>(c: &Column<T>) -> Field {
    Field::new(PlSmallStr::from_static(c.name), data_type(c))
}

/// The schema as files hold it: with units.
fn arrow_schema<T: Record>(columns: &[&Column<T>], level: CompatLevel) -> ArrowSchema {
    let with_unit = |c: &&Column<T>| {
        let mut f: ArrowField = field(c).to_arrow(level);
        let unit = (
            PlSmallStr::from_static("unit"),
            PlSmallStr::from_static(c.unit),
        );
        f.metadata = Some(Arc::new(BTreeMap::from([unit])));
        (f.name.clone(), f)
    };
    columns.iter().map(with_unit).collect()
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
