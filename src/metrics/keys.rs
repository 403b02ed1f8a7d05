//! Group keys, packed into three words so that finding a group is one comparison.

use super::Key;
use crate::event::{CommId, CommTable, DevId, NO_CPU, NO_PID, Op, Rwbs};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// The values of the keys in use; parts not in use are 0. The device is no part: every device has its own groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct GroupKey(u64, u64, u32);

impl GroupKey {
    /// The group of everything that found no room.
    pub const OTHER: GroupKey = GroupKey(u64::MAX, u64::MAX, u32::MAX);
}

/// What a group is made from.
#[derive(Clone, Copy)]
pub(super) struct Facts {
    pub rwbs: Rwbs,
    pub pid: u32,
    pub comm: CommId,
    pub cpu: u16,
    pub bytes: u64,
}

/// The `--by` list.
#[derive(Clone, Debug)]
pub(super) struct Keys {
    by: Vec<Key>,
    only_rwbs: bool,
}

const OPS: [Op; 8] = [
    Op::Read,
    Op::Write,
    Op::Discard,
    Op::SecureErase,
    Op::Flush,
    Op::WriteZeroes,
    Op::Zone,
    Op::None,
];

/// 0 for nothing, else 1 + the power of two at or below.
pub(super) fn size_class(bytes: u64) -> u64 {
    u64::from(64 - bytes.leading_zeros())
}

fn size_name(class: u64) -> String {
    if class == 0 {
        return "0".to_string();
    }
    let lo = 1u64.checked_shl(class as u32 - 1).unwrap_or(1 << 63);
    format!("{lo}..{}", lo + (lo - 1))
}

impl Keys {
    pub fn new(by: &[Key]) -> Keys {
        let mut list: Vec<Key> = Vec::new();
        for k in by {
            if !list.contains(k) {
                list.push(*k);
            }
        }
        if list.is_empty() {
            list.push(Key::Rwbs);
        }
        Keys {
            only_rwbs: list == [Key::Rwbs],
            by: list,
        }
    }

    #[inline]
    pub fn key(&self, f: &Facts) -> GroupKey {
        if self.only_rwbs {
            return GroupKey(f.rwbs.word(), 0, 0);
        }
        let mut k = GroupKey(0, 0, 0);
        for by in &self.by {
            match by {
                Key::Dev => {}
                Key::Rwbs => k.0 = f.rwbs.word(),
                Key::Op => k.1 |= (f.rwbs.op() as u64) << 48,
                Key::Size => k.1 |= size_class(f.bytes) << 40,
                Key::Cpu => k.1 |= u64::from(f.cpu) << 16,
                Key::Comm => k.1 |= u64::from(f.comm.0),
                Key::Pid => k.2 = f.pid,
            }
        }
        k
    }

    /// The value of one key as JSON and tables show it.
    fn value(&self, by: Key, k: GroupKey, dev: DevId, comms: &CommTable) -> String {
        let none = || "(none)".to_string();
        if k == GroupKey::OTHER && by != Key::Dev {
            return "(other)".to_string();
        }
        match by {
            Key::Dev => dev.to_string(),
            Key::Rwbs if k.0 == 0 => none(),
            Key::Rwbs => Rwbs::from_word(k.0).to_string(),
            Key::Op => OPS
                .into_iter()
                .find(|o| *o as u64 == (k.1 >> 48) & 0xff)
                .map_or_else(none, |o| o.name().to_string()),
            Key::Size => size_name((k.1 >> 40) & 0xff),
            Key::Cpu => match (k.1 >> 16) as u16 {
                NO_CPU => none(),
                cpu => cpu.to_string(),
            },
            Key::Comm => comms.name(CommId(k.1 as u16)).unwrap_or_else(none),
            Key::Pid if k.2 == NO_PID => none(),
            Key::Pid => k.2.to_string(),
        }
    }

    /// All values.
    pub fn render(&self, k: GroupKey, dev: DevId, comms: &CommTable) -> BTreeMap<String, String> {
        let one = |by: &Key| (by.name().to_string(), self.value(*by, k, dev, comms));
        self.by.iter().map(one).collect()
    }

    /// The order of groups in the report: key by key as listed, numbers as numbers, names as text.
    pub fn order(&self, a: GroupKey, b: GroupKey, comms: &CommTable) -> Ordering {
        let last = (a == GroupKey::OTHER).cmp(&(b == GroupKey::OTHER));
        let by = |k: &Key| match k {
            Key::Dev => Ordering::Equal,
            Key::Rwbs => a.0.cmp(&b.0),
            Key::Op => ((a.1 >> 48) & 0xff).cmp(&((b.1 >> 48) & 0xff)),
            Key::Size => ((a.1 >> 40) & 0xff).cmp(&((b.1 >> 40) & 0xff)),
            Key::Cpu => ((a.1 >> 16) as u16).cmp(&((b.1 >> 16) as u16)),
            Key::Comm => {
                let name = |k: GroupKey| comms.name(CommId(k.1 as u16));
                name(a).cmp(&name(b))
            }
            Key::Pid => a.2.cmp(&b.2),
        };
        self.by
            .iter()
            .map(by)
            .fold(last, Ordering::then)
            .then(a.cmp(&b))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_back_as_they_went_in() {
        let mut comms = CommTable::default();
        let fio = comms.intern(b"fio");
        let f = Facts {
            rwbs: Rwbs::new(b"FWFSM"),
            pid: 12,
            comm: fio,
            cpu: 3,
            bytes: 4096,
        };
        let keys = Keys::new(&Key::ALL);
        let got = keys.render(keys.key(&f), DevId::new(259, 0), &comms);
        let got: Vec<_> = got.iter().map(|(k, v)| format!("{k}={v}")).collect();
        let want = "comm=fio cpu=3 dev=259,0 op=write pid=12 rwbs=FWFSM size=4096..8191";
        assert_eq!(got.join(" "), want);
        let unknown = Facts {
            rwbs: Rwbs::N,
            pid: NO_PID,
            comm: CommId::NONE,
            cpu: NO_CPU,
            bytes: 0,
        };
        let got = keys.render(keys.key(&unknown), DevId::new(1, 2), &comms);
        assert_eq!(got["pid"], "(none)");
        assert_eq!(got["cpu"], "(none)");
        assert_eq!(got["comm"], "(none)");
        assert_eq!(got["size"], "0");
        let other = keys.render(GroupKey::OTHER, DevId::new(1, 2), &comms);
        assert_eq!(
            (other["pid"].as_str(), other["dev"].as_str()),
            ("(other)", "1,2")
        );
        let order = keys.order(GroupKey::OTHER, keys.key(&f), &comms);
        assert_eq!(order, Ordering::Greater);
    }

    #[test]
    fn size_classes_are_powers_of_two() {
        assert_eq!(size_name(size_class(512)), "512..1023");
        assert_eq!(size_name(size_class(1023)), "512..1023");
        assert_eq!(
            size_name(size_class(u64::MAX)),
            "9223372036854775808..18446744073709551615"
        );
        assert_eq!(size_name(size_class(1)), "1..1");
    }
}
