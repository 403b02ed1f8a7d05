//! A query over the three tables, by polars. It runs twice: first over tables without rows, which tells whether it can be
//! answered at all and which columns it needs, before anything is read; then over those columns.

use super::answer::Answer;
use super::collect::{Collector, queried};
use super::column::Record;
use super::files::Files;
use super::hint;
use crate::error::{Error, Result};
use crate::event::BlockEvent;
use crate::lifecycle::{Bio, Request};
use polars::prelude::{
    AnonymousScan, AnonymousScanArgs, DataFrame, IntoLazy, LazyFrame, PlSmallStr, PolarsError,
    PolarsResult, ScanArgsAnonymous, Schema, SchemaExt, SchemaRef, SortMultipleOptions,
};
use polars::sql::SQLContext;
use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// A query that can be answered, once its columns are there.
pub struct Query {
    sql: String,
    /// Whether all columns are read, as [`Query::new`] says.
    whole: bool,
    needs: BTreeMap<&'static str, Vec<PlSmallStr>>,
    schemas: BTreeMap<&'static str, SchemaRef>,
    files: Option<Files>,
    frames: BTreeMap<&'static str, DataFrame>,
}

impl Query {
    /// A query over the tables of a trace.
    ///
    /// # Errors
    /// It cannot be understood, or names what is not there.
    pub fn over_trace(sql: &str) -> Result<Query> {
        let schemas = BTreeMap::from([
            (BlockEvent::TABLE, queried::<BlockEvent>()),
            (Request::TABLE, queried::<Request>()),
            (Bio::TABLE, queried::<Bio>()),
        ]);
        Query::new(sql, schemas, None)
    }

    /// A query over files that hold such tables; directories are searched.
    ///
    /// # Errors
    /// As [`Query::over_trace`]; files that are no such tables.
    pub fn over_files(sql: &str, paths: &[PathBuf]) -> Result<Query> {
        let files = Files::find(paths)?;
        Query::new(sql, files.schemas(), Some(files))
    }

    fn new(
        sql: &str,
        schemas: BTreeMap<&'static str, SchemaRef>,
        files: Option<Files>,
    ) -> Result<Query> {
        if let Some(word) = changes(sql) {
            let only = format!("'{word}' asks nothing: tables are only read");
            return Err(Error::usage(only).hint("a question begins with SELECT or WITH"));
        }
        let mut query = Query {
            sql: sql.to_string(),
            whole: false,
            needs: BTreeMap::new(),
            schemas,
            files,
            frames: BTreeMap::new(),
        };
        let mut planned = query.plan();
        // Polars counts the rows of a UNION ALL in 128 bits when it leaves out columns, and these are not built in.
        if matches!(&planned, Err(e) if e.to_string().contains("UInt128")) {
            query.whole = true;
            planned = query.plan();
        }
        planned.map_err(|e| query.refused(&e))?;
        Ok(query)
    }

    fn plan(&mut self) -> PolarsResult<()> {
        let mut context = SQLContext::new();
        let mut probes = Vec::new();
        for (name, schema) in &self.schemas {
            let probe = Arc::new(Probe {
                schema: schema.clone(),
                asked: Mutex::default(),
            });
            let args = ScanArgsAnonymous {
                schema: Some(schema.clone()),
                ..ScanArgsAnonymous::default()
            };
            context.register(name, LazyFrame::anonymous_scan(probe.clone(), args)?);
            probes.push((*name, probe));
        }
        self.run(&mut context)?;
        for (name, probe) in probes {
            // A poisoned lock: another thread panicked while it inserted, and the names are whole.
            let asked = probe.asked.lock().unwrap_or_else(|p| p.into_inner());
            if let Some(columns) = asked.as_ref() {
                self.needs.insert(name, columns.iter().cloned().collect());
            }
        }
        Ok(())
    }

    /// What gathers the rows of a table, if the query needs it.
    pub fn collector<T: Record>(&self) -> Option<Collector<T>> {
        self.needs.get(T::TABLE).map(|c| Collector::new(c))
    }

    /// Takes what was gathered.
    ///
    /// # Errors
    /// Polars refuses it (none of ours).
    pub fn put<T: Record>(&mut self, gathered: Option<Collector<T>>) -> Result<()> {
        if let Some(c) = gathered {
            self.frames.insert(T::TABLE, c.finish()?);
        }
        Ok(())
    }

