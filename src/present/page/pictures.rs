//! Figures within a page: drawn once, for light paper; the style gives their colours for dark paper.

use super::LIMIT;
use super::html::Html;
use crate::error::Result;
use crate::event::DevId;
use crate::metrics::figures::Figures;

/// Said where figures would be.
pub const NONE: &str = "This build of blkan cannot draw, so there are no figures. One made with the feature plots (it is on by default) \
                        puts them here.";

/// A figure that is drawn.
struct Drawn {
    name: &'static str,
    dev: Option<DevId>,
    title: String,
    about: String,
    notes: Vec<String>,
    svg: String,
}

/// All figures of a report.
pub struct Pictures<'a> {
    all: &'a Figures,
    drawn: Vec<Drawn>,
}

impl Pictures<'_> {
    /// Draws them.
    ///
    /// # Errors
    /// One cannot be drawn.
    pub fn new(all: &Figures) -> Result<Pictures<'_>> {
        Ok(Pictures {
            all,
            drawn: draw(all)?,
        })
    }

    /// Whether this build cannot draw although there is something to draw.
    pub fn missing(&self) -> bool {
        self.drawn.is_empty() && !self.all.figures.is_empty()
    }

    /// Whether there is a figure of the device; `None`: of no device in particular.
    pub fn of(&self, dev: Option<DevId>) -> bool {
        self.all.figures.iter().any(|f| f.dev == dev)
    }

    /// The figures of a device; `spare` bytes are for what follows them.
    pub fn put(&mut self, dev: Option<DevId>, spare: usize, h: &mut Html) {
        let of: Vec<&Drawn> = self.drawn.iter().filter(|d| d.dev == dev).collect();
        if self.missing() {
            h.el("p", &[("class", "note")], NONE);
            return;
        }
        if !of.is_empty() {
            h.el("h3", &[], "Figures");
        }
        figures(&of, spare, h);
        self.skipped(|d| d == dev, h);
    }

    /// All figures.
    pub fn put_all(&mut self, spare: usize, h: &mut Html) {
        if self.missing() {
            h.el("p", &[("class", "note")], NONE);
            return;
        }
        let all: Vec<&Drawn> = self.drawn.iter().collect();
        figures(&all, spare, h);
        self.skipped(|_| true, h);
    }

    /// What cannot be drawn, and why.
    fn skipped(&self, wanted: impl Fn(Option<DevId>) -> bool, h: &mut Html) {
        let of: Vec<_> = self.all.skipped.iter().filter(|s| wanted(s.dev)).collect();
        if of.is_empty() {
            return;
        }
        h.open("details", &[]);
        let s = if of.len() == 1 { "" } else { "s" };
        h.el(
            "summary",
            &[],
            &format!("{} figure{s} that this trace cannot show", of.len()),
        );
        h.open("ul", &[]);
        for s in of {
            h.open("li", &[]);
            h.el("b", &[], s.name);
            h.text(": ");
            h.name(&s.why);
            h.close();
        }
        h.close();
        h.close();
    }
}

fn figures(all: &[&Drawn], spare: usize, h: &mut Html) {
    let mut left = Vec::new();
    for d in all {
        if h.len() + d.svg.len() + spare > LIMIT {
            left.push(d.name);
            continue;
        }
        h.open("figure", &[("class", "fig")]);
        let label = format!("{}. {}", d.title, d.about);
        let scroll = [
            ("class", "scroll"),
            ("role", "group"),
            ("aria-label", &*d.title),
            ("tabindex", "0"),
        ];
        h.open("div", &scroll);
        let mut head = String::from("<svg role=\"img\" aria-label=\"");
        super::html::escape(&label, &mut head);
        head.push_str("\" ");
        h.raw(&head);
        h.raw(d.svg.strip_prefix("<svg ").unwrap_or(&d.svg));
        h.close();
        if !d.notes.is_empty() {
            h.el("figcaption", &[("class", "heard")], &d.notes.join(". "));
        }
        h.close();
    }
    if !left.is_empty() {
        let text = format!(
            "Left out to keep this page small: {}. blkan plot draws them.",
            left.join(", ")
        );
        h.el("p", &[("class", "note")], &text);
    }
}

#[cfg(feature = "plots")]
fn draw(all: &Figures) -> Result<Vec<Drawn>> {
    use crate::present::draw::{Look, pictures};
    let drawn = pictures(all, &Look::default())?;
    let with_notes = drawn.into_iter().zip(&all.figures);
    let one = |(p, f): (
        crate::present::draw::Picture,
        &crate::metrics::figures::Figure,
    )| Drawn {
        name: p.name,
        dev: p.dev,
        title: p.title,
        about: p.about,
        notes: f.notes.clone(),
        svg: p.svg,
    };
    Ok(with_notes.map(one).collect())
}

#[cfg(not(feature = "plots"))]
fn draw(_: &Figures) -> Result<Vec<Drawn>> {
    Ok(Vec::new())
}

impl Pictures<'_> {
    /// The rules that give figures their colours for dark paper.
    #[cfg(feature = "plots")]
    pub fn colors() -> String {
        use crate::present::draw::Theme;
        let mut out = String::from("@supports (color:light-dark(red,red)){");
        for (light, dark) in Theme::pairs() {
            for what in ["fill", "stroke"] {
                out.push_str(&format!(
                    ".fig [{what}=\"{light}\"]{{{what}:light-dark({light},{dark})}}"
                ));
            }
        }
        out.push_str("}\n");
        out
    }

    /// The rules that give figures their colours for dark paper.
    #[cfg(not(feature = "plots"))]
    pub fn colors() -> String {
        String::new()
    }
}
