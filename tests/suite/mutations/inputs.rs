//! The sound inputs that are mutated: every format and every packing, cut to a few hundred lines.

use super::super::support::{root, sorted};
use super::super::tracepoints::classic;
use super::judge::read;
use blkan::format::{Known, LineFormat, ReadOptions, WRITERS, template};
use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;

/// How damage at one place may spread.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Every line is read by itself.
    Lines,
    /// The head says how the rest is read: only what is before the damage is sure.
    Headed,
    /// Lines of which several may make an event.
    Wrapped,
    /// Binary records; the header's length, and whether big-endian.
    Records { header: usize, big: bool },
    /// A compressed stream.
    Packed,
}

/// An input without damage.
pub struct Sound {
    pub name: String,
    pub bytes: Vec<u8>,
    pub form: Form,
    /// What `--format` would say; `None`: read by a description.
    pub format: Option<&'static str>,
    pub custom: Option<Arc<dyn LineFormat>>,
    /// The file's name, which tells binary files of one CPU.
    pub file: &'static str,
}

impl Sound {
    fn new(name: &str, bytes: Vec<u8>, form: Form, format: &'static str) -> Sound {
        Sound {
            name: name.to_string(),
            bytes,
            form,
            format: Some(format),
            custom: None,
            file: "trace",
        }
    }

    fn custom(name: &str, bytes: Vec<u8>, by: Arc<dyn LineFormat>) -> Sound {
        Sound {
            custom: Some(by),
            format: None,
            ..Sound::new(name, bytes, Form::Lines, "")
        }
    }

    /// Options to read it with.
    pub fn how(&self, named: bool, threads: usize) -> ReadOptions {
        ReadOptions {
            format: self.format.filter(|_| named).map(str::to_string),
            custom: self.custom.clone(),
            threads,
            ..ReadOptions::default()
        }
    }

    /// Lines, not records.
    pub fn text(&self) -> bool {
        matches!(self.form, Form::Lines | Form::Headed | Form::Wrapped)
    }
}

/// A fixture's bytes, unpacked.
pub fn unpacked(fixture: &str) -> Vec<u8> {
    let path = root().join("fixtures").join(fixture);
    let raw = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    if !fixture.ends_with(".gz") {
        return raw;
    }
    let mut out = Vec::new();
    let read = flate2::read::MultiGzDecoder::new(&raw[..]).read_to_end(&mut out);
    read.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    out
}

/// The first lines, and the last few, where a summary may stand.
fn slice(text: Vec<u8>, first: usize, last: usize) -> Vec<u8> {
    let lines: Vec<&[u8]> = text.split_inclusive(|b| *b == b'\n').collect();
    let tail = lines.len().saturating_sub(last).max(first.min(lines.len()));
    let head = &lines[..first.min(lines.len())];
    [head.concat(), lines[tail..].concat()].concat()
}

/// All of them.
pub fn sound() -> Vec<Sound> {
    let mut all = Vec::new();
    texts(&mut all);
    described(&mut all);
    small(&mut all);
    records(&mut all);
    packed(&mut all);
    all
}

fn texts(all: &mut Vec<Sound>) {
    for (fixture, form, format) in [
        (
            "same-run/hello-perf/blkparse.txt.gz",
            Form::Lines,
            "blkparse",
        ),
        (
            "blkparse/scsi-unmap/blkparse.txt.gz",
            Form::Lines,
            "blkparse",
        ),
        (
            "blkparse/stack-crypt/blkparse.txt.gz",
            Form::Lines,
            "blkparse",
        ),
        ("same-run/hello-perf/bpf.log.gz", Form::Lines, "bpftrace"),
        ("bpftrace/scsi-unmap/bpf.log.gz", Form::Lines, "bpftrace"),
        (
            "same-run/k61-bcctrace/bcctrace.log.gz",
            Form::Lines,
            "bcc-trace",
        ),
        ("same-run/hello-perf/ftrace.txt.gz", Form::Lines, "ftrace"),
        ("same-run/k61-split/ftrace.txt.gz", Form::Lines, "ftrace"),
        (
            "same-run/hello-perf/perf.txt.gz",
            Form::Lines,
            "perf-script",
        ),
    ] {
        let text = slice(unpacked(fixture), 260, 40);
        all.push(Sound::new(fixture, text, form, format));
    }
    let blkparse = slice(unpacked("same-run/hello-perf/blkparse.txt.gz"), 260, 0);
    let text = classic(&String::from_utf8_lossy(&blkparse)).into_bytes();
    all.push(Sound::new("blk-tracer", text, Form::Lines, "blk-tracer"));
    let text = canonical(&blkparse);
    all.push(Sound::new("canonical", text, Form::Headed, "canonical"));
    for fixture in [
        "same-run/hello-perf/ftrace.txt.gz",
        "same-run/hello-perf/perf.txt.gz",
    ] {
        let format = if fixture.contains("perf.txt") {
            "perf-script"
        } else {
            "ftrace"
        };
        let text = wrapped(&slice(unpacked(fixture), 200, 0));
        all.push(Sound::new(
            &format!("{fixture}, wrapped"),
            text,
            Form::Wrapped,
            format,
        ));
    }
}

