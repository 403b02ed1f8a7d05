//! The policies that can be changed, with their canonical names.

pub use super::kernel::{KERNELS, PlugChoice};
use serde::Serialize;

/// Defines a closed set of values with canonical names.
macro_rules! names {
    ($(#[$m:meta])* $t:ident { $($(#[$vm:meta])* $v:ident = $n:literal),+ $(,)? }) => {
        $(#[$m])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $t { $($(#[$vm])* $v),+ }

        impl $t {
            /// Every value, in the order of the help.
            pub const ALL: &'static [$t] = &[$($t::$v),+];

            /// As options and JSON have it.
            pub fn name(self) -> &'static str {
                match self { $($t::$v => $n),+ }
            }

            /// The inverse of `name`.
            pub fn from_name(s: &str) -> Option<$t> {
                $t::ALL.iter().copied().find(|v| v.name() == s)
            }
        }

        impl Serialize for $t {
            fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.serialize_str(self.name())
            }
        }
    };
}

names! {
    /// Which requests of its own plug a bio is tested against for a merge (`blk_attempt_plug_merge`, block/blk-merge.c), and
    /// with that the order in which the plug is emptied.
    PlugMode {
        /// All of its queue, newest to oldest (up to 5.15); first in first out.
        Scan = "scan",
        /// None (a proposal of October 2021); first in first out.
        None = "none",
        /// The newest, if it is of the bio's queue (5.16, 5.17).
        Newest = "newest",
        /// The newest of its queue (5.18 to 6.12, 6.1.192); last in first out where issued directly.
        NewestOfQueue = "newest-of-queue",
        /// The oldest of its queue: the list became first in first out, the walk still began at its head (6.13 to 6.15).
        Oldest = "oldest",
        /// The newest if of its queue, else with several queues the oldest of its queue (6.16, 6.12.117).
        TailElseOldest = "tail-else-oldest",
    }
}

names! {
    /// What a kernel does beside the plug mode, by the first version that does it so; asked by the predicates of
    /// `model/kernel.rs`.
    Kernel {
        /// Up to 5.15.
        V5_15 = "5.15",
        /// 5.16 and 5.17.
        V5_16 = "5.16",
        /// 5.18 to 6.2.
        V5_18 = "5.18",
        /// 6.3 to 6.9, and 6.1.192.
        V6_3 = "6.3",
        /// 6.10 and later.
        V6_10 = "6.10",
    }
}
names! {
    /// I/O scheduler.
    Sched {
        /// First in, first out.
        None = "none",
        /// Sorted batches with deadlines (block/mq-deadline.c).
        MqDeadline = "mq-deadline",
    }
}
names! {
    /// Where the device flush enters the dispatch list (facts of 5.6-rc4: tail; else head).
    FlushInsert {
        /// Before what waits there (5.6 and later).
        Head = "head",
        /// Behind it (5.6-rc4).
        Tail = "tail",
    }
}
names! {
    /// How libata treats a command that may not run beside those in flight (drivers/ata/libata-scsi.c).
    Ata {
        /// Not an ATA disk: no exclusion.
        Off = "off",
        /// The command is bounced back to the block layer (before December 2025).
        Bounce = "bounce",
        /// A waiting non-NCQ command is kept inside libata, NCQ commands are bounced meanwhile (`deferred_qc`).
        Park = "park",
    }
}
names! {
    /// How many flush bios dm sends for one (`__send_empty_flush`, drivers/md/dm.c).
    DmFlush {
        /// One a table line.
        PerLine = "per-line",
        /// One a distinct lower device.
        PerDevice = "per-device",
    }
}
names! {
    /// How writes to one sequential zone are kept in order.
    Zoned {
        /// Nothing is done.
        Off = "off",
        /// mq-deadline locks the zone from dispatch to completion (up to 6.9).
        Lock = "lock",
        /// Bios wait above the scheduler, one request a zone (block/blk-zoned.c, since 6.10).
        Plug = "plug",
        /// Many requests a zone over an order-preserving hardware queue (proposed in 2025).
        Pipeline = "pipeline",
    }
}
names! {
    /// A switch.
    Switch {
        /// Not in force.
        Off = "off",
        /// In force.
        On = "on",
    }
}

/// What may differ from one simulation to another. `None`: as recorded, per device.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Policy {
    /// Plug merge mode.
    pub plug: PlugMode,
    /// What else the kernel does. `None`: as the kernels that had the plug mode ([`Kernel::of_mode`]).
    pub kernel: Option<Kernel>,
    /// Requests a plug holds, for one queue; [`Kernel::several`] times as many of several. `None`: [`Kernel::plug_limit`].
    pub plug_limit: Option<u32>,
    /// The queue attribute: 0 all merges, 1 plug and last merge only, 2 none.
    pub nomerges: u8,
    /// Longest request, in KiB.
    pub max_sectors_kb: Option<u32>,
    /// Scheduler of every request-based device.
    pub sched: Option<Sched>,
    /// Insertion of device flushes.
    pub flush: FlushInsert,
    /// Exclusion of non-NCQ commands.
    pub ata: Ata,
    /// Flush bios of dm.
    pub dm_flush: DmFlush,
    /// Writeback throttling.
    pub wbt: Switch,
    /// Zoned writes.
    pub zoned: Zoned,
    /// Bytes of a zone.
    pub zone_size: Option<u64>,
    /// Bytes of the block that a raw block device is written in.
    pub soft_block_size: Option<u32>,
    /// Commands that a device takes at once.
    pub depth: Option<u32>,
    /// Commands a second that a device does at most.
    pub iops_cap: Option<u64>,
}

