use super::super::{Defect, Line, LineCtx, LineFormat, SkipRule};
use super::*;
use crate::event::{BlockEvent, DevId, NO_SECTOR, Rwbs};
use proptest::prelude::*;

fn make(t: &str) -> Template {
    compile(&[t.to_string()]).unwrap_or_else(|e| panic!("{e}"))
}

fn read(t: &Template, line: &str) -> (BlockEvent, Option<String>) {
    let mut ctx = LineCtx::default();
    match t.parse_line(line.as_bytes(), &mut ctx) {
        Line::Event(e) => (e, ctx.comms.name(e.comm)),
        other => panic!("{line}: {other:?}"),
    }
}

fn line(t: &Template, line: &str) -> Line {
    t.parse_line(line.as_bytes(), &mut LineCtx::default())
}

fn refused(t: &[&str]) -> String {
    let t: Vec<String> = t.iter().map(|s| s.to_string()).collect();
    compile(&t).expect_err("compiles").to_string()
}

#[test]
fn fields_and_literal_text() {
    let t =
        make("[{s}] cpu{cpu} {comm}-{pid} {event}: {dev} {rwbs} {sector}+{nr} err={error} {{x}}");
    let (e, comm) = read(
        &t,
        "  [ 12.000000345] cpu3   my task-1-77 tracepoint:block:block_rq_complete: 8:16 WS 128+8 err=-5 {x}"
            .replace("[ 12", "[12")
            .as_str(),
    );
    assert_eq!((e.time.0, e.cpu, e.pid), (12_000_000_345, 3, 77));
    assert_eq!((e.action, e.dev), (Action::Complete, DevId::new(8, 16)));
    assert_eq!((e.sector, e.bytes, e.error), (128, 4096, -5));
    assert_eq!(comm.as_deref(), Some("my task-1"));
}

#[test]
fn the_bcc_layout_in_words() {
    let t = make("{s} {cpu} {skip} {tid} {comm} {event} {rwbs} {sector} {nr}");
    let l = "39.38371 0   32      170     kworker/0:1H a  block_rq_complete FF -1 0";
    let (e, comm) = read(&t, l);
    let mut ctx = LineCtx::default();
    let Line::Event(b) = super::super::bcc_trace::BCC_TRACE.parse_line(l.as_bytes(), &mut ctx)
    else {
        panic!("no event")
    };
    assert_eq!(e, b);
    assert_eq!(comm.as_deref(), Some("kworker/0:1H a"));
    assert_eq!(e.sector, NO_SECTOR);
}

#[test]
fn times_are_exact_in_every_unit() {
    for (t, l, ns) in [
        ("{ns} {event}", "18 Q", 18),
        ("{us} {event}", "18 Q", 18_000),
        ("{us} {event}", "18.5 Q", 18_500),
        ("{ms} {event}", "0.000001 Q", 1),
        ("{s} {event}", "9007199.254740993 Q", 9_007_199_254_740_993),
        ("{clock} {event}", "01:00:00.25 Q", 3_600_250_000_000),
        ("{s}.{skip} {event}", "18.5 Q", 18_000_000_000),
    ] {
        assert_eq!(read(&make(t), l).0.time.0, ns, "{t}");
    }
    let t = make("{s} {event}");
    assert_eq!(line(&t, "99999999999999 Q"), Line::Defect(Defect::BadTime));
}

#[test]
fn devices_in_every_form() {
    for (t, l) in [
        ("{ns} {event} {dev}", "1 Q 8,17"),
        ("{ns} {event} {dev}", "1 Q 8:17"),
        ("{ns} {event} {dev}", "1 Q 8388625"),
        ("{ns} {event} {dev}", "1 Q 0x800011"),
        ("{ns} {event} {major}/{minor}", "1 Q 8/17"),
        ("{ns} {event} {dev},{sector}", "1 Q 8,17,5"),
        ("{ns} {event} {dev},{sector}", "1 Q 8388625,5"),
        ("{dev=8,17}{ns} {event}", "1 Q"),
    ] {
        assert_eq!(read(&make(t), l).0.dev, DevId::new(8, 17), "{t} {l}");
    }
    let t = make("{ns} {event} {dev}");
    assert_eq!(read(&t, "1 P -").0.dev, DevId::NONE);
    assert_eq!(line(&t, "1 Q 8,1048576"), Line::Defect(Defect::BadDevice));
    assert_eq!(line(&t, "1 Q sda"), Line::Defect(Defect::BadDevice));
}

#[test]
fn events_by_every_name() {
    let t = make("{ns} {event}");
    for (w, a) in [
        ("block_rq_issue", Action::Issue),
        ("rq_issue", Action::Issue),
        ("block:block_rq_issue", Action::Issue),
        ("tracepoint:block:block_rq_issue", Action::Issue),
        ("D", Action::Issue),
        ("UT", Action::UnplugTimer),
        ("bio_queue", Action::Queue),
        ("getrq", Action::GetRq),
        ("complete", Action::Complete),
    ] {
        assert_eq!(read(&t, &format!("1 {w}")).0.action, a, "{w}");
    }
    assert_eq!(
        line(&t, "1 block_dirty_buffer"),
        Line::Skip(SkipRule::OtherEvent)
    );
    assert_eq!(
        line(&t, "1 sched_switch"),
        Line::Defect(Defect::UnknownAction)
    );
}

