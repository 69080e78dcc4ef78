//! One drawing as text: a tree of elements, its attributes and texts escaped; nothing in it runs or is fetched.
use std::fmt::Write as _;

use super::label::{SIZE, visible};

/// An element with its attributes and what is inside it.
#[derive(Clone, Debug, PartialEq)]
pub struct Element {
    name: &'static str,
    attributes: Vec<(&'static str, String)>,
    inside: Vec<Inside>,
}

#[derive(Clone, Debug, PartialEq)]
enum Inside {
    Element(Element),
    Text(String),
}

impl Element {
    /// An empty element.
    #[must_use]
    pub fn new(name: &'static str) -> Element {
        Element { name, attributes: Vec::new(), inside: Vec::new() }
    }

    /// With an attribute; its value is escaped when it is written.
    #[must_use]
    pub fn set(mut self, name: &'static str, value: impl Into<String>) -> Element {
        self.attributes.push((name, value.into()));
        self
    }

    /// With a position or length, in hundredths of the drawing's unit.
    #[must_use]
    pub fn at(self, name: &'static str, value: f64) -> Element {
        self.set(name, position(value))
    }

    /// With a measured value such that reading it gives the same number; without it where there is none.
    #[must_use]
    pub fn exact(self, name: &'static str, value: Option<f64>) -> Element {
        match value.filter(|value| value.is_finite()) {
            Some(value) => self.set(name, value.to_string()),
            None => self,
        }
    }

    /// With an element inside.
    #[must_use]
    pub fn with(mut self, inside: Element) -> Element {
        self.inside.push(Inside::Element(inside));
        self
    }

    /// With elements inside.
    #[must_use]
    pub fn with_all(mut self, inside: impl IntoIterator<Item = Element>) -> Element {
        self.inside.extend(inside.into_iter().map(Inside::Element));
        self
    }

    /// With text inside, escaped when it is written.
    #[must_use]
    pub fn text(mut self, text: impl Into<String>) -> Element {
        self.inside.push(Inside::Text(text.into()));
        self
    }

    /// Without its class and the attributes of a mark: a sign in a legend stands for no value.
    #[must_use]
    pub fn without_class(mut self) -> Element {
        self.attributes.retain(|(name, _)| *name != "class" && !name.starts_with("data-"));
        self
    }

    fn write(&self, out: &mut String) {
        let _ = write!(out, "<{}", self.name);
        for (name, value) in &self.attributes {
            let _ = write!(out, " {name}=\"{}\"", escaped(value));
        }
        if self.inside.is_empty() {
            out.push_str("/>");
            return;
        }
        out.push('>');
        for inside in &self.inside {
            match inside {
                Inside::Element(element) => element.write(out),
                Inside::Text(text) => out.push_str(&escaped(text)),
            }
        }
        let _ = write!(out, "</{}>", self.name);
    }
}

/// A whole drawing of `width` × `height` units: named and described for readers who do not see it, on paper of its own. It is
/// one image, or a group where points in it can be reached by keys: nothing inside an image can.
#[must_use]
pub fn document(title: &str, desc: &str, (width, height): (f64, f64), stops: bool, body: Vec<Element>) -> String {
    let paper = Element::new("rect").set("class", "pb-paper").set("fill", super::palette::PAPER);
    let drawing = Element::new("svg")
        .set("xmlns", "http://www.w3.org/2000/svg")
        .set("class", "pb-picture")
        .set("role", if stops { "group" } else { "img" })
        .set("viewBox", format!("0 0 {} {}", position(width), position(height)))
        .set("font-family", "system-ui, sans-serif")
        .set("font-size", SIZE.to_string())
        .with(Element::new("title").text(title))
        .with(Element::new("desc").text(desc))
        .with(paper.at("width", width).at("height", height))
        .with_all(body);
    let mut out = String::new();
    drawing.write(&mut out);
    out
}

/// A number of the drawing's units in hundredths, without needless zeros.
pub(super) fn position(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// [`visible`], and such that neither an element nor an attribute can end in it.
fn escaped(text: &str) -> String {
    crate::escape::escaped(&visible(text))
}
