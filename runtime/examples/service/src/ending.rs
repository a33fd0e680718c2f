//! The end of the service, which everything that waits looks out for.

use std::time::Duration;

use tokio::sync::watch;

/// How long whatever is under way when the end begins may stand still: a request that has not come
/// in by then is not waited for, nor is a client that takes nothing of its answer.
pub const STANDSTILL: Duration = Duration::from_secs(1);

/// Whether the service is about to end.
#[derive(Debug, Clone)]
pub struct Ending(watch::Receiver<bool>);

/// Begins the end.
#[derive(Debug)]
pub struct End(watch::Sender<bool>);

impl End {
    /// Begins it.
    pub fn begin(&self) {
        self.0.send_replace(true);
    }
}

impl Ending {
    /// An end that has not begun.
    pub fn new() -> (End, Ending) {
        let (sender, receiver) = watch::channel(false);
        (End(sender), Ending(receiver))
    }

    /// Whether it has begun.
    pub fn has_begun(&self) -> bool {
        *self.0.borrow()
    }

    /// Returns when it begins.
    pub async fn begun(&self) {
        let mut receiver = self.0.clone();
        // A sender that is gone without a word ends the service as well.
        let _ = receiver.wait_for(|has_begun| *has_begun).await;
    }

    /// Returns when it has begun and nothing is waited for any more that stands still.
    pub async fn stands_still(&self) {
        self.begun().await;
        tokio::time::sleep(STANDSTILL).await;
    }
}
