//! An event as a row. Its text form is the canonical one-line form: twelve fields in a fixed order between blanks, `-` for
//! what is absent, the task name last since it may hold blanks.

use super::{
    AsRow, Row, Value, align, cpu, dev, known, name, pid, rwbs, sector, show, source_line, word,
};
use crate::event::{Action, BlockEvent, DevId, Fields, NO_SECTOR};

/// An event and its task's name.
pub struct EventRow<'a> {
    /// The event.
    pub ev: &'a BlockEvent,
    /// Its task.
    pub comm: Option<&'a str>,
    /// What the source can tell.
    pub fields: Fields,
}

/// What only some events have: `<-8,1:2048` where it was mapped from, `/2048` where the rest begins, `n=5` requests in
/// the plug, `pc` passthrough.
fn extra(e: &BlockEvent) -> String {
    match e.action {
        Action::Remap | Action::RqRemap | Action::Split if e.aux == NO_SECTOR => "-".to_string(),
        Action::Remap | Action::RqRemap => format!("<-{}:{}", e.aux_dev, e.aux),
        Action::Split => format!("/{}", e.aux),
        Action::Unplug | Action::UnplugTimer => format!("n={}", e.aux),
        _ if e.passthrough() => "pc".to_string(),
        _ => "-".to_string(),
    }
}

impl EventRow<'_> {
    fn error(&self) -> Value {
        let told = matches!(
            self.ev.action,
            Action::Complete | Action::BioComplete | Action::Requeue | Action::RqError
        );
        if told {
            Value::Int(i64::from(self.ev.error))
        } else {
            Value::Absent
        }
    }
}

impl AsRow for EventRow<'_> {
    const COLUMNS: &'static [&'static str] = &[
        "line",
        "time_ns",
        "dev",
        "cpu",
        "pid",
        "action",
        "event",
        "rwbs",
        "sector",
        "bytes",
        "error",
        "from_dev",
        "other_sector",
        "plugged",
        "passthrough",
        "comm",
    ];

    fn head() -> String {
        let cells = [
            (15, "# seconds"),
            (6, "dev"),
            (3, "cpu"),
            (6, "pid"),
            (-3, "act"),
            (-5, "rwbs"),
            (11, "sector"),
            (8, "bytes"),
            (4, "err"),
            (-1, "extra comm"),
        ];
        align(&cells.map(|(w, s)| (w, s.to_string())))
    }

    fn fill(&self, row: &mut Row) {
        let e = self.ev;
        let other = matches!(e.action, Action::Remap | Action::RqRemap | Action::Split);
        let unplug = matches!(e.action, Action::Unplug | Action::UnplugTimer);
        let other_sector = if other { e.aux } else { NO_SECTOR };
        row.0.clear();
        row.0.extend([
            source_line(e.line),
            known(self.fields.clock, Value::Int(e.time.0)),
            dev(e.dev),
            cpu(e.cpu),
            pid(e.pid),
            word(e.action.code()),
            word(e.action.tracepoint()),
            rwbs(e.rwbs),
            sector(e.sector),
            known(self.fields.sizes, Value::Uint(e.bytes)),
            known(
                self.fields.error || !self.fields.whole_requests,
                self.error(),
            ),
            if e.aux_dev == DevId::NONE {
                Value::Absent
            } else {
                dev(e.aux_dev)
            },
            sector(other_sector),
            if unplug {
                Value::Uint(e.aux)
            } else {
                Value::Absent
            },
            Value::Bool(e.passthrough()),
            name(self.comm),
        ]);
    }

    fn text(&self, out: &mut Vec<u8>) {
        let e = self.ev;
        let cells = [
            (15, e.time.to_string()),
            (6, show(&dev(e.dev))),
            (3, show(&cpu(e.cpu))),
            (6, show(&pid(e.pid))),
            (-3, e.action.code().to_string()),
            (-5, show(&rwbs(e.rwbs))),
            (11, show(&sector(e.sector))),
            (8, e.bytes.to_string()),
            (4, show(&self.error())),
            (-1, extra(e)),
            (-1, show(&name(self.comm))),
        ];
        out.extend_from_slice(align(&cells).as_bytes());
    }
}
