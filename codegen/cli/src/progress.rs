//! Progress bars for whatever may take over a second.
//!
//! A bar stays hidden for its first second and altogether when stderr is no terminal; stdout never
//! sees it. It is gone from the screen when the work ends, however that ends.

use std::ops::Deref;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How many times a second a bar is drawn at most.
const DRAWS_PER_SECOND: u8 = 10;
/// Work that ends sooner draws nothing.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often a spinner turns.
const TURN: Duration = Duration::from_millis(200);

/// What a bar over counted steps shows.
const COUNTED: &str = "{prefix} [{bar:30}] {pos}/{len} {wide_msg}";
/// What a spinner shows, for work whose length is unknown.
const UNCOUNTED: &str = "{spinner} {prefix} {elapsed} {wide_msg}";

/// A bar or spinner on stderr.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    /// Its end tells the thread that would show the bar.
    _hidden: Sender<()>,
}

impl Deref for Progress {
    type Target = ProgressBar;

    fn deref(&self) -> &ProgressBar {
        &self.bar
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

impl Progress {
    /// Work of `what` with this look, drawn on `target` once it has taken `patience`.
    fn new(
        what: &'static str,
        look: (Option<u64>, &str),
        target: ProgressDrawTarget,
        patience: Duration,
    ) -> Progress {
        let (steps, template) = look;
        // The templates are constants, and a test draws both.
        let style = ProgressStyle::with_template(template)
            .unwrap_or_else(|_| ProgressStyle::default_bar())
            .progress_chars("=> ");
        let bar = ProgressBar::with_draw_target(steps, ProgressDrawTarget::hidden())
            .with_style(style)
            .with_prefix(what);
        let (hidden, wait) = channel();
        let shown = bar.clone();
        std::thread::spawn(move || {
            if wait.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
                shown.set_draw_target(target);
                shown.enable_steady_tick(TURN);
            }
        });
        Progress {
            bar,
            _hidden: hidden,
        }
    }
}

fn stderr() -> ProgressDrawTarget {
    ProgressDrawTarget::stderr_with_hz(DRAWS_PER_SECOND)
}

/// A bar over `steps` steps of `what`, drawn on stderr when that is a terminal.
pub fn bar(what: &'static str, steps: u64) -> Progress {
    Progress::new(what, (Some(steps), COUNTED), stderr(), PATIENCE)
}

/// A spinner beside `what`, for work whose length is unknown.
pub fn spinner(what: &'static str) -> Progress {
    Progress::new(what, (None, UNCOUNTED), stderr(), PATIENCE)
}

/// Removes the bar from the screen.
pub fn finish(bar: &Progress) {
    bar.finish_and_clear();
}

#[cfg(test)]
mod tests {
    use indicatif::InMemoryTerm;

    use super::*;

    /// A terminal, and progress on it that is shown at once.
    fn shown(look: (Option<u64>, &str)) -> (InMemoryTerm, Progress) {
        let term = InMemoryTerm::new(4, 80);
        let target = ProgressDrawTarget::term_like(Box::new(term.clone()));
        let progress = Progress::new("tuning", look, target, Duration::ZERO);
        while progress.is_hidden() {
            std::thread::yield_now();
        }
        (term, progress)
    }

    #[test]
    fn a_spinner_shows_its_message() {
        let (term, spinner) = shown((None, UNCOUNTED));
        spinner.set_message("1/2 512x512x512 screen 3/40 gemm@a");
        spinner.force_draw();
        let text = term.contents();
        assert!(text.contains(" tuning "), "{text:?}");
        assert!(
            text.ends_with("s 1/2 512x512x512 screen 3/40 gemm@a"),
            "{text:?}"
        );
        drop(spinner);
        assert_eq!(term.contents(), "");
    }

    #[test]
    fn a_bar_shows_its_counts() {
        let (term, bar) = shown((Some(4), COUNTED));
        bar.set_message("copy_f32@plain-1");
        bar.inc(3);
        bar.force_draw();
        let text = term.contents();
        assert!(text.contains("3/4 copy_f32@plain-1"), "{text:?}");
        assert!(text.contains("[======================>"), "{text:?}");
    }

    #[test]
    fn what_ends_soon_draws_nothing() {
        let term = InMemoryTerm::new(4, 80);
        let target = ProgressDrawTarget::term_like(Box::new(term.clone()));
        let progress = Progress::new("checking", (Some(2), COUNTED), target, PATIENCE);
        progress.inc(2);
        progress.force_draw();
        assert_eq!(term.contents(), "");
        drop(progress);
        assert_eq!(term.moves_since_last_check(), "");
    }
}
