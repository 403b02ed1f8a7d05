//! The fields a line can hold, and their names in `--line`.

/// What a piece of a line means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Field {
    /// A part of the time; all parts of a line add up.
    Time,
    /// `HH:MM:SS[.fraction]`.
    Clock,
    /// The CPU.
    Cpu,
    /// The process or task id.
    Pid,
    /// The task id; wins over [`Field::Pid`].
    Tid,
    /// The event's name or letter.
    Event,
    /// The device: `MAJ,MIN`, `MAJ:MIN`, or the kernel's number.
    Dev,
    /// The device's major number.
    Major,
    /// The device's minor number.
    Minor,
    /// The first sector.
    Sector,
    /// The length in sectors.
    Nr,
    /// The length in bytes.
    Bytes,
    /// The rwbs letters.
    Rwbs,
    /// The error number.
    Error,
    /// The task's name.
    Comm,
    /// The device a remap comes from.
    OldDev,
    /// Its major number.
    OldMajor,
    /// Its minor number.
    OldMinor,
    /// The sector a remap comes from.
    OldSector,
    /// The first sector of a split's remainder.
    NewSector,
    /// The number of requests of an unplug.
    NrRq,
    /// The sequence number of blktrace's event.
    Seq,
    /// blkparse's `%U`: the requests of an unplug, the low half of a split's new sector; of other events nothing.
    Payload,
    /// One word without meaning.
    SkipWord,
    /// Text without meaning, blanks included.
    SkipText,
}

/// How a field's text is recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// `[+-]digits`, `0xhex`, or a lone `-` (absent).
    Number,
    /// A number with an optional fraction.
    Decimal,
    /// Digits with colons and a fraction.
    Clock,
    /// A number, or two with a comma or colon.
    Dev,
    /// Anything without blanks, at least one byte.
    Word,
    /// Anything, blanks included, possibly empty.
    Text,
}

impl Field {
    /// How it is recognised.
    pub fn class(self) -> Class {
        match self {
            Field::Time => Class::Decimal,
            Field::Clock => Class::Clock,
            Field::Dev | Field::OldDev => Class::Dev,
            Field::Event | Field::Rwbs | Field::SkipWord => Class::Word,
            Field::Comm | Field::SkipText => Class::Text,
            _ => Class::Number,
        }
    }

    /// For messages.
    pub fn title(self) -> &'static str {
        match self {
            Field::Time | Field::Clock => "time",
            Field::Cpu => "cpu",
            Field::Pid | Field::Tid => "pid",
            Field::Event => "event",
            Field::Dev | Field::Major | Field::Minor => "device",
            Field::Sector => "sector",
            Field::Nr | Field::Bytes => "length",
            Field::Rwbs => "rwbs",
            Field::Error => "error",
            Field::Comm => "comm",
            Field::OldDev | Field::OldMajor | Field::OldMinor => "old device",
            Field::OldSector => "old sector",
            Field::NewSector => "new sector",
            Field::NrRq => "number of requests",
            Field::Seq => "sequence number",
            Field::Payload => "payload",
            Field::SkipWord | Field::SkipText => "skip",
        }
    }
}

/// A field with the unit it is printed in: value = printed number × `mul` ÷ `div`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slot {
    /// The field.
    pub field: Field,
    /// Printed in hexadecimal.
    pub hex: bool,
    /// ns (times), or the field's own unit, in one printed unit.
    pub mul: u64,
    /// See `mul`.
    pub div: u64,
    /// A fraction may follow (times only).
    pub fraction: bool,
}

impl Slot {
    /// A field in its own unit, decimal.
    pub const fn of(field: Field) -> Slot {
        Slot {
            field,
            hex: false,
            mul: 1,
            div: 1,
            fraction: false,
        }
    }

    /// A time in units of `mul` ns.
    pub const fn time(mul: u64) -> Slot {
        Slot {
            mul,
            ..Slot::of(Field::Time)
        }
    }
}

const fn secs(mul: u64) -> Slot {
    Slot {
        fraction: true,
        ..Slot::time(mul)
    }
}

/// The names of `--line`, in the order in which messages list them.
pub const NAMES: [(&str, Slot); 24] = [
    ("ns", secs(1)),
    ("us", secs(1_000)),
    ("ms", secs(1_000_000)),
    ("s", secs(1_000_000_000)),
    ("clock", Slot::of(Field::Clock)),
    ("cpu", Slot::of(Field::Cpu)),
    ("pid", Slot::of(Field::Pid)),
    ("tid", Slot::of(Field::Tid)),
    ("event", Slot::of(Field::Event)),
    ("dev", Slot::of(Field::Dev)),
    ("major", Slot::of(Field::Major)),
    ("minor", Slot::of(Field::Minor)),
    ("sector", Slot::of(Field::Sector)),
    ("nr", Slot::of(Field::Nr)),
    ("bytes", Slot::of(Field::Bytes)),
    ("rwbs", Slot::of(Field::Rwbs)),
    ("error", Slot::of(Field::Error)),
    ("comm", Slot::of(Field::Comm)),
    ("old_dev", Slot::of(Field::OldDev)),
    ("old_sector", Slot::of(Field::OldSector)),
    ("new_sector", Slot::of(Field::NewSector)),
    ("nr_rq", Slot::of(Field::NrRq)),
    ("skip", Slot::of(Field::SkipWord)),
    ("text", Slot::of(Field::SkipText)),
];

/// The slot of a name.
pub fn by_name(name: &str) -> Option<Slot> {
    NAMES.iter().find(|(n, _)| *n == name).map(|(_, s)| *s)
}

/// The known name nearest to a wrong one.
pub fn suggestion(wrong: &str) -> Option<&'static str> {
    let alias = match wrong.to_ascii_lowercase().as_str() {
        "time" | "nsecs" | "ts" | "timestamp" => Some("ns"),
        "sec" | "secs" | "seconds" => Some("s"),
        "usecs" => Some("us"),
        "nr_sector" | "nr_sectors" | "sectors" | "len" | "length" | "count" => Some("nr"),
        "size" => Some("bytes"),
        "device" | "disk" => Some("dev"),
        "action" | "probe" | "func" | "name" | "tracepoint" => Some("event"),
        "rw" | "flags" | "op" => Some("rwbs"),
        "err" | "errno" | "ret" => Some("error"),
        "task" | "command" | "process" => Some("comm"),
        "offset" | "lba" | "block" => Some("sector"),
        "any" | "ignore" | "_" | "" => Some("skip"),
        _ => None,
    };
    alias.or_else(|| {
        NAMES
            .iter()
            .map(|(n, _)| (distance(n, wrong), *n))
            .filter(|(d, _)| *d <= 2)
            .min()
            .map(|(_, n)| n)
    })
}

/// Edits between two short names (Levenshtein); long ones count as far away.
fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if b.len() > 32 {
        return usize::MAX;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut last = i + 1;
        for (j, y) in b.iter().enumerate() {
            let sub = row[j] + usize::from(!x.eq_ignore_ascii_case(y));
            let next = sub.min(last + 1).min(row[j + 1] + 1);
            row[j] = last;
            last = next;
        }
        row[b.len()] = last;
    }
    row[b.len()]
}