    /// Answers it.
    ///
    /// # Errors
    /// Files that cannot be read, arithmetic that cannot be done.
    pub fn answer(mut self) -> Result<Answer> {
        let needs = std::mem::take(&mut self.needs);
        for (name, columns) in &needs {
            if let (Some(files), Some(schema)) = (&self.files, self.schemas.get(name)) {
                self.frames.insert(name, files.read(name, schema, columns)?);
            }
        }
        let frames = std::mem::take(&mut self.frames);
        let mut context = SQLContext::new();
        for (name, schema) in &self.schemas {
            let empty = || DataFrame::empty_with_schema(schema);
            let frame = frames.get(name).cloned().unwrap_or_else(empty);
            context.register(name, frame.lazy());
        }
        drop(frames);
        let frame = self.run(&mut context).map_err(|e| self.refused(&e))?;
        Ok(Answer::new(self.in_order(frame)))
    }

    fn run(&self, context: &mut SQLContext) -> PolarsResult<DataFrame> {
        let plan = context.execute(&self.sql)?;
        plan.with_projection_pushdown(!self.whole).collect()
    }

    /// Polars gives groups in any order; the same question is to have the same answer twice.
    fn in_order(&self, frame: DataFrame) -> DataFrame {
        let words: Vec<String> = self.sql.split_whitespace().map(str::to_lowercase).collect();
        let asked = |a: &str, b: &str| words.windows(2).any(|w| w == [a, b]);
        if asked("order", "by") || !(asked("group", "by") || shuffles(&words)) {
            return frame;
        }
        let names: Vec<PlSmallStr> = frame.get_column_names_owned();
        let options = SortMultipleOptions::default().with_maintain_order(true);
        // What cannot be compared (lists) stays as it is.
        frame.sort(names, options).unwrap_or(frame)
    }

    /// An error of polars as one of ours.
    fn refused(&self, e: &PolarsError) -> Error {
        match e {
            PolarsError::Context { error, .. } | PolarsError::ExprContext { error, .. } => {
                self.refused(error)
            }
            PolarsError::ColumnNotFound(text) | PolarsError::SchemaFieldNotFound(text) => {
                let name = hint::quoted(text).unwrap_or("?");
                let all = self
                    .schemas
                    .iter()
                    .flat_map(|(table, schema)| schema.iter_names().map(|n| (*table, n.as_str())));
                let nearest = hint::columns(name, all);
                Error::usage(format!("no column {name} in what is asked")).hint(nearest)
            }
            other => {
                let text = other.to_string();
                let first = text.lines().next().unwrap_or_default();
                let have: Vec<&str> = self.schemas.keys().copied().collect();
                let advice = match hint::quoted(first) {
                    Some(t) if first.contains("relation") => {
                        format!("no table {t}; there are: {}", have.join(", "))
                    }
                    _ => format!("tables: {}; columns: docs/output-rows.md", have.join(", ")),
                };
                Error::usage(format!("the query cannot be answered: {first}")).hint(advice)
            }
        }
    }
}

/// The first word of a statement that would change a table, which polars would do to the copy that it was given, and say nothing.
fn changes(sql: &str) -> Option<&str> {
    let mut lines = sql.lines().map(str::trim);
    let first = lines.find(|l| !l.is_empty() && !l.starts_with("--"))?;
    let word = first.split(|c: char| !c.is_ascii_alphabetic()).next()?;
    let verbs = [
        "alter", "create", "delete", "drop", "insert", "truncate", "update",
    ];
    verbs
        .iter()
        .any(|v| word.eq_ignore_ascii_case(v))
        .then_some(word)
}

/// Other words after which the order of rows is polars' own.
fn shuffles(words: &[String]) -> bool {
    words.iter().any(|w| {
        matches!(
            w.as_str(),
            "join" | "distinct" | "union" | "except" | "intersect"
        )
    })
}

/// A table without rows that notes which columns are asked for.
struct Probe {
    schema: SchemaRef,
    asked: Mutex<Option<BTreeSet<PlSmallStr>>>,
}

impl AnonymousScan for Probe {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn scan(&self, args: AnonymousScanArgs) -> PolarsResult<DataFrame> {
        let names: Vec<PlSmallStr> = match &args.with_columns {
            Some(names) => names.to_vec(),
            None => self.schema.iter_names_cloned().collect(),
        };
        let mut asked = self.asked.lock().unwrap_or_else(|p| p.into_inner());
        asked.get_or_insert_default().extend(names.iter().cloned());
        let schema: Schema = names
            .iter()
            .filter_map(|n| self.schema.get_field(n))
            .collect();
        Ok(DataFrame::empty_with_schema(&schema))
    }

    fn schema(&self, _infer_schema_length: Option<usize>) -> PolarsResult<SchemaRef> {
        Ok(self.schema.clone())
    }

    fn allows_projection_pushdown(&self) -> bool {
        true
    }
}
