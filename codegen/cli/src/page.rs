//! The frame that SVG drawings share.
//!
//! In: sizes in pixels, and a style of its own. Out: a document with a white ground to draw on.

use svg::Document;
use svg::node::Value;
use svg::node::element::{Rectangle, Style};

/// An empty page.
pub fn page(width: usize, height: usize, style: &str) -> Document {
    Document::new()
        .set("viewBox", (0, 0, width, height))
        .set("width", width)
        .set("height", height)
        // A page that holds the drawing keeps its own style and its width.
        .set("class", "tw")
        .set("style", "max-width: 100%; height: auto")
        .add(Style::new(style))
        .add(rectangle(0, 0, width, height).set("fill", "#ffffff"))
}

/// A rectangle by its upper left corner and its extents.
pub fn rectangle<T: Into<Value>>(x: T, y: T, width: T, height: T) -> Rectangle {
    Rectangle::new()
        .set("x", x)
        .set("y", y)
        .set("width", width)
        .set("height", height)
}
