//! What an input looks like that no reader takes: so that the refusal names it and says what to do instead.

use super::Defect;
use super::detect::known;
use super::ftrace;
use super::lines::MAX_LINE;
use super::tracepoint::words::far_time;
use crate::error::{Error, Kind};
use memchr::memmem;
use std::path::Path;

/// A look of an input: how it is recognised, what it is, what to do.
struct Look {
    is: fn(&[u8]) -> bool,
    what: &'static str,
    hint: &'static str,
}

/// `BLK_IO_TRACE_MAGIC` (include/uapi/linux/blktrace_api.h); the version is in the low byte.
const BLKTRACE_MAGIC: u32 = 0x6561_7400;

/// First match wins: binary magics, then texts from the special to the general.
static LOOKS: &[Look] = &[
    Look {
        is: |h| h.is_empty(),
        what: "the input is empty",
        hint: "record again: a recorder that was killed or lacked rights leaves an empty file",
    },
    Look {
        is: is_blktrace,
        what: "this is binary blktrace data of a version that blkan does not read (it reads 7 and 8)",
        hint: "use the blktrace tools of the machine that recorded it: blkparse -i DEVICE > trace.txt",
    },
    Look {
        is: |h| h.starts_with(b"\x17\x08\x44tracing"),
        what: "this is a trace.dat file of trace-cmd, whose text blkan reads",
        hint: "convert it: trace-cmd report -i trace.dat | blkan ... -",
    },
    Look {
        is: |h| h.starts_with(b"PERFILE2") || h.starts_with(b"2ELIFREP"),
        what: "this is a perf.data file, whose text blkan reads",
        hint: "convert it: perf script --ns -i perf.data | blkan ... -",
    },
    Look {
        is: |h| h.starts_with(b"\x7fELF"),
        what: "this is an ELF program or library, no trace",
        hint: "name the file that the recorder wrote",
    },
    Look {
        is: is_archive,
        what: "this is an archive (tar, zip, 7z) or a compression that blkan does not unpack (lz4)",
        hint: "unpack it and name the traces in it; gzip, zstd, xz and bzip2 are read as they are",
    },
    Look {
        is: |h| h.starts_with(b"\xff\xfe") || h.starts_with(b"\xfe\xff"),
        what: "this is UTF-16 text",
        hint: "convert it: iconv -f UTF-16 -t UTF-8 FILE | blkan ... -",
    },
    Look {
        is: is_binary,
        what: "this is binary data of no kind that blkan knows",
        hint: "if it was compressed or packed with something else than gzip, zstd, xz or bzip2, unpack it first",
    },
    Look {
        is: |h| h.len() > MAX_LINE - 1 && memchr::memchr(b'\n', h).is_none(),
        what: "its first line is longer than 64 KiB, so it is no text trace",
        hint: "lines of trace tools have less than 1 KiB; were the line ends lost in copying?",
    },
    Look {
        is: ftrace::counts_no_time,
        what: "this is text of ftrace whose trace_clock counts no time (counter, x86-tsc), so nothing can be measured",
        hint: "record again with a clock that does: echo mono > /sys/kernel/tracing/trace_clock",
    },
    Look {
        is: |h| has_line(h, |l| memmem::find(l, b": Unknown action ").is_some()),
        what: "this is text of ftrace's blk tracer by a kernel that misread its own records (\"Unknown action\")",
        hint: "record the tracepoints of events/block/ instead of current_tracer blk, or use blktrace",
    },
    Look {
        is: |h| has_line(h, is_bare_event),
        what: "these are block events of ftrace from which the front with the time was cut off, so nothing can be measured",
        hint: "give the lines as they were recorded: TASK-PID [CPU] TIME: block_...",
    },
    Look {
        is: |h| has_line(h, |l| memmem::find(l, b" block:block_").is_some()),
        what: "this is text of perf script, but no event of a bio or a request is whole in its beginning (cut at the edge of a \
               terminal, or without times?)",
        hint: "write it to a file: perf script --ns > trace.txt, with -F at least time,event,trace",
    },
    Look {
        is: |h| has_line(h, is_raw_event),
        what: "these are events of ftrace as raw fields (dev=… sector=…) instead of the kernel's text",
        hint: Defect::RawFields.remedy(),
    },
    Look {
        is: is_ftrace,
        what: "this is text of ftrace, trace-cmd or perf script, but its beginning holds no whole event of the block layer",
        hint: "if events of block come later, name the format: --format ftrace, perf-script or blk-tracer; else record events/block/",
    },
    Look {
        is: is_markup,
        what: "this is HTML or XML, not the trace itself",
        hint: "a mail archive or a download page was saved: fetch its raw text",
    },
    Look {
        is: |h| {
            matches!(first_text(h).first(), Some(b'{' | b'[')) && memmem::find(h, b"\":").is_some()
        },
        what: "this is JSON, no trace",
        hint: "JSON written by blkan cannot be read back as a trace",
    },
    Look {
        is: |h| {
            has_any(
                h,
                &[b"block_rq_", b"block_bio_", b"block_getrq", b"block_io_"],
            )
        },
        what: "this names block tracepoints, but its lines are of no shape that blkan knows",
        hint: "describe the lines with --line 'TEMPLATE', or give the bpftrace script with --bt FILE",
    },
    Look {
        is: |h| {
            has_any(
                h,
                &[b"Reads Queued:", b"Writes Queued:", b"Throughput (R/W)"],
            )
        },
        what: "this holds blkparse's summary but no whole event line in its beginning",
        hint: "give the event lines too, as blkparse prints them (without -q), not wrapped by a mailer",
    },
    Look {
        is: |h| has_any(h, &[b"Attaching "]),
        what: "this is output of bpftrace, but none of its lines is a block event that blkan knows",
        hint: "give the script that wrote it with --bt FILE, or describe its lines with --line 'TEMPLATE'",
    },
];

