//! Lines are not broken between a number and its unit.

/// A blank where no line is broken.
const TIE: char = '\u{a0}';
/// What a number is counted in; `/s` may follow.
const UNITS: [&str; 13] = [
    "%", "ns", "µs", "ms", "s", "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "Hz",
];

/// The text with number and unit tied together.
pub(super) fn tied(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (i, word) in text.split(' ').enumerate() {
        if i > 0 {
            let number = out.ends_with(|c: char| c.is_ascii_digit());
            out.push(if number && unit(word) { TIE } else { ' ' });
        }
        out.push_str(word);
    }
    out
}

/// The text as it is printed.
pub(super) fn untied(text: &str) -> String {
    text.replace(TIE, " ")
}

/// Whether a word is a unit, with what may stand behind it.
fn unit(word: &str) -> bool {
    let word = word.split('/').next().unwrap_or(word);
    UNITS.contains(&word.trim_end_matches(|c: char| ".,;:)]".contains(c)))
}

#[cfg(test)]
mod tests {
    use super::super::compare::wrapped;
    use super::*;

    #[test]
    fn numbers_stay_with_their_units_whatever_the_width() {
        let text = "4,096 bios of 2 KiB (50 %), 1.31 ms each; 3 s in all: 12.5 MiB/s, of 8 writes";
        let tie = |s: &str| s.split(' ').count();
        for room in 12..80 {
            let lines = wrapped(text, room);
            assert_eq!(lines.join(" "), text);
            for l in &lines {
                let first = l.split(' ').next().unwrap_or_default();
                assert!(!unit(first), "{room}: {lines:?}");
                assert!(tie(l) > 0 && !l.contains(TIE));
            }
        }
        assert_eq!(tied("5 writes"), "5 writes");
    }
}
