//! Whether the replay of the recorded policy is like enough to the recording to compare other policies with it.

use super::infer::Inferred;
use crate::metrics::predict::RecordedPart;
use crate::model::Policy;
use crate::model::signature::Term;
use crate::units::{human_bytes, human_ns};

/// What every policy decides: a device on which these come out quite differently does something that is not modelled.
const DECIDED: [&str; 3] = [
    "requests per bio",
    "mean bytes of an issue",
    "issues per request",
];
/// What else policies decide, and threads argue with.
const ARGUED: [&str; 4] = [
    "plug merges per bio",
    "scheduler merges per bio",
    "zone merges per bio",
    "flush steps per device flush",
];
/// Fewer bios of a device are no sample: two standard deviations of their number are a third of it.
const SAMPLE: u64 = 36;
/// Beyond twice what is still alike the likeness is poor.
const POOR: f64 = 2.0;

/// Terms of devices that the recording tells enough of, and that both show.
fn judged(found: &Inferred) -> impl Iterator<Item = &Term> {
    let both = |t: &&Term| t.values.0.is_some() && t.values.1.is_some();
    found.terms.iter().filter(|t| t.bios >= SAMPLE).filter(both)
}

/// Why the recorded policy is none of those modelled, if so: what every one of them decides comes out quite differently.
pub fn unlike(found: &Inferred) -> Option<String> {
    let off = |t: &&Term| DECIDED.contains(&t.what) && t.apart >= Term::FAR;
    let worst = judged(found).find(off)?;
    Some(format!(
        "no modelled policy gives what was recorded: {}, under the nearest; the recording's own numbers and the replay are shown, other policies would \
         be compared with a stranger",
        say(worst)
    ))
}

/// What is said where the replay is no good likeness though near enough to be used.
pub fn poor(found: &Inferred) -> Option<String> {
    let argued = |t: &&Term| DECIDED.contains(&t.what) || ARGUED.contains(&t.what);
    let off: Vec<&Term> = judged(found)
        .filter(argued)
        .filter(|t| t.apart >= POOR)
        .collect();
    let worst = off.first()?;
    let more = match off.len() {
        1 => String::new(),
        n => format!(", and {} more", n - 1),
    };
    Some(format!(
        "the replay of the recorded policy is a poor likeness: {}{more}; what other policies would do is off by as much, as the bands of --json and --csv say",
        say(worst)
    ))
}

/// Why times have no band.
pub const BEYOND: &str =
    "more commands at once than the recording ever had: it does not tell how long they take then";

/// What is said of a depth that no device of the recording ever had: how long commands take beside so many was not seen.
pub fn beyond(policy: &Policy, recorded: Option<&RecordedPart>) -> Option<String> {
    let depth = policy.depth?;
    let devices = recorded?.devices.iter();
    let seen = devices.filter_map(|d| d.depth.as_ref()).map(|d| d.max);
    let most = u64::from(seen.max()?);
    (u64::from(depth) > most).then(|| {
        format!(
            "depth {depth} is more than the recording ever had in a device at once ({most}): how long commands take beside so many it does not tell; they take \
             the times that it shows, and rows of that depth have no bands for times"
        )
    })
}

/// A difference in words.
pub fn say(t: &Term) -> String {
    let value = |v: Option<f64>| match v {
        None => "none".to_string(),
        // `mean D2C` and its kind are ns.
        Some(v) if t.what.starts_with("mean bytes") => human_bytes(v),
        Some(v) if t.what.starts_with("mean ") => human_ns(v),
        Some(v) => format!("{v:.4}"),
    };
    let (a, b) = (value(t.values.0), value(t.values.1));
    format!("{} of {}: {a} recorded, {b} replayed", t.what, t.dev)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::DevId;
    use crate::model::Policy;

    /// What, recorded, replayed, how far apart, bios.
    type Told = (&'static str, Option<f64>, Option<f64>, f64, u64);

    fn found(terms: &[Told]) -> Inferred {
        let term = |(what, a, b, apart, bios): &Told| Term {
            dev: DevId::new(8, 0),
            what,
            values: (*a, *b),
            bios: *bios,
            apart: *apart,
        };
        Inferred {
            policy: Policy::default(),
            distance: 0.0,
            terms: terms.iter().map(term).collect(),
            others: Vec::new(),
        }
    }

    #[test]
    fn what_only_one_shows_or_hardly_was_used_refuses_nothing() {
        let idle = ("requests per bio", Some(1.0), None, Term::FAR, 500);
        let few = ("requests per bio", Some(1.0), Some(2.0), Term::FAR, 3);
        assert_eq!(unlike(&found(&[idle, few])), None);
        assert_eq!(poor(&found(&[idle, few])), None);
        assert!(say(&found(&[idle]).terms[0]).ends_with("1.0000 recorded, none replayed"));
    }

    #[test]
    fn another_number_of_requests_refuses_and_a_smaller_difference_is_told() {
        let far = ("requests per bio", Some(1.0), Some(0.7), Term::FAR, 500);
        assert!(unlike(&found(&[far])).is_some());
        let near = (
            "mean bytes of an issue",
            Some(4096.0),
            Some(4500.0),
            4.7,
            500,
        );
        let merges = ("plug merges per bio", Some(0.1), Some(0.0), 5.0, 500);
        assert_eq!(unlike(&found(&[near])), None);
        let text = poor(&found(&[near, merges])).unwrap();
        assert!(
            text.contains("4.00 KiB recorded") && text.contains("1 more"),
            "{text}"
        );
        assert_eq!(
            poor(&found(&[("mean D2C", Some(1e6), Some(5e6), 9.0, 500)])),
            None
        );
        assert!(
            say(&found(&[("mean D2C", Some(1e6), Some(5e6), 9.0, 500)]).terms[0])
                .contains("1.00 ms")
        );
    }
}
