//! Device numbers.

use std::fmt;
use std::str::FromStr;

/// A kernel device number: 12 bits of major, 20 of minor (`MKDEV`, `include/linux/kdev_t.h`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct DevId(pub u32);

impl DevId {
    /// 0,0: no device (plug events of tracepoints, requests without a disk).
    pub const NONE: DevId = DevId(0);

    /// Builds a number; parts that do not fit their bits are cut.
    pub const fn new(major: u32, minor: u32) -> DevId {
        DevId(((major & 0xfff) << 20) | (minor & 0xf_ffff))
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

impl fmt::Display for DevId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
