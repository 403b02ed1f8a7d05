//! The layouts of binary records: versions 7 and 8, either byte order, and how one is told from garbage.
//!
//! Sources: `struct blk_io_trace` in include/uapi/linux/blktrace_api.h; `struct blk_io_trace2` of the same file since
//! Linux 6.19.

/// `BLK_IO_TRACE_MAGIC`; the version is in the low byte.
const MAGIC: u32 = 0x6561_7400;
/// `BLK_TC_NOTIFY` where `action` holds it.
pub(super) const NOTIFY: u64 = 0x400 << 16;
/// `__BLK_TA_CGROUP`, `__BLK_TN_CGROUP`: the PDU starts with the id of a cgroup.
pub(super) const CGROUP: u64 = 1 << 8;
/// Longest header of a version.
pub(super) const LONGEST: usize = 64;

/// How records are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Form {
    pub(super) big_endian: bool,
    pub(super) v8: bool,
    /// The first four bytes, as a little-endian number.
    pub(super) magic: u32,
}

impl Form {
    pub(super) const fn new(big_endian: bool, v8: bool) -> Form {
        let magic = MAGIC | if v8 { 8 } else { 7 };
        Form {
            big_endian,
            v8,
            magic: if big_endian {
                magic.swap_bytes()
            } else {
                magic
            },
        }
    }

    /// Every form that is read.
    pub(super) const ALL: [Form; 4] = [
        Form::new(false, false),
        Form::new(true, false),
        Form::new(false, true),
        Form::new(true, true),
    ];

    /// The form of a record by its first four bytes.
    pub(super) fn of(start: &[u8]) -> Option<Form> {
        let found = u32::from_le_bytes(*start.first_chunk()?);
        Form::ALL.into_iter().find(|f| f.magic == found)
    }

    /// Bytes before the PDU.
    #[inline]
    pub(super) fn header(self) -> usize {
        if self.v8 { 64 } else { 48 }
    }
}

/// A record, without its PDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) sequence: u32,
    pub(super) time: u64,
    pub(super) sector: u64,
    pub(super) bytes: u32,
    /// Low 16 bits: the action and [`CGROUP`]; above them the categories.
    pub(super) action: u64,
    pub(super) pid: u32,
    pub(super) device: u32,
    pub(super) cpu: u32,
    pub(super) error: u16,
    pub(super) pdu_len: u16,
}

impl Record {
    /// Process names, the wall clock, messages: no event.
    #[inline]
    pub(super) fn notify(&self) -> bool {
        self.action & NOTIFY != 0
    }

    /// Reads a header; `None` if it is not all there.
    #[inline]
    pub(super) fn read(form: Form, at: &[u8]) -> Option<Record> {
        Some(match (form.v8, form.big_endian) {
            (false, false) => v7::<false>(at.first_chunk()?),
            (false, true) => v7::<true>(at.first_chunk()?),
            (true, false) => v8::<false>(at.first_chunk()?),
            (true, true) => v8::<true>(at.first_chunk()?),
        })
    }

    /// Appends the record as it stands in a file, with its PDU, whose length it tells.
    pub(super) fn write(&self, form: Form, pdu: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        out.extend(form.magic.to_le_bytes());
        let mut put = |b: &[u8]| match form.big_endian {
            true => out.extend(b.iter().rev()),
            false => out.extend(b),
        };
        put(&self.sequence.to_le_bytes());
        put(&self.time.to_le_bytes());
        put(&self.sector.to_le_bytes());
        put(&self.bytes.to_le_bytes());
        if form.v8 {
            put(&self.pid.to_le_bytes());
            put(&self.action.to_le_bytes());
        } else {
            put(&(self.action as u32).to_le_bytes());
            put(&self.pid.to_le_bytes());
        }
        put(&self.device.to_le_bytes());
        put(&self.cpu.to_le_bytes());
        put(&self.error.to_le_bytes());
        put(&(pdu.len() as u16).to_le_bytes());
        out.resize(start + form.header(), 0);
        out.extend(pdu);
    }

    /// Whether a header makes sense: what a magic number found in garbage is checked by.
    pub(super) fn plausible(&self) -> bool {
        let id = self.action & 0xffff & !CGROUP;
        self.cpu < 1 << 16
            && if self.notify() {
                id <= 2
            } else {
                (1..=31).contains(&id)
            }
    }
}

fn v7<const BE: bool>(r: &[u8; 48]) -> Record {
    Record {
        sequence: u32_at::<BE, 48>(r, 4),
        time: u64_at::<BE, 48>(r, 8),
        sector: u64_at::<BE, 48>(r, 16),
        bytes: u32_at::<BE, 48>(r, 24),
        action: u64::from(u32_at::<BE, 48>(r, 28)),
        pid: u32_at::<BE, 48>(r, 32),
        device: u32_at::<BE, 48>(r, 36),
        cpu: u32_at::<BE, 48>(r, 40),
        error: u16_at::<BE, 48>(r, 44),
        pdu_len: u16_at::<BE, 48>(r, 46),
    }
}

fn v8<const BE: bool>(r: &[u8; 64]) -> Record {
    Record {
        sequence: u32_at::<BE, 64>(r, 4),
        time: u64_at::<BE, 64>(r, 8),
        sector: u64_at::<BE, 64>(r, 16),
        bytes: u32_at::<BE, 64>(r, 24),
        pid: u32_at::<BE, 64>(r, 28),
        action: u64_at::<BE, 64>(r, 32),
        device: u32_at::<BE, 64>(r, 40),
        cpu: u32_at::<BE, 64>(r, 44),
        error: u16_at::<BE, 64>(r, 48),
        pdu_len: u16_at::<BE, 64>(r, 50),
    }
}

/// `N` bytes at `at`. The callers' places are constants inside their arrays, so the zeros are never used.
#[inline(always)]
fn bytes<const N: usize>(r: &[u8], at: usize) -> [u8; N] {
    r.get(at..)
        .and_then(|s| s.first_chunk())
        .copied()
        .unwrap_or([0; N])
}

#[inline(always)]
fn u16_at<const BE: bool, const L: usize>(r: &[u8; L], at: usize) -> u16 {
    let b = bytes(r, at);
    if BE {
        u16::from_be_bytes(b)
    } else {
        u16::from_le_bytes(b)
    }
}

#[inline(always)]
fn u32_at<const BE: bool, const L: usize>(r: &[u8; L], at: usize) -> u32 {
    let b = bytes(r, at);
    if BE {
        u32::from_be_bytes(b)
    } else {
        u32::from_le_bytes(b)
    }
}

#[inline(always)]
fn u64_at<const BE: bool, const L: usize>(r: &[u8; L], at: usize) -> u64 {
    let b = bytes(r, at);
    if BE {
        u64::from_be_bytes(b)
    } else {
        u64::from_le_bytes(b)
    }
}
