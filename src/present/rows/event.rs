//! An event as a line of text. It is the canonical one-line form: twelve fields in a fixed order between blanks, `-` for
//! what is absent, the task name last since it may hold blanks.

use super::{AsText, align, show};
use crate::event::{Action, BlockEvent, Fields, NO_SECTOR};
use crate::frame::{cpu, dev, event_error, pid, rwbs, sector};
use crate::present::table::cut;

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

impl AsText for BlockEvent {
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

    fn text(&self, comm: Option<&str>, _fields: &Fields, out: &mut Vec<u8>) {
        let e = self;
        let cells = [
            (15, e.time.to_string()),
            (6, show(dev(e.dev))),
            (3, show(cpu(e.cpu))),
            (6, show(pid(e.pid))),
            (-3, e.action.code().to_string()),
            (-5, show(rwbs(e.rwbs))),
            (11, show(sector(e.sector))),
            (8, e.bytes.to_string()),
            (4, show(event_error(e))),
            (-1, extra(e)),
            (-1, cut(comm.unwrap_or("-"), 32)),
        ];
        out.extend_from_slice(align(&cells).as_bytes());
    }
}