/// blkan's own text of a blkparse text.
fn canonical(blkparse: &[u8]) -> Vec<u8> {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), blkparse).expect("room");
    let f = read(&[file.path().to_path_buf()], &ReadOptions::default()).expect("a sound trace");
    let known = Known {
        comms: &f.meta.comms,
        fields: &f.meta.fields,
    };
    let info = WRITERS
        .iter()
        .find(|w| w.name == "canonical")
        .expect("the writer");
    let (mut out, mut writer) = (Vec::new(), (info.start)());
    writer.begin(&known, &mut out);
    for e in &f.events {
        writer.event(e, &known, &mut out);
    }
    writer.end(&f.meta.names, Some(0), &mut out);
    out
}

/// As a mailer leaves it: no line longer than 72.
fn wrapped(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for line in text.split_inclusive(|b| *b == b'\n') {
        let blank = line
            .iter()
            .take(72)
            .rposition(|b| *b == b' ')
            .filter(|i| *i > 40);
        match blank.filter(|_| line.len() > 73 && line[0] != b'#') {
            Some(i) => {
                out.extend_from_slice(&line[..i]);
                out.push(b'\n');
                out.extend_from_slice(&line[i + 1..]);
            }
            None => out.extend_from_slice(line),
        }
    }
    out
}

/// Lines that only their user can describe.
fn described(all: &mut Vec<Sound>) {
    let log = slice(unpacked("same-run/hello-perf/bpf.log.gz"), 250, 0);
    let line = "{ns} {cpu} {pid} {event} {dev} {sector} {nr} {rwbs} {skip} {comm}".to_string();
    let by = template::compile(&[line]).expect("a template");
    all.push(Sound::custom("--line", log.clone(), Arc::new(by)));
    let script = std::fs::read_to_string(root().join("recorder/blkan.bt")).expect("the script");
    let by = template::from_script(&script, Path::new("blkan.bt")).expect("a reader");
    all.push(Sound::custom("--bt", log, Arc::new(by)));
    let text = unpacked("blkparse-format/formats.toml");
    let list: toml::Table = toml::from_str(&String::from_utf8_lossy(&text)).expect("TOML");
    for print in list["print"].as_array().expect("[[print]]") {
        let formats: Vec<String> = print["formats"]
            .as_array()
            .expect("formats")
            .iter()
            .map(|f| f.as_str().expect("a format").to_string())
            .collect();
        let file = print["file"].as_str().expect("a file");
        let text = slice(unpacked(&format!("blkparse-format/{file}")), 200, 40);
        let by = template::from_blkparse_formats(&formats).expect("a reader");
        all.push(Sound::custom(
            &format!("--blkparse-format, {file}"),
            text,
            Arc::new(by),
        ));
    }
}

/// Cases written by hand.
fn small(all: &mut Vec<Sound>) {
    for (dir, form, format) in [
        ("blkparse", Form::Lines, "blkparse"),
        ("biosnoop", Form::Headed, "biosnoop"),
    ] {
        for case in sorted(&root().join("fixtures").join(dir)) {
            let file = case.join("trace.txt");
            if let Ok(text) = std::fs::read(&file) {
                let name = case
                    .strip_prefix(root())
                    .unwrap_or(&case)
                    .display()
                    .to_string();
                all.push(Sound::new(&name, text, form, format));
            }
        }
    }
}

/// The header's length and the PDU's of the record at the start of `b`.
pub fn record(b: &[u8], header: usize, big: bool) -> Option<usize> {
    let head = b.get(..header)?;
    let at = if header == 64 { 50 } else { 46 };
    let two = [head[at], head[at + 1]];
    let pdu = if big {
        u16::from_be_bytes(two)
    } else {
        u16::from_le_bytes(two)
    };
    Some(header + usize::from(pdu)).filter(|n| *n <= b.len())
}

