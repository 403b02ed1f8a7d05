//! Hand-made traces for the tests of rules.

use super::super::testing::{Beside, explain};
use super::super::{Explanation, Finding, Levels, Question};
use crate::event::*;
use crate::units::Nanos;
use std::fmt::Write;

/// A trace in the making: one event a line, each 10 µs after the one before.
#[derive(Default)]
pub(super) struct Trace(pub(super) String);

impl Trace {
    /// `DEV PID COMM ACTION RWBS SECTOR SECTORS [FROM-DEV FROM-SECTOR]`.
    pub fn ev(&mut self, line: impl AsRef<str>) {
        writeln!(self.0, "{}", line.as_ref()).unwrap();
    }

    pub fn write(&mut self, dev: &str, pid: u32, s: u64) {
        for x in ["Q WS", "G WS", "D WS", "C WS"] {
            self.ev(format!("{dev} {pid} fio {x} {s} 8"));
        }
    }

    /// An empty flush, served alone.
    pub fn flush(&mut self, dev: &str, pid: u32, comm: &str) {
        for x in ["Q FWS", "G FWS", "D FF", "C FF", "C WS"] {
            self.ev(format!("{dev} {pid} {comm} {x} 0 0"));
        }
    }

    /// A write with these letters, whose FUA is lost on the way.
    pub fn emulated(&mut self, dev: &str, comm: &str, rwbs: &str, s: u64) {
        let plain = rwbs.replace('F', "");
        for x in ["Q", "G"] {
            self.ev(format!("{dev} 9 {comm} {x} {rwbs} {s} 8"));
        }
        if rwbs.starts_with('F') {
            self.ev(format!("{dev} 9 k D FF 0 0"));
            self.ev(format!("{dev} 9 k C FF 0 0"));
        }
        self.ev(format!("{dev} 9 k D {plain} {s} 8"));
        self.ev(format!("{dev} 9 k C {plain} {s} 8"));
        self.ev(format!("{dev} 9 k D FF 0 0"));
        self.ev(format!("{dev} 9 k C FF 0 0"));
        self.ev(format!("{dev} 9 k C {plain} {s} 0"));
    }

    pub fn explain(&self) -> Explanation {
        self.explained(Fields::BLKTRACE)
    }

    pub fn explained(&self, fields: Fields) -> Explanation {
        let mut beside = Beside::default();
        beside.meta.fields = fields;
        self.with(beside, Levels::default())
    }

    /// With what is known beside the trace, and other thresholds.
    pub fn with(&self, mut beside: Beside, levels: Levels) -> Explanation {
        let lines = self.0.lines().enumerate();
        let comms = &mut beside.meta.comms;
        let events: Vec<BlockEvent> = lines.map(|(i, l)| parse(i, l, comms)).collect();
        explain(&events, &beside, levels, &[Question::Flushes])
    }

    pub fn finds(&self, id: &str) -> Finding {
        let e = self.explain();
        let found = e.findings.iter().find(|f| f.id == id).cloned();
        found.unwrap_or_else(|| panic!("no {id}: {:?}", e.questions))
    }

    pub fn silent(&self, id: &str) {
        let e = self.explain();
        assert!(e.findings.iter().all(|f| f.id != id), "{:?}", e.findings);
    }
}

fn parse(i: usize, line: &str, comms: &mut CommTable) -> BlockEvent {
    let f: Vec<&str> = line.split_whitespace().collect();
    let action = match f[3] {
        "Q" => Action::Queue,
        "G" => Action::GetRq,
        "D" => Action::Issue,
        "R" => Action::Requeue,
        "C" => Action::Complete,
        "A" => Action::Remap,
        other => panic!("{other}"),
    };
    let sector = if f[4] == "FF" {
        NO_SECTOR
    } else {
        f[5].parse().unwrap()
    };
    BlockEvent {
        sector,
        bytes: f[6].parse::<u64>().unwrap() * 512,
        aux: f.get(8).map_or(0, |s| s.parse().unwrap()),
        aux_dev: f.get(7).map_or(DevId::NONE, |d| d.parse().unwrap()),
        rwbs: Rwbs::new(f[4].as_bytes()),
        pid: f[1].parse().unwrap(),
        line: i as u32 + 1,
        comm: comms.intern(f[2].as_bytes()),
        cpu: 0,
        ..BlockEvent::new(Nanos(i as i64 * 10_000), f[0].parse().unwrap(), action)
    }
}
