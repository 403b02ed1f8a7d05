//! What all targets share: an input of bytes is read, judged by the laws of the suite, and a broken law is a crash.

#[path = "../../tests/suite/mutations/judge.rs"]
mod judge;

use blkan::event::{
    Action, BlockEvent, CommTable, DevId, Fields, NO_CPU, NO_PID, NO_SECTOR, Rwbs, TraceMeta,
};
use blkan::format::{ImportReport, LineFormat, ReadOptions};
use blkan::units::Nanos;
use judge::Found;
use std::path::PathBuf;
use std::sync::Arc;

/// A file of this process, in memory where the system has such.
fn file(name: &str) -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    let dir = match memory.is_dir() {
        true => memory,
        false => std::env::temp_dir(),
    };
    dir.join(format!("blkan-fuzz-{}-{name}", std::process::id()))
}

/// Reads and judges bytes as `format`, or as what they look like.
pub fn check(bytes: &[u8], format: Option<&str>) {
    read(
        bytes,
        ReadOptions {
            format: format.map(str::to_string),
            threads: 1,
            ..ReadOptions::default()
        },
    );
}

/// The same by a description.
pub fn check_by(bytes: &[u8], custom: Arc<dyn LineFormat>) {
    read(
        bytes,
        ReadOptions {
            custom: Some(custom),
            threads: 1,
            ..ReadOptions::default()
        },
    );
}

fn read(bytes: &[u8], how: ReadOptions) {
    let path = file("input");
    std::fs::write(&path, bytes).expect("room for the input");
    let variant = bytes.iter().fold(0, |n: u64, b| n * 31 % 60 + u64::from(*b) % 60);
    let judged = judge::read(&[path], &how).and_then(|f| {
        judge::judge(&f, variant)?;
        // Twice as slow, so not always.
        match variant % 4 {
            0 => judge::rewritten(&f, &file("rewritten")),
            _ => Ok(()),
        }
    });
    if let Err(words) = judged {
        panic!("{words}");
    }
}

/// Bytes of one event: [`events`].
const EVENT: usize = 24;

/// Events made of bytes: few devices, sectors and lengths, so that they meet, and now and then a number that is extreme.
fn events(bytes: &[u8]) -> Found {
    let (head, rest) = bytes.split_at(bytes.len().min(2));
    let flag = |i: usize| head.first().is_some_and(|b| b & (1 << i) != 0);
    let fields = Fields {
        completions_may_vanish: flag(0),
        rq_merge_named: flag(1),
        sector_of_empty: flag(2),
        all_actions: flag(3),
        clock: !flag(4),
        ..Fields::BLKTRACE
    };
    let mut comms = CommTable::default();
    let mut time = 0i64;
    let mut out: Vec<BlockEvent> = Vec::new();
    for (i, b) in rest.chunks_exact(EVENT).enumerate() {
        time = match b[0] {
            255 => i64::from_le_bytes([b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8]]),
            254 => time.saturating_sub(i64::from(b[1])),
            n => time.saturating_add(i64::from(n) * 1000),
        };
        out.push(BlockEvent {
            line: i as u32 + 1,
            ..event(b, Nanos(time), &mut comms)
        });
    }
    let report = ImportReport {
        lines: out.len() as u64,
        events: out.len() as u64,
        ..ImportReport::default()
    };
    let refused = out.is_empty().then(|| "no bytes".to_string());
    Found {
        events: out,
        meta: TraceMeta {
            comms,
            fields,
            ..TraceMeta::default()
        },
        reports: vec![report],
        refused,
    }
}

fn event(b: &[u8], time: Nanos, comms: &mut CommTable) -> BlockEvent {
    const LETTERS: [&[u8]; 12] = [
        b"R", b"W", b"WS", b"FF", b"FWS", b"WFS", b"FWFS", b"D", b"N", b"RA", b"WFSM", b"",
    ];
    let wide = u64::from_le_bytes([b[16], b[17], b[18], b[19], b[20], b[21], b[22], b[23]]);
    let small = |b: u8| u64::from(b % 32) * 8;
    let number = |how: u8, small: u64| match how {
        0..=249 => small,
        250 => wide,
        251 => NO_SECTOR,
        252 => 0,
        253 => u64::MAX - 1,
        _ => 1 << 63,
    };
    let action = Action::ALL[usize::from(b[9]) % Action::ALL.len()];
    let mut e = BlockEvent::new(time, DevId::new(8, u32::from(b[10] % 4)), action);
    e.sector = number(b[11], small(b[12]));
    e.bytes = number(b[13], small(b[14]) * 512 / 4) / 512 * 512;
    e.rwbs = Rwbs::new(LETTERS[usize::from(b[15]) % LETTERS.len()]);
    e.cpu = if b[16] == 255 { NO_CPU } else { u16::from(b[16] % 4) };
    e.pid = if b[17] == 255 { NO_PID } else { u32::from(b[17] % 4) };
    e.comm = comms.intern(&[b'a' + b[18] % 4]);
    match action {
        Action::Complete | Action::BioComplete => e.error = -i16::from(b[19] / 64),
        Action::Remap | Action::RqRemap => {
            e.aux = number(b[20], small(b[21]));
            e.aux_dev = DevId::new(8, u32::from(b[22] % 4));
        }
        Action::Split => e.aux = number(b[20], e.sector.wrapping_add(u64::from(b[21] % 16))),
        Action::Unplug | Action::UnplugTimer => e.aux = u64::from(b[21]),
        _ => {}
    }
    let part = matches!(
        action,
        Action::Split | Action::Remap | Action::RqRemap | Action::Unplug | Action::UnplugTimer
    );
    if b[23] == 255 && !part {
        e.flags = BlockEvent::PASSTHROUGH;
    }
    e
}

/// The tracker and what follows it, on events that no recorder wrote.
pub fn check_events(bytes: &[u8]) {
    let f = events(bytes);
    if let Err(words) = judge::judge(&f, bytes.get(1).copied().unwrap_or(0).into()) {
        panic!("{words}");
    }
}

/// The writers, on events in order of time.
pub fn check_writers(bytes: &[u8]) {
    let mut f = events(bytes);
    f.events.sort_by_key(|e| e.time);
    if f.refused.is_none()
        && let Err(words) = judge::rewritten(&f, &file("rewritten"))
    {
        panic!("{words}");
    }
}
