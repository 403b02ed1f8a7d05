//! Long traces of shapes that make a search through open items long, or a table grow: time must stay linear, memory
//! bounded. The limits are ten times what a linear run takes, and more.

use super::support::blkan;
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufWriter, Read, Write};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// CPU seconds for 100,000 lines.
const CPU: f64 = 10.0;

/// Whatever the machine does besides, a run that takes this long hangs.
const HANG: Duration = Duration::from_secs(120);

/// Peak resident memory, KiB.
const MEMORY: u64 = (64 << 10) + PROGRAM;
/// KiB that the whole build may take beside: pages of a program ten times as large (9 MiB when it has read a short trace).
const PROGRAM: u64 = if cfg!(feature = "tables") {
    16 << 10
} else {
    0
};

/// What a run took.
#[derive(Default)]
struct Cost {
    /// User and system time; the wall clock where the system does not tell.
    cpu: f64,
    /// Peak resident set, KiB; `None` where the system does not tell.
    peak: Option<u64>,
}

/// Writes the line of number `n` at its time, without the part that all share.
type Lines = fn(n: u64, out: &mut String);

fn line(out: &mut String, dev: (u64, u64), n: u64, rest: std::fmt::Arguments<'_>) {
    let (secs, ns) = (n / 1_000_000, n % 1_000_000 * 1000);
    let (major, minor) = dev;
    // A String takes whatever is written to it.
    let _ = writeln!(
        out,
        "{major:3},{minor}    0 {n:8} {secs:5}.{ns:09}   100  {rest}"
    );
}

fn put(out: &mut String, n: u64, rest: std::fmt::Arguments<'_>) {
    line(out, (8, 0), n, rest);
}

