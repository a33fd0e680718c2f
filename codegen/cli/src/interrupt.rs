//! Ctrl-C, and a budget that is spent, as a wish to end, for commands that have something to tell
//! of what they did until then.
//!
//! The first one is told to whoever asks; the second one ends the process at once, as it would have
//! without this module. On systems other than Unix the first one does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use tilewright_emulator::Stop;

/// What a shell expects of a process that Ctrl-C ended.
#[cfg(unix)]
const ENDED: i32 = 130;

/// Whether Ctrl-C was pressed since this was made.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Listens from now on. Where the system refuses, Ctrl-C ends the process as before.
    pub fn listen() -> Interrupt {
        let pressed = Interrupt::default();
        #[cfg(unix)]
        {
            use signal_hook::consts::SIGINT;
            use signal_hook::flag::{register, register_conditional_shutdown};
            // The order matters: the second press finds what the first one has set.
            let second = register_conditional_shutdown(SIGINT, ENDED, pressed.0.clone());
            if second.is_ok() {
                let _ = register(SIGINT, pressed.0.clone());
            }
        }
        pressed
    }

    /// Presses it when a time is over.
    pub fn press_after(&self, time: Duration) {
        if time.is_zero() {
            return self.0.store(true, Ordering::Relaxed);
        }
        let pressed = self.0.clone();
        // Where there is no thread to be had, whoever asks is told by nobody but Ctrl-C.
        let _ = thread::Builder::new().spawn(move || {
            thread::sleep(time);
            pressed.store(true, Ordering::Relaxed);
        });
    }

    /// The same wish, for the emulator.
    pub fn stop(&self) -> Stop {
        Stop::from(self.0.clone())
    }

    /// Whether it was pressed.
    pub fn is_pressed(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
