//! What a column is: its name, and how its cells are got from a record. The type follows from the latter, so that the two
//! cannot disagree.

use crate::event::Fields;
use std::borrow::Cow;

/// A cell on its way into text.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// Not known, or not there.
    Absent,
    /// Signed.
    Int(i64),
    /// Unsigned.
    Uint(u64),
    /// A mean, a share: only of queries.
    Float(f64),
    /// Yes or no.
    Bool(bool),
    /// Text.
    Text(Cow<'a, str>),
}

/// How a column's cells are got; `None` is absent. Texts may be of the record or of its task's name, the second argument.
#[derive(Clone, Copy)]
pub enum Get<T> {
    /// Yes or no.
    Bool(fn(&T) -> Option<bool>),
    /// Unsigned, 32 bits.
    U32(fn(&T) -> Option<u32>),
    /// Unsigned, 64 bits.
    U64(fn(&T) -> Option<u64>),
    /// Signed, 32 bits.
    I32(fn(&T) -> Option<i32>),
    /// Signed, 64 bits.
    I64(fn(&T) -> Option<i64>),
    /// UTF-8.
    Text(for<'a> fn(&'a T, Option<&'a str>) -> Option<Cow<'a, str>>),
}

/// A column of records `T`.
#[derive(Clone, Copy)]
pub struct Column<T> {
    /// Its name, with its unit. Stable: scripts read it.
    pub name: &'static str,
    /// What its numbers count, for people and files; of words and flags what they are.
    pub unit: &'static str,
    /// Its cells.
    pub get: Get<T>,
    /// Whether the source can tell it of this record at all; `None`: every source can.
    known: Option<fn(&T, &Fields) -> bool>,
}

/// Something that is a row of a table.
pub trait Record: Copy + 'static {
    /// The table's name, which is its command's: `events`, `requests`, `bios`.
    const TABLE: &'static str;
    /// The columns in their order.
    const COLUMNS: &'static [Column<Self>];
}

impl<T> Column<T> {
    const fn new(name: &'static str, unit: &'static str, get: Get<T>) -> Column<T> {
        let known = None;
        Column {
            name,
            unit,
            get,
            known,
        }
    }

    /// A column of yes or no.
    pub(super) const fn bool(name: &'static str, get: fn(&T) -> Option<bool>) -> Column<T> {
        Column::new(name, "flag", Get::Bool(get))
    }

    /// A column of counts.
    pub(super) const fn count(name: &'static str, get: fn(&T) -> Option<u32>) -> Column<T> {
        Column::new(name, "count", Get::U32(get))
    }

    /// A column of counts of requests.
    pub(super) const fn requests(name: &'static str, get: fn(&T) -> Option<u64>) -> Column<T> {
        Column::new(name, "count", Get::U64(get))
    }

    /// A column of numbers that name something: CPUs, tasks, lines.
    pub(super) const fn number(name: &'static str, get: fn(&T) -> Option<u32>) -> Column<T> {
        Column::new(name, "id", Get::U32(get))
    }

    /// A column of running numbers.
    pub(super) const fn id(name: &'static str, get: fn(&T) -> Option<u64>) -> Column<T> {
        Column::new(name, "id", Get::U64(get))
    }

    /// A column of sectors.
    pub(super) const fn sector(name: &'static str, get: fn(&T) -> Option<u64>) -> Column<T> {
        Column::new(name, "sectors of 512 bytes", Get::U64(get))
    }

    /// A column of lengths.
    pub(super) const fn bytes(name: &'static str, get: fn(&T) -> Option<u64>) -> Column<T> {
        Column::new(name, "bytes", Get::U64(get))
    }

    /// A column of errnos.
    pub(super) const fn errno(name: &'static str, get: fn(&T) -> Option<i32>) -> Column<T> {
        Column::new(name, "negative errno", Get::I32(get))
    }

    /// A column of times.
    pub(super) const fn time(name: &'static str, get: fn(&T) -> Option<i64>) -> Column<T> {
        Column::new(name, "ns on the trace's clock", Get::I64(get))
    }

    /// A column of spans.
    pub(super) const fn span(name: &'static str, get: fn(&T) -> Option<i64>) -> Column<T> {
        Column::new(name, "ns", Get::I64(get))
    }

    /// A column of words.
    pub(super) const fn text(
        name: &'static str,
        get: for<'a> fn(&'a T, Option<&'a str>) -> Option<Cow<'a, str>>,
    ) -> Column<T> {
        Column::new(name, "text", Get::Text(get))
    }

    /// The type of its cells, as Arrow calls it.
    pub fn type_name(&self) -> &'static str {
        match self.get {
            Get::Bool(_) => "bool",
            Get::U32(_) => "uint32",
            Get::U64(_) => "uint64",
            Get::I32(_) => "int32",
            Get::I64(_) => "int64",
            Get::Text(_) => "string",
        }
    }

    /// The same column, absent where `known` says no.
    pub(super) const fn when(mut self, known: fn(&T, &Fields) -> bool) -> Column<T> {
        self.known = Some(known);
        self
    }

    /// Whether a source with these fields can tell it of this record.
    pub fn known(&self, t: &T, fields: &Fields) -> bool {
        self.known.is_none_or(|known| known(t, fields))
    }

    /// Its cell of a record whose task is named `comm`.
    pub fn value<'a>(&self, t: &'a T, comm: Option<&'a str>, fields: &Fields) -> Value<'a> {
        if !self.known(t, fields) {
            return Value::Absent;
        }
        let cell = match self.get {
            Get::Bool(f) => f(t).map(Value::Bool),
            Get::U32(f) => f(t).map(|n| Value::Uint(n.into())),
            Get::U64(f) => f(t).map(Value::Uint),
            Get::I32(f) => f(t).map(|n| Value::Int(n.into())),
            Get::I64(f) => f(t).map(Value::Int),
            Get::Text(f) => f(t, comm).map(Value::Text),
        };
        cell.unwrap_or(Value::Absent)
    }
}

/// The cells of a record, in the order of its columns.
pub fn values<'a, T: Record>(
    t: &'a T,
    comm: Option<&'a str>,
    fields: &'a Fields,
) -> impl Iterator<Item = Value<'a>> + use<'a, T> {
    T::COLUMNS.iter().map(move |c| c.value(t, comm, fields))
}
