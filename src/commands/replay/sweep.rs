//! The policies asked for: every combination of the lists, each on top of the recorded policy.

use crate::error::{Error, Result};
use crate::model::Policy;
use crate::model::policy::{Ata, DmFlush, FlushInsert, Kernel, PlugChoice, Sched, Switch, Zoned};

/// Lists of the command line; an empty one leaves the policy as recorded.
#[derive(Clone, Debug, Default)]
pub struct Switches {
    /// `--plug`.
    pub plug: Vec<PlugChoice>,
    /// `--plug-limit`.
    pub plug_limit: Vec<u32>,
    /// `--nomerges`.
    pub nomerges: Vec<u8>,
    /// `--max-sectors`, KiB.
    pub max_sectors_kb: Vec<u32>,
    /// `--sched`.
    pub sched: Vec<Sched>,
    /// `--flush`.
    pub flush: Vec<FlushInsert>,
    /// `--ata`.
    pub ata: Vec<Ata>,
    /// `--dm-flush`.
    pub dm_flush: Vec<DmFlush>,
    /// `--dm-lines`: said of the device, not a row of its own.
    pub dm_lines: Option<u32>,
    /// `--wbt`.
    pub wbt: Vec<Switch>,
    /// `--zoned`.
    pub zoned: Vec<Zoned>,
    /// `--zone-size`, bytes: said of the device, not a row of its own.
    pub zone_size: Option<u64>,
    /// `--soft-block-size`, bytes.
    pub soft_block_size: Vec<u32>,
    /// `--depth`.
    pub depth: Vec<u32>,
    /// `--iops-cap`.
    pub iops_cap: Vec<u64>,
}

/// Rows that one command may ask for: each is a simulation.
const ROWS: usize = 256;

/// One what-if row.
#[derive(Clone, Debug)]
pub struct Row {
    /// What was named: `plug oldest, flush tail`.
    pub label: String,
    /// The whole policy.
    pub policy: Policy,
}

/// Replaces every row by one a value; no values: leaves them.
fn expand<T: Clone>(
    rows: Vec<Row>,
    name: &str,
    values: &[T],
    show: impl Fn(&T) -> String,
    set: impl Fn(&mut Policy, &T),
) -> Vec<Row> {
    if values.is_empty() {
        return rows;
    }
    let mut out = Vec::new();
    for row in rows {
        for v in values {
            let mut policy = row.policy.clone();
            set(&mut policy, v);
            let part = format!("{name} {}", show(v));
            let label = match row.label.is_empty() {
                true => part,
                false => format!("{}, {part}", row.label),
            };
            out.push(Row { label, policy });
        }
    }
    out
}

impl Switches {
    /// The rows, on top of `base`.
    ///
    /// # Errors
    /// Usage: more combinations than are run at once.
    pub fn rows(&self, base: &Policy) -> Result<Vec<Row>> {
        let n = self.combinations();
        if n > ROWS as u128 {
            return Err(Error::usage(format!(
                "replay: {n} combinations, at most {ROWS} are run at once"
            ))
            .hint("name fewer values, or several commands"));
        }
        let mut rows = self.device(self.order(self.merging(base)));
        rows.retain(|r| !r.label.is_empty());
        Ok(rows)
    }

    /// What decides on merges.
    fn merging(&self, base: &Policy) -> Vec<Row> {
        let start = Row {
            label: String::new(),
            policy: base.clone(),
        };
        let mut rows = vec![start];
        rows = expand(
            rows,
            "plug",
            &self.plug,
            |v| v.name.into(),
            |p, v| v.apply(p),
        );
        rows = expand(
            rows,
            "plug limit",
            &self.plug_limit,
            u32::to_string,
            |p, v| {
                p.plug_limit = Some(*v);
            },
        );
        rows = expand(rows, "nomerges", &self.nomerges, u8::to_string, |p, v| {
            p.nomerges = *v
        });
        let kb = |v: &u32| format!("{v} KiB");
        rows = expand(rows, "max_sectors", &self.max_sectors_kb, kb, |p, v| {
            p.max_sectors_kb = Some(*v);
        });
        rows
    }

    /// What decides on the order of requests.
    fn order(&self, mut rows: Vec<Row>) -> Vec<Row> {
        rows = expand(
            rows,
            "sched",
            &self.sched,
            |v| v.name().into(),
            |p, v| {
                p.sched = Some(*v);
            },
        );
        rows = expand(
            rows,
            "flush",
            &self.flush,
            |v| v.name().into(),
            |p, v| p.flush = *v,
        );
        rows = expand(
            rows,
            "ata",
            &self.ata,
            |v| v.name().into(),
            |p, v| p.ata = *v,
        );
        rows = expand(
            rows,
            "dm-flush",
            &self.dm_flush,
            |v| v.name().into(),
            |p, v| {
                p.dm_flush = *v;
            },
        );
        rows = expand(
            rows,
            "wbt",
            &self.wbt,
            |v| v.name().into(),
            |p, v| p.wbt = *v,
        );
        rows = expand(
            rows,
            "zoned",
            &self.zoned,
            |v| v.name().into(),
            |p, v| p.zoned = *v,
        );
        rows
    }