/// The error for an input that no format claims.
pub(super) fn refusal(path: &Path, head: &[u8]) -> Error {
    let look = LOOKS.iter().find(|l| (l.is)(head));
    let (what, hint) = match (look, far(head)) {
        (_, Some(time)) => (
            format!(
                "the times of this text are no times of a running system: expected at most 9223372036.854775807 s (2^63 ns, 292 \
                 years), found '{time}'"
            ),
            FAR_HINT,
        ),
        (Some(l), None) => (l.what.to_string(), l.hint),
        (None, None) => (
            format!(
                "no line of its beginning is an event of a known trace format; it starts with '{}'",
                start(head)
            ),
            "name the format with --format if you know it, or describe the lines with --line 'TEMPLATE'",
        ),
    };
    Error::new(Kind::Format, format!("{what}. blkan reads: {}", known()))
        .path(path)
        .hint(hint)
}

/// What to do about times beyond 2^63 ns.
pub(super) const FAR_HINT: &str = "a clock that ran below zero prints so; record with echo mono > /sys/kernel/tracing/trace_clock (perf record -k mono)";

/// A time beyond 2^63 ns on a line with a tracepoint of the block layer.
fn far(head: &[u8]) -> Option<String> {
    let mut lines = head.split(|b| *b == b'\n');
    lines.find_map(|l| {
        memmem::find(l, b" block")?;
        let word = l.split(|b| *b == b' ').find(|w| far_time(w))?;
        Some(String::from_utf8_lossy(word.strip_suffix(b":")?).into_owned())
    })
}

/// `block_rq_issue: dev=…` on a line of ftrace.
fn is_raw_event(line: &[u8]) -> bool {
    let Some(at) = memmem::find(line, b": block_") else {
        return false;
    };
    let after = &line[at + 2..];
    memmem::find(after, b": ").is_some_and(|c| ftrace::is_raw(&after[c + 2..]))
}

/// The first line, cut, for people.
fn start(head: &[u8]) -> String {
    let line = first_text(head)
        .split(|b| *b == b'\n')
        .next()
        .unwrap_or_default();
    let cut = &line[..line.len().min(60)];
    String::from_utf8_lossy(cut)
        .trim_end()
        .escape_debug()
        .to_string()
}

fn first_text(head: &[u8]) -> &[u8] {
    head.strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(head)
        .trim_ascii_start()
}

fn has_any(head: &[u8], needles: &[&[u8]]) -> bool {
    needles.iter().any(|n| memmem::find(head, n).is_some())
}

fn is_blktrace(head: &[u8]) -> bool {
    let Some(first) = head.first_chunk::<4>() else {
        return false;
    };
    [u32::from_le_bytes(*first), u32::from_be_bytes(*first)]
        .iter()
        .any(|v| v & 0xffff_ff00 == BLKTRACE_MAGIC)
}

/// `… [003] …. 123.456789: …` on some line, in the order of ftrace and perf script; or ftrace's header.
fn is_ftrace(head: &[u8]) -> bool {
    let is_time = |w: &[u8]| {
        w.strip_suffix(b":")
            .is_some_and(|t| t.contains(&b'.') && crate::units::Nanos::parse_secs(t).is_some())
    };
    let is_event = |line: &[u8]| {
        let mut words = line.split(u8::is_ascii_whitespace);
        let is_cpu = |w: &[u8]| {
            w.len() == 5 && w.starts_with(b"[") && w[1..4].iter().all(u8::is_ascii_digit)
        };
        words.any(is_cpu) && words.any(is_time)
    };
    has_any(
        head,
        &[
            b"# tracer:",
            b": block_rq_",
            b": block_bio_",
            b": block_getrq",
        ],
    ) || head.split(|b| *b == b'\n').any(is_event)
}