impl Default for Policy {
    /// Linux 6.16 on a device without special needs.
    fn default() -> Policy {
        Policy {
            plug: PlugMode::TailElseOldest,
            kernel: None,
            plug_limit: None,
            nomerges: 0,
            max_sectors_kb: None,
            sched: None,
            flush: FlushInsert::Head,
            ata: Ata::Off,
            dm_flush: DmFlush::PerDevice,
            wbt: Switch::Off,
            zoned: Zoned::Off,
            zone_size: None,
            soft_block_size: None,
            depth: None,
            iops_cap: None,
        }
    }
}

/// A part of a policy, for lists and documentation.
#[derive(Clone, Copy, Debug)]
pub struct PolicyInfo {
    /// Its name in JSON and in `--recorded`.
    pub name: &'static str,
    /// Its option.
    pub option: &'static str,
    /// For people.
    pub about: &'static str,
    /// The values it takes, if they are a closed set.
    pub values: fn() -> Vec<&'static str>,
}

fn no_values() -> Vec<&'static str> {
    Vec::new()
}

/// Every part of a policy that `replay` changes.
pub static POLICIES: &[PolicyInfo] = &[
    PolicyInfo {
        name: "plug",
        option: "--plug",
        about: "which requests of its plug a bio is tested against",
        values: || PlugMode::ALL.iter().map(|v| v.name()).collect(),
    },
    PolicyInfo {
        name: "kernel",
        option: "--plug",
        about: "what the kernel does beside the plug mode",
        values: || Kernel::ALL.iter().map(|v| v.name()).collect(),
    },
    PolicyInfo {
        name: "plug_limit",
        option: "--plug-limit",
        about: "requests a plug holds",
        values: no_values,
    },
    PolicyInfo {
        name: "nomerges",
        option: "--nomerges",
        about: "the queue attribute",
        values: || vec!["0", "1", "2"],
    },
    PolicyInfo {
        name: "max_sectors_kb",
        option: "--max-sectors",
        about: "longest request",
        values: no_values,
    },
    PolicyInfo {
        name: "sched",
        option: "--sched",
        about: "I/O scheduler",
        values: || Sched::ALL.iter().map(|v| v.name()).collect(),
    },
    PolicyInfo {
        name: "flush",
        option: "--flush",
        about: "where device flushes enter the dispatch list",
        values: || FlushInsert::ALL.iter().map(|v| v.name()).collect(),
    },
    PolicyInfo {
        name: "ata",
        option: "--ata",
        about: "exclusion of flushes and queued commands on ATA disks",
        values: || Ata::ALL.iter().map(|v| v.name()).collect(),
    },
    PolicyInfo {
        name: "dm_flush",
        option: "--dm-flush",
        about: "flush bios that dm sends for one",
        values: || DmFlush::ALL.iter().map(|v| v.name()).collect(),
    },
    PolicyInfo {
        name: "wbt",
        option: "--wbt",
        about: "writeback throttling",
        values: || Switch::ALL.iter().map(|v| v.name()).collect(),
    },
    PolicyInfo {
        name: "zoned",
        option: "--zoned",
        about: "order of writes to a zone",
        values: || Zoned::ALL.iter().map(|v| v.name()).collect(),
    },
    PolicyInfo {
        name: "zone_size",
        option: "--zone-size",
        about: "bytes of a zone",
        values: no_values,
    },
    PolicyInfo {
        name: "soft_block_size",
        option: "--soft-block-size",
        about: "block that buffered writes of a raw device are cut into",
        values: || vec!["512", "1024", "2048", "4096"],
    },
    PolicyInfo {
        name: "depth",
        option: "--depth",
        about: "commands the device takes at once",
        values: no_values,
    },
    PolicyInfo {
        name: "iops_cap",
        option: "--iops-cap",
        about: "commands a second the device does at most",
        values: no_values,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_there_and_back() {
        for m in PlugMode::ALL {
            assert_eq!(PlugMode::from_name(m.name()), Some(*m));
        }
        assert_eq!(PlugMode::ALL.len(), 6);
        assert_eq!(FlushInsert::from_name("middle"), None);
        let json = serde_json::to_value(Policy::default()).unwrap();
        assert_eq!(json["plug"], "tail-else-oldest");
    }
}
