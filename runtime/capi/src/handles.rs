//! Handles: numbers that look like pointers and point nowhere.
//!
//! A handle holds its kind, a slot of a table, and how often the slot was given away. A handle that
//! was freed, or never given, therefore finds nothing: it is an error and touches no memory. A slot
//! whose count is used up is never given again.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard};

use crate::failure::Failure;

/// Bits of the slot and of its count; the kind lies above them. The highest byte of no address
/// that a program sees is a kind's.
const SLOT_BITS: u32 = 24;
const COUNT_BITS: u32 = 32;
const MOST_SLOTS: usize = 1 << SLOT_BITS;

/// A handle is as wide as its parts.
const _: () = assert!(
    size_of::<*const c_void>() == 8,
    "handles need pointers of 64 bits"
);

/// What a handle stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    Runtime = 0x71,
    Launch = 0x72,
    Error = 0x73,
    Counters = 0x74,
}

impl Kind {
    const ALL: [Kind; 4] = [Kind::Runtime, Kind::Launch, Kind::Error, Kind::Counters];

    const fn text(self) -> &'static str {
        match self {
            Kind::Runtime => "a runtime",
            Kind::Launch => "a launch",
            Kind::Error => "an error",
            Kind::Counters => "counters",
        }
    }
}

/// What stands behind handles of one kind.
pub trait Object: Send + Sync + 'static {
    const KIND: Kind;
}

/// An object and whether a call on it failed inside.
#[derive(Debug)]
pub struct Held<T> {
    pub object: T,
    poisoned: AtomicBool,
}

impl<T> Held<T> {
    /// Refuses an object on which a call failed inside.
    pub fn alive(&self) -> Result<&T, Failure> {
        match self.poisoned.load(Ordering::Acquire) {
            false => Ok(&self.object),
            true => Err(Failure::poisoned()),
        }
    }

    /// From now on only freeing it works.
    pub fn poison(&self) {
        self.poisoned.store(true, Ordering::Release);
    }
}

type Any = Arc<dyn std::any::Any + Send + Sync>;

/// A place of the table.
struct Slot {
    /// How often it was given away.
    count: u32,
    /// What it was given away as.
    kind: Kind,
    /// What it holds, until that is freed.
    object: Option<Any>,
}

impl Slot {
    /// Whether a handle of these parts is the one that was given away last.
    fn is(&self, kind: Option<Kind>, count: u32) -> bool {
        self.count == count && Some(self.kind) == kind
    }
}

struct Table {
    slots: Vec<Slot>,
    free: Vec<usize>,
}

static TABLE: RwLock<Table> = RwLock::new(Table {
    slots: Vec::new(),
    free: Vec::new(),
});

/// Nothing panics while it holds the table.
fn table() -> RwLockWriteGuard<'static, Table> {
    TABLE.write().unwrap_or_else(PoisonError::into_inner)
}

/// The parts of a handle: its kind, slot and count.
fn parts(handle: *const c_void) -> (Option<Kind>, usize, u32) {
    let word = handle.addr() as u64;
    let kind = (word >> (SLOT_BITS + COUNT_BITS)) as u8;
    let kind = Kind::ALL.into_iter().find(|known| *known as u8 == kind);
    let slot = (word & (MOST_SLOTS as u64 - 1)) as usize;
    (kind, slot, (word >> SLOT_BITS) as u32)
}

/// Gives an object a handle.
pub fn give<T: Object>(object: T) -> Result<*mut c_void, Failure> {
    let held = Held {
        object,
        poisoned: AtomicBool::new(false),
    };
    let mut table = table();
    let slot = match table.free.pop() {
        Some(slot) => slot,
        None if table.slots.len() < MOST_SLOTS => {
            table.slots.push(Slot {
                count: 0,
                kind: T::KIND,
                object: None,
            });
            table.slots.len() - 1
        }
        None => {
            let text = format!("{MOST_SLOTS} handles are alive: free those that are not needed");
            return Err(Failure::handle(text));
        }
    };
    let Some(place) = table.slots.get_mut(slot) else {
        return Err(Failure::internal("a free slot lies outside of the table"));
    };
    let count = place.count + 1;
    *place = Slot {
        count,
        kind: T::KIND,
        object: Some(Arc::new(held)),
    };
    let word = u64::from(T::KIND as u8) << (SLOT_BITS + COUNT_BITS)
        | u64::from(count) << SLOT_BITS
        | slot as u64;
    Ok(std::ptr::without_provenance_mut(word as usize))
}

