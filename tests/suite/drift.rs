//! How long the disk itself took in recordings of one set: mean D2C of writes of like length, issued at like depth. Told from the
//! tracker's requests alone, no model is asked: what differs here, no policy explains.

use super::predictions::{Pair, trace};
use blkan::event::{BlockEvent, DevId, Op};
use blkan::format::{ReadOptions, Trace};
use blkan::lifecycle::{Bio, Request, RequestKind, Sink, Tracker};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::path::Path;

/// Commands in the disk, the one that is issued among them: the last of each column, and its head.
const DEPTHS: [(usize, &str); 5] = [
    (1, "alone"),
    (4, "2–4"),
    (16, "5–16"),
    (64, "17–64"),
    (usize::MAX, "65 and more"),
];
/// Lengths that are compared, in bytes: the longest of each class, and its name.
const LENGTHS: [(u64, &str); 6] = [
    (2048, "to 2 KiB"),
    (4096, "to 4 KiB"),
    (16_384, "to 16 KiB"),
    (65_536, "to 64 KiB"),
    (131_072, "to 128 KiB"),
    (u64::MAX, "longer"),
];
/// Fewer commands are no mean that is compared.
const MANY: u64 = 30;

/// A command, from its last issue to its end, ns.
#[derive(Clone, Copy)]
struct Command {
    issued: i64,
    done: i64,
    bytes: u64,
    write: bool,
}

#[derive(Default)]
struct Commands {
    of: BTreeMap<DevId, Vec<Command>>,
    bios: BTreeMap<DevId, u64>,
}

impl Sink for Commands {
    fn bio(&mut self, b: &Bio) {
        *self.bios.entry(b.dev).or_insert(0) += u64::from(b.bytes > 0);
    }

    fn request(&mut self, r: &Request) {
        let ends = r.d.get().zip(r.c_data.get()).filter(|(d, c)| c >= d);
        let done = r.outcome.done() && r.kind != RequestKind::EmptyFlush;
        if let (Some((d, c)), true) = (ends, done) {
            self.of.entry(r.dev).or_default().push(Command {
                issued: d.0,
                done: c.0,
                bytes: r.bytes,
                write: r.kind != RequestKind::DeviceFlush && r.rwbs.op() == Op::Write,
            });
        }
    }
}

/// The commands of the disk with the most bios, in order of issue.
fn commands(path: &Path) -> Vec<Command> {
    let paths = [path.to_path_buf()];
    let mut trace = Trace::open(&paths, &ReadOptions::default()).expect("it opens");
    let mut tracker = Tracker::new(trace.meta().fields);
    let mut all = Commands::default();
    let mut batch: Vec<BlockEvent> = Vec::new();
    while trace.next_batch(&mut batch).expect("it is read") {
        batch.iter().for_each(|e| tracker.observe(e, &mut all));
        batch.clear();
    }
    tracker.finish(&mut all);
    let bios = &all.bios;
    let main = all
        .of
        .into_iter()
        .max_by_key(|(dev, _)| bios.get(dev).copied().unwrap_or(0));
    let mut out = main.map(|m| m.1).unwrap_or_default();
    out.sort_by_key(|c| (c.issued, c.done));
    out
}

/// Writes of one class of lengths and one of depths.
#[derive(Clone, Copy, Default)]
struct Cell {
    n: u64,
    ns: i64,
}

impl Cell {
    /// Mean D2C, ms, where there are enough.
    fn compared(&self) -> Option<f64> {
        (self.n >= MANY).then(|| self.mean())
    }
    fn mean(&self) -> f64 {
        self.ns as f64 / self.n.max(1) as f64 / 1e6
    }
}

/// By class of lengths, then of depths.
type Cells = [[Cell; DEPTHS.len()]; LENGTHS.len()];

fn cells(commands: &[Command]) -> Cells {
    let mut out = Cells::default();
    let mut under_way: BinaryHeap<Reverse<i64>> = BinaryHeap::new();
    for c in commands {
        while under_way.peek().is_some_and(|d| d.0 <= c.issued) {
            under_way.pop();
        }
        under_way.push(Reverse(c.done));
        let depth = under_way.len();
        let at = DEPTHS.iter().position(|d| depth <= d.0).expect("a depth");
        let len = LENGTHS.iter().position(|l| c.bytes <= l.0).expect("one");
        if c.write {
            let cell = &mut out[len][at];
            cell.n += 1;
            cell.ns += c.done - c.issued;
        }
    }
    out
}

/// Recordings that are predicted from each other, in the order of the pairs.
fn sets<'a>(pairs: &[(&'a str, &'a str)]) -> Vec<Vec<&'a str>> {
    let mut out: Vec<Vec<&str>> = Vec::new();
    for (from, to) in pairs {
        let known = |s: &Vec<&str>| s.contains(from) || s.contains(to);
        let at = match out.iter().position(known) {
            Some(at) => at,
            None => {
                out.push(Vec::new());
                out.len() - 1
            }
        };
        for name in [from, to] {
            if !out[at].contains(name) {
                out[at].push(name);
            }
        }
    }
    out
}

