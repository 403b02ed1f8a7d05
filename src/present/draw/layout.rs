//! A figure as shapes: where titles, legends, axes and remarks stand.

use super::frame::{Frame, Span, x_range, y_range};
use super::marks::marks;
use super::shapes::{Anchor, Shape};
use super::theme::{LEVELS, Theme};
use super::ticks::{Tick, Ticks, ticks};
use crate::metrics::figures::{Figure, Mark, Panel, Series};
use crate::units::human_count;

const EDGE: i32 = 12;
const TITLE: u32 = 17;
const HEAD: u32 = 13;
const TEXT: u32 = 12;
const LINE: i32 = 17;
/// A panel is drawn at least this high,
const LEAST: i32 = 130;
/// and its box at least this, whatever stands above it.
const BOX: i32 = 70;

/// Labels and title of x, below the box.
const BELOW: i32 = 2 * LINE + 8;
/// Air between a box and the right end of its panel.
const RIGHT: i32 = 18;

/// Width of a text in pixels at an em.
pub(super) type Measure = fn(&str, u32) -> f64;

/// A drawing in progress.
struct Page<'a> {
    theme: Theme,
    measure: Measure,
    out: &'a mut Vec<Shape>,
}

/// The shapes of a figure, and its height.
pub(super) fn layout(
    fig: &Figure,
    theme: Theme,
    (width, height): (u32, Option<u32>),
    measure: Measure,
) -> (Vec<Shape>, u32) {
    let mut out = Vec::new();
    let mut page = Page {
        theme,
        measure,
        out: &mut out,
    };
    let width = i32::try_from(width).unwrap_or(i32::MAX);
    let room = width - 2 * EDGE;
    let top = page.head(fig, room);
    let notes: Vec<String> = fig
        .notes
        .iter()
        .flat_map(|n| page.wrapped(n, TEXT, room))
        .collect();
    let foot = notes.len() as i32 * LINE + if notes.is_empty() { 0 } else { 6 };
    let columns = if width < 700 { 1 } else { fig.columns.max(1) } as i32;
    let rows = (fig.panels.len() as i32 + columns - 1) / columns;
    let each = match height.map(|h| i32::try_from(h).unwrap_or(i32::MAX)) {
        Some(h) => (h - top - foot - EDGE) / rows.max(1),
        None if rows == 1 => 340,
        None if columns > 1 => 225,
        None => 250,
    };
    let wide = room / columns;
    let needed = fig.panels.iter().map(|p| page.least(p, wide)).max();
    let each = each.max(LEAST).max(needed.unwrap_or(0));
    for (i, p) in fig.panels.iter().enumerate() {
        let (row, column) = (i as i32 / columns, i as i32 % columns);
        let at = (EDGE + column * wide, top + row * each);
        page.panel(p, &fig.panels, at, (wide, each));
    }
    let below = top + rows * each + 4;
    for (i, line) in notes.iter().enumerate() {
        let y = below + i as i32 * LINE + LINE / 2;
        page.text((EDGE, y), line, TEXT, Anchor::Start, true);
    }
    let end = below + foot + 4;
    (
        out,
        u32::try_from(end).unwrap_or(0).max(height.unwrap_or(0)),
    )
}

