//! A vector that keeps its first `N` elements in place.
//!
//! In: elements with a cheap default. Out: a slice. Invariant: the heap is touched only when more
//! than `N` elements are held, so layouts of small rank are composed and divided without
//! allocating.

use std::ops::{Deref, DerefMut};

/// A growable array of `T` whose first `N` elements live inside the value itself.
#[derive(Clone)]
pub struct Inline<T, const N: usize>(Repr<T, N>);

#[derive(Clone)]
enum Repr<T, const N: usize> {
    Here { len: usize, items: [T; N] },
    Heap(Vec<T>),
}

impl<T: Default, const N: usize> Inline<T, N> {
    /// An empty array.
    pub fn new() -> Self {
        Self(Repr::Here {
            len: 0,
            items: std::array::from_fn(|_| T::default()),
        })
    }

    /// Appends one element, moving everything to the heap when the inline space is full.
    pub fn push(&mut self, item: T) {
        match &mut self.0 {
            Repr::Here { len, items } if *len < N => {
                items[*len] = item;
                *len += 1;
            }
            Repr::Here { items, .. } => {
                let mut heap: Vec<T> = Vec::with_capacity(2 * N + 1);
                heap.extend(items.iter_mut().map(std::mem::take));
                heap.push(item);
                self.0 = Repr::Heap(heap);
            }
            Repr::Heap(heap) => heap.push(item),
        }
    }
}

impl<T, const N: usize> Deref for Inline<T, N> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.0 {
            Repr::Here { len, items } => &items[..*len],
            Repr::Heap(heap) => heap,
        }
    }
}

impl<T, const N: usize> DerefMut for Inline<T, N> {
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.0 {
            Repr::Here { len, items } => &mut items[..*len],
            Repr::Heap(heap) => heap,
        }
    }
}

impl<T: Default, const N: usize> Default for Inline<T, N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: PartialEq, const N: usize> PartialEq for Inline<T, N> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Eq, const N: usize> Eq for Inline<T, N> {}

impl<T: std::hash::Hash, const N: usize> std::hash::Hash for Inline<T, N> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl<T: std::fmt::Debug, const N: usize> std::fmt::Debug for Inline<T, N> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: Default, const N: usize> Extend<T> for Inline<T, N> {
    fn extend<A: IntoIterator<Item = T>>(&mut self, items: A) {
        for item in items {
            self.push(item);
        }
    }
}

impl<T: Default, const N: usize> FromIterator<T> for Inline<T, N> {
    fn from_iter<A: IntoIterator<Item = T>>(items: A) -> Self {
        let mut out = Self::new();
        out.extend(items);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spills_to_the_heap_and_keeps_order() {
        let mut a = Inline::<i64, 2>::new();
        for i in 0..5 {
            a.push(i);
            assert_eq!(a.len(), i as usize + 1);
        }
        assert_eq!(&*a, &[0, 1, 2, 3, 4]);
        assert_eq!(a, (0..5).collect::<Inline<i64, 2>>());
    }
}
