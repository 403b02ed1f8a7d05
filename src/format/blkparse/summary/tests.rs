use super::*;
use crate::event::BlockEvent;

fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_string).collect()
}

const TWO_CPUS: &str = "\
CPU0 (sda):
 Reads Queued:           1,        4KiB\t Writes Queued:       1,200,    4,800KiB
 Read depth:             1        \t Write depth:             1
 IO unplugs:             0        \t Timer unplugs:           0
CPU1 (sda):
 Reads Queued:           2,        8KiB\t Writes Queued:           0,        0KiB
Total (sda):
 Reads Queued:           3,       12KiB\t Writes Queued:       1,200,     1969MiB
 Read Dispatches:        3,       12KiB\t Write Dispatches:    1,234K,      256KiB
 Reads Requeued:         0\t\t Writes Requeued:         7
 Reads Completed:        5,       12KiB\t Writes Completed:        2,      256KiB
 Read Merges:            0,        0KiB\t Write Merges:          127,      254KiB
 PC Reads Queued:        0,        0KiB\t PC Writes Queued:        0,        0KiB
 PC Read Disp.:          5,        0KiB\t PC Write Disp.:          1,        0KiB
 PC Reads Req.:          0\t\t PC Writes Req.:          0
 PC Reads Compl.:        5\t\t PC Writes Compl.:        1
 IO unplugs:         1,511        \t Timer unplugs:           2

Throughput (R/W): 2844KiB/s / 2844KiB/s
Events (sda): 10,588 entries
Skips: 2 forward (1,034 -   8.9%)
";

const fn exact(value: u64) -> Figure {
    Figure { value, unit: 1 }
}

const fn kib(value: u64) -> Figure {
    Figure { value, unit: 1024 }
}

#[test]
fn the_total_is_read_with_its_units() {
    let s = parse(&lines(TWO_CPUS));
    let d = s.device("sda").expect("the device");
    let t = d.total.expect("a total");
    assert_eq!(t.reads.queued, Some((exact(3), kib(12))));
    let mib = Figure {
        value: 1969,
        unit: 1024 * 1000,
    };
    assert_eq!(t.writes.queued, Some((exact(1200), mib)));
    assert_eq!(t.writes.dispatched.map(|(n, _)| n.unit), Some(1000));
    assert_eq!(
        (t.reads.requeued, t.writes.requeued),
        (Some(exact(0)), Some(exact(7)))
    );
    assert_eq!(t.writes.merged, Some((exact(127), kib(254))));
    assert_eq!(
        (t.reads.pc_dispatched, t.writes.pc_completed),
        (Some(exact(5)), Some(exact(1)))
    );
    assert_eq!(
        (t.io_unplugs, t.timer_unplugs),
        (Some(exact(1511)), Some(exact(2)))
    );
    assert_eq!(
        (d.entries, d.skips, d.cpus),
        (Some(10_588), Some((2, 1034)), 2)
    );
    assert_eq!(s.skipped_events(), Some(1034));
}

#[test]
fn figures_agree_as_blkparse_cuts_them() {
    let mib = Figure {
        value: 3910,
        unit: 1024 * 1000,
    };
    assert!(mib.agrees(3_910_436 * 1024), "3910436 KiB print as 3910MiB");
    assert!(!mib.agrees(3_911_000 * 1024) && !mib.agrees(3_909_999 * 1024));
    assert!(kib(4).agrees(4 * 1024 + 1023) && !kib(4).agrees(5 * 1024));
}

#[test]
fn one_cpu_is_its_own_total_and_two_without_a_total_are_none() {
    let first = TWO_CPUS.split("CPU1").next().unwrap_or_default();
    let s = parse(&lines(first));
    let t = s.devices[0].total.expect("the only CPU's");
    assert_eq!(t.writes.queued, Some((exact(1200), kib(4800))));
    let cut = TWO_CPUS.split("Total").next().unwrap_or_default();
    assert_eq!(parse(&lines(cut)).devices[0].total, None);
}