/// Version 7, little-endian, in another layout (`struct blk_io_trace`, `struct blk_io_trace2`,
/// include/uapi/linux/blktrace_api.h).
fn twin(v7: &[u8], v8: bool, big: bool) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = v7;
    while let Some(n) = record(rest, 48, false) {
        let (r, pdu) = rest[..n].split_at(48);
        let start = out.len();
        let mut put = |field: &[u8]| match big {
            true => out.extend(field.iter().rev()),
            false => out.extend(field),
        };
        put(&[if v8 { 8 } else { 7 }, 0x74, 0x61, 0x65]);
        for (from, to) in [(4, 8), (8, 16), (16, 24), (24, 28)] {
            put(&r[from..to]);
        }
        if v8 {
            put(&r[32..36]);
            put(&[&r[28..32], &[0; 4]].concat());
        } else {
            put(&r[28..32]);
            put(&r[32..36]);
        }
        for (from, to) in [(36, 40), (40, 44), (44, 46), (46, 48)] {
            put(&r[from..to]);
        }
        out.resize(start + if v8 { 64 } else { 48 }, 0);
        out.extend(pdu);
        rest = &rest[n..];
    }
    out
}

fn records(all: &mut Vec<Sound>) {
    let v7 = unpacked("blktrace/hello-perf/nvme0n1.blktrace.0.gz");
    for (v8, big) in [(false, false), (false, true), (true, false), (true, true)] {
        let bytes = twin(&v7, v8, big);
        let header = if v8 { 64 } else { 48 };
        let name = format!("blktrace, header of {header}, big-endian {big}");
        let form = Form::Records { header, big };
        for file in ["trace", "nvme0n1.blktrace.0"] {
            all.push(Sound {
                file,
                ..Sound::new(&format!("{name}, {file}"), bytes.clone(), form, "blktrace")
            });
        }
    }
    assert_eq!(twin(&v7, false, false), v7, "all of it is records");
    let mut medium = unpacked("blktrace/scsi-medium/sda.blktrace.0.gz");
    medium.truncate(30_000);
    let form = Form::Records {
        header: 48,
        big: false,
    };
    all.push(Sound::new("blktrace/scsi-medium", medium, form, "blktrace"));
}

/// Bytes in every packing that is read.
pub fn pack(bytes: &[u8], how: usize) -> Vec<u8> {
    let mut out = Vec::new();
    match how % 4 {
        0 => {
            let mut w = flate2::write::GzEncoder::new(&mut out, flate2::Compression::fast());
            w.write_all(bytes)
                .and_then(|()| w.try_finish())
                .expect("memory");
        }
        1 => {
            let mut w = bzip2::write::BzEncoder::new(&mut out, bzip2::Compression::fast());
            w.write_all(bytes)
                .and_then(|()| w.try_finish())
                .expect("memory");
        }
        2 => {
            let mut w = liblzma::write::XzEncoder::new(&mut out, 0);
            w.write_all(bytes)
                .and_then(|()| w.try_finish())
                .expect("memory");
        }
        _ => {
            let level = ruzstd::encoding::CompressionLevel::Fastest;
            out = ruzstd::encoding::compress_to_vec(bytes, level);
        }
    }
    out
}

fn packed(all: &mut Vec<Sound>) {
    for name in [
        "whole.gz",
        "multi-member-midline.gz",
        "small.zst",
        "small.xz",
        "small.bz2",
    ] {
        let bytes = std::fs::read(root().join("fixtures/hostile").join(name)).expect("a fixture");
        all.push(Sound::new(name, bytes, Form::Packed, "blkparse"));
    }
    for (fixture, format, how) in [
        ("same-run/hello-perf/bpf.log.gz", "bpftrace", 0),
        ("same-run/hello-perf/ftrace.txt.gz", "ftrace", 1),
        ("same-run/hello-perf/perf.txt.gz", "perf-script", 2),
        ("blktrace/hello-perf/nvme0n1.blktrace.0.gz", "blktrace", 3),
    ] {
        let bytes = pack(&unpacked(fixture), how);
        all.push(Sound::new(
            &format!("{fixture}, packed anew"),
            bytes,
            Form::Packed,
            format,
        ));
    }
}