/// The cells of one class of lengths, one row a recording that has any, where two have enough to be compared in some column.
fn rows(set: &[(&str, Cells)], len: usize) -> Vec<String> {
    let column = |at: usize| set.iter().filter_map(move |s| s.1[len][at].compared());
    let least = |at: usize| {
        let many = column(at).count() > 1;
        many.then(|| column(at).fold(f64::INFINITY, f64::min))
    };
    if (0..DEPTHS.len()).all(|at| least(at).is_none()) {
        return Vec::new();
    }
    let mut out = Vec::new();
    for (name, cells) in set {
        if cells[len].iter().all(|c| c.n == 0) {
            continue;
        }
        let mut row = format!("| {name} | {} |", LENGTHS[len].1);
        for (at, cell) in cells[len].iter().enumerate() {
            let longer = cell.compared().zip(least(at)).map(|(m, l)| m / l - 1.0);
            row += &match (cell.n, longer) {
                (0, _) => " – |".to_string(),
                (n, None) => format!(" {:.3} ({n}) |", cell.mean()),
                (n, Some(0.0)) => format!(" {:.3} ({n}), least |", cell.mean()),
                (n, Some(x)) => format!(" {:.3} ({n}), {:+.0} % |", cell.mean(), x * 100.0),
            };
        }
        out.push(row);
    }
    out
}

/// How much longer `a` took than `b` (a share), the commands being as many of each length and depth: of the classes that end
/// somewhere, each weighs by what the one has that has less of it. `None`: nothing of the kind in both.
fn longer(a: &Cells, b: &Cells) -> Option<f64> {
    let closed = |c: &Cells| -> Vec<Cell> {
        let lengths = c.iter().take(LENGTHS.len() - 1);
        lengths
            .flat_map(|l| &l[..DEPTHS.len() - 1])
            .copied()
            .collect()
    };
    let (mut of_a, mut of_b) = (0.0, 0.0);
    for (a, b) in closed(a).iter().zip(&closed(b)) {
        if let (Some(x), Some(y)) = (a.compared(), b.compared()) {
            let weight = a.n.min(b.n) as f64;
            of_a += weight * x;
            of_b += weight * y;
        }
    }
    (of_b > 0.0).then(|| of_a / of_b - 1.0)
}

/// The slowest of a set beside the fastest, in words.
fn apart(set: &[(&str, Cells)]) -> String {
    let all = set.iter().flat_map(|a| set.iter().map(move |b| (a, b)));
    let told = all.filter(|(a, b)| a.0 != b.0);
    let most = told
        .filter_map(|(a, b)| Some((longer(&a.1, &b.1)?, a.0, b.0)))
        .max_by(|x, y| x.0.total_cmp(&y.0));
    match most {
        Some((x, a, b)) => format!(
            "the disk took {:.0} % longer in {a} than in {b}, at equal depths and lengths",
            x * 100.0
        ),
        None => "no two have enough writes of like length at like depth".to_string(),
    }
}

/// The table: one part a set.
pub fn table(lab: &Path, pairs: &[Pair]) -> String {
    let mut out = Vec::new();
    let names: Vec<(&str, &str)> = pairs
        .iter()
        .map(|p| (p.from.as_str(), p.to.as_str()))
        .collect();
    for set in sets(&names) {
        let set: Vec<(&str, Cells)> = set
            .iter()
            .map(|name| (*name, cells(&commands(&trace(lab, name)))))
            .collect();
        let lines: Vec<String> = (0..LENGTHS.len()).flat_map(|l| rows(&set, l)).collect();
        let names: Vec<&str> = set.iter().map(|s| s.0).collect();
        let mut part = format!("{}: {}.", names.join(", "), apart(&set));
        if !lines.is_empty() {
            let head: Vec<&str> = DEPTHS.iter().map(|d| d.1).collect();
            part += &format!(
                "\n\n| recording | writes | {} |\n|---|---|{}\n{}",
                head.join(" | "),
                "---|".repeat(head.len()),
                lines.join("\n")
            );
        }
        out.push(part);
    }
    out.join("\n\n")
}

#[test]
fn sets_are_what_pairs_connect_and_depth_counts_the_one_that_is_issued() {
    let pairs = [("a", "b"), ("x", "y"), ("b", "a"), ("c", "b")];
    assert_eq!(sets(&pairs), [vec!["a", "b", "c"], vec!["x", "y"]]);
    let c = |issued, done, bytes, write| Command {
        issued,
        done,
        bytes,
        write,
    };
    let all = [
        c(0, 10, 4096, true),
        c(5, 30, 4096, false),
        c(6, 26, 2048, true),
        c(10, 12, 4097, true),
    ];
    let cells = cells(&all);
    let at = |len: usize, depth: usize| (cells[len][depth].n, cells[len][depth].ns);
    assert_eq!((at(1, 0), at(0, 1), at(2, 1)), ((1, 10), (1, 20), (1, 2)));
    assert_eq!(
        cells.iter().flatten().map(|c| c.n).sum::<u64>(),
        3,
        "the read counts for depth alone"
    );
}

#[test]
fn recordings_are_compared_at_equal_depths_and_lengths() {
    let of = |n: u64, ns: i64| Cell {
        n,
        ns: ns * 1_000_000,
    };
    let (mut a, mut b) = (Cells::default(), Cells::default());
    // Alone twice as long, at more depth alike; many more at depth in the one.
    (a[1][0], a[1][2]) = (of(100, 200), of(900, 2700));
    (b[1][0], b[1][2]) = (of(100, 100), of(100, 300));
    // Too few, and of no equal.
    (a[1][1], b[1][1], a[0][0]) = (of(29, 9000), of(90, 90), of(100, 100));
    assert_eq!(longer(&a, &b), Some(500.0 / 400.0 - 1.0));
    assert_eq!(longer(&a, &Cells::default()), None);
}
