//! What kernels do differently beside their plug mode. Each rule has a question of its own: nothing else may be asked of a
//! version.

use super::policy::{Kernel, PlugMode, Policy};

impl Kernel {
    /// The kernel that had a plug mode, where nothing else tells: the last one without an order of its own for the mode that was
    /// only proposed (October 2021, between 5.15 and 5.16).
    pub fn of_mode(mode: PlugMode) -> Kernel {
        match mode {
            PlugMode::Scan => Kernel::V5_15,
            PlugMode::None | PlugMode::Newest => Kernel::V5_16,
            PlugMode::NewestOfQueue => Kernel::V6_3,
            PlugMode::Oldest | PlugMode::TailElseOldest => Kernel::V6_10,
        }
    }

    /// Requests of one queue that a plug holds before it is emptied (BLK_MAX_REQUEST_COUNT, block/blk.h: 16 in 5.15, 32
    /// since 5.16).
    pub fn plug_limit(self) -> u32 {
        match self {
            Kernel::V5_15 => 16,
            _ => 32,
        }
    }

    /// Times as many are held of several queues (`blk_plug_max_rq_count`, block/blk-mq.c: 4 in 5.15, 2 since 5.16).
    pub fn several(self) -> u32 {
        match self {
            Kernel::V5_15 => 4,
            _ => 2,
        }
    }

    /// A bio outside of plugs gets a plug of its own (`__submit_bio`, block/blk-core.c: in 6.12, not in 6.1).
    pub fn plugs_single_bios(self) -> bool {
        self >= Kernel::V6_10
    }

    /// U is told also where a plug of one queue is issued from directly (`blk_mq_flush_plug_list`, block/blk-mq.c: in 6.12,
    /// not in 6.1; in 5.15 each group is told before it is known how it goes on).
    pub fn tells_direct_unplug(self) -> bool {
        matches!(self, Kernel::V5_15 | Kernel::V6_10)
    }

    /// The data of a flush sequence go to the head of the dispatch list without an I, past the scheduler
    /// (`blk_mq_sched_bypass_insert` by RQF_FLUSH_SEQ, block/blk-mq-sched.c, 6.1). 6.12 inserts them at the scheduler's head.
    pub fn sequenced_data_bypass(self) -> bool {
        self < Kernel::V6_10
    }

    /// The data of a FUA write on a device without FUA are sent by the flush machinery at once, not through plug and scheduler
    /// (`blk_insert_flush`, block/blk-flush.c, 6.1; 6.12 lets them take the ordinary path).
    pub fn flush_sends_fua_data(self) -> bool {
        self < Kernel::V6_10
    }

    /// A FUA write that needs no device flush goes to the tail of the dispatch list, past plug and scheduler
    /// (`blk_insert_flush` with REQ_FSEQ_DATA alone, `blk_mq_request_bypass_insert`, 6.1). 6.12 treats it as any other.
    pub fn fua_to_dispatch(self) -> bool {
        self < Kernel::V6_10
    }

    /// Requests of a plug that are inserted, not issued, go in newest first (commit 26fed4ac4eab of 5.18, until 34e0a279a993 of
    /// 6.3, which 6.1.192 has too).
    pub fn inserts_newest_first(self) -> bool {
        self == Kernel::V5_18
    }
}

impl PlugMode {
    /// Whether requests that are issued directly from a plug go newest first (head insertion, 5.16 to 6.12).
    pub fn newest_first(self) -> bool {
        matches!(self, PlugMode::Newest | PlugMode::NewestOfQueue)
    }
}

impl Policy {
    /// The kernel in force.
    pub fn kernel(&self) -> Kernel {
        self.kernel.unwrap_or(Kernel::of_mode(self.plug))
    }

    /// Requests before a plug is emptied: of one queue, of several.
    pub fn plug_limits(&self) -> (u32, u32) {
        let k = self.kernel();
        let n = self.plug_limit.unwrap_or(k.plug_limit()).max(1);
        (n, n.saturating_mul(k.several()))
    }
}

