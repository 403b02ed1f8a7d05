//! A figure as data: what is drawn, not how. [`crate::present`] turns it into SVG, PNG or JSON.

use crate::event::DevId;
use serde::Serialize;

/// What an axis counts in. Values are in base units; whoever draws chooses ms or GiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// ns.
    Ns,
    /// Bytes.
    Bytes,
    /// Bytes a second.
    BytesPerS,
    /// Things a second.
    PerS,
    /// Things.
    Count,
    /// Hundredths.
    Percent,
    /// Nothing: numbered places beside each other, the first from 0 to 1.
    Nothing,
}

/// How values are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// From zero, or (times, positions) from the least value.
    Linear,
    /// By powers; holds no zero.
    Log,
}

/// An axis.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Axis {
    /// What is counted, without the unit.
    pub title: String,
    /// In what.
    pub unit: Unit,
    /// How.
    pub scale: Scale,
    /// Whether the axis must begin at 0.
    pub zero: bool,
    /// Its ends, where they are not to follow from the marks.
    pub range: Option<(f64, f64)>,
}

impl Axis {
    /// A linear axis from zero.
    pub fn linear(title: &str, unit: Unit) -> Axis {
        Axis {
            title: title.to_string(),
            unit,
            scale: Scale::Linear,
            zero: true,
            range: None,
        }
    }

    /// A logarithmic axis.
    pub fn log(title: &str, unit: Unit) -> Axis {
        Axis {
            scale: Scale::Log,
            zero: false,
            ..Axis::linear(title, unit)
        }
    }

    /// The time of the trace.
    pub fn time() -> Axis {
        Axis {
            zero: false,
            ..Axis::linear(TIME, Unit::Ns)
        }
    }

    /// With these ends.
    pub fn within(mut self, from: f64, to: f64) -> Axis {
        self.range = Some((from, to));
        self
    }
}

/// The title of time axes; those of comparisons begin at 0.
pub const TIME: &str = "time in the trace";

/// What is drawn. Coordinates are in the axes' base units.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Mark {
    /// A line through points; a null ends it, and another begins behind.
    Line {
        /// x, and y or nothing.
        points: Vec<(f64, Option<f64>)>,
    },
    /// A level over each interval: y `n` from edge `n` to edge `n + 1`; null: not known there.
    Steps {
        /// One more than levels.
        edges: Vec<f64>,
        /// Levels.
        y: Vec<Option<f64>>,
    },
    /// An area over each interval, from `low` to `high`.
    Band {
        /// One more than levels.
        edges: Vec<f64>,
        /// Lower end.
        low: Vec<f64>,
        /// Upper end.
        high: Vec<f64>,
    },
    /// A bar over each class. Bars of several series share the width of the class.
    Bars {
        /// Begin and end of each class.
        classes: Vec<(f64, f64)>,
        /// Heights.
        y: Vec<f64>,
    },
    /// How often a cell was hit.
    Cells {
        /// Edges of columns.
        x: Vec<f64>,
        /// Edges of rows.
        y: Vec<f64>,
        /// Column, row, hits; nothing for cells never hit.
        cells: Vec<(u32, u32, u64)>,
    },
    /// Intervals, each at its level.
    Spans {
        /// Begin, end, level.
        spans: Vec<(f64, f64, f64)>,
    },
}

/// Marks with a name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Series {
    /// For the legend.
    pub label: String,
    /// Number of the colour.
    pub color: usize,
    /// Drawn dashed (lines of the second trace of a comparison).
    pub dashed: bool,
    /// What is drawn.
    pub mark: Mark,
}

impl Series {
    /// A series of the trace, or of a comparison's first.
    pub fn new(label: impl Into<String>, color: usize, mark: Mark) -> Series {
        Series {
            label: label.into(),
            color,
            dashed: false,
            mark,
        }
    }
}

