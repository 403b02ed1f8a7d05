//! The list of shapes that a figure becomes, in pixels from the upper left corner.

/// Red, green, blue.
pub type Rgb = (u8, u8, u8);

/// Which point of a text its place names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// Its left end.
    Start,
    /// Its middle.
    Middle,
    /// Its right end.
    End,
}

/// One thing to paint.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// A filled rectangle.
    Rect {
        /// Upper left corner.
        at: (i32, i32),
        /// Width and height.
        size: (i32, i32),
        /// Fill.
        color: Rgb,
    },
    /// A line through points.
    Line {
        /// Points.
        points: Vec<(i32, i32)>,
        /// Stroke.
        color: Rgb,
        /// Its width.
        width: u32,
    },
    /// A filled polygon.
    Area {
        /// Corners.
        points: Vec<(i32, i32)>,
        /// Fill.
        color: Rgb,
    },
    /// A text, vertically centred on its place.
    Text {
        /// Place.
        at: (i32, i32),
        /// Words.
        text: String,
        /// Height of an em.
        em: u32,
        /// Fill.
        color: Rgb,
        /// Which point is at the place.
        anchor: Anchor,
        /// Written upwards.
        upright: bool,
    },
}
