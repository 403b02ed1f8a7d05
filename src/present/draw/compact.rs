//! SVG in fewer bytes: rectangles of one colour that follow each other become one path. A density of thousands of cells
//! shrinks to a fifth.

/// The same picture, shorter. Lines that are not exactly such rectangles stay as they are.
pub(super) fn compact(svg: &str) -> String {
    let mut out = String::with_capacity(svg.len() / 2);
    let mut path: Option<(&str, String)> = None;
    for line in svg.lines() {
        match (rect(line), &mut path) {
            (Some((fill, piece)), Some((of, d))) if fill == *of => d.push_str(&piece),
            (found, open) => {
                close(open.take(), &mut out);
                match found {
                    Some(first) => path = Some(first),
                    None => {
                        out.push_str(line);
                        out.push('\n');
                    }
                }
            }
        }
    }
    close(path, &mut out);
    out
}

fn close(path: Option<(&str, String)>, out: &mut String) {
    if let Some((fill, d)) = path {
        out.push_str(&format!("<path fill=\"{fill}\" d=\"{d}\"/>\n"));
    }
}

/// The fill of an opaque rectangle without a stroke, and the rectangle as a piece of a path.
fn rect(line: &str) -> Option<(&str, String)> {
    let rest = line.strip_prefix("<rect x=\"")?;
    let (x, rest) = rest.split_once("\" y=\"")?;
    let (y, rest) = rest.split_once("\" width=\"")?;
    let (w, rest) = rest.split_once("\" height=\"")?;
    let (h, rest) = rest.split_once("\" opacity=\"1\" fill=\"")?;
    let (fill, rest) = rest.split_once('"')?;
    (rest == " stroke=\"none\"/>").then(|| (fill, format!("M{x} {y}h{w}v{h}h-{w}z")))
}

#[cfg(test)]
mod tests {
    use super::compact;

    #[test]
    fn neighbours_of_one_colour_are_one_path() {
        let rect = |x, fill| {
            format!(
                "<rect x=\"{x}\" y=\"2\" width=\"3\" height=\"4\" opacity=\"1\" fill=\"{fill}\" stroke=\"none\"/>\n"
            )
        };
        let other = "<rect x=\"1\" y=\"2\" width=\"3\" height=\"4\" opacity=\"0.5\" fill=\"#000000\" stroke=\"none\"/>\n";
        let all = format!(
            "<svg>\n{}{}{}{other}</svg>\n",
            rect(1, "#A"),
            rect(5, "#A"),
            rect(9, "#B")
        );
        let want = format!(
            "<svg>\n<path fill=\"#A\" d=\"M1 2h3v4h-3zM5 2h3v4h-3z\"/>\n<path fill=\"#B\" d=\"M9 2h3v4h-3z\"/>\n{other}</svg>\n"
        );
        assert_eq!(compact(&all), want);
    }
}