/// A pair of axes with what is drawn between them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Panel {
    /// What it shows.
    pub title: String,
    /// Across.
    pub x: Axis,
    /// Up.
    pub y: Axis,
    /// In order of drawing.
    pub series: Vec<Series>,
    /// Levels with a thin line each (zones): y values.
    pub rules: Vec<f64>,
}

impl Panel {
    /// A panel without rules.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis, series: Vec<Series>) -> Panel {
        Panel {
            title: title.into(),
            x,
            y,
            series,
            rules: Vec::new(),
        }
    }
}

/// A picture: one plot of one device.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// Name of the plot.
    pub name: &'static str,
    /// Device number; null: all devices (plugs of recorders that do not tell).
    pub dev: Option<DevId>,
    /// Device name, where known.
    pub device: Option<String>,
    /// What it shows.
    pub title: String,
    /// How to read it, in one line.
    pub about: String,
    /// Trace, or traces.
    pub source: String,
    /// Panels beside each other.
    pub columns: usize,
    /// Row by row.
    pub panels: Vec<Panel>,
    /// What must be known besides: what is left out, and why.
    pub notes: Vec<String>,
}

/// A picture that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// Name of the plot.
    pub name: &'static str,
    /// Device.
    pub dev: Option<DevId>,
    /// Device name.
    pub device: Option<String>,
    /// Why.
    pub why: String,
}

/// All pictures of a trace, in the order of devices and of the registry.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// `blkan.plot/1`.
    pub schema: &'static str,
    /// What can be drawn.
    pub figures: Vec<Figure>,
    /// What cannot.
    pub skipped: Vec<Skipped>,
}

impl Figures {
    /// None yet.
    pub fn new() -> Figures {
        Figures {
            schema: "blkan.plot/1",
            figures: Vec::new(),
            skipped: Vec::new(),
        }
    }
}

impl Default for Figures {
    fn default() -> Self {
        Figures::new()
    }
}

/// The least and the greatest.
fn ends(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |have, v| {
        let (lo, hi) = have.unwrap_or((v, v));
        Some((lo.min(v), hi.max(v)))
    })
}

impl Mark {
    /// The least and the greatest x.
    pub fn x_ends(&self) -> Option<(f64, f64)> {
        match self {
            Mark::Line { points } => ends(points.iter().map(|p| p.0)),
            Mark::Steps { edges, .. } | Mark::Band { edges, .. } => ends(edges.iter().copied()),
            Mark::Bars { classes, .. } => ends(classes.iter().flat_map(|c| [c.0, c.1])),
            Mark::Cells { x, .. } => ends(x.iter().copied()),
            Mark::Spans { spans } => ends(spans.iter().flat_map(|s| [s.0, s.1])),
        }
    }

    /// The least and the greatest y.
    pub fn y_ends(&self) -> Option<(f64, f64)> {
        match self {
            Mark::Line { points } => ends(points.iter().filter_map(|p| p.1)),
            Mark::Steps { y, .. } => ends(y.iter().flatten().copied()),
            Mark::Band { low, high, .. } => ends(low.iter().chain(high).copied()),
            Mark::Bars { y, .. } => ends(y.iter().copied()),
            Mark::Cells { y, .. } => ends(y.iter().copied()),
            Mark::Spans { spans } => ends(spans.iter().map(|s| s.2)),
        }
    }

    /// Moves everything along x.
    pub fn shift(&mut self, by: f64) {
        let move_all = |v: &mut Vec<f64>| v.iter_mut().for_each(|x| *x += by);
        match self {
            Mark::Line { points } => points.iter_mut().for_each(|p| p.0 += by),
            Mark::Steps { edges, .. } | Mark::Band { edges, .. } => move_all(edges),
            Mark::Bars { classes, .. } => classes.iter_mut().for_each(|c| {
                c.0 += by;
                c.1 += by;
            }),
            Mark::Cells { x, .. } => move_all(x),
            Mark::Spans { spans } => spans.iter_mut().for_each(|s| {
                s.0 += by;
                s.1 += by;
            }),
        }
    }
}
