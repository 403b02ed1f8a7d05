//! Events, requests and bios as lines of text for people. Their columns for programs are [`crate::frame`]'s.

mod bio;
mod event;
mod request;

use super::WIDTH;
use super::table::{cut, left, right, width};
use crate::event::Fields;
use crate::frame::Record;
use crate::lifecycle::Stamp;
use std::fmt::Display;

/// A record that has a line of text.
pub trait AsText: Record {
    /// The head line.
    fn head() -> String;

    /// Appends the line; `comm` is the name of the record's task, `fields` what the source can tell.
    fn text(&self, comm: Option<&str>, fields: &Fields, out: &mut Vec<u8>);
}

/// A cell: `-` for what is absent.
fn show(v: Option<impl Display>) -> String {
    v.map_or_else(|| "-".to_string(), |v| v.to_string())
}

/// ns as µs with one decimal: `12345.6`; whole ms once that gets long.
fn micros(ns: Option<i64>) -> String {
    match ns {
        // Clocks of CPUs disagree: no length of time, and the stamps tell by how much.
        None | Some(i64::MIN..=-1) => "-".to_string(),
        Some(n) if n.unsigned_abs() < 100_000_000 => format!("{:.1}", n as f64 / 1e3),
        Some(n) => format!("{}m", n / 1_000_000),
    }
}

/// A length in five columns: `512`, `4k`, `1.5M`.
fn short_bytes(n: u64) -> String {
    let units = [
        (1u64 << 40, "T"),
        (1 << 30, "G"),
        (1 << 20, "M"),
        (1 << 10, "k"),
    ];
    match units.iter().find(|(u, _)| n >= *u) {
        None => n.to_string(),
        Some((u, s)) if n.is_multiple_of(*u) => format!("{}{s}", n / u),
        Some((u, s)) => format!("{:.1}{s}", n as f64 / *u as f64),
    }
}

/// Seconds with six digits, for lines where ns would not fit.
fn seconds(s: Stamp) -> String {
    s.get()
        .map_or_else(|| "-".to_string(), |t| format!("{:.6}", t.as_secs_f64()))
}

