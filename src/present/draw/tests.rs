use super::shapes::{Anchor, Shape};
use super::*;
use crate::metrics::figures::{Axis, Mark, Panel, Series, Unit};

fn figure(panels: Vec<Panel>, columns: usize) -> Figure {
    Figure {
        name: "latency",
        dev: Some(DevId::new(259, 0)),
        device: Some("nvme0n1".into()),
        title: "Latency over time".into(),
        about: "How long requests took, when they ended; a stronger shade is more of them.".into(),
        source: "a<b>&\"c\u{1b}[31m.gz".into(),
        columns,
        panels,
        notes: vec!["a remark that is long enough to need a second line where the picture is narrow, and a third one".into()],
    }
}

fn panels() -> Vec<Panel> {
    let cells = Mark::Cells {
        x: (0..=50).map(|i| f64::from(i) * 4e7).collect(),
        y: (10..=20).map(|i| 2f64.powi(i)).collect(),
        cells: (0..50).map(|i| (i, i % 10, u64::from(i) + 1)).collect(),
    };
    let steps = Mark::Steps {
        edges: vec![0.0, 1e9, 2e9],
        y: vec![Some(12_345.0), None],
    };
    let bars = Mark::Bars {
        classes: vec![(2048.0, 4096.0), (4096.0, 8192.0)],
        y: vec![30.0, 70.0],
    };
    let time = Axis::time;
    let mut line = Series::new("a rather long name of a series", 1, steps.clone());
    line.dashed = true;
    vec![
        Panel::new(
            "density",
            time(),
            Axis::log("latency", Unit::Ns),
            vec![Series::new("requests", 0, cells)],
        ),
        Panel::new(
            "rate",
            time(),
            Axis::linear("requests", Unit::PerS),
            vec![Series::new("b", 0, steps), line],
        ),
        Panel::new(
            "sizes",
            Axis::log("size", Unit::Bytes),
            Axis::linear("share", Unit::Percent),
            vec![Series::new("c (2)", 0, bars)],
        ),
    ]
}

/// Left, top, right, bottom of a text.
fn place(s: &Shape) -> Option<(i32, i32, i32, i32)> {
    let Shape::Text {
        at,
        text,
        em,
        anchor,
        upright,
        ..
    } = s
    else {
        return None;
    };
    let (w, h) = (paper::measure(text, *em).ceil() as i32, *em as i32);
    let left = match anchor {
        Anchor::Start => 0,
        Anchor::Middle => w / 2,
        Anchor::End => w,
    };
    Some(match upright {
        true => (at.0 - h / 2, at.1 - w / 2, at.0 + h / 2, at.1 + w / 2),
        false => (at.0 - left, at.1 - h / 2, at.0 - left + w, at.1 + h / 2),
    })
}

#[test]
fn texts_stay_on_the_paper_and_off_each_other() {
    for (width, columns) in [(320, 1), (800, 1), (800, 2), (2000, 2)] {
        for height in [None, Some(600)] {
            let look = Look {
                width,
                height,
                ..Look::default()
            };
            let (shapes, height) = shapes_of(&figure(panels(), columns), &look);
            let texts: Vec<_> = shapes.iter().filter_map(|s| Some((place(s)?, s))).collect();
            assert!(texts.len() > 20);
            for (i, (a, s)) in texts.iter().enumerate() {
                let inside = a.0 >= 0 && a.1 >= 0 && a.2 <= width as i32 && a.3 <= height as i32;
                assert!(inside, "{width}: {s:?}");
                for (b, t) in &texts[i + 1..] {
                    let off = a.2 <= b.0 || b.2 <= a.0 || a.3 <= b.1 || b.3 <= a.1;
                    assert!(off, "{width} {columns}: {s:?} {t:?}");
                }
            }
        }
    }
}

#[test]
fn widths_are_those_of_the_font() {
    // DejaVu Sans: 'l' is 569, 'm' 1995 of 2048 units wide.
    let of = |t| paper::measure(t, 2048);
    let per_unit = of("m") / 1995.0;
    assert!(
        (of("l") - 569.0 * per_unit).abs() < 2.0,
        "{} {}",
        of("l"),
        of("m")
    );
    assert!((0.9..1.2).contains(&per_unit), "{per_unit}");
}

#[test]
fn pictures_are_the_same_every_time_and_have_their_size() {
    let (f, look) = (
        figure(panels(), 1),
        Look {
            height: Some(1200),
            ..Look::default()
        },
    );
    let a = figure_png(&f, &look).unwrap();
    assert_eq!(a, figure_png(&f, &look).unwrap());
    assert_eq!(&a[..8], b"\x89PNG\r\n\x1a\n");
    let number = |at: usize| u32::from_be_bytes(a[at..at + 4].try_into().unwrap());
    assert_eq!((number(16), number(20)), (900, 1200));
    let s = figure_svg(&f, &look).unwrap();
    assert_eq!(s, figure_svg(&f, &look).unwrap());
    assert!(
        s.contains("a&lt;b&gt;&amp;&quot;c·[31m.gz"),
        "names are escaped"
    );
}

#[test]
fn themes_keep_their_contrast() {
    // WCAG's relative luminance; 3 is its bar for graphics, 4.5 for text.
    let light = |c: (u8, u8, u8)| {
        let lin = |v: u8| match f64::from(v) / 255.0 {
            v if v <= 0.04045 => v / 12.92,
            v => ((v + 0.055) / 1.055).powf(2.4),
        };
        0.2126 * lin(c.0) + 0.7152 * lin(c.1) + 0.0722 * lin(c.2)
    };
    let contrast = |a, b| {
        let (a, b) = (light(a), light(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    };
    for t in [Theme::Light, Theme::Dark] {
        assert!(contrast(t.ink(), t.paper()) > 7.0);
        assert!(contrast(t.faint(), t.paper()) > 4.5);
        for n in 0..4 {
            assert!(contrast(t.series(n), t.paper()) > 2.9, "{t:?} {n}");
        }
        for l in 0..theme::LEVELS {
            assert!(
                contrast(t.shade(t.series(0), l), t.paper()) > 1.15,
                "{t:?} {l}"
            );
        }
    }
}
