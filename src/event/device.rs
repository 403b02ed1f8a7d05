//! Device numbers.

use rustc_hash::FxHashMap;
use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;
use std::sync::{LazyLock, PoisonError, RwLock};

/// A kernel device number: 12 bits of major, 20 of minor (`MKDEV`, `include/linux/kdev_t.h`).
///
/// Sources that name disks and tell no numbers give them numbers that no block device has ([`DevId::named`]); those are
/// shown and ordered by name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct DevId(pub u32);

/// Names of disks whose numbers are not known; a name's place is its minor number. Ids depend on who comes first, so
/// nothing but the names may reach any output.
static NAMES: LazyLock<RwLock<Names>> = LazyLock::new(RwLock::default);
/// The major of named disks. Block devices end at 511 (`BLKDEV_MAJOR_MAX`, include/linux/blkdev.h, 6.12).
const NAMED: u32 = 0xfff;
/// Names that are kept: as many devices as are tracked, several times over.
const MAX_NAMES: usize = 16_384;
/// The longest name the kernel gives (`DISK_NAME_LEN`, include/linux/blkdev.h).
const MAX_NAME: usize = 32;

/// Names by place, and places by name.
#[derive(Default)]
struct Names {
    all: Vec<Box<str>>,
    places: FxHashMap<Box<str>, usize>,
}

impl DevId {
    /// 0,0: no device (plug events of tracepoints, requests without a disk).
    pub const NONE: DevId = DevId(0);

    /// Builds a number; parts that do not fit their bits are cut.
    pub const fn new(major: u32, minor: u32) -> DevId {
        DevId(((major & 0xfff) << 20) | (minor & 0xf_ffff))
    }

    /// A disk known by its name alone. Bytes beyond what the kernel allows are cut; names beyond those kept are one.
    pub fn named(name: &[u8]) -> DevId {
        let name = String::from_utf8_lossy(name.get(..MAX_NAME).unwrap_or(name)).into_owned();
        let find = |n: &Names| n.places.get(name.as_str()).copied();
        let known = find(&NAMES.read().unwrap_or_else(PoisonError::into_inner));
        let i = known.unwrap_or_else(|| {
            let mut n = NAMES.write().unwrap_or_else(PoisonError::into_inner);
            let place = n.all.len();
            match find(&n) {
                Some(i) => i,
                None if place >= MAX_NAMES => MAX_NAMES,
                None => {
                    n.all.push(name.as_str().into());
                    n.places.insert(name.as_str().into(), place);
                    place
                }
            }
        });
        DevId::new(NAMED, i as u32)
    }

    /// The name of a disk that is known by nothing else.
    pub fn name(self) -> Option<String> {
        (self.major() == NAMED).then(|| {
            let n = NAMES.read().unwrap_or_else(PoisonError::into_inner);
            let name = n.all.get(self.minor() as usize);
            name.map_or("(other disks)".to_string(), |n| n.to_string())
        })
    }

    /// The driver's number.
    pub const fn major(self) -> u32 {
        self.0 >> 20
    }

    /// The number within the driver.
    pub const fn minor(self) -> u32 {
        self.0 & 0xf_ffff
    }
}

impl Ord for DevId {
    #[inline]
    fn cmp(&self, other: &DevId) -> Ordering {
        if self.major() == NAMED && other.major() == NAMED {
            return self.name().cmp(&other.name());
        }
        self.0.cmp(&other.0)
    }
}

impl PartialOrd for DevId {
    #[inline]
    fn partial_cmp(&self, other: &DevId) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for DevId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = self.name() {
            return f.pad(&name);
        }
        f.pad(&format!("{},{}", self.major(), self.minor()))
    }
}

impl fmt::Debug for DevId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl FromStr for DevId {
    type Err = String;

    /// Reads `MAJ,MIN` or `MAJ:MIN`.
    fn from_str(s: &str) -> Result<DevId, String> {
        let parts = s.split_once([',', ':']);
        let num = |t: &str, max: u32| t.parse::<u32>().ok().filter(|v| *v <= max);
        match parts.and_then(|(a, b)| Some((num(a, 0xfff)?, num(b, 0xf_ffff)?))) {
            Some((major, minor)) => Ok(DevId::new(major, minor)),
            None => Err(format!("expected a device number like 259,0, found '{s}'")),
        }
    }
}

impl serde::Serialize for DevId {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_disks_are_shown_and_ordered_by_name() {
        let (b, a) = (DevId::named(b"zz-b"), DevId::named(b"zz-a"));
        assert_eq!(
            (a.to_string().as_str(), b.to_string().as_str()),
            ("zz-a", "zz-b")
        );
        assert!(a < b && a != b && a == DevId::named(b"zz-a"));
        assert!(DevId::new(259, 0) < a, "numbers come first");
        assert_eq!(DevId::new(8, 0).name(), None);
        assert_eq!(DevId::named(&[b'x'; 99]).to_string().len(), MAX_NAME);
    }
}
