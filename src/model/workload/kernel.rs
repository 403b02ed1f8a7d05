//! What a trace tells of its kernel beside the plug mode, from the order of each task's own events.

use crate::event::{Action, BlockEvent, DevId};
use crate::model::policy::Kernel;
use rustc_hash::FxHashMap;

/// Signs of one kind that are more than chance (lost events, an interrupt in the wrong place).
const ENOUGH: u64 = 8;
/// Times as many as of the opposite kind.
const CLEAR: u64 = 10;
/// Requests of a full plug of 5.15 (BLK_MAX_REQUEST_COUNT, block/blk.h).
const FULL_5_15: u64 = 16;

/// What a task did last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Last {
    /// Nothing that matters.
    #[default]
    Other,
    /// Q (or what follows it) of a bio that needs no flush.
    Queued,
    /// G of that bio, outside of any plug.
    Got,
    /// G into a plug.
    Added,
    /// U of a plug of one device.
    Emptied,
}

#[derive(Clone, Copy, Debug)]
struct Task {
    last: Last,
    dev: DevId,
    sector: u64,
    /// P without a U since.
    open: bool,
    /// Requests of more than one device since P.
    several: bool,
    plug_dev: DevId,
    /// The plug was emptied of so many behind a G: full, if a P follows before the next bio.
    full: Option<u64>,
}

impl Default for Task {
    fn default() -> Task {
        Task {
            last: Last::Other,
            dev: DevId::NONE,
            sector: 0,
            open: false,
            several: false,
            plug_dev: DevId::NONE,
            full: None,
        }
    }
}

/// See the module.
#[derive(Debug, Default)]
pub struct Signs {
    tasks: FxHashMap<u32, Task>,
    /// P, U and D of one device's requests, without an I: told by 6.12, not by 6.1.
    told: u64,
    /// P upon P: the U between was not told, as by 6.1.
    untold: u64,
    /// Q, G and I or D without P: no plug was made for a single bio.
    bare: u64,
    /// Plugs found full at 16, at other counts.
    full: (u64, u64),
}

impl Signs {
    /// Follows an event of a task.
    pub fn event(&mut self, ev: &BlockEvent) {
        use Action::{GetRq, Insert, Issue, Plug, Queue, Remap, Split, Unplug, UnplugTimer};
        let known = matches!(
            ev.action,
            GetRq | Insert | Issue | Plug | Queue | Remap | Split | Unplug | UnplugTimer
        );
        if !known {
            return;
        }
        let t = self.tasks.entry(ev.pid).or_default();
        let same = t.dev == ev.dev && t.sector == ev.sector;
        let last = std::mem::take(&mut t.last);
        match ev.action {
            Queue | Split | Remap => {
                let flush = ev.rwbs.preflush() || ev.rwbs.fua();
                t.last = if flush { Last::Other } else { Last::Queued };
                (t.dev, t.sector, t.full) = (ev.dev, ev.sector, None);
            }
            GetRq if t.open => {
                t.last = Last::Added;
                t.several |= t.plug_dev != ev.dev;
            }
            GetRq if last == Last::Queued && same => t.last = Last::Got,
            Insert | Issue if last == Last::Got && same => self.bare += 1,
            Issue if last == Last::Emptied => self.told += 1,
            Plug => {
                self.untold += u64::from(t.open);
                match t.full.take() {
                    Some(FULL_5_15) => self.full.0 += 1,
                    Some(_) => self.full.1 += 1,
                    None => {}
                }
                (t.open, t.several, t.plug_dev) = (true, false, ev.dev);
            }
            Unplug | UnplugTimer => {
                let one = t.open && !t.several;
                if one && ev.action == Unplug {
                    t.last = Last::Emptied;
                    t.full = (last == Last::Added).then_some(ev.aux);
                }
                t.open = false;
            }
            _ => {}
        }
    }

    /// The kernel, where the signs are clear. Which one before 6.10 shows in nothing but the size of its plugs: 6.3 is named
    /// where that is not seen either.
    pub fn verdict(&self) -> Option<Kernel> {
        let old = self.bare + self.untold;
        let clear = |a: u64, b: u64| a >= ENOUGH && a >= CLEAR * b;
        if clear(self.full.0, self.full.1) {
            return Some(Kernel::V5_15);
        }
        match (clear(self.told, old), clear(old, self.told)) {
            (true, _) => Some(Kernel::V6_10),
            (_, true) => Some(Kernel::V6_3),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Rwbs;
    use crate::units::Nanos;

    fn verdict(what: &str, times: u64) -> Option<Kernel> {
        let mut s = Signs::default();
        for k in 0..times {
            for word in what.split_whitespace() {
                let mut ev = BlockEvent::new(Nanos(0), DevId::new(8, 0), Action::Queue);
                (ev.pid, ev.sector) = (7, 8 * k);
                ev.rwbs = Rwbs::new(b"W");
                let (letter, n) = word.split_at(1);
                ev.aux = n.parse().unwrap_or(0);
                ev.action = match letter {
                    "Q" => Action::Queue,
                    "G" => Action::GetRq,
                    "P" => Action::Plug,
                    "U" => Action::Unplug,
                    "I" => Action::Insert,
                    "D" => Action::Issue,
                    _ => Action::Complete,
                };
                s.event(&ev);
            }
        }
        s.verdict()
    }

    #[test]
    fn the_order_of_a_tasks_events_tells_its_kernel() {
        // 6.12: each single bio has a plug, and direct issue tells U. 6.1: neither.
        assert_eq!(verdict("Q G P U1 D C", 8), Some(Kernel::V6_10));
        assert_eq!(verdict("Q G P Q G U2 D D C C", 8), Some(Kernel::V6_10));
        assert_eq!(verdict("Q G D C", 8), Some(Kernel::V6_3));
        assert_eq!(verdict("Q G C I D", 8), Some(Kernel::V6_3));
        assert_eq!(verdict("Q G P Q G D D C C", 9), Some(Kernel::V6_3));
        // With a scheduler and plugs of the tasks' own, both look alike; few signs tell nothing.
        assert_eq!(verdict("Q G P Q G U2 I I D D", 100), None);
        assert_eq!(verdict("Q G D C", 7), None);
        assert_eq!(verdict("Q G D Q G P U1 D", 50), None);
        // 16 and one more that finds the plug full.
        assert_eq!(
            verdict("Q G P Q G Q G U16 I P Q G U2 I", 8),
            Some(Kernel::V5_15)
        );
        assert_eq!(
            verdict("Q G P Q G Q G U32 D P Q G U2 D", 8),
            Some(Kernel::V6_10)
        );
    }
}
