//! Shapes on paper: the only file that names plotters.

use super::shapes::{Anchor, Rgb, Shape};
use crate::error::{Error, Kind, Result};
use plotters::backend::{BitMapBackend, DrawingBackend, SVGBackend};
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, IntoDrawingArea};
use plotters::element::{PathElement, Polygon, Rectangle, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{
    Color, FontStyle, FontTransform, IntoFont, RGBColor, ShapeStyle, TextStyle, register_font,
};
use std::sync::OnceLock;

/// DejaVu Sans, the letters of European languages, signs and arrows. Its licence stands beside it.
const FONT: &[u8] = include_bytes!("font/DejaVuSans.ttf");
/// Browsers choose theirs by this name. DejaVu is wider than the usual ones, so what is measured with it fits.
const FAMILY: &str = "sans-serif";
/// plotters' font sizes are this much greater than the em (plotters 0.3.7, style/font/ab_glyph.rs).
const SIZE_OF_EM: f64 = 1.24;

fn ready() -> bool {
    static READY: OnceLock<bool> = OnceLock::new();
    *READY.get_or_init(|| register_font(FAMILY, FontStyle::Normal, FONT).is_ok())
}

/// Width of a text in pixels.
pub(super) fn measure(text: &str, em: u32) -> f64 {
    let size = f64::from(em) * SIZE_OF_EM;
    let guess = text.chars().count() as f64 * f64::from(em) * 0.65;
    if !ready() {
        return guess;
    }
    // Measured large: the answer is in whole pixels.
    let large = (FAMILY, size * 16.0).into_font().box_size(text);
    large.map_or(guess, |(w, _)| f64::from(w) / 16.0)
}

fn failed(e: impl std::fmt::Display) -> Error {
    Error::new(Kind::Io, format!("cannot draw the figure: {e}"))
}

/// The picture as SVG.
///
/// # Errors
/// Drawing fails.
pub(super) fn svg(shapes: &[Shape], size: (u32, u32), paper: Rgb) -> Result<String> {
    let mut text = String::new();
    paint(SVGBackend::with_string(&mut text, size), shapes, paper)?;
    Ok(text)
}

/// The picture as PNG.
///
/// # Errors
/// Drawing or packing fails.
pub(super) fn png(shapes: &[Shape], size: (u32, u32), paper: Rgb) -> Result<Vec<u8>> {
    let mut pixels = vec![0u8; size.0 as usize * size.1 as usize * 3];
    paint(BitMapBackend::with_buffer(&mut pixels, size), shapes, paper)?;
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, size.0, size.1);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().map_err(failed)?;
    writer.write_image_data(&pixels).map_err(failed)?;
    writer.finish().map_err(failed)?;
    Ok(out)
}

fn rgb((r, g, b): Rgb) -> RGBColor {
    RGBColor(r, g, b)
}

fn paint<B: DrawingBackend>(to: B, shapes: &[Shape], paper: Rgb) -> Result<()> {
    if !ready() {
        return Err(failed("the bundled font is damaged"));
    }
    let area = to.into_drawing_area();
    area.fill(&rgb(paper)).map_err(failed)?;
    for s in shapes {
        shape(&area, s)?;
    }
    area.present().map_err(failed)
}

fn shape<B: DrawingBackend>(area: &DrawingArea<B, Shift>, s: &Shape) -> Result<()> {
    match s {
        Shape::Rect { at, size, color } => {
            let to = (at.0 + size.0, at.1 + size.1);
            area.draw(&Rectangle::new([*at, to], rgb(*color).filled()))
        }
        Shape::Line {
            points,
            color,
            width,
        } => {
            let style = ShapeStyle {
                color: rgb(*color).to_rgba(),
                filled: false,
                stroke_width: *width,
            };
            area.draw(&PathElement::new(points.clone(), style))
        }
        Shape::Area { points, color } => {
            area.draw(&Polygon::new(points.clone(), rgb(*color).filled()))
        }
        Shape::Text {
            at,
            text,
            em,
            color,
            anchor,
            upright,
        } => {
            let font = (FAMILY, f64::from(*em) * SIZE_OF_EM).into_font();
            let font = match upright {
                true => font.transform(FontTransform::Rotate270),
                false => font,
            };
            let across = match anchor {
                Anchor::Start => HPos::Left,
                Anchor::Middle => HPos::Center,
                Anchor::End => HPos::Right,
            };
            let color = rgb(*color);
            let style: TextStyle<'_> = font.color(&color).pos(Pos::new(across, VPos::Center));
            area.draw(&Text::new(text.as_str(), *at, style))
        }
    }
    .map_err(failed)
}