/// What `--plug` names: a mode under the recorded kernel, or a kernel with its mode and limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlugChoice {
    /// As typed.
    pub name: &'static str,
    /// The mode.
    pub mode: PlugMode,
    /// The kernel, if one was named.
    pub kernel: Option<Kernel>,
}

/// Kernels by the names that `--plug` takes.
pub const KERNELS: [PlugChoice; 7] = [
    of("5.15", PlugMode::Scan, Kernel::V5_15),
    of("5.16", PlugMode::Newest, Kernel::V5_16),
    of("5.18", PlugMode::NewestOfQueue, Kernel::V5_18),
    of("6.1", PlugMode::NewestOfQueue, Kernel::V6_3),
    of("6.10", PlugMode::NewestOfQueue, Kernel::V6_10),
    of("6.13", PlugMode::Oldest, Kernel::V6_10),
    of("6.16", PlugMode::TailElseOldest, Kernel::V6_10),
];

const fn of(name: &'static str, mode: PlugMode, kernel: Kernel) -> PlugChoice {
    PlugChoice {
        name,
        mode,
        kernel: Some(kernel),
    }
}

impl From<PlugMode> for PlugChoice {
    fn from(mode: PlugMode) -> PlugChoice {
        PlugChoice {
            name: mode.name(),
            mode,
            kernel: None,
        }
    }
}

impl PlugChoice {
    /// By the name of a mode or kernel.
    pub fn from_name(s: &str) -> Option<PlugChoice> {
        let kernel = KERNELS.iter().copied().find(|k| k.name == s);
        kernel.or_else(|| PlugMode::from_name(s).map(PlugChoice::from))
    }

    /// Puts it in force. A kernel brings what else it does, and its own limit; a mode leaves them.
    pub fn apply(self, p: &mut Policy) {
        p.plug = self.mode;
        if self.kernel.is_some() {
            (p.kernel, p.plug_limit) = (self.kernel, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (implicit plug, data past the scheduler, FUA to the dispatch list, LIFO insert, newest issued first, limits).
    type Rules = (bool, bool, bool, bool, bool, (u32, u32));

    fn rules(p: &Policy) -> Rules {
        let k = p.kernel();
        (
            k.plugs_single_bios(),
            k.sequenced_data_bypass() && k.flush_sends_fua_data(),
            k.fua_to_dispatch(),
            k.inserts_newest_first(),
            p.plug.newest_first(),
            p.plug_limits(),
        )
    }

    #[test]
    fn each_kernel_does_what_it_did() {
        for (name, want) in [
            ("5.15", (false, true, true, false, false, (16, 64))),
            ("5.16", (false, true, true, false, true, (32, 64))),
            ("5.18", (false, true, true, true, true, (32, 64))),
            ("6.1", (false, true, true, false, true, (32, 64))),
            ("6.10", (true, false, false, false, true, (32, 64))),
            ("6.13", (true, false, false, false, false, (32, 64))),
            ("6.16", (true, false, false, false, false, (32, 64))),
        ] {
            let mut p = Policy {
                plug_limit: Some(5),
                ..Policy::default()
            };
            PlugChoice::from_name(name).unwrap().apply(&mut p);
            assert_eq!(rules(&p), want, "{name}");
        }
    }

    #[test]
    fn a_mode_leaves_the_recorded_kernel() {
        let mut p = Policy {
            kernel: Some(Kernel::V6_10),
            plug_limit: Some(31),
            ..Policy::default()
        };
        PlugChoice::from_name("newest-of-queue")
            .unwrap()
            .apply(&mut p);
        assert_eq!(rules(&p), (true, false, false, false, true, (31, 62)));
        p.plug = PlugMode::Scan;
        p.kernel = None;
        assert_eq!(p.plug_limits(), (31, 124));
        assert!(PlugChoice::from_name("6.2").is_none());
    }
}
