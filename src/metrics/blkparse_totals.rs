//! blkparse's own totals, counted from events by blkparse's rules, and their comparison with a printed summary.
//!
//! Rules of `blkparse.c` (`dump_trace_fs`, `dump_trace_pc`, `size_cnv`): the direction is the write bit (discards are
//! writes, the device flush a read of 0 KiB); R takes its bytes, not its count, from the dispatches; merges of requests
//! count as merges; passthrough has rows of its own; above 1,000,000 a number is printed ÷ 1000, cut, with a unit.

use super::collect::MAX_DEVICES;
use crate::event::{Action, BlockEvent, DevId, Op};
use crate::lifecycle::Sink;
use rustc_hash::FxHashMap;
use serde::Serialize;

/// What a line of the summary counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Total {
    /// Q.
    Queued,
    /// D; bytes less those of R.
    Dispatches,
    /// R.
    Requeued,
    /// C.
    Completed,
    /// M and F.
    Merges,
    /// Q of passthrough.
    PcQueued,
    /// D of passthrough; bytes less those of R.
    PcDispatches,
    /// R of passthrough.
    PcRequeued,
    /// C of passthrough.
    PcCompleted,
}

impl Total {
    const N: usize = 9;

    /// As blkparse prints it, for reads or writes.
    pub fn label(self, write: bool) -> &'static str {
        match (self, write) {
            (Total::Queued, false) => "Reads Queued",
            (Total::Queued, true) => "Writes Queued",
            (Total::Dispatches, false) => "Read Dispatches",
            (Total::Dispatches, true) => "Write Dispatches",
            (Total::Requeued, false) => "Reads Requeued",
            (Total::Requeued, true) => "Writes Requeued",
            (Total::Completed, false) => "Reads Completed",
            (Total::Completed, true) => "Writes Completed",
            (Total::Merges, false) => "Read Merges",
            (Total::Merges, true) => "Write Merges",
            (Total::PcQueued, false) => "PC Reads Queued",
            (Total::PcQueued, true) => "PC Writes Queued",
            (Total::PcDispatches, false) => "PC Read Disp.",
            (Total::PcDispatches, true) => "PC Write Disp.",
            (Total::PcRequeued, false) => "PC Reads Req.",
            (Total::PcRequeued, true) => "PC Writes Req.",
            (Total::PcCompleted, false) => "PC Reads Compl.",
            (Total::PcCompleted, true) => "PC Writes Compl.",
        }
    }
}

/// A printed number: `value` units of `unit`, the rest cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Scaled {
    /// As printed.
    pub value: u64,
    /// 1, or 1000 to a power; for sizes in KiB (`MiB` of blkparse is 1000 KiB).
    pub unit: u64,
}

impl Scaled {
    /// Whether `exact` would be printed like this.
    pub fn shows(self, exact: u64) -> bool {
        exact / self.unit.max(1) == self.value
    }
}

/// A line half of a printed summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SummaryRow {
    /// Which.
    pub total: Total,
    /// The writes' half.
    pub write: bool,
    /// Events.
    pub count: Scaled,
    /// Size, where the line has one.
    pub kib: Option<Scaled>,
}

/// The printed summary of one device (its Total block, or its only CPU's).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SummaryDevice {
    /// As printed in parentheses.
    pub name: String,
    /// Its number, where it could be told.
    pub dev: Option<DevId>,
    /// Rows in printed order.
    pub rows: Vec<SummaryRow>,
    /// `IO unplugs`, `Timer unplugs`.
    pub unplugs: Option<(Scaled, Scaled)>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Cell {
    count: u64,
    /// Σ of each event's whole KiB: what blkparse adds up. Wraps as its counter does.
    kib: u64,
    /// Σ of bytes: what versions that keep the rest add up.
    bytes: u64,
}

impl Cell {
    fn add(&mut self, bytes: u64) {
        self.count += 1;
        self.kib = self.kib.wrapping_add(bytes >> 10);
        self.bytes = self.bytes.wrapping_add(bytes);
    }

    fn take_bytes(&mut self, bytes: u64) {
        self.kib = self.kib.wrapping_sub(bytes >> 10);
        self.bytes = self.bytes.wrapping_sub(bytes);
    }
}

/// Counts of one device.
#[derive(Clone, Debug)]
pub struct DeviceTotals {
    cells: [[Cell; 2]; Total::N],
    actions: [u64; Action::ALL.len()],
}

impl Default for DeviceTotals {
    fn default() -> Self {
        DeviceTotals {
            cells: Default::default(),
            actions: [0; Action::ALL.len()],
        }
    }
}

impl DeviceTotals {
    /// Events of this kind.
    pub fn actions(&self, a: Action) -> u64 {
        self.actions[a as usize]
    }

    fn cell(&mut self, t: Total, write: bool) -> &mut Cell {
        &mut self.cells[t as usize][usize::from(write)]
    }

