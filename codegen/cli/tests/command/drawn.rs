//! What drawings of the command have in common: words that keep clear of one another.

/// Pixels of a character's width in a hundred of its height, in the widest of the drawings' fonts.
const CHARACTER: usize = 62;

/// Words of a drawing, and where they are.
#[derive(Debug)]
struct Words<'d> {
    text: &'d str,
    left: usize,
    right: usize,
    foot: usize,
}

/// The value of an attribute.
fn attribute<'d>(tag: &'d str, name: &str) -> Option<&'d str> {
    let (_, rest) = tag.split_once(&format!(" {name}=\""))?;
    rest.split('"').next()
}

/// Every text of a drawing, by the size of its class.
fn words<'d>(drawing: &'d str, size: &impl Fn(&str) -> usize) -> Vec<Words<'d>> {
    let texts = drawing.split("<text").skip(1);
    let words = texts.map(|part| {
        let (tag, rest) = part.split_once('>').unwrap();
        let text = rest.split("</text>").next().unwrap().trim_matches('\n');
        let number = |name: &str| attribute(tag, name).unwrap().parse::<usize>().unwrap();
        let class = attribute(tag, "class").unwrap_or_default();
        // An entity is one character.
        let count = text
            .replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&amp;", "&");
        let width = (count.chars().count() * size(class) * CHARACTER).div_ceil(100);
        let rule = drawing
            .split(&format!(".{class} {{"))
            .nth(1)
            .unwrap_or_default();
        let is_middle = rule.split('}').next().unwrap().contains("middle");
        let left = match is_middle {
            true => number("x").saturating_sub(width / 2),
            false => number("x"),
        };
        Words {
            text,
            left,
            right: left + width,
            foot: number("y"),
        }
    });
    words.collect()
}

/// Words begin behind the end of those beside them, and end within the page.
#[track_caller]
pub fn assert_clear(drawing: &str, size: impl Fn(&str) -> usize) {
    assert!(drawing.starts_with("<svg") && drawing.trim_end().ends_with("</svg>"));
    let width: usize = attribute(drawing, "width").unwrap().parse().unwrap();
    assert_eq!(drawing.matches("<desc>").count(), 1);
    let words = words(drawing, &size);
    assert!(!words.is_empty());
    for (at, one) in words.iter().enumerate() {
        let what = one.text;
        assert!(
            one.right <= width,
            "{what}: leaves the page of {width}: {one:?}"
        );
        for other in &words[..at] {
            let beside = one.foot.abs_diff(other.foot) >= 9;
            let apart = one.right <= other.left || other.right <= one.left;
            let over = other.text;
            assert!(beside || apart, "{what}: meets {over}: {one:?} {other:?}");
        }
    }
}
