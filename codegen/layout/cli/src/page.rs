//! The frame that SVG drawings share.
//!
//! In: sizes in pixels, and a style of its own. Out: a document with a white ground to draw on.

use svg::Document;
use svg::node::Value;
use svg::node::element::{Description, Group, Rectangle, Style, Title};

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

/// A drawing on such a page as text, with its title and what screen readers say of it.
pub fn document(
    [width, height]: [u64; 2],
    style: &str,
    (title, said): (&str, &str),
    drawn: Group,
) -> String {
    let document = page(width as usize, height as usize, style)
        .set("role", "img")
        .add(Title::new(title))
        .add(Description::new().add(svg::node::Text::new(said)))
        .add(drawn);
    format!("{document}\n")
}

/// A rectangle by its upper left corner and its extents.
pub fn rectangle<T: Into<Value>>(x: T, y: T, width: T, height: T) -> Rectangle {
    Rectangle::new()
        .set("x", x)
        .set("y", y)
        .set("width", width)
        .set("height", height)
}

/// Hundredths of its height that a character of the drawings' fonts is wide at most.
const CHARACTER: u64 = 62;

/// Pixels that words of that height take at most, in a font whose characters are equally wide.
pub fn wide(words: &str, pixels: u64) -> u64 {
    (words.chars().count() as u64 * pixels * CHARACTER).div_ceil(100)
}

/// Words in lines that are no wider than so many pixels. A word that is wider goes on in the next
/// line.
pub fn lines(words: &str, width: u64, pixels: u64) -> Vec<String> {
    let most = (width * 100 / (pixels * CHARACTER)).max(1) as usize;
    let mut lines = vec![String::new()];
    for word in words.split(' ') {
        let letters: Vec<char> = word.chars().collect();
        for (at, part) in letters.chunks(most).enumerate() {
            let part: String = part.iter().collect();
            match lines.last_mut() {
                Some(line) if line.is_empty() => line.push_str(&part),
                Some(line)
                    if at == 0 && line.chars().count() + 1 + part.chars().count() <= most =>
                {
                    line.push(' ');
                    line.push_str(&part);
                }
                _ => lines.push(part),
            }
        }
    }
    lines
}

/// The beginning of words that is no wider than so many pixels.
pub fn cut(words: &str, width: u64, pixels: u64) -> String {
    let most = (width * 100 / (pixels * CHARACTER)) as usize;
    match words.chars().count() <= most {
        true => words.to_owned(),
        false => {
            let begin: String = words.chars().take(most.saturating_sub(1)).collect();
            format!("{begin}…")
        }
    }
}