    /// What the device and its files are.
    fn device(&self, mut rows: Vec<Row>) -> Vec<Row> {
        rows = expand(
            rows,
            "block size",
            &self.soft_block_size,
            u32::to_string,
            |p, v| {
                p.soft_block_size = Some(*v);
            },
        );
        rows = expand(rows, "depth", &self.depth, u32::to_string, |p, v| {
            p.depth = Some(*v)
        });
        rows = expand(rows, "IOPS cap", &self.iops_cap, u64::to_string, |p, v| {
            p.iops_cap = Some(*v);
        });
        rows
    }

    fn combinations(&self) -> u128 {
        let lengths = [
            self.plug.len(),
            self.plug_limit.len(),
            self.nomerges.len(),
            self.max_sectors_kb.len(),
            self.sched.len(),
            self.flush.len(),
            self.ata.len(),
            self.dm_flush.len(),
            self.wbt.len(),
            self.zoned.len(),
            self.soft_block_size.len(),
            self.depth.len(),
            self.iops_cap.len(),
        ];
        let product = |a: u128, n: &usize| a.saturating_mul((*n).max(1) as u128);
        lengths.iter().fold(1, product)
    }
}

/// Reads `plug=oldest,flush=head`: parts of the recorded policy that the user knows. Returns the names of those set.
///
/// # Errors
/// Usage: an unknown name or value.
pub fn told(text: &str, policy: &mut Policy) -> Result<Vec<&'static str>> {
    let mut set = Vec::new();
    for part in text.split(',').filter(|p| !p.trim().is_empty()) {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        let (name, value) = (name.trim(), value.trim());
        let bad = || {
            Error::usage(format!("--recorded: '{part}' is not NAME=VALUE of a policy"))
                .hint("names and values are those of the options: plug=oldest,plug_limit=1 to 65536,flush=head,ata=bounce,dm_flush=per-line,zoned=plug,sched=none")
        };
        let known = set_one(policy, name, value).ok_or_else(bad)?;
        if set.contains(&known) {
            return Err(Error::usage(format!("--recorded: {known} is given twice")));
        }
        set.push(known);
    }
    Ok(set)
}

fn set_one(p: &mut Policy, name: &str, value: &str) -> Option<&'static str> {
    Some(match name {
        "plug" => {
            PlugChoice::from_name(value)?.apply(p);
            "plug"
        }
        "kernel" => {
            p.kernel = Some(Kernel::from_name(value)?);
            "kernel"
        }
        "plug_limit" | "plug-limit" => {
            // As `--plug-limit` takes it.
            let limit = value.parse().ok().filter(|n| (1..=65_536).contains(n));
            p.plug_limit = Some(limit?);
            "plug_limit"
        }
        "nomerges" => {
            p.nomerges = value.parse().ok().filter(|n| *n <= 2)?;
            "nomerges"
        }
        "sched" => {
            p.sched = Some(Sched::from_name(value)?);
            "sched"
        }
        "flush" => {
            p.flush = FlushInsert::from_name(value)?;
            "flush"
        }
        "ata" => {
            p.ata = Ata::from_name(value)?;
            "ata"
        }
        "dm_flush" | "dm-flush" => {
            p.dm_flush = DmFlush::from_name(value)?;
            "dm_flush"
        }
        "wbt" => {
            p.wbt = Switch::from_name(value)?;
            "wbt"
        }
        "zoned" => {
            p.zoned = Zoned::from_name(value)?;
            "zoned"
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::policy::PlugMode;

    #[test]
    fn lists_sweep_on_top_of_the_recorded_policy() {
        let base = Policy {
            ata: Ata::Bounce,
            ..Policy::default()
        };
        let s = Switches {
            plug: [PlugMode::Oldest, PlugMode::Newest]
                .map(PlugChoice::from)
                .to_vec(),
            flush: vec![FlushInsert::Head, FlushInsert::Tail],
            ..Switches::default()
        };
        let rows = s.rows(&base).unwrap();
        let labels: Vec<&str> = rows.iter().map(|r| r.label.as_str()).collect();
        assert_eq!(
            labels,
            [
                "plug oldest, flush head",
                "plug oldest, flush tail",
                "plug newest, flush head",
                "plug newest, flush tail"
            ]
        );
        assert!(rows.iter().all(|r| r.policy.ata == Ata::Bounce));
        assert!(Switches::default().rows(&base).unwrap().is_empty());
        let many = Switches {
            depth: (1..=300).collect(),
            ..Switches::default()
        };
        assert_eq!(many.rows(&base).unwrap_err().exit_code(), 2);
    }

    #[test]
    fn the_recorded_policy_can_be_told() {
        let mut p = Policy::default();
        let set = told("plug=6.1,flush=tail, ata=park", &mut p).unwrap();
        assert_eq!(set, ["plug", "flush", "ata"]);
        assert_eq!((p.plug, p.ata), (PlugMode::NewestOfQueue, Ata::Park));
        assert!(told("plug=middle", &mut p).is_err() && told("speed=9", &mut p).is_err());
        assert!(told("plug_limit=0", &mut p).is_err() && told("ata=off,ata=park", &mut p).is_err());
    }
}
