//! What is known of a device's queue from outside the trace: the attributes of `/sys/block/DEV/queue`.

/// Queue attributes, `None` where the snapshot does not tell. Names and units as in
/// Documentation/ABI/stable/sysfs-block, but for `capacity`.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct QueueInfo {
    /// Device number, from `/sys/block/DEV/dev` where it is in the snapshot.
    pub dev: Option<super::DevId>,
    /// Bytes: `/sys/block/DEV/size` × 512.
    pub capacity: Option<u64>,
    /// The device has a volatile write cache that flushes are sent to (`write back`).
    pub write_cache: Option<bool>,
    /// The device takes FUA writes.
    pub fua: Option<bool>,
    /// The scheduler in force (the one in brackets).
    pub scheduler: Option<String>,
    /// Requests a queue holds.
    pub nr_requests: Option<u64>,
    /// Greatest request, KiB.
    pub max_sectors_kb: Option<u64>,
    /// Greatest request the hardware takes, KiB.
    pub max_hw_sectors_kb: Option<u64>,
    /// Most segments of a request.
    pub max_segments: Option<u64>,
    /// Greatest segment, bytes.
    pub max_segment_size: Option<u64>,
    /// Greatest discard, bytes.
    pub discard_max_bytes: Option<u64>,
    /// 0 merge, 1 only simple merges, 2 never.
    pub nomerges: Option<u64>,
    /// `none`, `host-aware`, `host-managed`.
    pub zoned: Option<String>,
    /// Zone size or stripe limit, 512-byte sectors (0: none).
    pub chunk_sectors: Option<u64>,
    /// Latency target of writeback throttling, µs (0: off).
    pub wbt_lat_usec: Option<u64>,
    /// Addressable unit, bytes.
    pub logical_block_size: Option<u64>,
    /// Unit that the device writes without reading first, bytes.
    pub physical_block_size: Option<u64>,
    /// Spinning disk.
    pub rotational: Option<bool>,
    /// Read-ahead, KiB.
    pub read_ahead_kb: Option<u64>,
}
