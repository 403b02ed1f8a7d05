//! Figures as pictures. A figure becomes a list of shapes (`layout`), and these become SVG or PNG (`paper`).

mod compact;
mod frame;
mod layout;
mod marks;
mod paper;
mod shapes;
#[cfg(test)]
mod tests;
mod theme;
mod ticks;

pub use theme::Theme;

use crate::error::Result;
use crate::event::DevId;
use crate::metrics::figures::{Figure, Figures};
use crate::present::steers;

/// How figures are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Colours.
    pub theme: Theme,
    /// Pixels across.
    pub width: u32,
    /// Pixels down; `None`: by the number of panels. What does not fit makes the picture higher.
    pub height: Option<u32>,
}

impl Look {
    /// Pixels across, if not told.
    pub const WIDTH: u32 = 900;
    /// The narrowest and the widest, and the least and the greatest height.
    pub const LIMITS: (u32, u32) = (320, 8192);
}

impl Default for Look {
    fn default() -> Self {
        Look {
            theme: Theme::Light,
            width: Look::WIDTH,
            height: None,
        }
    }
}

/// A figure ready to be set into a page.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// Name of the plot.
    pub name: &'static str,
    /// Device.
    pub dev: Option<DevId>,
    /// What it shows, with the device.
    pub title: String,
    /// How to read it, in one line.
    pub about: String,
    /// A whole `<svg>` element, with no id and no style that others could meet.
    pub svg: String,
}

/// What a figure shows, with its device.
pub(crate) fn full_title(f: &Figure) -> String {
    let text = match (&f.device, f.dev) {
        (Some(name), Some(dev)) => format!("{} · {name} ({dev})", f.title),
        (None, Some(dev)) => format!("{} · {dev}", f.title),
        _ => f.title.clone(),
    };
    tame(&text)
}

/// Without what no XML may hold and no terminal should get.
fn tame(text: &str) -> String {
    let clean = |c: char| if steers(c) { '·' } else { c };
    text.chars().map(clean).collect()
}

/// Without such signs in anything that a trace, a file name or an option brought in.
fn tamed(f: &Figure) -> Figure {
    let mut f = f.clone();
    f.source = tame(&f.source);
    f.notes.iter_mut().for_each(|n| *n = tame(n));
    for p in &mut f.panels {
        p.title = tame(&p.title);
        p.series.iter_mut().for_each(|s| s.label = tame(&s.label));
    }
    f
}

/// A figure as SVG.
///
/// # Errors
/// Drawing fails.
pub fn figure_svg(f: &Figure, look: &Look) -> Result<String> {
    let (shapes, height) = shapes_of(f, look);
    let svg = paper::svg(&shapes, (look.width, height), look.theme.paper())?;
    Ok(compact::compact(&svg))
}

/// A figure as PNG.
///
/// # Errors
/// Drawing fails.
pub fn figure_png(f: &Figure, look: &Look) -> Result<Vec<u8>> {
    let (shapes, height) = shapes_of(f, look);
    paper::png(&shapes, (look.width, height), look.theme.paper())
}

fn shapes_of(f: &Figure, look: &Look) -> (Vec<shapes::Shape>, u32) {
    let size = (look.width, look.height);
    layout::layout(&tamed(f), look.theme, size, paper::measure)
}

/// All figures of a trace, in the order of devices and of the list of plots. Feed a [`crate::metrics::figures::Plotter`]
/// beside the other sinks of the pass, and give what its `finish` returns.
///
/// # Errors
/// Drawing fails.
pub fn pictures(all: &Figures, look: &Look) -> Result<Vec<Picture>> {
    let one = |f: &Figure| {
        Ok(Picture {
            name: f.name,
            dev: f.dev,
            title: full_title(f),
            about: f.about.clone(),
            svg: figure_svg(f, look)?,
        })
    };
    all.figures.iter().map(one).collect()
}
