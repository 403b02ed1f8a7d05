use super::*;
use crate::event::CommId;
use crate::format::SkipRule;

fn make(formats: &[&str]) -> Result<Template> {
    let all: Vec<String> = formats.iter().map(ToString::to_string).collect();
    compile(&all)
}

fn template(formats: &[&str]) -> Template {
    make(formats).unwrap_or_else(|e| panic!("{formats:?}: {e}"))
}

fn one(t: &Template, line: &str) -> Line {
    t.parse_line(line.as_bytes(), &mut LineCtx::default())
}

fn action(t: &Template, line: &str) -> std::result::Result<Action, Defect> {
    match one(t, line) {
        Line::Event(e) => Ok(e.action),
        Line::Defect(d) => Err(d),
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn a_line_that_two_actions_fit_is_damage_by_its_own_name() {
    let t = template(&["D,a %T.%t %C", "C,a %T.%t %C b"]);
    assert_eq!(action(&t, "a 1.000000000 dd"), Ok(Action::Issue));
    let both = action(&t, "a 1.000100000 dd b");
    assert_eq!(both, Err(Defect::Ambiguous));
    assert_eq!(Defect::Ambiguous.name(), "ambiguous_line");
    // A shape that only one can have decides, whatever the order in which they were given.
    for formats in [
        ["D,x %T.%t %S", "C,x %T.%t %S %e"],
        ["C,x %T.%t %S %e", "D,x %T.%t %S"],
    ] {
        let t = template(&formats);
        assert_eq!(action(&t, "x 1.000000000 8"), Ok(Action::Issue));
        assert_eq!(action(&t, "x 1.000000000 8 0"), Ok(Action::Complete));
    }
}

#[test]
fn an_actions_own_format_is_for_no_other() {
    // Both name the action: each line has the format of its own.
    let t = template(&["C,%a %T.%t %S %e", "%a %T.%t %S %C"]);
    let mut ctx = LineCtx::default();
    let Line::Event(q) = t.parse_line(b"Q 1.000000000 8 7", &mut ctx) else {
        panic!("an event");
    };
    assert_eq!((q.action, q.error), (Action::Queue, 0));
    assert_eq!(ctx.comms.name(q.comm).as_deref(), Some("7"));
    let Line::Event(c) = t.parse_line(b"C 1.000000000 8 65531", &mut ctx) else {
        panic!("an event");
    };
    assert_eq!(
        (c.action, c.error, c.comm),
        (Action::Complete, -5, CommId::NONE)
    );
    // The format of U serves UT.
    let t = template(&["U,%a %T.%t %U", "%a %T.%t %S"]);
    assert_eq!(action(&t, "UT 1.000000000 3"), Ok(Action::UnplugTimer));
}

#[test]
fn a_wide_format_does_not_take_blkparses_own_lines() {
    let t = template(&["D,%D %c %s %T.%t %p %C"]);
    let own = "  8,0    0        1     0.000000001   179  Q  WS 0 + 4 [dd]";
    assert_eq!(action(&t, own), Err(Defect::Ambiguous));
    assert_eq!(
        action(&t, "  8,0    0        1     0.000000001   179 fio"),
        Ok(Action::Issue)
    );
    let message = "8,16 5 0 0.000012990 0 m N cfq1S / preempt";
    assert!(matches!(
        one(&template(&["D,go %T.%t"]), message),
        Line::Skip(SkipRule::Message)
    ));
}

#[test]
fn digits_behind_a_number_are_not_its_own() {
    let sector = |format: &str, line: &str| match one(&template(&[format]), line) {
        Line::Event(e) => Some((e.sector, e.bytes)),
        _ => None,
    };
    for (format, line, want) in [
        ("Q,%T.%t %S1", "1.000000000 81", Some((8, 0))),
        ("Q,%T.%t %S1", "1.000000000 111", Some((11, 0))),
        // Nothing is left for the number, or the text is not there.
        ("Q,%T.%t %S1", "1.000000000 1", None),
        ("Q,%T.%t %S1", "1.000000000 82", None),
        ("Q,%T.%t %S00 %n", "1.000000000 800 4", Some((8, 2048))),
        ("Q,%T.%t %S0x%n", "1.000000000 80x4", Some((8, 2048))),
        ("Q,%T.%t %8S1", "1.000000000        81", Some((8, 0))),
        ("Q,%T.%t %-8S1", "1.000000000 8       1", Some((8, 0))),
        ("Q,%T.%t1 %S", "1.0000000021 8", Some((8, 0))),
    ] {
        assert_eq!(sector(format, line), want, "{format}: {line}");
    }
    let t = template(&["Q,%T.%t %D1 %S"]);
    assert!(matches!(one(&t, "1.000000000 8,01 8"), Line::Event(e) if e.dev.to_string() == "8,0"));
    for f in ["Q,%T.%t %S1%n", "Q,%T.%t %S1%8n", "Q,%T.%t %S1%C"] {
        let said = make(&[f]).map(|_| ()).expect_err(f).to_string();
        assert!(said.contains("the number's end is unknown"), "{said}");
        assert!(said.contains("hint:"), "{said}");
    }
}
