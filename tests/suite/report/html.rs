//! A strict reader of the pages that blkan writes: every element is closed where it was opened, or it is an error.

use std::collections::BTreeMap;

/// An element, or (without a tag) text.
#[derive(Debug, Default)]
pub struct Node {
    pub tag: String,
    pub attrs: BTreeMap<String, String>,
    pub children: Vec<Node>,
    pub text: String,
}

/// Elements without content.
const VOID: [&str; 4] = ["meta", "link", "input", "br"];
/// Elements whose content is no markup.
const RAW: [&str; 2] = ["script", "style"];

impl Node {
    pub fn attr(&self, name: &str) -> Option<&str> {
        self.attrs.get(name).map(String::as_str)
    }

    pub fn is(&self, tag: &str) -> bool {
        self.tag == tag
    }

    /// This element and all in it, in order.
    pub fn all(&self) -> Vec<&Node> {
        let mut out = vec![self];
        self.children.iter().for_each(|c| out.extend(c.all()));
        out
    }

    pub fn find<'a>(&'a self, tag: &'a str) -> impl Iterator<Item = &'a Node> {
        self.all().into_iter().filter(move |n| n.is(tag))
    }

    pub fn by_id(&self, id: &str) -> Option<&Node> {
        self.all().into_iter().find(|n| n.attr("id") == Some(id))
    }

    /// All text in it, of scripts and styles too.
    pub fn content(&self) -> String {
        let mut out = self.text.clone();
        self.children
            .iter()
            .for_each(|c| out.push_str(&c.content()));
        out
    }

    /// The same with blanks made one.
    pub fn words(&self) -> String {
        self.content()
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    }
}

/// The whole page.
pub fn parse(page: &str) -> Result<Node, String> {
    let rest = page.strip_prefix("<!DOCTYPE html>").ok_or("no doctype")?;
    let mut stack = vec![Node::default()];
    let mut rest = rest;
    while !rest.is_empty() {
        if !rest.starts_with('<') {
            let end = rest.find('<').unwrap_or(rest.len());
            add_text(&mut stack, &rest[..end])?;
            rest = &rest[end..];
            continue;
        }
        let end = rest.find('>').ok_or("a tag is not closed")?;
        let (inner, after) = (&rest[1..end], &rest[end + 1..]);
        rest = after;
        if let Some(name) = inner.strip_prefix('/') {
            close(&mut stack, name)?;
            continue;
        }
        let node = open(inner.strip_suffix('/').unwrap_or(inner))?;
        let done = VOID.contains(&&*node.tag) || inner.ends_with('/');
        let raw = RAW.contains(&&*node.tag);
        let tag = node.tag.clone();
        match done {
            true => last(&mut stack)?.children.push(node),
            false => stack.push(node),
        }
        if raw {
            let end = rest
                .find(&format!("</{tag}>"))
                .ok_or("a script is not closed")?;
            last(&mut stack)?.text.push_str(&rest[..end]);
            rest = &rest[end..];
        }
    }
    match stack.len() {
        1 => Ok(stack.remove(0)),
        _ => Err(format!("{} is not closed", stack[stack.len() - 1].tag)),
    }
}

fn last(stack: &mut [Node]) -> Result<&mut Node, String> {
    stack.last_mut().ok_or("nothing is open".to_string())
}

fn close(stack: &mut Vec<Node>, name: &str) -> Result<(), String> {
    let node = stack.pop().ok_or("nothing is open")?;
    if node.tag != name {
        return Err(format!("</{name}> closes <{}>", node.tag));
    }
    last(stack)?.children.push(node);
    Ok(())
}

fn add_text(stack: &mut [Node], raw: &str) -> Result<(), String> {
    let text = unescaped(raw)?;
    let node = last(stack)?;
    if node.tag.is_empty() && !text.trim().is_empty() {
        return Err(format!("text outside of the page: {text}"));
    }
    node.children.push(Node {
        text,
        ..Node::default()
    });
    Ok(())
}

fn open(inner: &str) -> Result<Node, String> {
    let name_end = inner.find([' ', '\n']).unwrap_or(inner.len());
    let (tag, mut rest) = inner.split_at(name_end);
    if tag.is_empty() || !tag.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
        return Err(format!("<{inner}> is no tag"));
    }
    let mut attrs = BTreeMap::new();
    loop {
        rest = rest.trim_start();
        if rest.is_empty() {
            break;
        }
        let end = rest.find(['=', ' ']).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        let (value, after) = match after.strip_prefix("=\"") {
            Some(v) => v
                .split_once('"')
                .ok_or(format!("<{inner}>: a value is open"))?,
            None if after.starts_with('=') => return Err(format!("<{inner}>: a value is bare")),
            None => ("", after),
        };
        if attrs.insert(name.to_string(), unescaped(value)?).is_some() {
            return Err(format!("<{inner}>: {name} twice"));
        }
        rest = after;
    }
    Ok(Node {
        tag: tag.to_string(),
        attrs,
        ..Node::default()
    })
}

fn unescaped(raw: &str) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = raw;
    while let Some((before, after)) = rest.split_once('&') {
        out.push_str(before);
        let (name, tail) = after.split_once(';').ok_or(format!("a bare & in {raw}"))?;
        out.push(match name {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "apos" | "#39" => '\'',
            other => return Err(format!("&{other}; in {raw}")),
        });
        rest = tail;
    }
    out.push_str(rest);
    Ok(out)
}

#[test]
fn what_is_not_well_formed_is_seen() {
    let page = |body: &str| parse(&format!("<!DOCTYPE html><html>{body}</html>"));
    assert!(page("<p a=\"1\" b>x &amp; y<br></p><svg><path d=\"M0\"/></svg>").is_ok());
    for bad in [
        "<p>",
        "<p></b>",
        "<b><p></b></p>",
        "<p a=1></p>",
        "<p a=\"1\" a=\"2\"></p>",
        "<p>a & b</p>",
        "<p>&bad;</p>",
        "<p>1 < 2</p>",
        "<script>",
    ] {
        assert!(page(bad).is_err(), "{bad}");
    }
    let tree = page("<p id=\"x\">a <i>b</i>\n c</p>").expect("well formed");
    assert_eq!(tree.by_id("x").expect("there").words(), "a b c");
}
