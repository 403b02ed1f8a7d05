//! Which device of A belongs with which of B.

use super::run::RunDevice;

/// Places in A and in B, and by what they were found to belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Match {
    pub a: Option<usize>,
    pub b: Option<usize>,
    pub by: &'static str,
}

/// Names first (they survive a reboot), then numbers, then a lone device with a lone one, then those of one kind
/// (with requests, or of bios) in order. Only devices of the same kind belong together, unless both are alone.
pub(super) fn pairs(a: &[RunDevice], b: &[RunDevice]) -> Vec<Match> {
    let mut of: Vec<Option<(usize, &'static str)>> = vec![None; a.len()];
    let mut used = vec![false; b.len()];
    let mut take = |i: usize, j: usize, by: &'static str, of: &mut Vec<Option<_>>| {
        let free = of.get(i).is_some_and(Option::is_none) && used.get(j) == Some(&false);
        if free {
            of[i] = Some((j, by));
            used[j] = true;
        }
    };
    let each = || (0..a.len()).flat_map(|i| (0..b.len()).map(move |j| (i, j)));
    for (i, j) in each() {
        let same = a[i].name.is_some() && a[i].name == b[j].name && a[i].kind == b[j].kind;
        if same {
            take(i, j, "name", &mut of);
        }
    }
    for (i, j) in each() {
        let conflict = a[i].name.is_some() && b[j].name.is_some() && a[i].name != b[j].name;
        if a[i].dev == b[j].dev && a[i].kind == b[j].kind && !conflict {
            take(i, j, "number", &mut of);
        }
    }
    if a.len() == 1 && b.len() == 1 {
        take(0, 0, "lone", &mut of);
    }
    for kind in ["request", "bio"] {
        let left = |of: &[Option<(usize, &str)>]| -> Vec<usize> {
            let free = (0..a.len()).filter(|i| of[*i].is_none() && a[*i].kind == kind);
            free.collect()
        };
        let mine = left(&of);
        let theirs: Vec<usize> = (0..b.len()).filter(|j| b[*j].kind == kind).collect();
        let taken: Vec<usize> = of.iter().flatten().map(|t| t.0).collect();
        let theirs = theirs.into_iter().filter(|j| !taken.contains(j));
        for (i, j) in mine.into_iter().zip(theirs) {
            take(i, j, "order", &mut of);
        }
    }
    let mut out: Vec<Match> = of
        .iter()
        .enumerate()
        .map(|(i, t)| Match {
            a: Some(i),
            b: t.map(|t| t.0),
            by: t.map_or("none", |t| t.1),
        })
        .collect();
    let taken: Vec<usize> = of.iter().flatten().map(|t| t.0).collect();
    let rest = (0..b.len()).filter(|j| !taken.contains(j));
    out.extend(rest.map(|j| Match {
        a: None,
        b: Some(j),
        by: "none",
    }));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::DevId;

    fn dev(number: u32, name: Option<&str>, kind: &'static str) -> RunDevice {
        RunDevice::named(DevId::new(8, number), name.map(str::to_string), kind)
    }

    fn by(a: &[RunDevice], b: &[RunDevice]) -> Vec<(Option<usize>, Option<usize>, &'static str)> {
        pairs(a, b).into_iter().map(|m| (m.a, m.b, m.by)).collect()
    }

    #[test]
    fn names_then_numbers_then_lone_ones_then_order() {
        let (sda, sdb) = (
            dev(0, Some("sda"), "request"),
            dev(16, Some("sdb"), "request"),
        );
        let moved = dev(16, Some("sda"), "request");
        assert_eq!(
            by(&[sda, sdb], &[moved]),
            [(Some(0), Some(0), "name"), (Some(1), None, "none"),]
        );
        let number = by(
            &[dev(3, None, "request")],
            &[dev(3, Some("sda"), "request")],
        );
        assert_eq!(number, [(Some(0), Some(0), "number")]);
        let lone = by(&[dev(3, None, "request")], &[dev(4, None, "bio")]);
        assert_eq!(lone, [(Some(0), Some(0), "lone")]);
        // A stack whose numbers are others: a disk with a disk, dm with dm.
        let stack = |n: u32| [dev(n, None, "bio"), dev(n + 1, None, "request")];
        let other = [dev(10, None, "request"), dev(11, None, "bio")];
        assert_eq!(
            by(&stack(1), &other),
            [(Some(0), Some(1), "order"), (Some(1), Some(0), "order"),]
        );
    }
}