#[test]
fn blocks_of_processes_are_not_taken_for_devices() {
    let text = format!("fio (190)\n Reads Queued:          99,        4KiB\n\n{TWO_CPUS}");
    let s = parse(&lines(&text));
    assert_eq!(s.devices.len(), 1);
    assert_eq!(s, parse(&lines(TWO_CPUS)));
}

#[test]
fn single_blanks_and_cut_cells_are_read_as_far_as_they_go() {
    let text = "CPU0 (sda):\nReads Queued: 8, 620KiB Writes Queued: 37, 689KiB\nWrites Requeued: 4\nRead Merges: 0,\n";
    let t = parse(&lines(text)).devices[0].total.expect("a total");
    assert_eq!(t.reads.queued, Some((exact(8), kib(620))));
    assert_eq!(t.writes.queued, Some((exact(37), kib(689))));
    assert_eq!(t.reads.merged, None);
}

/// A tally of this many queued writes a device.
fn tally(counts: &[(DevId, u64)]) -> Tally {
    let mut tally = Tally::default();
    for (dev, n) in counts {
        let mut e = BlockEvent::new(crate::units::Nanos(0), *dev, Action::Queue);
        e.rwbs = crate::event::Rwbs::new(b"WS");
        tally.note(&vec![e; *n as usize]);
    }
    tally
}

/// A summary of this many queued writes a name.
fn blocks(counts: &[(&str, u64)]) -> Summary {
    let block = |(name, n): &(&str, u64)| {
        format!(
            "CPU0 ({name}):\n Reads Queued: 0, 0KiB\t Writes Queued: {n}, 0KiB\n Read Dispatches: 0, 0KiB\t Write Dispatches: 0, 0KiB\n \
             Reads Requeued: 0\t Writes Requeued: 0\n Reads Completed: 0, 0KiB\t Writes Completed: 0, 0KiB\n \
             Read Merges: 0, 0KiB\t Write Merges: 0, 0KiB\n"
        )
    };
    let text: String = counts.iter().map(block).collect();
    parse(&lines(&text))
}

#[test]
fn names_go_to_the_device_with_the_same_counts() {
    let (a, b) = (DevId::new(8, 0), DevId::new(253, 0));
    let mut names = BTreeMap::new();
    let summary = blocks(&[("dm-0", 9), ("sda", 5), ("sdz", 1)]);
    name_devices(&summary, &tally(&[(a, 5), (b, 9)]), &mut names);
    assert_eq!(
        names,
        BTreeMap::from([(a, "sda".into()), (b, "dm-0".into())])
    );
}

#[test]
fn devices_with_equal_counts_stay_unnamed() {
    let [a, b, c] = [0, 1, 2].map(|m| DevId::new(259, m));
    let mut names = BTreeMap::new();
    let summary = blocks(&[("nvme1n1", 5), ("nvme0n1", 5), ("nvme2n1", 7)]);
    name_devices(&summary, &tally(&[(a, 5), (b, 5), (c, 7)]), &mut names);
    assert_eq!(names, BTreeMap::from([(c, "nvme2n1".into())]));
    // Two names that fit one device are no better.
    names.clear();
    name_devices(&summary, &tally(&[(a, 5), (b, 8)]), &mut names);
    assert!(names.is_empty(), "{names:?}");
}

#[test]
fn a_rounded_count_is_settled_by_what_the_others_leave() {
    let (a, b) = (DevId::new(8, 0), DevId::new(8, 16));
    let mut names = BTreeMap::new();
    let mut summary = blocks(&[("sda", 1), ("sdb", 1100)]);
    // `1K` fits 1,100 and 1,900; `1100` fits one of them.
    let rounded = Figure {
        value: 1,
        unit: 1000,
    };
    let total = summary.devices[0].total.as_mut().expect("a total");
    total.writes.queued = Some((rounded, kib(0)));
    name_devices(&summary, &tally(&[(a, 1900), (b, 1100)]), &mut names);
    let want = BTreeMap::from([(a, "sda".into()), (b, "sdb".into())]);
    assert_eq!(names, want);
}
