//! Which filesystem commits, and what can be done about its flushes.

use super::probe::Disk;
use super::seen::View;
use super::tasks::sum;

/// Filesystems whose commits are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Filesystem {
    /// ext3, ext4 and ocfs2, by their journal.
    Jbd2,
    Xfs,
    Btrfs,
    F2fs,
}

use Filesystem::{Btrfs, F2fs, Jbd2, Xfs};

impl Filesystem {
    /// By the name of one of its threads: jbd2 (fs/jbd2/journal.c), jbd (before 4.3), xfs (fs/xfs/xfs_mount.c,
    /// xfs_trans_ail.c), btrfs (fs/btrfs/disk-io.c), f2fs (fs/f2fs/segment.c, checkpoint.c, gc.c), 6.12.
    pub fn of_thread(name: &str) -> Option<Filesystem> {
        const STARTS: [(&str, Filesystem); 9] = [
            ("jbd2/", Jbd2),
            ("kjournald", Jbd2),
            ("xfs-", Xfs),
            ("xfsaild", Xfs),
            ("xfslogd", Xfs),
            ("btrfs-", Btrfs),
            ("f2fs_flush-", F2fs),
            ("f2fs_ckpt-", F2fs),
            ("f2fs_gc-", F2fs),
        ];
        let starts = STARTS.iter().find(|s| name.starts_with(s.0));
        starts.map(|s| s.1)
    }

    /// The filesystem on a device: that of the threads that commit, else of any thread that writes or flushes there.
    /// `None`: no thread tells it, or several do.
    pub fn of(view: &View<'_>, place: usize, disk: &Disk) -> Option<Filesystem> {
        let tasks = view.seen.tasks.by_name(place);
        let threads = tasks.iter().filter_map(|(comm, of)| {
            let fs = Filesystem::of_thread(&view.comm(*comm)?)?;
            Some((fs, sum(of).commits))
        });
        let all: Vec<(Filesystem, u64)> = threads.collect();
        let mut named: Vec<Filesystem> = all.iter().filter(|t| t.1 > 0).map(|t| t.0).collect();
        if named.is_empty() {
            named = all.iter().map(|t| t.0).collect();
        }
        named.sort();
        named.dedup();
        match named.as_slice() {
            [one] => Some(*one),
            // Superblocks of btrfs are FUA alone (fs/btrfs/disk-io.c:write_dev_supers); jbd2, xfs and f2fs commit with
            // PREFLUSH as well.
            [] if disk.commits > 0 && disk.commits_pre == 0 => Some(Btrfs),
            _ => None,
        }
    }

    /// `commits of f2fs`, and so on.
    pub fn name(self) -> &'static str {
        match self {
            Jbd2 => "the journal (jbd2)",
            Xfs => "XFS' log",
            Btrfs => "btrfs",
            F2fs => "f2fs",
        }
    }

    /// What its own options can do (Documentation/admin-guide/ext4.rst, admin-guide/xfs.rst,
    /// filesystems/f2fs.rst, 6.12; btrfs(5)).
    pub fn advice(self) -> Vec<String> {
        let all: &[&str] = match self {
            Jbd2 => &[
                "commits by time: a longer interval (mount -o commit=SECONDS, 5 by default); those by fsync: fewer calls, \
                 fdatasync where only data matters",
                "ext4 from 5.10 on: fast commits (mke2fs -O fast_commit) write less for each fsync, though each still flushes",
                "an external journal (mke2fs -J device=…)",
            ],
            Xfs => &[
                "XFS has no commit interval: an fsync writes the log if metadata changed. Fewer calls, fdatasync where only \
                 data matters",
                "larger log buffers (mount -o logbsize=256k), or the log on another device (mkfs.xfs -l logdev=…)",
            ],
            Btrfs => &[
                "commits by time: a longer interval (mount -o commit=SECONDS, 30 by default)",
                "each fsync writes the log tree, flushes, and writes a superblock with FUA: fewer calls. notreelog makes \
                 each a whole commit",
            ],
            F2fs => &[
                "mount -o fsync_mode=posix (the default; strict does more for each fsync), flush_merge for flushes asked at \
                 the same time, checkpoint_merge (from 5.12 on) for checkpoints",
                "where the disk's cache survives power loss: mount -o fsync_mode=nobarrier (no flush at fsync of files not \
                 written atomically)",
                "checkpoints by time: a longer /sys/fs/f2fs/DEV/cp_interval (60 s by default)",
            ],
        };
        all.iter().map(|s| s.to_string()).collect()
    }
}

/// Advice where no thread tells the filesystem.
pub(super) fn general() -> Vec<String> {
    vec![
        "fewer transactions: fewer fsync calls, fdatasync where only data matters, a longer commit interval where the \
         filesystem has one (ext4, btrfs: mount -o commit=SECONDS)"
            .to_string(),
        "an external journal or log device (ext4: mke2fs -J device=…, XFS: mkfs.xfs -l logdev=…)".to_string(),
    ]
}
