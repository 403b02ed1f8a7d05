//! HTML under construction. Elements close in the order in which they were opened, and whatever a trace, a file name or an
//! option brought in is escaped here and nowhere else.

use crate::present::steers;
use crate::present::wrap::tied;

/// A page, or a piece of one.
pub struct Html {
    out: String,
    open: Vec<&'static str>,
    ids: usize,
}

/// Attributes: name and value; an empty value is the bare name.
pub type Attrs<'a> = &'a [(&'static str, &'a str)];

impl Html {
    /// Nothing yet.
    pub fn new() -> Html {
        Html {
            out: String::new(),
            open: Vec::new(),
            ids: 0,
        }
    }

    /// Bytes so far.
    pub fn len(&self) -> usize {
        self.out.len()
    }

    /// An id that no other element has.
    pub fn id(&mut self, head: &str) -> String {
        self.ids += 1;
        format!("{head}-{}", self.ids)
    }

    /// Opens an element.
    pub fn open(&mut self, tag: &'static str, attrs: Attrs<'_>) {
        self.tag(tag, attrs);
        self.open.push(tag);
    }

    /// Closes the innermost open element.
    pub fn close(&mut self) {
        if let Some(tag) = self.open.pop() {
            self.out.push_str("</");
            self.out.push_str(tag);
            self.out.push('>');
            if !matches!(tag, "a" | "b" | "bdi" | "code" | "span" | "em") {
                self.out.push('\n');
            }
        }
    }

    /// An element that has no content.
    pub fn tag(&mut self, tag: &'static str, attrs: Attrs<'_>) {
        self.out.push('<');
        self.out.push_str(tag);
        for (name, value) in attrs {
            self.out.push(' ');
            self.out.push_str(name);
            if !value.is_empty() {
                self.out.push_str("=\"");
                escape(value, &mut self.out);
                self.out.push('"');
            }
        }
        self.out.push('>');
    }

    /// Text.
    pub fn text(&mut self, text: &str) {
        escape(text, &mut self.out);
    }

    /// An element with text.
    pub fn el(&mut self, tag: &'static str, attrs: Attrs<'_>, text: &str) {
        self.open(tag, attrs);
        self.text(text);
        self.close();
    }

    /// Text of a trace: it may be in letters that run from right to left.
    pub fn name(&mut self, text: &str) {
        self.el("bdi", &[], text);
    }

    /// A sentence about a trace: as a name, and no line is broken between a number and its unit.
    pub fn sentence(&mut self, text: &str) {
        self.name(&tied(text));
    }

    /// A word with its definition one click away.
    pub fn word(&mut self, text: &str, id: &str) {
        let href = format!("#w-{id}");
        self.el("a", &[("class", "w"), ("href", &href)], text);
    }

    /// Markup of our own: the style, the script, pictures.
    pub fn raw(&mut self, markup: &str) {
        self.out.push_str(markup);
    }

    /// The markup, everything closed.
    pub fn finish(mut self) -> String {
        while !self.open.is_empty() {
            self.close();
        }
        self.out
    }
}

/// Characters that show nothing, or act on what stands around them.
fn unseen(c: char) -> bool {
    let shapeless = matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}' | '\u{2029}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}' | '\u{e0000}'..='\u{e007f}');
    steers(c) || shapeless
}

/// Appends text so that it is text in elements and in quoted attributes.
pub fn escape(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if unseen(c) => out.push('·'),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_leave_its_place() {
        let mut h = Html::new();
        h.open("p", &[("title", "a\" onclick='x' <b>")]);
        h.name("</script><script>alert(1)</script>\u{202e}\u{1b}[0m\u{200b}&amp;");
        assert_eq!(
            h.finish(),
            "<p title=\"a&quot; onclick=&#39;x&#39; &lt;b&gt;\"><bdi>&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;··[0m·\
             &amp;amp;</bdi></p>\n"
        );
    }

    #[test]
    fn what_is_open_is_closed() {
        let mut h = Html::new();
        h.open("ul", &[]);
        h.open("li", &[("hidden", "")]);
        h.text("x");
        assert_eq!(h.finish(), "<ul><li hidden>x</li>\n</ul>\n");
    }
}
