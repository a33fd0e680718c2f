//! Text of a bundle that is fit to be shown: what a terminal would obey, or would not show, is
//! none.

/// Characters that are not drawn and change how others are: the marks and embeddings of text that
/// runs from right to left, invisible joiners and tags (Unicode 16, general category Cf), and the
/// separators of lines and paragraphs.
const UNSEEN: [std::ops::RangeInclusive<char>; 11] = [
    '\u{ad}'..='\u{ad}',
    '\u{61c}'..='\u{61c}',
    '\u{180e}'..='\u{180e}',
    '\u{200b}'..='\u{200f}',
    '\u{2028}'..='\u{202e}',
    '\u{2060}'..='\u{206f}',
    '\u{feff}'..='\u{feff}',
    '\u{fff9}'..='\u{fffb}',
    '\u{1bca0}'..='\u{1bca3}',
    '\u{1d173}'..='\u{1d17a}',
    '\u{e0000}'..='\u{e007f}',
];

/// Whether a character shows as itself.
pub(crate) fn is_shown(c: char) -> bool {
    !c.is_control() && !UNSEEN.iter().any(|range| range.contains(&c))
}

/// Whether text is one line of at most `most` bytes that shows as it is; it may be empty.
pub(crate) fn is_plain(text: &str, most: usize) -> bool {
    text.len() <= most && text.chars().all(is_shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_not_shown() {
        assert!(is_plain("d = alpha * acc + β·c", 64));
        for hidden in [
            "\x1b]0;pwned\x07",
            "a\nb",
            "a\u{202e}b",
            "\u{200b}",
            "\u{9b}31m",
            "\u{feff}",
        ] {
            assert!(!is_plain(hidden, 64), "{hidden:?}");
        }
        assert!(!is_plain("long", 3));
    }
}
