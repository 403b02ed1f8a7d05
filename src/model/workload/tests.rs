//! Programs derived by hand from traces of a few lines.

use super::testing::{DEV, events, getrq, of, recorded, steps};
use crate::event::{Action, DevId, Fields};
use crate::model::{LayerKind, Step};
use crate::units::Nanos;

/// One request of 8 sectors, alone: Q G D C.
fn alone(at: i64, pid: u32, sector: u64, ends: i64) -> String {
    format!(
        "{at} {pid} Q W {sector} 8\n{} {pid} G W {sector} 8\n{} {pid} D W {sector} 8\n{ends} 0 C W {sector} 8\n",
        at + 500,
        at + 1500
    )
}

/// Traces made by `alone` may overlap: their lines in order of time.
fn sorted(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_by_key(|l| l.split(' ').next().and_then(|t| t.parse::<i64>().ok()));
    lines.join("\n")
}

#[test]
fn one_at_a_time_waits_for_each_and_thinks_between() {
    let t = alone(1_000, 7, 0, 900_000) + &alone(1_000_000, 7, 800, 1_900_000);
    let r = recorded(&t).unwrap();
    let task = &r.workload.tasks[0];
    assert_eq!((task.pid, task.start), (7, Nanos(1_000)));
    assert_eq!(
        task.steps,
        [
            Step::Submit(0),
            Step::Wait(0),
            // From the end of the first (900 µs) to the second's Q.
            Step::Think(Nanos(100_000)),
            Step::Submit(1),
        ]
    );
    assert!(matches!(
        &r.workload.topology.layers[0].kind,
        LayerKind::Disk(_)
    ));
}

#[test]
fn what_the_call_costs_is_no_thinking() {
    // Two bios, the first still under way: only the task's own time lies between.
    let t = sorted(&(alone(1_000, 7, 0, 900_000) + &alone(31_000, 7, 800, 950_000)));
    let r = recorded(&t).unwrap();
    // The task issued one request itself, without a plug.
    let spent = getrq() + r.costs.issue.0;
    assert_eq!(
        r.workload.tasks[0].steps[1],
        Step::Think(Nanos(30_000 - spent))
    );
}

#[test]
fn a_plug_is_one_window_though_it_was_cut_at_its_limit() {
    let t = "
        1000 7 Q W 0 8
        1500 7 G W 0 8
        1600 7 P N 0 0
        2000 7 Q W 8 8
        2300 7 M W 8 8
        3000 7 Q W 800 8
        3500 7 G W 800 8
        3600 7 U N 0 1
        3700 7 D W 0 16
        4000 7 P N 0 0
        5000 7 Q W 1600 8
        5500 7 G W 1600 8
        6000 7 U N 0 2
        6500 7 D W 800 8
        6600 7 D W 1600 8
        900000 0 C W 0 16
        900100 0 C W 800 8
        900200 0 C W 1600 8";
    let r = recorded(t).unwrap();
    assert_eq!(
        steps(&r, 7),
        [
            Step::PlugStart,
            Step::Submit(0),
            Step::Submit(1),
            Step::Submit(2),
            Step::Submit(3),
            Step::PlugFinish,
        ]
    );
}

#[test]
fn a_sleep_empties_the_plug() {
    let t = "
        1000 7 Q W 0 8
        1500 7 G W 0 8
        1600 7 P N 0 0
        9000 7 UT N 0 1
        9100 7 I W 0 8
        20000 3 D W 0 8
        500000 0 C W 0 8
        540000 7 Q W 80 8
        540500 7 G W 80 8
        540600 7 P N 0 0
        541000 7 U N 0 1
        541500 7 D W 80 8
        990000 0 C W 80 8";
    let r = recorded(t).unwrap();
    assert_eq!(
        r.workload.tasks[0].steps,
        [
            Step::PlugStart,
            Step::Submit(0),
            Step::Wait(0),
            // Nothing to do where the task slept.
            Step::PlugFinish,
            Step::Think(Nanos(40_000)),
            Step::Submit(1),
        ]
    );
}

#[test]
fn a_plug_emptied_to_wait_for_a_request_is_the_block_layers_own() {
    let t = "
        1000 7 Q W 0 8
        1500 7 G W 0 8
        1600 7 P N 0 0
        2000 7 Q W 80 8
        2100 7 UT N 0 1
        2200 7 I W 0 8
        3000 3 D W 0 8
        500000 0 C W 0 8
        500500 7 G W 80 8
        500600 7 P N 0 0
        501000 7 U N 0 1
        501500 7 D W 80 8
        990000 0 C W 80 8";
    let r = recorded(t).unwrap();
    let want = [
        Step::PlugStart,
        Step::Submit(0),
        Step::Submit(1),
        Step::PlugFinish,
    ];
    assert_eq!(steps(&r, 7), want);
}