/// Joins cells with their widths: positive right-aligned, negative left-aligned.
fn align(cells: &[(i8, String)]) -> String {
    let mut line = String::with_capacity(WIDTH + 16);
    let (mut used, mut due) = (0usize, 0usize);
    for (i, (w, s)) in cells.iter().enumerate() {
        if i > 0 {
            line.push(' ');
            used += 1;
            due += 1;
        }
        due += usize::from(w.unsigned_abs());
        // A cell too wide takes the room of the blanks behind it.
        let room = due.saturating_sub(used);
        let cell = if *w < 0 {
            left(s, room)
        } else {
            right(s, room)
        };
        used += width(&cell);
        line.push_str(&cell);
    }
    let line = line.trim_end();
    if width(line) > WIDTH {
        return format!("{}\n", cut(line, WIDTH));
    }
    format!("{line}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Action, BlockEvent, DevId, NO_CPU, NO_PID, NO_SECTOR, Rwbs};
    use crate::frame::values;
    use crate::lifecycle::{Bio, BioFate, Outcome, Pairing, Request, RequestKind};
    use crate::present::{csv, json, table::width};
    use crate::units::Nanos;

    pub(super) fn request() -> Request {
        Request {
            id: 7,
            dev: DevId::new(259, 0),
            kind: RequestKind::Io,
            sector: 2048,
            bytes: 8192,
            rwbs: Rwbs::new(b"WS"),
            pid: 213,
            comm: crate::event::CommId(0),
            cpu: 1,
            line: 12,
            first_sector: 0,
            first_bytes: 0,
            q: Stamp::at(Nanos(1_000)),
            g: Stamp::at(Nanos(2_000)),
            i: Stamp::NONE,
            d_first: Stamp::at(Nanos(5_000)),
            d: Stamp::at(Nanos(9_000)),
            c_data: Stamp::at(Nanos(109_000)),
            c: Stamp::at(Nanos(109_000)),
            issues: 2,
            requeues: 1,
            inserts: 0,
            completions: 1,
            bios: 2,
            merged: 1,
            preflush: false,
            postflush: false,
            waiters: 0,
            outcome: Outcome::Failed(-5),
            pairing: Pairing::Exact,
        }
    }

    fn csv_of<R: AsText>(r: &R, comm: Option<&str>) -> String {
        let mut out = Vec::new();
        csv::row(values(r, comm, &Fields::BLKTRACE), &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    fn json_of<R: AsText>(r: &R, comm: Option<&str>) -> serde_json::Value {
        let mut out = Vec::new();
        json::row(r, comm, &Fields::BLKTRACE, &mut out);
        serde_json::from_slice(&out).unwrap()
    }

    fn text_of<R: AsText>(r: &R, comm: Option<&str>) -> String {
        let mut out = Vec::new();
        r.text(comm, &Fields::BLKTRACE, &mut out);
        let s = String::from_utf8(out).unwrap();
        assert!(
            width(s.trim_end()) <= 100 && width(R::head().trim_end()) <= 100,
            "{s}{}",
            R::head()
        );
        s
    }

    #[test]
    fn an_event_is_one_line_in_every_form() {
        let mut e = BlockEvent::new(Nanos(2_423_912_816), DevId::new(8, 0), Action::Complete);
        (e.rwbs, e.sector, e.bytes, e.pid, e.cpu, e.error, e.line) =
            (Rwbs::new(b"WS"), 384408, 4096, 213, 0, -5, 99);
        assert_eq!(
            csv_of(&e, None),
            "99,2423912816,\"8,0\",0,213,C,block_rq_complete,WS,384408,4096,-5,,,,false,\n"
        );
        let j = json_of(&e, None);
        assert_eq!(j["comm"], serde_json::Value::Null);
        assert_eq!(j["error"], -5);
        assert_eq!(
            text_of(&e, None),
            "    2.423912816    8,0   0    213 C   WS         384408     4096   -5 - -\n"
        );
    }

    #[test]
    fn a_request_tells_its_spans_and_its_end() {
        let r = request();
        let fio = Some("fio");
        let j = json_of(&r, fio);
        assert_eq!(j["d2c_ns"], 100_000);
        assert_eq!(j["d2d_ns"], 4_000);
        assert_eq!(j["g2i_ns"], serde_json::Value::Null);
        assert_eq!(j["outcome"], "failed");
        assert_eq!(j["error"], -5);
        assert_eq!(
            text_of(&r, fio),
            "    0.000001  259,0 WS    io           2048    8k    2   2/1     1.0     7.0   100.0   107.0 err-5\n"
        );
        assert!(
            csv_of(&r, fio).starts_with(
                "7,\"259,0\",io,WS,2048,8192,213,fio,1,12,failed,-5,exact,2,1,0,1,2,1,"
            )
        );
    }

    #[test]
    fn a_bio_names_its_request_and_its_fate() {
        let b = Bio {
            id: 3,
            dev: DevId::new(8, 0),
            sector: NO_SECTOR,
            bytes: 0,
            rwbs: Rwbs::new(b"FWS"),
            pid: NO_PID,
            comm: crate::event::CommId::NONE,
            cpu: NO_CPU,
            line: 4,
            q: Stamp::at(Nanos(0)),
            g: Stamp::at(Nanos(500)),
            m: Stamp::NONE,
            i: Stamp::NONE,
            d: Stamp::NONE,
            c_data: Stamp::NONE,
            c: Stamp::at(Nanos(700_000)),
            pieces: 1,
            merged: None,
            fate: BioFate::Completed,
            request: Some(9),
            parent: None,
            parent_dev: DevId::NONE,
            unclean: false,
        };
        let j = json_of(&b, None);
        assert_eq!(j["request"], 9);
        assert_eq!(j["sector"], serde_json::Value::Null);
        assert_eq!(
            text_of(&b, None),
            "    0.000000    8,0 FWS             -     0       - -         own         0.5       -   700.0 ok\n"
        );
    }

    #[test]
    fn lengths_and_times_stay_short() {
        assert_eq!(short_bytes(2560), "2.5k");
        assert_eq!(short_bytes(1 << 20), "1M");
        assert_eq!(micros(Some(5_000_000_000)), "5000m");
        assert_eq!(micros(Some(-30)), "-");
        let wide = align(&[(2, "12345".into()), (6, "7".into()), (-4, "x".repeat(120))]);
        assert!(
            wide.starts_with("12345   7 xx") && width(wide.trim_end()) == 100,
            "{wide}"
        );
    }
}
