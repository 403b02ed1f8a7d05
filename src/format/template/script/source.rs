//! What an expression of a script prints: which argument of the tracepoint, in which unit.

use super::super::field::{Field, Slot};
use super::expr::Expr;
use std::collections::BTreeMap;

/// Simple variables and what they hold.
pub type Vars = BTreeMap<String, Src>;

/// Where a printed value comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Src {
    /// A number in the script.
    Const(u64),
    /// A string in the script.
    Text(Vec<u8>),
    /// A field of the event.
    Field(Slot),
    /// `strftime` with this format.
    Clock(Vec<u8>),
    /// A point of time kept in a map (`@start`).
    Kept,
    /// A kernel or user stack, which is printed on lines of its own.
    Stack,
    /// What we cannot follow; as text for messages.
    Unknown(String),
}

impl Src {
    /// The field in its own unit, if it is one.
    pub fn field(&self) -> Option<Field> {
        match self {
            Src::Field(s) if (s.mul, s.div) == (1, 1) => Some(s.field),
            _ => None,
        }
    }

    fn unknown(what: impl Into<String>) -> Src {
        Src::Unknown(what.into())
    }
}

const fn plain(f: Field) -> Src {
    Src::Field(Slot::of(f))
}

/// Follows an expression.
pub fn eval(e: &Expr, vars: &Vars) -> Src {
    match e {
        Expr::Num(n) => Src::Const(*n),
        Expr::Str(s) => Src::Text(s.clone()),
        Expr::Name(n) => name(n, vars),
        Expr::Member(of, field) => match of.as_ref() {
            Expr::Name(a) if a == "args" => argument(field),
            _ => Src::unknown(format!("….{field}")),
        },
        Expr::Call(f, args) => call(f, args, vars),
        Expr::Bin(op, a, b) => binary(op, &eval(a, vars), &eval(b, vars)),
        Expr::Choice(a, b) => {
            let (a, b) = (eval(a, vars), eval(b, vars));
            if a == b { a } else { Src::unknown("? :") }
        }
        Expr::Keyed(_) => Src::unknown("an element of a map"),
        Expr::Other => Src::unknown("an expression"),
    }
}

fn name(n: &str, vars: &Vars) -> Src {
    if let Some(v) = vars.get(n) {
        return v.clone();
    }
    match n {
        "nsecs" | "elapsed" => Src::Field(Slot::time(1)),
        "cpu" => plain(Field::Cpu),
        "pid" => plain(Field::Pid),
        "tid" => plain(Field::Tid),
        "comm" => plain(Field::Comm),
        "probe" => plain(Field::Event),
        "kstack" | "ustack" => Src::Stack,
        _ if n.starts_with('@') => Src::Kept,
        _ => Src::unknown(n),
    }
}

/// An argument of a block tracepoint (`include/trace/events/block.h`).
fn argument(field: &str) -> Src {
    match field {
        "dev" => plain(Field::Dev),
        "sector" => plain(Field::Sector),
        "nr_sector" | "nr_sectors" => plain(Field::Nr),
        "bytes" => plain(Field::Bytes),
        "rwbs" => plain(Field::Rwbs),
        "error" => plain(Field::Error),
        "comm" => plain(Field::Comm),
        "old_dev" => plain(Field::OldDev),
        "old_sector" => plain(Field::OldSector),
        "new_sector" => plain(Field::NewSector),
        "nr_rq" => plain(Field::NrRq),
        _ => Src::unknown(format!("args.{field}")),
    }
}

fn call(f: &str, args: &[Expr], vars: &Vars) -> Src {
    match f {
        "nsecs" | "elapsed" | "cpu" | "pid" | "tid" | "comm" | "probe" | "kstack" | "ustack" => {
            name(f, vars)
        }
        "str" | "kstr" | "buf" | "kptr" | "int64" | "uint64" => match args.first() {
            Some(a) => eval(a, vars),
            None => Src::unknown(f),
        },
        "strftime" => match args {
            [Expr::Str(fmt), t] if matches!(eval(t, vars), Src::Field(s) if s == Slot::time(1)) => {
                Src::Clock(fmt.clone())
            }
            _ => Src::unknown("strftime"),
        },
        _ => Src::unknown(format!("{f}()")),
    }
}

fn binary(op: &str, a: &Src, b: &Src) -> Src {
    match (a, b) {
        (Src::Const(x), Src::Const(y)) => fold(op, *x, *y),
        (Src::Field(s), Src::Const(n)) => scaled(op, *s, *n),
        (Src::Const(n), Src::Field(s)) if op == "*" || op == "&" => scaled(op, *s, *n),
        // A start kept elsewhere only moves the origin of time.
        (Src::Field(s), Src::Kept) if s.field == Field::Time && op == "-" => Src::Field(*s),
        _ => Src::unknown(format!("… {op} …")),
    }
}

fn fold(op: &str, x: u64, y: u64) -> Src {
    let shift = u32::try_from(y).unwrap_or(u32::MAX);
    let v = match op {
        "+" => x.checked_add(y),
        "-" => x.checked_sub(y),
        "*" => x.checked_mul(y),
        "/" => x.checked_div(y),
        "%" => x.checked_rem(y),
        "<<" => x.checked_shl(shift),
        ">>" => x.checked_shr(shift),
        "&" => Some(x & y),
        "|" => Some(x | y),
        _ => None,
    };
    v.map_or_else(|| Src::unknown("a constant"), Src::Const)
}

/// A field, scaled by a constant.
fn scaled(op: &str, s: Slot, n: u64) -> Src {
    let (op, n) = match op {
        "<<" if n < 63 => ("*", 1u64 << n),
        ">>" if n < 63 => ("/", 1u64 << n),
        _ => (op, n),
    };
    let unscaled = (s.mul, s.div) == (1, 1);
    let of = |f| Src::Field(Slot::of(f));
    match (s.field, op, n) {
        (Field::Dev, "/", 0x10_0000) => of(Field::Major),
        (Field::Dev, "&", 0xf_ffff) | (Field::Dev, "%", 0x10_0000) => of(Field::Minor),
        (Field::OldDev, "/", 0x10_0000) => of(Field::OldMajor),
        (Field::OldDev, "&", 0xf_ffff) | (Field::OldDev, "%", 0x10_0000) => of(Field::OldMinor),
        (Field::Major, "&", 0xfff) if unscaled => of(Field::Major),
        (Field::OldMajor, "&", 0xfff) if unscaled => of(Field::OldMajor),
        // Seconds and the rest of a second are printed apart and added again.
        (Field::Time, "%", 1..) | (Field::Time, "-" | "+", _) => Src::Field(s),
        (Field::Nr, "*" | "/", 1..) => unit(
            Slot {
                field: Field::Bytes,
                mul: 512,
                ..s
            },
            op,
            n,
        ),
        (Field::Time | Field::Bytes | Field::Sector, "*" | "/", 1..) => unit(s, op, n),
        _ => Src::unknown(format!("{} {op} {n}", s.field.title())),
    }
}

/// Printed = value × n (or ÷ n), so value = printed ÷ n (or × n).
fn unit(s: Slot, op: &str, n: u64) -> Src {
    let (mul, div) = match op {
        "/" => (s.mul.checked_mul(n), Some(s.div)),
        _ => (Some(s.mul), s.div.checked_mul(n)),
    };
    match (mul, div) {
        (Some(mul), Some(div)) => {
            let g = gcd(mul, div);
            Src::Field(Slot {
                mul: mul / g,
                div: div / g,
                ..s
            })
        }
        _ => Src::unknown("a scaled field"),
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a.max(1) } else { gcd(b, a % b) }
}
