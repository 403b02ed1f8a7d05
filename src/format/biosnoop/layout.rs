//! Which columns a log has: by its header line, or, where that was left out, by the shape of its rows.
//!
//! Headers as printed by biosnoop.py (bcc 0.1 to 0.35), libbpf-tools/biosnoop.c, biosnoop.bt of bpftrace (kprobes to
//! 6.3, tracepoints since) and iosnoop of perf-tools.

use super::row::{self, Row};

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    /// When the request ended, in units of this many ns.
    Time(u64),
    /// The same as a time of day, with or without a date.
    Clock,
    /// When it started (iosnoop `-s`).
    Start,
    /// When it ended (iosnoop `-t`).
    End,
    /// The task's name; may hold blanks.
    Comm,
    Pid,
    /// The disk's name, or nothing.
    Disk,
    /// The disk's number as `MAJ,MIN` or `MAJ:MIN`.
    Dev,
    Major,
    Minor,
    /// rwbs, or R and W.
    Letters,
    Sector,
    Bytes,
    /// `-P`: sequential or random.
    Pattern,
    /// Time before the issue, ms.
    Queue,
    /// ms.
    Latency,
}

use Column::*;

/// Who prints such rows, which decides what the times mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tool {
    /// biosnoop.py: `blk_mq_start_request` to `blk_account_io_done`; QUE from `blk_account_io_start` on, right behind
    /// the request's allocation. R is all that is no write.
    Bcc,
    /// libbpf-tools: `block_rq_issue` to `block_rq_complete`; QUE from `block_rq_insert` on.
    Libbpf,
    /// perf-tools: `block_rq_issue` (with `-Q` `block_rq_insert`, which the output does not tell) to
    /// `block_rq_complete`.
    Iosnoop,
    /// biosnoop.bt: `blk_account_io_start` to `blk_account_io_done`, that is from the allocation on.
    Bpftrace,
}

/// The columns of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// In order.
    pub(super) columns: Vec<Column>,
    pub(super) tool: Tool,
}

impl Layout {
    /// Whether rows tell when anything happened.
    pub(super) fn has_time(&self) -> bool {
        let is = |c: &Column| matches!(c, Time(_) | Clock | Start | End);
        self.columns.iter().any(is)
    }

    /// The columns before the task's name, and those behind it.
    pub(super) fn sides(&self) -> (&[Column], &[Column]) {
        let at = self.columns.iter().position(|c| *c == Comm).unwrap_or(0);
        let (left, right) = self.columns.split_at(at);
        (left, right.get(1..).unwrap_or_default())
    }

    /// Takes the tool from a row, where two tools have the same columns: libbpf-tools prints three decimals of a
    /// latency, bcc two.
    pub(super) fn refine(&mut self, row: &Row<'_>) {
        if self.tool == Tool::Bcc && row::decimals(row.latency) == 3 {
            self.tool = Tool::Libbpf;
        }
    }
}

/// The second header line of biosnoop.bt, below `DISK ID`.
pub(super) fn is_second_header(line: &[u8]) -> bool {
    words(line).eq([&b"MAJOR"[..], b"MINOR"])
}

fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace)
        .filter(|w| !w.is_empty())
}

/// The columns that a header line names; `None`: it is no header.
pub(super) fn header(line: &[u8]) -> Option<Layout> {
    let mut columns = Vec::new();
    let mut tool = Tool::Bcc;
    for word in words(line) {
        let column = match word {
            b"TIME(s)" => Time(1_000_000_000),
            b"TIME(ms)" => {
                tool = Tool::Bpftrace;
                Time(1_000_000)
            }
            b"TIME" => Clock,
            b"TIMESTAMP" => {
                tool = Tool::Libbpf;
                Clock
            }
            b"STARTs" => Start,
            b"ENDs" => End,
            b"COMM" => Comm,
            b"PID" => Pid,
            b"DISK" => Disk,
            // `DISK ID` has the numbers below it.
            b"ID" if columns.last() == Some(&Disk) => {
                columns.pop();
                columns.push(Major);
                Minor
            }
            b"DEV" => Dev,
            b"T" | b"TYPE" => Letters,
            b"SECTOR" | b"BLOCK" => Sector,
            b"BYTES" => Bytes,
            b"P" => Pattern,
            b"QUE(ms)" => Queue,
            b"LAT(ms)" => Latency,
            b"LATms" => {
                tool = Tool::Iosnoop;
                Latency
            }
            _ => return None,
        };
        columns.push(column);
    }
    let ends = columns.last() == Some(&Latency);
    let distinct = (1..columns.len()).all(|i| !columns[..i].contains(&columns[i]));
    let named = columns.contains(&Comm) && columns.contains(&Pid);
    (ends && distinct && named).then_some(Layout { columns, tool })
}

