//! The queue between connections and the engine: bounded, in order, and rid of what nobody waits
//! for any more.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// A queue of so many at most.
#[derive(Debug)]
pub struct Queue<T> {
    items: Mutex<Items<T>>,
    /// Told when something comes, or nothing will any more.
    changed: Condvar,
    most: usize,
}

#[derive(Debug)]
struct Items<T> {
    in_order: VecDeque<T>,
    is_closed: bool,
}

/// Why something is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// There are as many as the queue takes.
    Full,
    /// Nobody takes anything out any more.
    Closed,
}

impl<T> Queue<T> {
    /// An empty one.
    pub fn new(most: usize) -> Queue<T> {
        Queue {
            items: Mutex::new(Items {
                in_order: VecDeque::new(),
                is_closed: false,
            }),
            changed: Condvar::new(),
            most,
        }
    }

    /// The items; a thread that panicked has left them whole.
    fn items(&self) -> MutexGuard<'_, Items<T>> {
        self.items.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts something behind the rest.
    ///
    /// # Errors
    /// When the queue is full or closed.
    pub fn push(&self, item: T) -> Result<(), Refused> {
        let mut items = self.items();
        if items.is_closed {
            return Err(Refused::Closed);
        }
        if items.in_order.len() >= self.most {
            return Err(Refused::Full);
        }
        items.in_order.push_back(item);
        self.changed.notify_one();
        Ok(())
    }

    /// Takes the first, and waits for it; `None` when the queue is closed.
    pub fn pop(&self) -> Option<T> {
        let mut items = self.items();
        loop {
            if let Some(item) = items.in_order.pop_front() {
                return Some(item);
            }
            if items.is_closed {
                return None;
            }
            let woken = self.changed.wait(items);
            items = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The same, and `None` also when nothing has come until then.
    pub fn pop_until(&self, until: Instant) -> Option<T> {
        let mut items = self.items();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if let Some(item) = items.in_order.pop_front() {
                return Some(item);
            }
            if items.is_closed || left.is_zero() {
                return None;
            }
            let woken = self.changed.wait_timeout(items, left);
            items = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Keeps the items that are wanted, in their order; how many others there were.
    pub fn retain(&self, is_wanted: impl FnMut(&T) -> bool) -> usize {
        let mut items = self.items();
        let before = items.in_order.len();
        items.in_order.retain(is_wanted);
        before - items.in_order.len()
    }

    /// Takes nothing any more, and lets go of what is there.
    pub fn close(&self) {
        let mut items = self.items();
        items.is_closed = true;
        items.in_order.clear();
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_keep_their_order_and_nobody_s_go() {
        let queue = Queue::new(3);
        assert_eq!([1, 2, 3].map(|item| queue.push(item)), [Ok(()); 3]);
        assert_eq!(queue.push(4), Err(Refused::Full));
        assert_eq!(queue.retain(|item| *item != 2), 1);
        assert_eq!(queue.push(5), Ok(()));
        let now = Instant::now();
        assert_eq!((queue.pop(), queue.pop_until(now)), (Some(1), Some(3)));
        queue.close();
        assert_eq!((queue.pop(), queue.push(6)), (None, Err(Refused::Closed)));
    }

    #[test]
    fn whoever_waits_gets_what_comes_and_goes_when_it_is_closed() {
        let queue = Queue::new(1);
        assert_eq!(queue.pop_until(Instant::now()), None);
        let taken = std::thread::scope(|scope| {
            let taker = scope.spawn(|| {
                let first = queue.pop();
                queue.close();
                (first, queue.pop())
            });
            assert_eq!(queue.push(7), Ok(()));
            taker.join().ok()
        });
        assert_eq!(taken, Some((Some(7), None)));
    }
}