impl Page<'_> {
    fn text(&mut self, at: (i32, i32), text: &str, em: u32, anchor: Anchor, faint: bool) {
        let color = match faint {
            true => self.theme.faint(),
            false => self.theme.ink(),
        };
        self.out.push(Shape::Text {
            at,
            text: text.to_string(),
            em,
            color,
            anchor,
            upright: false,
        });
    }

    fn wide(&self, text: &str, em: u32) -> i32 {
        (self.measure)(text, em).ceil() as i32
    }

    /// Lines no wider than the room; words that are wider are cut.
    fn wrapped(&self, text: &str, em: u32, room: i32) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for word in text.split_whitespace() {
            let word = self.cut(word, em, room);
            let longer = lines.last().map(|l| format!("{l} {word}"));
            match (lines.last_mut(), longer) {
                (Some(last), Some(l)) if self.wide(&l, em) <= room => *last = l,
                _ => lines.push(word),
            }
        }
        lines
    }

    fn cut(&self, text: &str, em: u32, room: i32) -> String {
        if self.wide(text, em) <= room {
            return text.to_string();
        }
        let mut kept: Vec<char> = text.chars().collect();
        while !kept.is_empty() {
            kept.pop();
            let shorter: String = kept.iter().collect::<String>() + "…";
            if self.wide(&shorter, em) <= room {
                return shorter;
            }
        }
        String::new()
    }

    /// Title, how to read it, and the trace; returns where they end.
    fn head(&mut self, fig: &Figure, room: i32) -> i32 {
        let mut y = EDGE + 9;
        let title = self.cut(&super::full_title(fig), TITLE, room);
        self.text((EDGE, y), &title, TITLE, Anchor::Start, false);
        y += 22;
        for line in self.wrapped(&fig.about, TEXT, room) {
            self.text((EDGE, y), &line, TEXT, Anchor::Start, true);
            y += LINE;
        }
        if !fig.source.is_empty() {
            let source = self.cut(&fig.source, TEXT, room);
            self.text((EDGE, y), &source, TEXT, Anchor::Start, true);
            y += LINE;
        }
        y
    }

    /// The height that a panel of this width needs for its title and legend, and for a box that shows something.
    fn least(&self, p: &Panel, wide: i32) -> i32 {
        let mut scratch = Page {
            theme: self.theme,
            measure: self.measure,
            out: &mut Vec::new(),
        };
        scratch.above(p, (0, 0), wide) + BOX + BELOW
    }

    /// Title and legend; returns where the box begins.
    fn above(&mut self, p: &Panel, at: (i32, i32), wide: i32) -> i32 {
        let mut top = at.1 + LINE / 2 + 4;
        let room = wide - 8;
        for line in self.wrapped(&p.title, HEAD, room) {
            self.text((at.0, top), &line, HEAD, Anchor::Start, false);
            top += LINE;
        }
        // Half the height of the label at the upper end of y stands above the box.
        self.legend(p, (at.0, top), room) + 8
    }

    fn panel(&mut self, p: &Panel, all: &[Panel], at: (i32, i32), size: (i32, i32)) {
        let top = self.above(p, at, size.0);
        let bottom = at.1 + size.1 - BELOW;
        let (xr, yr) = (x_range(p, all), y_range(p));
        let rows = Span::new(&p.y, yr, bottom, top);
        let measure = self.measure;
        let y_ticks = ticks(&p.y, yr, |t| apart(t, |v| rows.at(v), |_| 20));
        let labels = y_ticks.at.iter().map(|t| self.wide(&t.1, TEXT));
        let left = at.0 + LINE + labels.max().unwrap_or(0) + 8;
        let right = (at.0 + size.0 - RIGHT).max(left + 40);
        let columns = Span::new(&p.x, xr, left, right);
        let wide = |t: &str| measure(t, TEXT).ceil() as i32 + 14;
        let x_ticks = ticks(&p.x, xr, |t| apart(t, |v| columns.at(v), |t| wide(t)));
        let frame = Frame {
            x: columns,
            y: rows,
            at: (left, top),
            size: (right - left, bottom - top),
        };
        self.grid(&frame, &x_ticks, &y_ticks);
        marks(p, &frame, self.theme, self.out);
        self.rules(p, &frame);
        self.border(&frame);
        self.axes(&frame, &x_ticks, &y_ticks, at.0);
    }

    fn line(&mut self, points: Vec<(i32, i32)>, color: super::shapes::Rgb) {
        self.out.push(Shape::Line {
            points,
            color,
            width: 1,
        });
    }

    fn grid(&mut self, f: &Frame, x: &Ticks, y: &Ticks) {
        let (left, top) = f.at;
        let (right, bottom) = (left + f.size.0, top + f.size.1);
        let color = self.theme.grid();
        for (v, _) in &x.at {
            let x = f.x.at(*v);
            self.line(vec![(x, top), (x, bottom)], color);
        }
        for (v, _) in &y.at {
            let y = f.y.at(*v);
            self.line(vec![(left, y), (right, y)], color);
        }
    }

    fn rules(&mut self, p: &Panel, f: &Frame) {
        let color = self.theme.frame();
        for v in &p.rules {
            let y = f.y.at(*v);
            self.line(vec![(f.at.0, y), (f.at.0 + f.size.0, y)], color);
        }
    }

    fn border(&mut self, f: &Frame) {
        let (left, top) = f.at;
        let (right, bottom) = (left + f.size.0, top + f.size.1);
        let color = self.theme.frame();
        self.line(vec![(left, top), (left, bottom), (right, bottom)], color);
    }

    fn axes(&mut self, f: &Frame, x: &Ticks, y: &Ticks, edge: i32) {
        let (left, top) = f.at;
        let bottom = top + f.size.1;
        let page = edge + LINE / 2;
        for (v, label) in &y.at {
            let at = (left - 5, f.y.at(*v));
            self.text(at, label, TEXT, Anchor::End, true);
        }
        for (v, label) in &x.at {
            // The last may be wider than the air beside the box: it stands as far left as it must.
            let most = left + f.size.0 + RIGHT - 2 - self.wide(label, TEXT) / 2;
            let at = (f.x.at(*v).min(most), bottom + LINE / 2 + 5);
            self.text(at, label, TEXT, Anchor::Middle, true);
        }
        let middle = left + f.size.0 / 2;
        let title = self.cut(&x.title, TEXT, f.size.0);
        let at = (middle, bottom + LINE + LINE / 2 + 2);
        self.text(at, &title, TEXT, Anchor::Middle, false);
        let title = self.cut(&y.title, TEXT, f.size.1 + LINE);
        let color = self.theme.ink();
        self.out.push(Shape::Text {
            at: (page - 2, top + f.size.1 / 2),
            text: title,
            em: TEXT,
            color,
            anchor: Anchor::Middle,
            upright: true,
        });
    }

    /// A sample and a name for each series; the shades of a density. Returns where it ends.
    fn legend(&mut self, p: &Panel, at: (i32, i32), room: i32) -> i32 {
        let (mut x, mut y) = at;
        for s in p.series.iter().filter(|s| !s.label.is_empty()) {
            let label = self.cut(&s.label, TEXT, room - 40);
            let most = match &s.mark {
                // One hit a cell: one shade, which needs no scale.
                Mark::Cells { cells, .. } => cells.iter().map(|c| c.2).max().filter(|n| *n > 1),
                _ => None,
            };
            let texts = most.map(|m| {
                (
                    "1".to_string(),
                    format!("{} {label} a cell", human_count(m)),
                )
            });
            let wide = match &texts {
                Some((a, b)) => self.wide(a, TEXT) + self.wide(b, TEXT) + 8 * LEVELS as i32 + 14,
                None => 22 + self.wide(&label, TEXT),
            };
            if x > at.0 && x + wide > at.0 + room {
                (x, y) = (at.0, y + LINE);
            }
            match texts {
                Some((a, b)) => self.shades(s, (x, y), &a, &b),
                None => self.sample(s, (x, y), &label),
            }
            x += wide + 18;
        }
        y + LINE / 2 + 2
    }

    fn sample(&mut self, s: &Series, (x, y): (i32, i32), label: &str) {
        let color = self.theme.series(s.color);
        let rect = |at, size| Shape::Rect { at, size, color };
        match (&s.mark, s.dashed) {
            (Mark::Line { .. } | Mark::Steps { .. }, false) => {
                self.out.push(rect((x, y - 1), (16, 3)));
            }
            (Mark::Line { .. } | Mark::Steps { .. }, true) => {
                self.out.push(rect((x, y - 1), (7, 3)));
                self.out.push(rect((x + 10, y - 1), (6, 3)));
            }
            _ => self.out.push(rect((x + 2, y - 5), (11, 11))),
        }
        self.text((x + 21, y), label, TEXT, Anchor::Start, true);
    }

    fn shades(&mut self, s: &Series, (x, y): (i32, i32), least: &str, most: &str) {
        let color = self.theme.series(s.color);
        self.text((x, y), least, TEXT, Anchor::Start, true);
        let x = x + self.wide(least, TEXT) + 5;
        for level in 0..LEVELS {
            let color = self.theme.shade(color, level);
            self.out.push(Shape::Rect {
                at: (x + 8 * level as i32, y - 5),
                size: (8, 10),
                color,
            });
        }
        let at = (x + 8 * LEVELS as i32 + 5, y);
        self.text(at, most, TEXT, Anchor::Start, true);
    }
}

/// Whether labels leave room between each other: `place` of a value, and what a label needs.
fn apart(t: &[Tick], place: impl Fn(f64) -> i32, needs: impl Fn(&str) -> i32) -> bool {
    t.iter().zip(t.iter().skip(1)).all(|(a, b)| {
        let distance = (place(b.0) - place(a.0)).abs();
        2 * distance >= needs(&a.1) + needs(&b.1)
    })
}
