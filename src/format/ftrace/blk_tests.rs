use super::BLK_TRACER;
use super::tests::{event_of, line_of};
use crate::event::{Action, DevId, Rwbs};
use crate::format::{Defect, Line, SkipRule};
use crate::units::Nanos;

const FRONT: &str = "              dd-2420    [019] d..1.    59.641742: ";

#[test]
fn the_blk_tracer_in_all_its_styles() {
    for act in [
        "251,0    Q  RS 8 + 8 [dd]",
        "251,0   queue  RS 8 + 8 [dd]",
        "251,0   6d,1  Q  RS 8 + 8 [dd]",
        "251,0   /user.slice/x  Q  RS 8 + 8 [dd]",
    ] {
        let (e, comm) = event_of(&BLK_TRACER, &format!("{FRONT}{act}"));
        assert_eq!(
            (e.action, e.rwbs, e.sector, e.bytes),
            (Action::Queue, Rwbs::new(b"RS"), 8, 4096),
            "{act}"
        );
        assert_eq!(
            (e.dev, e.cpu, e.pid, comm.as_deref()),
            (DevId::new(251, 0), 19, 2420, Some("dd"))
        );
    }
    let classic = "251,0   19    59.641742123  2420  D  RS 8 + 8 [dd]";
    let (e, _) = event_of(&BLK_TRACER, classic);
    assert_eq!(
        (e.action, e.cpu, e.pid, e.time),
        (Action::Issue, 19, 2420, Nanos(59_641_742_123))
    );
}

#[test]
fn actions_of_the_blk_tracer() {
    for (act, action) in [
        ("251,0   unplug_io   N [dd] 3", Action::Unplug),
        ("251,0   UT   N [dd] 3", Action::UnplugTimer),
        ("251,0   P   N [dd]", Action::Plug),
        ("251,0   C  RS 8 + 8 [65531]", Action::Complete),
        ("251,0   A  RS 8 + 8 <- (253,0) 16", Action::Remap),
        ("251,0   X  RS 8 / 16 [dd]", Action::Split),
        ("251,0   D   R 36 (12 00 ..) [sg_inq]", Action::Issue),
        ("251,0   Q FWS [dd]", Action::Queue),
        ("251,0   D  FN [kworker/0:1H]", Action::Issue),
    ] {
        assert_eq!(
            event_of(&BLK_TRACER, &format!("{FRONT}{act}")).0.action,
            action,
            "{act}"
        );
    }
    let flush = event_of(&BLK_TRACER, &format!("{FRONT}251,0   C  FN 0 [0]")).0;
    assert_eq!(flush.rwbs, Rwbs::FF);
    let error = event_of(&BLK_TRACER, &format!("{FRONT}251,0   C  RS 8 + 8 [65531]")).0;
    assert_eq!(error.error, -5);
    for (act, want) in [
        (
            "251,0   m   N cfq schedule dispatch",
            Line::Skip(SkipRule::Message),
        ),
        (
            "251,0   message   N bfq [x] y",
            Line::Skip(SkipRule::Message),
        ),
        (
            "sched_switch: prev_comm=dd",
            Line::Skip(SkipRule::OtherEvent),
        ),
        ("Unknown action 36a2", Line::Defect(Defect::UnknownAction)),
        (
            "251,0   Y  RS 8 + 8 [dd]",
            Line::Defect(Defect::UnknownAction),
        ),
        ("251,0   C  RS 8 + 8", Line::Defect(Defect::CutLine)),
    ] {
        let got = line_of(&BLK_TRACER, &format!("{FRONT}{act}")).0;
        assert_eq!(got, want, "{act}");
    }
}