    fn count(&mut self, ev: &BlockEvent) {
        self.actions[ev.action as usize] += 1;
        let write = matches!(
            ev.rwbs.op(),
            Op::Write | Op::Discard | Op::SecureErase | Op::WriteZeroes | Op::Zone
        );
        let pc = ev.passthrough();
        let pick = |fs, passthrough| if pc { passthrough } else { fs };
        let total = match ev.action {
            Action::Queue => pick(Total::Queued, Total::PcQueued),
            Action::Issue => pick(Total::Dispatches, Total::PcDispatches),
            Action::Complete | Action::BioComplete => pick(Total::Completed, Total::PcCompleted),
            Action::Requeue => {
                self.cell(pick(Total::Dispatches, Total::PcDispatches), write)
                    .take_bytes(ev.bytes);
                pick(Total::Requeued, Total::PcRequeued)
            }
            Action::BackMerge | Action::FrontMerge | Action::RqMerge if !pc => Total::Merges,
            _ => return,
        };
        self.cell(total, write).add(ev.bytes);
    }
}

/// Counts as blkparse does, per device.
#[derive(Default)]
pub struct BlkparseTotals {
    devices: FxHashMap<DevId, DeviceTotals>,
    /// Of devices beyond the most that are told apart.
    others: DeviceTotals,
}

impl BlkparseTotals {
    /// The counts of a device.
    pub fn device(&self, dev: DevId) -> Option<&DeviceTotals> {
        self.devices.get(&dev)
    }

    /// The counts of all devices beyond the 1,024th.
    pub fn others(&self) -> &DeviceTotals {
        &self.others
    }
}

impl Sink for BlkparseTotals {
    fn event(&mut self, ev: &BlockEvent) {
        if self.devices.len() >= MAX_DEVICES && !self.devices.contains_key(&ev.dev) {
            return self.others.count(ev);
        }
        self.devices.entry(ev.dev).or_default().count(ev);
    }
}

/// A printed number beside the counted one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparedRow {
    /// blkparse's words: `Writes Queued`.
    pub row: &'static str,
    /// As printed.
    pub printed: Scaled,
    /// As counted.
    pub counted: u64,
    /// As printed, in KiB.
    pub printed_kib: Option<Scaled>,
    /// As counted, in KiB (each event cut to whole KiB).
    pub counted_kib: Option<u64>,
    /// Equal within the printed unit's rounding, or explained.
    pub ok: bool,
    /// Why a difference is none, or what it may come from.
    pub reason: Option<&'static str>,
}

/// A device's printed summary beside the counts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// As printed.
    pub name: String,
    /// Its number; `None`: not found in the trace, or it could be one of several.
    pub dev: Option<DevId>,
    /// Several devices have these numbers, or (no rows) none of those without a name: which of them it is, is not known.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ambiguous: bool,
    /// Rows in printed order.
    pub rows: Vec<ComparedRow>,
}

impl Comparison {
    /// Whether every number agrees.
    pub fn agrees(&self) -> bool {
        self.rows.iter().all(|r| r.ok)
    }

    /// Nothing is compared: which device has this name is not known.
    pub fn not_found(name: &str) -> Comparison {
        Comparison {
            name: name.to_string(),
            dev: None,
            ambiguous: true,
            rows: Vec::new(),
        }
    }

    /// The same, for a device that stands for all that have its numbers.
    pub fn of_one_of_several(self) -> Comparison {
        Comparison {
            dev: None,
            ambiguous: true,
            ..self
        }
    }
}

/// Compares one device's summary with the counts of its events (`None`: it has no event in the trace).
pub fn compare(
    s: &SummaryDevice,
    counted: Option<&DeviceTotals>,
    input_damaged: bool,
) -> Comparison {
    let zero = DeviceTotals::default();
    let t = counted.unwrap_or(&zero);
    let mut rows: Vec<ComparedRow> = s
        .rows
        .iter()
        .map(|r| compare_row(r, t, input_damaged))
        .collect();
    if let Some((io, timer)) = s.unplugs {
        for (row, printed, action) in [
            ("IO unplugs", io, Action::Unplug),
            ("Timer unplugs", timer, Action::UnplugTimer),
        ] {
            let counted = t.actions(action);
            let ok = printed.shows(counted);
            rows.push(ComparedRow {
                row,
                printed,
                counted,
                printed_kib: None,
                counted_kib: None,
                ok,
                reason: (!ok).then(|| cause(input_damaged)),
            });
        }
    }
    Comparison {
        name: s.name.clone(),
        dev: s.dev,
        ambiguous: false,
        rows,
    }
}

fn cause(input_damaged: bool) -> &'static str {
    if input_damaged {
        "blkparse counted lines that are damaged or cut off in this file"
    } else {
        "lines are missing from this file, or it was joined from several runs"
    }
}

