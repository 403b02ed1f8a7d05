//! What stands around a report: head, style, contents, the choice of colours, the script.

use super::html::Html;
use super::pictures::Pictures;
use super::{Asked, Trace};
use crate::units::{human_count, human_ns};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");
/// Nothing is loaded, whatever a trace smuggles in.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; \
                      base-uri 'none'; form-action 'none'";
/// More inputs than this are summed up.
const INPUTS: usize = 8;
/// More devices than this have no entry in the contents.
const DEVICES: usize = 24;

/// Entries of the contents: where they lead, and what they say.
pub type Links = Vec<(String, String)>;

/// Entries as they are.
pub fn links(all: &[(&str, &str)]) -> Links {
    let own = |(id, text): &(&str, &str)| (id.to_string(), text.to_string());
    all.iter().map(own).collect()
}

/// The devices' entries.
pub fn devices(titles: &[String]) -> Links {
    let shown = titles.iter().take(DEVICES).enumerate();
    shown.map(|(n, t)| (format!("d-{n}"), t.clone())).collect()
}

/// The head, and the top of the page down to its main part.
pub fn open(title: &str, heading: &str, links: &Links, h: &mut Html) {
    h.raw("<!DOCTYPE html>\n");
    h.open("html", &[("lang", "en")]);
    h.open("head", &[]);
    h.tag("meta", &[("charset", "utf-8")]);
    let policy = [
        ("http-equiv", "Content-Security-Policy"),
        ("content", POLICY),
    ];
    h.tag("meta", &policy);
    let view = [
        ("name", "viewport"),
        ("content", "width=device-width, initial-scale=1"),
    ];
    h.tag("meta", &view);
    h.tag(
        "meta",
        &[("name", "color-scheme"), ("content", "light dark")],
    );
    h.tag("link", &[("rel", "icon"), ("href", "data:,")]);
    h.el("title", &[], title);
    h.open("style", &[]);
    h.raw(STYLE);
    h.raw(&Pictures::colors());
    h.close();
    h.close();
    h.open("body", &[]);
    h.el(
        "a",
        &[("class", "skip"), ("href", "#main")],
        "Skip to the report",
    );
    h.open("header", &[]);
    h.el("h1", &[], heading);
    colors(h);
    h.close();
    h.open("nav", &[("aria-label", "Contents")]);
    h.open("ul", &[]);
    for (id, text) in links {
        h.open("li", &[]);
        h.open("a", &[("href", &format!("#{id}"))]);
        h.name(text);
        h.close();
        h.close();
    }
    h.close();
    h.close();
    h.open("main", &[("id", "main"), ("tabindex", "-1")]);
}

/// Colours: radio buttons that the style looks at, so that no script is needed.
fn colors(h: &mut Html) {
    h.open("fieldset", &[("class", "colors")]);
    h.el("legend", &[], "Colours");
    for (id, text) in [
        ("c-auto", "as the system"),
        ("c-light", "light"),
        ("c-dark", "dark"),
    ] {
        h.open("label", &[]);
        let on: &[(&str, &str)] = if id == "c-auto" {
            &[("checked", "")]
        } else {
            &[]
        };
        let mut attrs = vec![("type", "radio"), ("name", "colors"), ("id", id)];
        attrs.extend(on);
        h.tag("input", &attrs);
        h.text(text);
        h.close();
    }
    h.close();
}

/// What was read.
pub fn inputs(sides: &[&Trace<'_>], asked: &Asked<'_>, h: &mut Html) {
    h.open("ul", &[("class", "inputs")]);
    for (side, name) in sides.iter().zip(["A", "B"]) {
        let r = side.stats;
        for i in r.inputs.iter().take(INPUTS) {
            h.open("li", &[]);
            if sides.len() > 1 {
                h.el("b", &[], name);
                h.text(" ");
            }
            h.open("code", &[]);
            h.name(&i.path);
            h.close();
            let packed = match i.compression.as_str() {
                "none" | "" => String::new(),
                c => format!(", {c}"),
            };
            h.text(&format!(
                " · {}{packed} · {} events",
                i.format,
                human_count(i.events)
            ));
            if let ([_], Some(ns)) = (r.inputs.as_slice(), r.span_ns) {
                h.text(&format!(" in {}", human_ns(ns as f64)));
            }
            h.close();
        }
        let rest = r.inputs.len().saturating_sub(INPUTS);
        if rest > 0 {
            h.el("li", &[], &format!("… and {rest} more inputs"));
        }
        if let (n @ 2.., Some(ns)) = (r.inputs.len(), r.span_ns) {
            let events: u64 = r.inputs.iter().map(|i| i.events).sum();
            let text = format!(
                "together {n} inputs, {} events in {}",
                human_count(events),
                human_ns(ns as f64)
            );
            h.el("li", &[], &text);
        }
    }
    if !asked.selection.is_empty() {
        h.el(
            "li",
            &[],
            &format!("Only a part: {}", asked.selection.join(" ")),
        );
    }
    h.close();
}

/// The end of the page.
pub fn close(pictures: &Pictures, h: &mut Html) {
    h.close();
    h.open("footer", &[]);
    let made = format!(
        "Made by blkan {} from the trace alone.",
        env!("CARGO_PKG_VERSION")
    );
    h.el("p", &[], &made);
    if pictures.missing() {
        h.el("p", &[], pictures::NONE);
    }
    h.close();
    h.open("script", &[]);
    h.raw(SCRIPT);
    h.close();
}

use super::pictures;
