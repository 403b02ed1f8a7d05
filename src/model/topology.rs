//! Devices and how they are stacked.

use super::policy::Sched;
use crate::event::DevId;

/// See [`Disk::wbt_limit`].
pub const WBT_NOT_REACHED: u32 = u32::MAX;

/// What a request-based device allows. Recorded or inferred; a [`super::Policy`] may override.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disk {
    /// Commands that the device takes at once (tags of the driver).
    pub depth: u32,
    /// Requests that may be allocated (scheduler tags with a scheduler, else the same as `depth`).
    pub nr_requests: u32,
    /// Scheduler.
    pub sched: Sched,
    /// Longest request in sectors.
    pub max_sectors: u32,
    /// Most bios (each one segment) of a request.
    pub max_segments: u32,
    /// Requests do not cross multiples of this many sectors (0: no such limit).
    pub chunk_sectors: u32,
    /// Volatile write cache: flushes are needed.
    pub write_cache: bool,
    /// FUA is done by the device.
    pub fua: bool,
    /// Sectors of a zone; 0: not zoned.
    pub zone_sectors: u64,
    /// First sector of the first sequential zone (conventional zones lie before).
    pub first_sequential: u64,
    /// The zones were guessed from the order of writes alone: they bound no request unless a policy for zones is in force.
    pub zones_guessed: bool,
    /// `depth` is assumed, neither told nor reached.
    pub depth_guessed: bool,
    /// Memory segments of one request must join at page borders (nvme's virt_boundary), so that a request which begins in
    /// the middle of a page takes no bio behind it.
    pub virt_boundary: bool,
    /// Most requests that writeback throttling lets be in flight; 0: it does not throttle; [`WBT_NOT_REACHED`]: it does, but a
    /// trace does not show its last limit.
    pub wbt_limit: u32,
    /// How often its limit had doubled before.
    pub wbt_steps: u32,
}

impl Default for Disk {
    fn default() -> Disk {
        Disk {
            depth: 1023,
            nr_requests: 1023,
            sched: Sched::None,
            max_sectors: 2560,
            max_segments: 128,
            chunk_sectors: 0,
            write_cache: true,
            fua: false,
            zone_sectors: 0,
            first_sequential: 0,
            zones_guessed: false,
            depth_guessed: false,
            virt_boundary: false,
            wbt_limit: 0,
            wbt_steps: 0,
        }
    }
}

/// One line of a dm table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// First sector on the dm device.
    pub from: u64,
    /// Sectors.
    pub len: u64,
    /// The lower device's place in [`Topology::layers`].
    pub to: u16,
    /// First sector there.
    pub at: u64,
}

/// What a device does with a bio.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LayerKind {
    /// Makes requests of it.
    Disk(Disk),
    /// Maps it by table lines (dm linear, crypt); flush bios go out once a line or once a lower device.
    Linear(Vec<Line>),
    /// Sends writes and flushes to all lower devices, reads to one of them (md raid1).
    Mirror(Vec<u16>),
    /// Stripes of so many sectors over the lower devices (md raid0, dm striped); flushes go to all.
    Stripe {
        /// Sectors of a stripe.
        chunk: u64,
        /// Lower devices.
        to: Vec<u16>,
    },
}

/// A device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// Number.
    pub dev: DevId,
    /// Name, if known.
    pub name: Option<String>,
    /// What it does.
    pub kind: LayerKind,
}

/// All devices. A layer's lower devices come after it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    /// Upper devices first.
    pub layers: Vec<Layer>,
}
