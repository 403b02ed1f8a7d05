//! What was probably meant by a name that is not there.

/// The first name between quotes of a message.
pub(super) fn quoted(text: &str) -> Option<&str> {
    let at = text.find(['"', '\'', '`'])?;
    let quote = text.get(at..=at)?;
    let rest = text.get(at + 1..)?;
    rest.split(quote).next().filter(|n| !n.is_empty())
}

/// The nearest columns to `name`, with their tables.
pub(super) fn columns<'a>(name: &str, all: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let name = name.to_lowercase();
    // A query often names the table too.
    let bare = name.rsplit('.').next().unwrap_or(&name);
    let mut near: Vec<(usize, &str, &str)> = all
        .map(|(table, column)| (distance(bare, column), column, table))
        .collect();
    near.sort_unstable();
    let best = near.first().map_or(0, |n| n.0);
    let mut names: Vec<String> = Vec::new();
    for (d, column, table) in near {
        let both = format!("{column} ({table})");
        if d == best && names.len() < 4 {
            names.push(both);
        }
    }
    format!("nearest: {}", names.join(", "))
}

/// How many letters have to be put in, taken out or changed; less where one name is the beginning of the other.
fn distance(a: &str, b: &str) -> usize {
    if !a.is_empty() && (b.starts_with(a) || a.starts_with(b)) {
        return 1;
    }
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut next = vec![i + 1];
        for ((j, y), above) in b.iter().enumerate().zip(row.iter().skip(1)) {
            let left = next.last().copied().unwrap_or(0);
            let corner = row.get(j).copied().unwrap_or(0);
            next.push((above + 1).min(left + 1).min(corner + usize::from(x != *y)));
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_names_come_first() {
        let all = [
            ("requests", "d2c_ns"),
            ("requests", "rwbs"),
            ("bios", "d2c_ns"),
            ("bios", "q_ns"),
        ];
        let near = |n: &str| columns(n, all.into_iter());
        assert_eq!(near("d2c"), "nearest: d2c_ns (bios), d2c_ns (requests)");
        assert_eq!(near("r.rbws"), "nearest: rwbs (requests)");
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(quoted("unable to find column \"d2c\"; valid"), Some("d2c"));
        assert_eq!(quoted("relation 'x' was not found"), Some("x"));
        assert_eq!(quoted("nothing"), None);
    }
}
