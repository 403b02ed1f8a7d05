//! Why a recording that is replayed under its own policy is not met in all numbers: what was found by looking into each.

/// Classes of reasons, explained. Figures are of the first recording that is named.
pub const CLASSES: &[(&str, &str)] = &[
    (
        "few",
        "the whole recording has less than ten merges: one more or less is beyond the bar",
    ),
    (
        "one-series",
        "the disk writes journals and metadata quickly and data slowly; the times of all writes are one series, in order of issue, so that each gets what was \
         another's (fs-f2fs: preflush writes take 0.24 ms recorded, 12.8 ms replayed; the mean of all is met)",
    ),
    (
        "segments",
        "bios are cut where their memory has 254 segments (fs-ext4: pieces of 2,032 sectors); a trace does not tell how memory lies, so that the model cuts by length \
         alone: fewer and longer pieces",
    ),
    (
        "plug by size",
        "the recorded plug mode gives the recorded merges (64), another a mean size that is nearer by chance, since the sizes are off by the segments",
    ),
    (
        "drain",
        "a flush runs on an ATA disk when the commands beside it have ended. Commands that were issued together end together in the recording (k61-flush-plain: \
         a flush waits 2.6 ms for writes of 5.4 ms), in the model each by a time of its own, the last of them late",
    ),
    (
        "tries",
        "a flush that waits for an ATA disk is tried again once a completion in the model, less often in the recording",
    ),
    (
        "order",
        "the recordings of head and tail differ from each other (1.6 and 2.0 issues a flush) by no more than the replay does from either, see *tries*",
    ),
    (
        "no exclusion seen",
        "nothing was requeued in the recording: no sign that the disk is behind libata's exclusion, though the model under it would requeue some",
    ),
    (
        "throttled",
        "writeback throttling held bios back before their requests (12.3 ms a write, 0.2 ms replayed); its limit moves with latencies, the model's is fixed, and \
         fewer flush bios wait at once to share a flush",
    ),
    (
        "tags idle",
        "tags stand free while bios wait for one (cause-split: 10.9 of 32 used on the mean, replayed 18.4): the kernel wakes waiters in batches, and they need a CPU; \
         the model hands a tag over at once",
    ),
    (
        "retries",
        "how often a NOWAIT bio ends with -EAGAIN before it is queued by a worker depends on when tags are free",
    ),
    (
        "fewer in flight",
        "on the saturated disk a command's time grows with those beside it, and fewer are beside it in the replay (9.1 on the mean, 11.3 recorded)",
    ),
    (
        "no bios",
        "the recording begins with commands that no bio makes (sg_inq and others, more than 1.5 s before the first bio): only bios are replayed",
    ),
    (
        "host busy",
        "the host refuses commands now and then (953 requeues), which is not modelled",
    ),
    (
        "clones",
        "dm-crypt cuts bios and sends them later from tasks of its own, which merge in their plugs; the model sends them on at once",
    ),
    (
        "md",
        "md cuts bios and chooses the member that reads by rules of its own (stack-raid0: 298 background writes are a request each as recorded, six in the replay, \
         and no event tells why they did not merge)",
    ),
    (
        "wait in a plug",
        "another bio ended while the task filled a plug, and the model takes it for what the task waited for: 25 of 375 plugs are emptied early",
    ),
    (
        "sleeps",
        "halves of a page merge where a plug was emptied just before; the task slept with one request in its plug 52 times (17 replayed), for what the trace does not tell",
    ),
    (
        "zone worker",
        "the worker that hands a zone to its next bio gets a CPU later than in the model, so that more bios wait and join",
    ),
    (
        "test kernel",
        "the recorder's `scan` empties its plug newest first, which no released kernel did; `newest-of-queue` does, with the same merges",
    ),
    (
        "plugs of one",
        "nothing merges in plugs here; the modes differ only in the U events of plugs of one bio, which are not compared",
    ),
    (
        "one request",
        "96 requests instead of 95: one more is beyond the bar of 1 % for their size",
    ),
    (
        "hidden limit",
        "requests are 4 KiB at most and so nothing merges; the trace does not show that limit, and a plug that never merges explains it as well",
    ),
];

/// Recording → the classes that hold for it. Required for one that misses a bar, refused for one that does not.
pub const REASONS: &[(&str, &[&str])] = &[
    ("cause-dsync-nofua", &["no exclusion seen"]),
    ("cause-fsync16", &["drain"]),
    ("cause-split", &["tags idle"]),
    ("cause-tags", &["tags idle", "retries"]),
    ("flush-head-dm1", &["few", "tries"]),
    ("flush-head-dm2", &["few", "tries"]),
    ("flush-head-dm2dev", &["tries"]),
    ("flush-head-none", &["throttled", "tries"]),
    ("flush-head-plain", &["tries"]),
    ("flush-slow-head-dm2", &["fewer in flight"]),
    ("flush-tail-dm2", &["few", "tries", "order"]),
    ("flush-tail-none", &["throttled", "tries", "order"]),
    ("flush-tail-plain", &["few", "tries", "order"]),
    ("fs-btrfs", &["one-series", "segments"]),
    ("fs-ext4", &["one-series", "segments"]),
    ("fs-f2fs", &["one-series", "segments"]),
    ("fs-xfs", &["one-series", "segments", "plug by size"]),
    ("k61-bcctrace", &["drain"]),
    ("k61-flush-dm2", &["drain", "few", "plugs of one"]),
    ("k61-flush-plain", &["drain", "few", "plugs of one"]),
    ("k61-fs-ext4", &["one-series", "segments"]),
    ("k61-fs-xfs", &["one-series"]),
    ("k61-stack-raid1", &["md", "plugs of one"]),
    ("k61-zoned-lock-qd64", &["one request"]),
    ("mq2-tail", &["wait in a plug"]),
    ("plug2k-first", &["sleeps"]),
    ("plug2k-scan", &["test kernel"]),
    ("scsi-medium", &["no bios"]),
    ("scsi-queuefull", &["host busy", "no bios"]),
    ("scsi-unmap", &["no bios"]),
    ("stack-crypt", &["clones"]),
    ("stack-part", &["one-series", "segments"]),
    ("stack-raid0", &["md", "one-series"]),
    ("stack-raid1", &["md", "one-series"]),
    ("zoned-pipe-qd64-4k", &["hidden limit"]),
    ("zoned-plug-rand-qd64", &["zone worker"]),
];
