//! What is under way on a device, so that a fault can be laid at the door of a launch.
//!
//! In: each launch with its stream, and how far a stream was seen to have come. Out: the launches
//! that may have faulted, and from then on the refusal of all further work. A launch costs one lock
//! and no memory: the latest of them are kept, in room that is taken once.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::error::{Error, Fault, FoundBy, Work};
use crate::events;

/// Launches that are remembered.
const MOST_LAUNCHES: usize = 64;

/// The launches of one device, whoever enqueued them.
#[derive(Debug)]
pub(crate) struct Watch {
    under_way: Mutex<UnderWay>,
    lost: OnceLock<Arc<Fault>>,
}

#[derive(Debug)]
struct UnderWay {
    launches: VecDeque<Entry>,
    /// The number of the next launch.
    next: u64,
    /// Launches that made room for later ones since there were none.
    earlier: u64,
}

#[derive(Debug)]
struct Entry {
    number: u64,
    stream: usize,
    work: Arc<Work>,
}

impl Default for Watch {
    fn default() -> Watch {
        Watch {
            under_way: Mutex::new(UnderWay {
                launches: VecDeque::with_capacity(MOST_LAUNCHES),
                next: 0,
                earlier: 0,
            }),
            lost: OnceLock::new(),
        }
    }
}

impl Watch {
    fn lock(&self) -> MutexGuard<'_, UnderWay> {
        self.under_way
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers a launch that is about to be enqueued.
    pub fn begin(&self, stream: usize, work: &Arc<Work>) {
        let mut under_way = self.lock();
        if under_way.launches.len() == MOST_LAUNCHES {
            under_way.launches.pop_front();
            under_way.earlier += 1;
        }
        let number = under_way.next;
        under_way.next += 1;
        let work = work.clone();
        under_way.launches.push_back(Entry {
            number,
            stream,
            work,
        });
    }

    /// The number of the next launch: a wait that begins now sees the end of all before it.
    pub fn next(&self) -> u64 {
        self.lock().next
    }

    /// Forgets the launches of a stream before the one of a number: they were seen to end.
    pub fn ended(&self, stream: usize, next: u64) {
        let mut under_way = self.lock();
        let is_left = |entry: &Entry| entry.stream != stream || entry.number >= next;
        under_way.launches.retain(is_left);
        if under_way.launches.is_empty() {
            under_way.earlier = 0;
        }
    }

    /// Takes back the launches of a stream from a number on: they were captured, not enqueued.
    pub fn take(&self, stream: usize, from: u64) -> Vec<Arc<Work>> {
        let mut under_way = self.lock();
        let is_captured = |entry: &Entry| entry.stream == stream && entry.number >= from;
        let taken = under_way.launches.iter().filter(|entry| is_captured(entry));
        let taken = taken.map(|entry| entry.work.clone()).collect();
        under_way.launches.retain(|entry| !is_captured(entry));
        taken
    }

    /// Refuses work on a context that is lost.
    pub fn usable(&self) -> Result<(), Error> {
        match self.lost.get() {
            None => Ok(()),
            Some(fault) => Err(Error::ContextLost {
                fault: fault.clone(),
            }),
        }
    }

    /// Whether the context is lost.
    pub fn is_lost(&self) -> bool {
        self.lost.get().is_some()
    }

    /// What took the context.
    pub fn fault(&self) -> Option<&Fault> {
        self.lost.get().map(|fault| &**fault)
    }

    /// The error of a call by which the driver told of a fault. The context is lost; what is asked
    /// of it later gets [`Error::ContextLost`].
    pub fn faulted(&self, call: &str, reason: String) -> Error {
        let mut under_way = self.lock();
        let suspects = under_way.launches.drain(..);
        let fault = Arc::new(Fault {
            suspects: suspects.map(|entry| (*entry.work).clone()).collect(),
            earlier: under_way.earlier,
            is_sticky: true,
            by: FoundBy::Driver {
                call: call.to_owned(),
                reason,
            },
        });
        drop(under_way);
        self.lose(fault)
    }

    /// The same of a fault that is known.
    pub fn lose(&self, fault: Arc<Fault>) -> Error {
        match self.lost.set(fault.clone()) {
            Ok(()) => {
                events::faulted(&fault);
                Error::Fault(fault)
            }
            Err(_) => Error::ContextLost {
                fault: self.lost.get().cloned().unwrap_or(fault),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;

    fn work(at: usize) -> Arc<Work> {
        Arc::new(Work {
            kernel: format!("k{at}"),
            problem: "m=1".to_owned(),
        })
    }

    fn suspects(watch: &Watch) -> (Vec<String>, u64) {
        let Error::Fault(fault) = watch.faulted("cuStreamSynchronize", "lost".to_owned()) else {
            panic!("it is the first fault");
        };
        let kernels = fault.suspects.iter().map(|work| work.kernel.clone());
        (kernels.collect(), fault.earlier)
    }

    #[test]
    fn launches_that_were_seen_to_end_are_no_suspects() {
        let watch = Watch::default();
        for at in 0..4 {
            watch.begin(at % 2, &work(at));
        }
        let seen = watch.next();
        watch.begin(0, &work(4));
        watch.ended(0, seen);
        let named = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        assert_eq!(suspects(&watch), (named(&["k1", "k3", "k4"]), 0));
    }

    #[test]
    fn the_latest_launches_are_known_and_the_others_counted() {
        let watch = Watch::default();
        for at in 0..MOST_LAUNCHES + 3 {
            watch.begin(7, &work(at));
        }
        let (kernels, earlier) = suspects(&watch);
        assert_eq!((kernels.len(), earlier), (MOST_LAUNCHES, 3));
        assert_eq!(kernels.first().unwrap(), "k3");
    }

    #[test]
    fn after_a_fault_everything_is_refused_with_the_first_reason() {
        let watch = Watch::default();
        watch.begin(0, &work(0));
        watch.usable().unwrap();
        assert!(matches!(
            watch.faulted("cuMemAlloc", "the first".to_owned()),
            Error::Fault(_)
        ));
        let again = watch.faulted("cuMemAlloc", "the second".to_owned());
        for error in [again, watch.usable().unwrap_err()] {
            let text = error.to_string();
            assert!(matches!(error, Error::ContextLost { .. }), "{text}");
            assert!(
                text.contains("the first") && text.contains("k0 on m=1"),
                "{text}"
            );
        }
    }
}