/// `block_rq_issue: 8,0 W …` at the start of a line.
fn is_bare_event(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    let colon = memmem::find(line, b": ").unwrap_or(0);
    line.starts_with(b"block_")
        && line[..colon]
            .iter()
            .all(|b| b.is_ascii_lowercase() || *b == b'_')
        && colon > 0
}

fn has_line(head: &[u8], is: fn(&[u8]) -> bool) -> bool {
    head.split(|b| *b == b'\n').any(is)
}

fn is_markup(head: &[u8]) -> bool {
    let text = first_text(head);
    let lower = text[..text.len().min(16)].to_ascii_lowercase();
    [&b"<!doctype"[..], b"<html", b"<?xml", b"<head", b"<pre"]
        .iter()
        .any(|m| lower.starts_with(m))
}

fn is_archive(head: &[u8]) -> bool {
    let tar = head.get(257..262) == Some(b"ustar");
    let others: [&[u8]; 3] = [b"PK\x03\x04", b"7z\xbc\xaf\x27\x1c", b"\x04\x22\x4d\x18"];
    tar || others.iter().any(|m| head.starts_with(m))
}

/// A NUL, or one byte in ten that no text of any encoding in use has.
pub(super) fn is_binary(head: &[u8]) -> bool {
    let odd = |b: &&u8| **b < 0x20 && !matches!(**b, b'\n' | b'\r' | b'\t' | 0x1b | 0x0c);
    memchr::memchr(0, head).is_some() || head.iter().filter(odd).count() * 10 > head.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(head: &[u8]) -> String {
        refusal(Path::new("t"), head).to_string()
    }

    #[test]
    fn each_kind_of_input_is_named() {
        let cases: [(&[u8], &str); 18] = [
            (b"", "empty"),
            (b"\x06\x74\x61\x65\x00\x00\x00\x00", "binary blktrace"),
            (b"\x65\x61\x74\x06\x00\x00\x00\x00", "binary blktrace"),
            (b"\x17\x08\x44tracing6\0", "trace.dat"),
            (b"PERFILE2\0\0", "perf.data"),
            (b"\x7fELF\x02\x01", "ELF"),
            (b"PK\x03\x04abc", "archive"),
            (b"\xff\xfe8\0", "UTF-16"),
            (b"\x00\x01\x02", "binary data"),
            (b"<!DOCTYPE html>", "HTML"),
            (b"{\n \"a\": 1}", "JSON"),
            (
                b"  dd-1 [000] d... 1.5: sched_wakeup: comm=dd pid=1 prio=120\n",
                "holds no whole event",
            ),
            (
                b"  dd-1 [000] d... 77123: block_rq_issue: 8,0 W 0 () 8 + 8 [dd]\n",
                "trace_clock",
            ),
            (b"block_rq_issue: 8,0 W 0 () 8 + 8 [dd]\n", "cut off"),
            (
                b"  dd-1 [000] d... 1.5: Unknown action 36a2\n",
                "blk tracer",
            ),
            (
                b"  dd 1 [000] 1.5: block:block_rq_issue: 8,0 W 40>\n",
                "perf script",
            ),
            (
                b"CPU0 (sda):\n Reads Queued:           0,        0KiB\n",
                "summary",
            ),
            (
                b"Attaching 3 probes...\n09:30:46 kswapd0 enter\n",
                "bpftrace",
            ),
        ];
        for (head, word) in cases {
            let text = says(head);
            assert!(text.contains(word), "{word}: {text}");
            assert!(
                text.contains("hint:") && text.contains("blkparse text"),
                "{text}"
            );
        }
        let text = says(b"Dear list,\nmy disk is slow.\n");
        assert!(text.contains("'Dear list,'"), "{text}");
        assert!(says(&vec![b'x'; MAX_LINE]).contains("64 KiB"));
    }
    #[test]
    fn events_of_no_use_are_told_with_what_to_do() {
        let cases: [(&[u8], &str); 3] = [
            (
                b"  dd-1 [000] d... 18446744073.709551: block_rq_issue: 8,0 W 0 () 8 + 8 [dd]\n",
                "found '18446744073.709551'",
            ),
            (
                b"  dd 1 [000] 18446744073.709551: block:block_rq_issue: 8,0 W 0 () 8 + 8 [dd]\n",
                "expected at most 9223372036",
            ),
            (
                b"  dd-1 [000] d... 1.5: block_rq_issue: dev=8388608 sector=8 nr_sector=8\n",
                "without -R",
            ),
        ];
        for (head, word) in cases {
            let text = says(head);
            assert!(text.contains(word) && text.contains("hint:"), "{text}");
        }
    }
}
