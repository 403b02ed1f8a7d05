//! Task names by pid, from the records that the kernel writes when it meets a task for the first time.

use crate::event::{CommId, CommTable};
use rustc_hash::FxHashMap;

/// Tasks that are remembered; a hostile input may name every pid there is.
const MAX: usize = 1 << 17;

/// Who is who.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// The names, in order of appearance.
    pub(super) comms: CommTable,
    by_pid: FxHashMap<u32, CommId>,
    /// pid 0 is the idle task of each CPU.
    idle: FxHashMap<u32, CommId>,
    recent: Option<(u32, CommId)>,
}

impl Names {
    /// Learns a name. A pid that was given to another task has the newer name from now on.
    pub(super) fn learn(&mut self, pid: u32, cpu: u32, name: &[u8]) {
        let id = self.comms.intern(name);
        if pid == 0 {
            if self.idle.len() < MAX {
                self.idle.insert(cpu, id);
            }
        } else if self.by_pid.len() < MAX || self.by_pid.contains_key(&pid) {
            self.by_pid.insert(pid, id);
            self.recent = Some((pid, id));
        }
    }

    /// The name of a task; [`CommId::NONE`] if the recording does not tell it.
    #[inline]
    pub(super) fn of(&mut self, pid: u32, cpu: u16) -> CommId {
        if pid == 0 {
            return self
                .idle
                .get(&u32::from(cpu))
                .copied()
                .unwrap_or(CommId::NONE);
        }
        match self.recent {
            Some((known, id)) if known == pid => id,
            _ => {
                let id = self.by_pid.get(&pid).copied().unwrap_or(CommId::NONE);
                self.recent = Some((pid, id));
                id
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_name_counts_and_each_cpu_has_its_idle_task() {
        let mut n = Names::default();
        assert_eq!(n.of(7, 0), CommId::NONE);
        n.learn(7, 0, b"sh");
        n.learn(0, 0, b"swapper/0");
        n.learn(0, 1, b"swapper/1");
        let of = |n: &mut Names, pid, cpu| {
            let id = n.of(pid, cpu);
            n.comms.name(id)
        };
        assert_eq!(of(&mut n, 7, 3).as_deref(), Some("sh"));
        n.learn(7, 2, b"fio");
        assert_eq!(of(&mut n, 7, 3).as_deref(), Some("fio"));
        assert_eq!(of(&mut n, 0, 1).as_deref(), Some("swapper/1"));
        assert_eq!(of(&mut n, 0, 2), None);
    }
}