/// Runs `stats` on `count` lines fed through a pipe, and checks that they were all read and that accounts balance.
fn stats(count: u64, lines: Lines) -> (Cost, Value) {
    let mut child = blkan()
        .args(["stats", "--json", "-q", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let to = child.stdin.take().expect("a pipe");
    let mut from = child.stdout.take().expect("a pipe");
    let feeder = std::thread::spawn(move || {
        let mut to = BufWriter::with_capacity(1 << 18, to);
        let mut one = String::new();
        for n in 0..count {
            one.clear();
            lines(n, &mut one);
            // A reader that went away is seen by its answer.
            let _ = to.write_all(one.as_bytes());
        }
    });
    let reader = std::thread::spawn(move || {
        let mut out = Vec::new();
        from.read_to_end(&mut out).map(|_| out)
    });
    let cost = watch(&mut child);
    feeder.join().expect("fed");
    let out = reader.join().expect("read").expect("an answer");
    let v: Value = serde_json::from_slice(&out).expect("JSON");
    assert_eq!(v["inputs"][0]["events"], count, "{}", v["inputs"]);
    for d in v["devices"].as_array().expect("devices") {
        for a in d["ledger"].as_array().expect("a ledger") {
            assert_eq!(a["balance"], 0, "{a}");
        }
    }
    (cost, v)
}

/// Waits for the end, and reads the kernel's accounts as long as there are any.
fn watch(child: &mut Child) -> Cost {
    let start = Instant::now();
    let mut cost = Cost::default();
    let status = loop {
        let at = |file: &str| fs::read_to_string(format!("/proc/{}/{file}", child.id())).ok();
        cost.peak = at("status").and_then(|s| peak(&s)).or(cost.peak);
        cost.cpu = at("stat")
            .and_then(|s| cpu_time(&s))
            .unwrap_or(cost.cpu)
            .max(cost.cpu);
        if let Some(status) = child.try_wait().expect("a child") {
            break status;
        }
        if start.elapsed() > HANG {
            let _ = child.kill();
            panic!("still running after {HANG:?}, {} s of CPU", cost.cpu);
        }
        std::thread::sleep(Duration::from_millis(3));
    };
    if cost.peak.is_none() {
        cost.cpu = start.elapsed().as_secs_f64();
    }
    assert!(status.success(), "{status}");
    cost
}

/// KiB of `VmHWM:    1234 kB`.
fn peak(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Seconds of utime + stime, fields 14 and 15 of proc(5)'s stat, in ticks of 1/100 s.
fn cpu_time(stat: &str) -> Option<f64> {
    let after_name = &stat[stat.rfind(')')? + 1..];
    let mut fields = after_name.split_whitespace().skip(11);
    let mut next = || fields.next()?.parse::<f64>().ok();
    Some((next()? + next()?) / 100.0)
}

#[test]
fn the_kernels_accounts_are_read() {
    assert_eq!(peak("Name:\tx\nVmHWM:\t   1234 kB\n"), Some(1234));
    let stat = "7 (a b) c) S 1 2 3 4 5 6 7 8 9 10 150 50 0 0";
    assert_eq!(cpu_time(stat), Some(2.0));
}

/// Checks time (for every 100,000 lines) and memory.
fn bounded(name: &str, count: u64, lines: Lines) -> Value {
    let (cost, v) = stats(count, lines);
    let limit = CPU * (count as f64 / 100_000.0).clamp(1.0, 3.0);
    println!(
        "{name}: {count} lines, {:.2} s, {:?} KiB",
        cost.cpu, cost.peak
    );
    assert!(
        cost.cpu <= limit,
        "{name}: {} s for {count} lines",
        cost.cpu
    );
    match cost.peak {
        Some(p) => assert!(p <= MEMORY, "{name}: {p} KiB of memory at its peak"),
        None => println!("SKIPPED the memory of {name}: no /proc/PID/status here"),
    }
    v
}

#[test]
fn flushes_queued_and_never_more() {
    bounded("Q FWS", 120_000, |n, o| {
        put(o, n, format_args!("Q FWS [t]"))
    });
}

#[test]
fn flushes_allocated_and_never_more() {
    bounded("G FWS", 120_000, |n, o| {
        put(o, n, format_args!("G FWS [t]"))
    });
}

#[test]
fn requests_at_one_sector() {
    bounded("one sector", 120_000, |n, o| {
        let action = ["Q", "G", "D"][n as usize % 3];
        put(o, n, format_args!("{action}   W 1000 + 8 [t]"));
    });
}

#[test]
fn fsyncs_without_completions() {
    bounded("fsync without C", 240_000, |n, o| {
        let sector = n / 6 * 8;
        match n % 6 {
            0 => put(o, n, format_args!("Q  WS {sector} + 8 [t]")),
            1 => put(o, n, format_args!("G  WS {sector} + 8 [t]")),
            2 => put(o, n, format_args!("D  WS {sector} + 8 [t]")),
            3 => put(o, n, format_args!("Q FWS [t]")),
            4 => put(o, n, format_args!("G FWS [t]")),
            _ => put(o, n, format_args!("D  FN [t]")),
        }
    });
}

#[test]
fn discards_queued_and_never_more() {
    bounded("Q D", 120_000, |n, o| {
        put(o, n, format_args!("Q   D {} + 8 [t]", n * 8))
    });
}

#[test]
fn sequenced_writes_allocated_and_never_more() {
    bounded("G FWFS", 120_000, |n, o| {
        put(o, n, format_args!("G FWFS {} + 8 [t]", n * 8))
    });
}

#[test]
fn passthrough_issued_and_never_more() {
    bounded("D passthrough", 120_000, |n, o| {
        put(o, n, format_args!("D   R 36 [t]"))
    });
}

#[test]
fn requests_that_complete_sector_by_sector() {
    let v = bounded("partial completions", 131_000, |n, o| {
        let (rq, step) = (n / 131, n % 131);
        let sector = rq * 128;
        match step {
            0 => put(o, n, format_args!("Q   R {sector} + 128 [t]")),
            1 => put(o, n, format_args!("G   R {sector} + 128 [t]")),
            2 => put(o, n, format_args!("D   R {sector} + 128 [t]")),
            k => put(o, n, format_args!("C   R {} + 1 [0]", sector + k - 3)),
        }
    });
    let g = &v["devices"][0]["groups"][0];
    assert_eq!(
        (&g["requests"], &g["completed"]),
        (&1000.into(), &1000.into()),
        "{g}"
    );
}

#[test]
fn more_devices_than_any_machine_has() {
    bounded("300,000 devices", 300_000, |n, o| {
        line(
            o,
            (n >> 10, n & 1023),
            n,
            format_args!("Q   R {} + 8 [t]", n * 8),
        );
    });
}

/// As many as are tracked, each with more open than its share.
#[test]
fn a_thousand_devices_without_completions() {
    bounded("1,024 devices without C", 600_000, |n, o| {
        line(o, (8, n & 1023), n, format_args!("Q   W {} + 8 [t]", n * 8));
    });
}

/// Every line another device that a bio was mapped from.
/// Each has its day, then the next comes: what the one before needed must not stay.
#[test]
fn devices_one_after_another_without_completions() {
    bounded("devices in a row", 1_800_000, |n, out| {
        let dev = (8, n / 30_000);
        line(
            out,
            dev,
            n + 1,
            format_args!(" Q   W {} + 8 [fio]", n % 30_000 * 8),
        );
    });
}

#[test]
fn remaps_from_more_devices_than_any_machine_has() {
    let v = bounded("300,000 remaps", 300_000, |n, o| {
        let (major, minor) = (9 + (n >> 18), n & 0xf_ffff);
        put(
            o,
            n,
            format_args!("A   W {} + 8 <- ({major},{minor}) {}", n * 8, n * 8),
        );
    });
    let d = &v["devices"][0];
    let listed = d["remaps"].as_array().map_or(0, Vec::len);
    let rest = d["losses"]["anomalies"]["remap_unlisted"].as_u64();
    assert_eq!(Some(300_000), rest.map(|r| r + listed as u64), "{listed}");
}

#[test]
fn letters_that_no_kernel_has() {
    bounded("120,000 rwbs", 240_000, |n, o| {
        let k = n / 2;
        let letters: String = (0..4)
            .map(|i| char::from(b'A' + (k / 26u64.pow(i) % 26) as u8))
            .collect();
        let action = ["Q", "G"][n as usize % 2];
        put(
            o,
            n,
            format_args!("{action} {letters} {} + 8 [t]", k % 64 * 8),
        );
    });
}

/// Names of 4,000 bytes, a new one on every line: only their first part is kept. The head of the trace is sound, so that it
/// is recognised.
#[test]
fn names_longer_than_any_task_has() {
    bounded("30,000 long names", 30_000, |n, o| {
        let tail = "x".repeat(if n < 500 { 0 } else { 4000 });
        put(o, n, format_args!("Q   W {} + 8 [{n}{tail}]", n % 64 * 8));
    });
}

#[test]
fn a_long_trace_without_completions_takes_no_more_memory() {
    let v = bounded("2,000,000 lines without C", 2_000_001, |n, o| {
        let action = ["Q", "G", "D"][n as usize % 3];
        put(o, n, format_args!("{action}   W {} + 8 [t]", n / 3 * 8));
    });
    let g = &v["devices"][0]["groups"][0];
    let of = |k: &str| g[k].as_u64().unwrap_or(0);
    assert_eq!(of("open") + of("lost"), 666_667, "{g}");
    assert!(of("open") <= 70_000, "{g}");
}

/// A log that lost the end of an empty flush with FUA, whose place another request then takes: it once made the search
/// for writes that waited for a flush endless.
#[test]
fn a_flush_given_up_is_waited_for_no_more() {
    const LOG: [&str; 10] = [
        "queue 8,0 0 0 FWFSM -",
        "getrq 8,0 0 0 FWFSM -",
        "issue 8,0 0 0 FF 0",
        "issue 8,0 0 0 FF 0",
        "queue 8,0 800 8 W -",
        "getrq 8,0 800 8 W -",
        "issue 8,0 0 0 FF 0",
        "complete 8,0 18446744073709551615 0 FF 0",
        "issue 8,0 800 8 W 4096",
        "complete 8,0 800 8 W 0",
    ];
    bounded("a flush given up", LOG.len() as u64, |n, o| {
        let line = LOG[n as usize];
        let kind = match line.as_bytes()[0] {
            b'q' => "bio_",
            b'g' => "",
            _ => "rq_",
        };
        let _ = writeln!(o, "{} 0 100 block_{kind}{line} t", 1_000_000 + n * 1000);
    });
}
