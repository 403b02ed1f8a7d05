use super::lanes::{Group, Lanes};
use crate::units::Nanos;
use proptest::prelude::*;

proptest! {
    /// Whatever the order: no two slices of a track overlap.
    #[test]
    fn slices_of_a_track_stand_apart(spans in prop::collection::vec((0i64..500, 0i64..40), 1..300)) {
        let mut lanes = Lanes::default();
        let mut put: Vec<(u32, i64, i64)> = Vec::new();
        for (from, len) in spans {
            let (from, to) = (from, from + len);
            let lane = lanes.take(Group::Task(1), Nanos(from), Nanos(to));
            prop_assert_eq!(lane.new, put.iter().all(|p| p.0 != lane.tid));
            for &(tid, f, t) in &put {
                let apart = tid != lane.tid || t <= from || to <= f;
                prop_assert!(apart, "{from}..{to} on {f}..{t}");
            }
            put.push((lane.tid, from, to));
        }
    }

    /// Groups never share a track.
    #[test]
    fn groups_have_tracks_of_their_own(of in prop::collection::vec((0u32..4, 0i64..50), 1..100)) {
        let mut lanes = Lanes::default();
        let mut owner = std::collections::BTreeMap::new();
        for (task, at) in of {
            let lane = lanes.take(Group::Task(task), Nanos(at), Nanos(at + 3));
            prop_assert_eq!(*owner.entry(lane.tid).or_insert(task), task);
        }
    }
}

#[test]
fn bios_told_in_any_order_find_the_gaps() {
    let mut lanes = Lanes::default();
    for at in [40, 0, 30, 10, 20] {
        let lane = lanes.take(Group::Task(7), Nanos(at), Nanos(at + 10));
        assert_eq!(lane.nth, 0, "{at}");
    }
}
