//! Which tasks write, and which ask for flushes.

use super::filesystem::Filesystem;
use crate::event::{BlockEvent, CommId, NO_PID};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Tasks that are counted apart; the rest are counted by their names.
const TASKS: usize = 16_384;
/// Names of tasks that are not counted apart.
const NAMES: usize = 1024;

/// A task on a device. Sources without pids are grouped by name.
type Key = (u32, u32, CommId);

/// What a task did on a device.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Done {
    /// Writes of data. Those of a journal (META with PREFLUSH or FUA) are not among them.
    pub writes: u64,
    /// Flush bios and writes with PREFLUSH.
    pub flushes: u64,
    /// Of the writes, those with FUA alone (O_DSYNC).
    pub dsync: u64,
    /// Commit records of a journal.
    pub commits: u64,
    /// All that a flush goes before: flush bios, writes with PREFLUSH, commits with it.
    pub before: u64,
    /// All writes with FUA, commits too.
    pub fua: u64,
}

impl Done {
    /// Flushes asked; a FUA write asks for one where the disk does not take FUA.
    pub fn asked(self, emulated: bool) -> u64 {
        self.flushes + if emulated { self.dsync } else { 0 }
    }

    /// Flush steps asked, those of commits too.
    pub fn steps(self, emulated: bool) -> u64 {
        self.before + if emulated { self.fua } else { 0 }
    }

    pub fn add(&mut self, o: Done) {
        self.writes += o.writes;
        self.flushes += o.flushes;
        self.dsync += o.dsync;
        self.commits += o.commits;
        self.before += o.before;
        self.fua += o.fua;
    }
}

/// All tasks.
#[derive(Default)]
pub(super) struct Tasks {
    index: FxHashMap<Key, usize>,
    done: Vec<(Key, Done)>,
    last: usize,
}

impl Tasks {
    #[inline]
    fn of(&mut self, disk: usize, ev: &BlockEvent) -> Option<&mut Done> {
        let key = (disk as u32, ev.pid, ev.comm);
        let same = self.done.get(self.last).is_some_and(|t| t.0 == key);
        if !same {
            let mut key = key;
            let mut found = self.index.get(&key).copied();
            if found.is_none() && self.done.len() >= TASKS {
                key.1 = NO_PID;
                found = self.index.get(&key).copied();
            }
            self.last = match found {
                Some(i) => i,
                None if self.done.len() >= TASKS + NAMES => return None,
                None => {
                    self.done.push((key, Done::default()));
                    self.index.insert(key, self.done.len() - 1);
                    self.done.len() - 1
                }
            };
        }
        self.done.get_mut(self.last).map(|t| &mut t.1)
    }

    #[inline]
    pub fn write(&mut self, disk: usize, ev: &BlockEvent) {
        if let Some(t) = self.of(disk, ev) {
            t.writes += 1;
            t.flushes += u64::from(ev.rwbs.preflush());
            t.dsync += u64::from(ev.rwbs.fua() && !ev.rwbs.preflush());
            t.before += u64::from(ev.rwbs.preflush());
            t.fua += u64::from(ev.rwbs.fua());
        }
    }

    pub fn commit(&mut self, disk: usize, ev: &BlockEvent) {
        if let Some(t) = self.of(disk, ev) {
            t.commits += 1;
            t.before += u64::from(ev.rwbs.preflush());
            t.fua += u64::from(ev.rwbs.fua());
        }
    }

    pub fn flush(&mut self, disk: usize, ev: &BlockEvent) {
        if let Some(t) = self.of(disk, ev) {
            t.flushes += 1;
            t.before += 1;
        }
    }

    /// Name → its tasks, each with its pid, of one device.
    pub fn by_name(&self, disk: usize) -> BTreeMap<CommId, Vec<(u32, Done)>> {
        let mut all: BTreeMap<CommId, Vec<(u32, Done)>> = BTreeMap::new();
        for ((d, pid, comm), done) in &self.done {
            if *d as usize == disk {
                all.entry(*comm).or_default().push((*pid, *done));
            }
        }
        for tasks in all.values_mut() {
            tasks.sort_by_key(|t| t.0);
        }
        all
    }
}

/// The sum of tasks.
pub(super) fn sum<'a>(of: impl IntoIterator<Item = &'a (u32, Done)>) -> Done {
    let mut all = Done::default();
    for (_, d) in of {
        all.add(*d);
    }
    all
}

/// Threads that write a journal or log for other tasks: their flushes are its commits. Names as given by jbd2
/// (fs/jbd2/journal.c), jbd (before 4.3), xfs (fs/xfs/xfs_mount.c, xfs_log.c), btrfs (fs/btrfs/disk-io.c) and f2fs
/// (fs/f2fs/checkpoint.c), 6.12.
pub(super) fn journal_thread(name: &str) -> bool {
    name.starts_with("f2fs_ckpt-")
        || Filesystem::of_thread(name).is_some_and(|f| f != Filesystem::F2fs)
}

/// The task for which a worker of io_uring acts (io_uring/io-wq.c: `iou-wrk-` and the task's id, 6.12).
pub(super) fn served_task(name: &str) -> Option<u32> {
    name.strip_prefix("iou-wrk-")?.parse().ok()
}

/// Threads that carry out what others asked: kworkers, f2fs's flush thread (fs/f2fs/segment.c), md's and dm-crypt's threads (drivers/md/md.c:md_register_thread,
/// drivers/md/dm-crypt.c). A flush of theirs is not theirs.
pub(super) fn serving_thread(name: &str) -> bool {
    let md = name
        .strip_prefix("md")
        .is_some_and(|r| r.contains("_raid") || r.contains("_resync"));
    md || name.starts_with("kworker/")
        || name.starts_with("dmcrypt_write")
        || name.starts_with("ksoftirqd")
        || name.starts_with("f2fs_flush-")
}