fn compare_row(r: &SummaryRow, t: &DeviceTotals, input_damaged: bool) -> ComparedRow {
    let cell = t.cells[r.total as usize][usize::from(r.write)];
    let count_ok = r.count.shows(cell.count);
    let kib_ok = r.kib.is_none_or(|k| k.shows(cell.kib));
    let whole_ok = r.kib.is_none_or(|k| k.shows(cell.bytes >> 10));
    // blkparse before 1.3 prints the ordinary writes here (`dump_io_stats` passes cwrites for cwrites_pc).
    let writes = t.cells[Total::Completed as usize][1].count;
    let slip = r.total == Total::PcCompleted && r.write && r.count.shows(writes);
    let (ok, reason) = match (count_ok, kib_ok || whole_ok) {
        (true, true) if whole_ok => (true, None),
        (true, true) => (
            true,
            Some("this blkparse drops the parts of a KiB of each event"),
        ),
        (false, _) if slip => (
            true,
            Some("blkparse prints its ordinary writes in this row"),
        ),
        _ => (false, Some(cause(input_damaged))),
    };
    ComparedRow {
        row: r.total.label(r.write),
        printed: r.count,
        counted: cell.count,
        printed_kib: r.kib,
        counted_kib: r
            .kib
            .map(|_| if whole_ok { cell.bytes >> 10 } else { cell.kib }),
        ok,
        reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Rwbs;
    use crate::units::Nanos;

    const DEV: DevId = DevId::new(8, 0);

    fn ev(a: Action, rwbs: &[u8], bytes: u64) -> BlockEvent {
        let mut e = BlockEvent::new(Nanos(0), DEV, a);
        e.rwbs = Rwbs::new(rwbs);
        e.bytes = bytes;
        e
    }

    fn row(total: Total, write: bool, value: u64, kib: Option<u64>) -> SummaryRow {
        let one = |value| Scaled { value, unit: 1 };
        SummaryRow {
            total,
            write,
            count: one(value),
            kib: kib.map(one),
        }
    }

    fn counted(events: &[BlockEvent]) -> BlkparseTotals {
        let mut t = BlkparseTotals::default();
        for e in events {
            t.event(e);
        }
        t
    }

    #[test]
    fn flushes_are_reads_discards_are_writes_and_requeues_take_bytes_only() {
        let t = counted(&[
            ev(Action::Queue, b"FWS", 0),
            ev(Action::Issue, b"FF", 0),
            ev(Action::Complete, b"FF", 0),
            ev(Action::Complete, b"WS", 0),
            ev(Action::Issue, b"D", 1 << 20),
            ev(Action::Issue, b"WS", 4096),
            ev(Action::Requeue, b"WS", 4096),
            ev(Action::Issue, b"WS", 4096),
        ]);
        let s = SummaryDevice {
            name: "sda".into(),
            dev: Some(DEV),
            rows: vec![
                row(Total::Queued, true, 1, Some(0)),
                row(Total::Dispatches, false, 1, Some(0)),
                row(Total::Dispatches, true, 3, Some(1028)),
                row(Total::Requeued, true, 1, None),
                row(Total::Completed, false, 1, Some(0)),
                row(Total::Completed, true, 1, Some(0)),
            ],
            unplugs: Some((Scaled { value: 0, unit: 1 }, Scaled { value: 0, unit: 1 })),
        };
        let c = compare(&s, t.device(DEV), false);
        assert!(c.rows.iter().all(|r| r.ok && r.reason.is_none()), "{c:?}");
        assert_eq!(c.rows.len(), 8);
    }

    #[test]
    fn hostile_numbers_of_devices_are_bounded_and_counted() {
        let mut t = BlkparseTotals::default();
        for n in 0..5000 {
            let mut e = ev(Action::Queue, b"R", 512);
            e.dev = DevId::new(7, n);
            t.event(&e);
        }
        assert_eq!(t.devices.len(), MAX_DEVICES);
        let rest = t.others().actions(Action::Queue);
        assert_eq!(rest, 5000 - MAX_DEVICES as u64);
    }

    #[test]
    fn passthrough_has_rows_of_its_own() {
        let mut d = ev(Action::Issue, b"R", 18);
        d.flags = BlockEvent::PASSTHROUGH;
        let t = counted(&[d]);
        let s = SummaryDevice {
            rows: vec![
                row(Total::Dispatches, false, 0, Some(0)),
                row(Total::PcDispatches, false, 1, Some(0)),
            ],
            ..SummaryDevice::default()
        };
        assert!(compare(&s, t.device(DEV), false).rows.iter().all(|r| r.ok));
    }

    #[test]
    fn big_numbers_are_compared_in_the_printed_unit() {
        let printed = Scaled {
            value: 3910,
            unit: 1000,
        };
        assert!(printed.shows(3_910_000) && printed.shows(3_910_999));
        assert!(!printed.shows(3_911_000) && !printed.shows(3_909_999));
    }

    #[test]
    fn a_true_difference_is_told_with_its_likely_cause() {
        let t = counted(&[ev(Action::Queue, b"W", 4096)]);
        let s = SummaryDevice {
            rows: vec![row(Total::Queued, true, 2, Some(8))],
            ..SummaryDevice::default()
        };
        let r = &compare(&s, t.device(DEV), true).rows[0];
        assert!(!r.ok);
        assert_eq!(
            r.reason,
            Some("blkparse counted lines that are damaged or cut off in this file")
        );
        assert_eq!((r.counted, r.counted_kib), (1, Some(4)));
    }
}
