//! How text looks where a terminal shows it.

use anstyle::Style;

/// The style of headings and names.
pub const STRONG: Style = Style::new().bold();
/// The style of what matters less.
pub const FAINT: Style = Style::new().dimmed();

/// `text` between the codes that switch `style` on and off.
pub fn paint(style: Style, text: impl std::fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}
