//! Progress bars for whatever may take over a second.
//!
//! A bar stays hidden for its first second and altogether when stderr is no terminal; stdout never
//! sees it.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How many times a second a bar is drawn at most.
const DRAWS_PER_SECOND: u8 = 10;

/// A bar over `steps` steps of `what`, drawn on stderr when that is a terminal.
///
/// `indicatif` hides the bar where stderr is no terminal. Work that ends within a second draws
/// nothing lasting: the bar is cleared by [`finish`].
pub fn bar(what: &'static str, steps: u64) -> ProgressBar {
    let target = ProgressDrawTarget::stderr_with_hz(DRAWS_PER_SECOND);
    let style = ProgressStyle::with_template("{prefix} [{bar:30}] {pos}/{len} {wide_msg}")
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("=> ");
    ProgressBar::with_draw_target(Some(steps), target)
        .with_style(style)
        .with_prefix(what)
}

/// A spinner beside `what`, for work whose length is unknown.
pub fn spinner(what: &'static str) -> ProgressBar {
    let target = ProgressDrawTarget::stderr_with_hz(DRAWS_PER_SECOND);
    let spinner = ProgressBar::with_draw_target(None, target).with_message(what);
    spinner.enable_steady_tick(Duration::from_millis(200));
    spinner
}

/// Removes the bar from the screen.
pub fn finish(bar: &ProgressBar) {
    bar.finish_and_clear();
}
