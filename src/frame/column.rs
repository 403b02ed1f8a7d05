//! What a column is: its name, and how its cells are got from a record. The type follows from the latter, so that the two
//! cannot disagree.

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
    /// Its cells.
    pub get: Get<T>,
}

/// Something that is a row of a table.
pub trait Record: Copy + 'static {
    /// The table's name, which is its command's: `events`, `requests`, `bios`.
    const TABLE: &'static str;
    /// The columns in their order.
    const COLUMNS: &'static [Column<Self>];
}

impl<T> Column<T> {
    /// A column of yes or no.
    pub const fn bool(name: &'static str, get: fn(&T) -> Option<bool>) -> Column<T> {
        let get = Get::Bool(get);
        Column { name, get }
    }

    /// A column of small counts and ids.
    pub const fn u32(name: &'static str, get: fn(&T) -> Option<u32>) -> Column<T> {
        let get = Get::U32(get);
        Column { name, get }
    }

    /// A column of sectors, bytes, running numbers.
    pub const fn u64(name: &'static str, get: fn(&T) -> Option<u64>) -> Column<T> {
        let get = Get::U64(get);
        Column { name, get }
    }

    /// A column of errnos.
    pub const fn i32(name: &'static str, get: fn(&T) -> Option<i32>) -> Column<T> {
        let get = Get::I32(get);
        Column { name, get }
    }

    /// A column of times in ns.
    pub const fn i64(name: &'static str, get: fn(&T) -> Option<i64>) -> Column<T> {
        let get = Get::I64(get);
        Column { name, get }
    }

    /// A column of words.
    pub const fn text(
        name: &'static str,
        get: for<'a> fn(&'a T, Option<&'a str>) -> Option<Cow<'a, str>>,
    ) -> Column<T> {
        let get = Get::Text(get);
        Column { name, get }
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

    /// Its cell of a record whose task is named `comm`.
    pub fn value<'a>(&self, t: &'a T, comm: Option<&'a str>) -> Value<'a> {
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
) -> impl Iterator<Item = Value<'a>> + use<'a, T> {
    T::COLUMNS.iter().map(move |c| c.value(t, comm))
}
