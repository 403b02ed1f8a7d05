//! Colours. Those of series are Okabe and Ito's, which people with any kind of colour vision tell apart.

use super::shapes::Rgb;

/// On what the figure is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Theme {
    /// White.
    #[default]
    Light,
    /// Nearly black.
    Dark,
}

const BLUE: Rgb = (0, 114, 178);
const VERMILLION: Rgb = (213, 94, 0);
const GREEN: Rgb = (0, 158, 115);
const PURPLE: Rgb = (204, 121, 167);
const ORANGE: Rgb = (230, 159, 0);
const SKY: Rgb = (86, 180, 233);
const YELLOW: Rgb = (240, 228, 66);

impl Theme {
    /// Every colour of light figures as SVG writes it, and the colour in its place on dark paper.
    pub fn pairs() -> Vec<(String, String)> {
        let hex = |(r, g, b): Rgb| format!("#{r:02X}{g:02X}{b:02X}");
        let mut out: Vec<(String, String)> = Vec::new();
        let (light, dark) = (Theme::Light.all(), Theme::Dark.all());
        for (l, d) in light.into_iter().zip(dark) {
            // The first role of a colour is its own: shades come last.
            if !out.iter().any(|(have, _)| *have == hex(l)) {
                out.push((hex(l), hex(d)));
            }
        }
        out
    }

    /// Every colour, in an order that both themes share.
    fn all(self) -> Vec<Rgb> {
        let mut out = vec![
            self.paper(),
            self.ink(),
            self.faint(),
            self.grid(),
            self.frame(),
        ];
        out.extend((0..SERIES).map(|n| self.series(n)));
        for n in 0..SERIES {
            out.extend((0..LEVELS).map(|level| self.shade(self.series(n), level)));
        }
        out
    }

    /// The paper.
    pub(super) fn paper(self) -> Rgb {
        match self {
            Theme::Light => (255, 255, 255),
            Theme::Dark => (22, 24, 28),
        }
    }

    /// Titles and labels.
    pub(super) fn ink(self) -> Rgb {
        match self {
            Theme::Light => (32, 32, 32),
            Theme::Dark => (228, 228, 228),
        }
    }

    /// What is read second.
    pub(super) fn faint(self) -> Rgb {
        match self {
            Theme::Light => (90, 90, 90),
            Theme::Dark => (170, 170, 170),
        }
    }

    /// Lines of the grid.
    pub(super) fn grid(self) -> Rgb {
        match self {
            Theme::Light => (226, 226, 226),
            Theme::Dark => (52, 55, 62),
        }
    }

    /// The frame, and zone borders.
    pub(super) fn frame(self) -> Rgb {
        match self {
            Theme::Light => (150, 150, 150),
            Theme::Dark => (110, 114, 122),
        }
    }

    /// The colour of a number. Blue is too dark for dark paper and yellow too light for white.
    pub(super) fn series(self, n: usize) -> Rgb {
        let light = [BLUE, VERMILLION, GREEN, PURPLE, ORANGE, self.ink(), SKY];
        let dark = [SKY, VERMILLION, GREEN, PURPLE, ORANGE, self.ink(), YELLOW];
        let all = match self {
            Theme::Light => light,
            Theme::Dark => dark,
        };
        // The remainder is below the length.
        all[n % all.len()]
    }

    /// A shade of a colour: `level` of `LEVELS`, the lowest still seen on the paper.
    pub(super) fn shade(self, color: Rgb, level: usize) -> Rgb {
        let part = 0.28 + 0.72 * level as f64 / (LEVELS - 1) as f64;
        let paper = self.paper();
        let mix =
            |p: u8, c: u8| (f64::from(p) + (f64::from(c) - f64::from(p)) * part).round() as u8;
        // The fullest shade goes on past the hue, so that it stands out of a field of it.
        let full = match (self, level + 1 == LEVELS) {
            (Theme::Light, true) => (color.0 / 3, color.1 / 3, color.2 / 3),
            (Theme::Dark, true) => (
                255 - (255 - color.0) / 3,
                255 - (255 - color.1) / 3,
                255 - (255 - color.2) / 3,
            ),
            _ => color,
        };
        (
            mix(paper.0, full.0),
            mix(paper.1, full.1),
            mix(paper.2, full.2),
        )
    }
}

/// Colours of series.
const SERIES: usize = 7;

/// Shades of a density.
pub(super) const LEVELS: usize = 8;
