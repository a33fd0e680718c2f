//! The keys that refusals name, as parts of their messages.

use std::fmt::Display;

use crate::error::KeyPath;

/// A constant for each key that every spec may have, and the list of all.
macro_rules! keys {
    ($($name:ident: $path:literal;)*) => {
        $(pub(crate) const $name: KeyPath = KeyPath::of($path);)*

        #[cfg(test)]
        const ALL: &[KeyPath] = &[$($name),*];
    };
}

keys! {
    ACCUMULATION: "accumulation";
    ARCH: "arch";
    CLUSTER: "cluster";
    COMPUTE: "compute";
    CTA_TILE: "cta_tile";
    IN_FLIGHT: "pipeline.in_flight";
    KIND: "scheduler.kind";
    MIN_CTAS: "min_ctas_per_sm";
    MMA_ATOM: "mma.atom";
    MMA_ATOMS: "mma.atoms";
    MMA_OPERANDS: "mma.operands";
    PASSES: "scheduler.passes";
    PERMUTATION: "mma.permutation";
    PRODUCER_REGISTERS: "pipeline.producer_registers";
    RASTER: "scheduler.raster";
    SCHEDULE: "pipeline.schedule";
    STAGES: "pipeline.stages";
    THREADS: "threads";
    THREADS_ALONG: "threads_along";
}

/// The way of an operand.
pub(crate) fn way(operand: impl Display) -> KeyPath {
    KeyPath::made(format!("copy.{operand}"))
}

/// A hop of an operand's way, or where it lies on it.
pub(crate) fn copy(operand: impl Display, hop: impl Display) -> KeyPath {
    KeyPath::made(format!("copy.{operand}.{hop}"))
}

/// The swizzle of an operand's tile.
pub(crate) fn swizzle(operand: impl Display) -> KeyPath {
    KeyPath::made(format!("swizzle.{operand}"))
}

/// A mode with a constant extent.
pub(crate) fn mode(name: impl Display) -> KeyPath {
    KeyPath::made(format!("modes.{name}"))
}

/// An operand, in words.
pub(crate) fn operand(name: impl Display) -> KeyPath {
    KeyPath::made(format!("operands.{name}")).shown(format!("operand {name}"))
}

/// What is said of an operand: `dtype`, `layout`, `over`.
pub(crate) fn of_operand(name: impl Display, key: &str) -> KeyPath {
    KeyPath::made(format!("operands.{name}.{key}"))
}

/// A key that is known by its path.
pub(crate) fn named(path: impl Display) -> KeyPath {
    KeyPath::made(path.to_string())
}

#[cfg(test)]
mod tests {
    use super::{ALL, copy, of_operand, operand, swizzle};
    use crate::error::KeyPath;
    use crate::spec::kernel::shape::defaults;
    use crate::spec::keys::model::paths;

    /// Each of them is a key of a spec with a default formula, or a map of such.
    #[test]
    fn every_key_that_refusals_name_is_one() {
        let shapes = defaults().iter();
        let known: Vec<String> = shapes.flat_map(paths).map(|(path, _)| path).collect();
        let is_key = |key: &KeyPath| {
            let below = format!("{}.", key.path());
            let mut known = known.iter();
            known.any(|path| path == key.path() || path.starts_with(&below))
        };
        let of_operands = [
            copy("a", "g2s"),
            copy("a", "realign"),
            swizzle("a"),
            operand("a"),
            of_operand("a", "dtype"),
        ];
        for key in ALL.iter().chain(&of_operands) {
            assert!(is_key(key), "{}", key.path());
        }
        assert!(!is_key(&KeyPath::of("pipeline.stage")));
    }
}