/// Layouts that are tried on rows without a header, from the special to the general.
pub(super) fn known() -> Vec<Layout> {
    let bcc = [Comm, Pid, Disk, Letters, Sector, Bytes];
    let mut out = Vec::new();
    for time in [Time(1_000_000_000), Clock] {
        for extra in [&[][..], &[Queue], &[Pattern], &[Pattern, Queue]] {
            let columns = [&[time][..], &bcc, extra, &[Latency]].concat();
            out.push(Layout {
                columns,
                tool: Tool::Bcc,
            });
        }
    }
    let iosnoop = [Comm, Pid, Letters, Dev, Sector, Bytes, Latency];
    // One time alone may be the start or the end: not certain.
    for times in [&[Start, End][..], &[]] {
        out.push(Layout {
            columns: [times, &iosnoop].concat(),
            tool: Tool::Iosnoop,
        });
    }
    out.push(Layout {
        columns: vec![Time(1_000_000), Dev, Comm, Pid, Latency],
        tool: Tool::Bpftrace,
    });
    out
}

/// The layout of a head of a log; `None`: it is no such log.
pub(super) fn of(head: &[u8]) -> Option<Layout> {
    let whole = memchr::memrchr(b'\n', head).unwrap_or(head.len());
    let lines = || {
        let all = head[..whole].split(|b| *b == b'\n');
        all.map(|l| l.strip_suffix(b"\r").unwrap_or(l))
            .filter(|l| l.len() < 512)
    };
    if let Some(mut layout) = lines().find_map(header) {
        if let Some(row) = lines().find_map(|l| row::parse(&layout, l).ok()) {
            layout.refine(&row);
        }
        return Some(layout);
    }
    known().into_iter().find_map(|mut layout| {
        let mut rows = lines().filter_map(|l| certain(&layout, l));
        let first = rows.next()?;
        // Five bare words are too few to trust one line.
        if layout.tool == Tool::Bpftrace && rows.next().is_none() {
            return None;
        }
        layout.refine(&first);
        Some(layout)
    })
}

/// A row whose every word has the shape that its column has and others have not.
fn certain<'a>(layout: &Layout, line: &'a [u8]) -> Option<Row<'a>> {
    // Every row ends with its latency; most lines of other texts do not end with a digit.
    line.trim_ascii_end()
        .last()
        .filter(|b| b.is_ascii_digit())?;
    let row = row::parse(layout, line).ok()?;
    let fraction = |w: &[u8]| row::decimals(w) > 0;
    let letters = row
        .letters
        .is_none_or(|l| (1..=8).contains(&l.len()) && l.iter().all(|b| b"RWDFNSAMEZP".contains(b)));
    let latency = match layout.tool {
        Tool::Bpftrace => row.dev.is_some() && !fraction(row.latency),
        _ => matches!(row::decimals(row.latency), 2 | 3),
    };
    let time = match layout.columns.first() {
        Some(Time(1_000_000_000)) => fraction(row.end.unwrap_or_default()),
        Some(Start) => fraction(row.start.unwrap_or_default()),
        _ => true,
    };
    // A single time before the name may be either end: a log without its header is not read then.
    let first = words(row.comm).next().unwrap_or_default();
    let name = layout.has_time() || !fraction(first);
    (letters && latency && time && name).then_some(row)
}
