//! What drawings are made of, at coordinates to a tenth.

use svg::Document;
use svg::node::element::{Line, Rectangle, Text};

/// An empty page, which keeps its width within one that holds it.
pub fn page(width: f64, height: f64) -> Document {
    Document::new()
        .set("viewBox", (0, 0, width, height))
        .set("width", width)
        .set("height", height)
        .set("class", "tw")
        .set("style", "max-width: 100%; height: auto")
}

/// A rectangle by its upper left corner, its width and its height.
pub fn rectangle([x, y]: [f64; 2], [width, height]: [f64; 2]) -> Rectangle {
    let place = Rectangle::new().set("x", rounded(x)).set("y", rounded(y));
    place
        .set("width", rounded(width))
        .set("height", rounded(height))
}

/// A line between two places.
pub fn line([x1, y1]: [f64; 2], [x2, y2]: [f64; 2]) -> Line {
    let from = Line::new().set("x1", rounded(x1)).set("y1", rounded(y1));
    from.set("x2", rounded(x2)).set("y2", rounded(y2))
}

/// Words that begin, or end, at a place.
pub fn words(words: &str, class: &str, [x, y]: [f64; 2]) -> Text {
    let place = Text::new(words).set("class", class);
    place.set("x", rounded(x)).set("y", rounded(y))
}

fn rounded(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}
