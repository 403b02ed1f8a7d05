//! Colours, as few as help to find one's way: names bold, remarks dim, verdicts green, yellow or red.

/// Wraps text in terminal colours, or not.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    on: bool,
}

impl Style {
    /// Colours on or off.
    pub fn new(on: bool) -> Style {
        Style { on }
    }

    fn paint(self, code: &str, s: &str) -> String {
        if self.on && !s.trim().is_empty() {
            format!("\x1b[{code}m{s}\x1b[0m")
        } else {
            s.to_string()
        }
    }

    /// Names.
    pub fn bold(self, s: &str) -> String {
        self.paint("1", s)
    }

    /// Remarks and column heads.
    pub fn dim(self, s: &str) -> String {
        self.paint("2", s)
    }

    /// All is well.
    pub fn good(self, s: &str) -> String {
        self.paint("32", s)
    }

    /// Mind this.
    pub fn care(self, s: &str) -> String {
        self.paint("33", s)
    }

    /// Do not trust.
    pub fn bad(self, s: &str) -> String {
        self.paint("31", s)
    }
}