#[test]
fn fixed_events_and_several_templates() {
    let t = compile(&[
        "{event=block_rq_issue}{ns} start {sector}".into(),
        "{ns} end {sector}{event=C}".into(),
    ])
    .unwrap();
    assert_eq!(read(&t, "5 start 8").0.action, Action::Issue);
    assert_eq!(read(&t, "5   end  8  ").0.action, Action::Complete);
    assert_eq!(line(&t, "5 middle 8"), Line::Defect(Defect::NotAnEvent));
    assert_eq!(line(&t, "5 start"), Line::Defect(Defect::CutLine));
    assert_eq!(line(&t, "5 start x"), Line::Defect(Defect::BadNumber));
    assert_eq!(
        line(&t, "Attaching 2 probes..."),
        Line::Skip(SkipRule::Tool)
    );
    assert_eq!(line(&t, "Lost 3 events"), Line::Lost(3));
    assert_eq!(line(&t, "   "), Line::Skip(SkipRule::Blank));
    assert_eq!(read(&t, "^C5 start 8").0.sector, 8);
}

#[test]
fn lengths_and_flags() {
    let t = make("{ns} {event} {sector} {nr} {bytes} {rwbs}");
    assert_eq!(read(&t, "1 D 8 8 0 W").0.bytes, 4096);
    let e = read(&t, "1 D 0 0 36 N").0;
    assert!(e.passthrough() && e.bytes == 36);
    assert_eq!(read(&t, "1 D 0 0 0 FN").0.rwbs, Rwbs::FF);
    let mut raw = LineCtx {
        raw_rwbs: true,
        ..LineCtx::default()
    };
    assert!(
        matches!(t.parse_line(b"1 D 0 0 0 FN", &mut raw), Line::Event(e) if e.rwbs == Rwbs::FN)
    );
    assert_eq!(
        line(&t, "1 D 8 99999999999999999999 0 W"),
        Line::Defect(Defect::BadNumber)
    );
    assert_eq!(
        line(&t, "1 D 8 18446744073709551615 0 W"),
        Line::Defect(Defect::BadNumber)
    );
    assert_eq!(
        line(&t, "1 D 8 8 0 WWWWWWWWW"),
        Line::Defect(Defect::BadNumber)
    );
}

#[test]
fn bad_templates_say_what_is_wrong() {
    for (t, words) in [
        (vec!["{ns} {event} {sectr}"], "did you mean {sector}?"),
        (vec!["{nsecs} {event}"], "did you mean {ns}?"),
        (vec!["{event} {sector}"], "has no time"),
        (vec!["{ns} {sector}"], "has no event"),
        (vec!["{ns}{event}"], "side by side"),
        (vec!["{ns} {event} {sector} {sector}"], "twice"),
        (vec!["{ns} {event"], "byte 6 has no partner"),
        (vec!["{ns} }{event}"], "has no partner"),
        (vec!["{ns} {event=foo}"], "no event is called 'foo'"),
        (
            vec!["{ns} {event=Q} {event}"],
            "both {event} and a fixed event",
        ),
        (vec!["{ns} {event=Q} {dev=sda}"], "is no device"),
        (vec!["{ns} {event=Q} {sector=5}"], "only event and dev"),
        (
            vec!["{event=Q}{ns} {sector}", "{event=C}{ns}  {sector}"],
            "can never match",
        ),
        (vec![], "needs a template"),
    ] {
        let e = refused(&t);
        assert!(e.contains(words), "{t:?}: {e}");
    }
}

#[test]
fn abilities_follow_from_the_fields() {
    let f = make("{us} {event} {sector}").info.fields;
    assert!(!f.pid && !f.cpu && !f.comm && !f.error && f.sector_of_empty);
    let t = super::from_script(
        "tracepoint:block:block_rq_issue { printf(\"%lu %d\\n\", nsecs / 1000, args.sector); }",
        std::path::Path::new("x.bt"),
    )
    .unwrap();
    assert_eq!(t.info.fields.time_step_ns, 1000);
}

proptest! {
    #[test]
    fn no_template_and_no_line_panics(t in "(\\{(ns|event|comm|skip|text|dev|s)\\}|[ -~]){0,12}", l in "[ -~]{0,60}", b in prop::collection::vec(any::<u8>(), 0..80)) {
        if let Ok(t) = compile(&[t]) {
            let _ = line(&t, &l);
            let _ = t.parse_line(&b, &mut LineCtx::default());
        }
    }

    #[test]
    fn printed_events_come_back(ns in 0i64.., cpu in 0u16..1000, pid in 0u32..1 << 22, major in 0u32..4095, minor in 0u32..1 << 20,
                                sector in 0u64..1 << 48, nr in 0u64..1 << 20, comm in "[!-~]([ -~]{0,13}[!-~])?", err in -4095i16..1) {
        let t = make("{ns} <{comm}> {cpu}/{pid} {event} {dev} {sector} + {nr} [{error}]");
        let (e, name) = read(&t, &format!("{ns} <{comm}> {cpu}/{pid} C {major},{minor} {sector} + {nr} [{err}]"));
        prop_assert_eq!((e.time.0, e.cpu, e.pid, e.dev), (ns, cpu, pid, DevId::new(major, minor)));
        prop_assert_eq!((e.sector, e.bytes, e.error, name), (sector, nr * 512, err, Some(comm)));
    }
}

#[test]
fn a_hostile_line_costs_a_bounded_time() {
    let t = make(
        "{ns} {comm} {text} {event} {sector} {comm_}"
            .replace(" {comm_}", " x")
            .as_str(),
    );
    let l = format!("1{}", " a 1".repeat(200_000));
    let start = std::time::Instant::now();
    assert!(matches!(line(&t, &l), Line::Defect(_)));
    assert!(start.elapsed().as_secs() < 5);
}