/// Why a handle finds nothing.
fn lost<T: Object>(handle: *const c_void, slots: &[Slot]) -> Failure {
    let (kind, slot, count) = parts(handle);
    let wanted = T::KIND.text();
    let given = |slot: &Slot| count > 0 && (count < slot.count || slot.is(kind, count));
    match kind {
        None => Failure::handle(format!(
            "{handle:?} is no handle; that of {wanted} is needed"
        )),
        Some(kind) if !slots.get(slot).is_some_and(given) => Failure::handle(format!(
            "{handle:?} is no handle that this library gave, though it looks like {}'s",
            kind.text()
        )),
        Some(kind) if kind != T::KIND => Failure::handle(format!(
            "{handle:?} is the handle of {}; that of {wanted} is needed",
            kind.text()
        )),
        Some(_) => Failure::handle(format!(
            "{handle:?} was the handle of {wanted}; it was freed"
        )),
    }
}

/// What a handle stands for.
pub fn get<T: Object>(handle: *const c_void) -> Result<Arc<Held<T>>, Failure> {
    if handle.is_null() {
        return Err(Failure::null(&format!("the handle of {}", T::KIND.text())));
    }
    let table = TABLE.read().unwrap_or_else(PoisonError::into_inner);
    let (kind, slot, count) = parts(handle);
    let found = table
        .slots
        .get(slot)
        .filter(|slot| slot.is(kind, count) && slot.kind == T::KIND);
    match found.and_then(|slot| slot.object.clone()) {
        Some(object) => object
            .downcast::<Held<T>>()
            .map_err(|_| Failure::internal("a slot's kind is not its object's")),
        None => Err(lost::<T>(handle, &table.slots)),
    }
}

/// Takes a handle back. The object goes when the last call on it ends.
pub fn free<T: Object>(handle: *const c_void) -> Result<(), Failure> {
    if handle.is_null() {
        return Ok(());
    }
    let mut table = table();
    let (kind, slot, count) = parts(handle);
    let Table { slots, free } = &mut *table;
    let found = slots
        .get_mut(slot)
        .filter(|slot| slot.is(kind, count) && slot.kind == T::KIND);
    let Some(held) = found.and_then(|slot| slot.object.take()) else {
        return Err(lost::<T>(handle, slots));
    };
    if count < u32::MAX {
        free.push(slot);
    }
    // The object may take its time to end; nobody waits for that.
    drop(table);
    drop(held);
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[derive(Debug)]
    struct Number(u32);

    impl Object for Number {
        const KIND: Kind = Kind::Runtime;
    }

    #[derive(Debug)]
    struct Other;

    impl Object for Other {
        const KIND: Kind = Kind::Launch;
    }

    #[test]
    fn a_handle_finds_its_object_until_it_is_freed() {
        let one = give(Number(1)).unwrap();
        let two = give(Number(2)).unwrap();
        assert_ne!(one, two);
        assert_eq!(get::<Number>(one).unwrap().object.0, 1);
        free::<Number>(one).unwrap();
        let again = give(Number(3)).unwrap();
        assert_ne!(one, again);
        let gone = get::<Number>(one).unwrap_err();
        assert!(gone.message.ends_with("it was freed"), "{}", gone.message);
        assert_eq!(free::<Number>(one).unwrap_err(), gone);
        assert_eq!(get::<Number>(again).unwrap().object.0, 3);
        for handle in [two, again] {
            free::<Number>(handle).unwrap();
        }
        free::<Number>(std::ptr::null()).unwrap();
    }

    #[test]
    fn what_was_never_given_is_told_from_what_is_another_kinds() {
        let one = give(Number(1)).unwrap();
        let text = |handle| get::<Other>(handle).unwrap_err().message;
        assert!(text(one).ends_with("is the handle of a runtime; that of a launch is needed"));
        let (_, slot, count) = parts(one);
        let word = (Kind::Launch as usize) << 56 | (count as usize) << SLOT_BITS | slot;
        let forged: *const c_void = std::ptr::without_provenance(word);
        assert!(text(forged).contains("is no handle that this library gave"));
        assert!(free::<Other>(forged).is_err() && get::<Number>(one).is_ok());
        let later = one.wrapping_byte_add(1 << SLOT_BITS);
        assert!(text(later).contains("is no handle that this library gave"));
        assert!(text(std::ptr::from_ref(&text).cast()).contains("is no handle; that of a launch"));
        assert!(text(std::ptr::null()).starts_with("the handle of a launch is null"));
        free::<Number>(one).unwrap();
    }

    #[test]
    fn a_poisoned_object_can_only_be_freed() {
        let one = give(Number(1)).unwrap();
        let held = get::<Number>(one).unwrap();
        assert!(held.alive().is_ok());
        held.poison();
        assert_eq!(held.alive().unwrap_err(), Failure::poisoned());
        free::<Number>(one).unwrap();
    }
}