#[test]
fn a_plug_around_one_bio_is_left_to_the_model() {
    let t = "
        1000 7 Q W 0 8
        1500 7 G W 0 8
        1600 7 P N 0 0
        2000 7 U N 0 1
        2100 7 D W 0 8
        900000 0 C W 0 8";
    assert_eq!(steps(&recorded(t).unwrap(), 7), [Step::Submit(0)]);
}

#[test]
fn a_task_that_goes_on_when_anothers_bio_ends_waited_for_it() {
    // None of its own ends in the pause; 8's does, 30 µs before it goes on.
    let t = alone(1_000, 9, 0, 900_000)
        + &alone(2_000, 8, 800, 300_000)
        + &alone(330_000, 9, 1600, 950_000);
    let r = recorded(&sorted(&t)).unwrap();
    let t9 = r.workload.tasks.iter().find(|t| t.pid == 9).unwrap();
    assert_eq!(
        t9.steps,
        [
            Step::Submit(0),
            Step::WaitFor(1),
            Step::Think(Nanos(30_000)),
            Step::Submit(2),
        ]
    );
}

#[test]
fn a_task_that_was_interrupted_did_not_wait() {
    // Its first bio ends while it runs: the pause is its own work.
    let t = sorted(&(alone(1_000, 7, 0, 200_000) + &alone(331_000, 7, 800, 950_000)))
        .replace("200000 0 C", "200000 7 C");
    let r = recorded(&t).unwrap();
    let s = &r.workload.tasks[0].steps;
    assert!(!s.contains(&Step::Wait(0)), "{s:?}");
    let spent = getrq() + r.costs.issue.0;
    assert_eq!(s[1], Step::Think(Nanos(330_000 - spent)));
}

#[test]
fn a_queue_depth_is_kept_as_a_window() {
    // Two under way: each submission follows the end of the one before the last.
    let mut t = String::new();
    for k in 0..30 {
        t += &alone(
            1_000 + k * 100_000,
            7,
            k as u64 * 80,
            1_000 + k * 100_000 + 190_000,
        );
    }
    let r = recorded(&sorted(&t)).unwrap();
    let s = &r.workload.tasks[0].steps;
    assert_eq!(s.iter().filter(|s| **s == Step::Wait(1)).count(), 28);
    // Each end lies 10 µs before the next Q.
    assert_eq!(
        s.iter()
            .filter(|s| **s == Step::Think(Nanos(10_000)))
            .count(),
        28
    );
}

#[test]
fn a_bio_told_to_come_again_is_one_bio() {
    let mut e = events(
        "
        1000 7 Q R 0 8
        1200 7 C R 0 8
        9000 55 Q R 0 8
        9500 55 G R 0 8
        9900 55 D R 0 8
        90000 0 C R 0 8",
    );
    assert_eq!(e[1].action, Action::Complete);
    e[1].error = -11;
    let r = of(&e, Fields::BLKTRACE).unwrap();
    assert_eq!(r.workload.bios.len(), 1);
    assert_eq!(r.workload.bios[0].retry_by, Some(55));
    assert_eq!(r.workload.tasks.len(), 2, "the worker has a name");
    assert!(r.workload.tasks[1].steps.is_empty());
}

#[test]
fn clones_are_left_out_and_their_mapping_is_kept() {
    let dm = DevId::new(253, 0);
    let mut e = events(
        "
        1000 7 Q W 0 8
        2000 7 Q W 1000 8
        2500 7 G W 1000 8
        2600 7 D W 1000 8
        90000 0 C W 1000 8
        90500 0 C W 0 8",
    );
    e[0].dev = dm;
    e[5].dev = dm;
    let mut a = e[1];
    (a.action, a.aux_dev, a.aux, a.time) = (Action::Remap, dm, 0, Nanos(1500));
    e.insert(1, a);
    let r = of(&e, Fields::BLKTRACE).unwrap();
    assert_eq!(r.workload.bios.len(), 1);
    let layers = &r.workload.topology.layers;
    assert_eq!((layers[0].dev, layers[1].dev), (dm, DEV));
    let LayerKind::Linear(lines) = &layers[0].kind else {
        panic!("{layers:?}")
    };
    assert_eq!((lines[0].from, lines[0].to, lines[0].at), (0, 1, 1000));
    assert_eq!(r.top_bios[&dm], 1);
}

#[test]
fn traces_that_do_not_tell_enough_are_refused() {
    let only_requests = "1000 7 D W 0 8\n2000 0 C W 0 8";
    let why = recorded(only_requests).unwrap_err().to_string();
    assert!(why.contains("Q events"), "{why}");
    let only_bios = "1000 7 Q W 0 8\n2000 7 Q W 8 8";
    let why = recorded(only_bios).unwrap_err().to_string();
    assert!(why.contains("issue to completion"), "{why}");
    let mut no_pid = Fields::BLKTRACE;
    no_pid.pid = false;
    let e = events(&alone(1000, 7, 0, 9000));
    let why = of(&e, no_pid).unwrap_err().to_string();
    assert!(why.contains("which task"), "{why}");
}
