//! The dimensions of a tile: groups of modes, each with what a CTA has of it at a time.
//!
//! A tile of a product has three: rows, columns, and what is summed. A dimension begins with the
//! mode that its elements lie along. Behind it come those of which a tile has one coordinate for
//! all of them (a block of columns), several values side by side (planes), or which steps of the
//! main loop go along (parts of a sum).

use super::arith::Count;

/// What a CTA has of a mode at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// So many elements, an extent of the tile: tiles stand along the mode.
    Tiled(i64),
    /// All that there are, so many at most: rows that are folded, the columns of a block.
    Whole(i64),
    /// One coordinate: outer modes, batches, blocks of columns.
    One,
    /// So many values side by side, one for each coordinate: planes.
    Unrolled(i64),
    /// So many elements a step, step after step: k, parts of a sum, long rows in several passes.
    Looped(i64),
}

/// A mode with its fate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModeFate {
    /// The mode.
    pub mode: String,
    /// What a CTA has of it.
    pub fate: Fate,
}

/// A dimension of a tile: the modes that lie along it, the fastest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dim {
    /// Its modes, each with its fate.
    pub modes: Vec<ModeFate>,
}

impl Fate {
    /// Elements of it that a CTA has at a time, at most.
    pub fn extent(self) -> i64 {
        match self {
            Fate::Tiled(extent)
            | Fate::Whole(extent)
            | Fate::Unrolled(extent)
            | Fate::Looped(extent) => extent,
            Fate::One => 1,
        }
    }

    /// Whether work tiles stand along the mode.
    fn is_counted(self) -> bool {
        matches!(self, Fate::Tiled(_) | Fate::One)
    }
}

impl ModeFate {
    /// A mode with that fate.
    pub fn new(mode: &str, fate: Fate) -> ModeFate {
        let mode = mode.to_owned();
        ModeFate { mode, fate }
    }

    /// A mode of which a work tile has one coordinate.
    pub fn one(mode: &str) -> ModeFate {
        ModeFate::new(mode, Fate::One)
    }

    /// Elements of it that a work tile has.
    pub fn each(&self) -> i64 {
        self.fate.extent()
    }

    /// Tiles along it, so many counted as one.
    pub(super) fn count<N: Count>(&self, extent: N, each: u32) -> N {
        N::ceil_div(extent, self.each() * i64::from(each))
    }
}

impl Dim {
    /// A dimension of one mode.
    pub fn new(mode: &str, fate: Fate) -> Dim {
        Dim {
            modes: vec![ModeFate::new(mode, fate)],
        }
    }

    /// The mode that its elements lie along.
    pub fn mode(&self) -> &str {
        self.modes.first().map_or("", |first| &first.mode)
    }

    /// Elements of a tile along it, once where there are values side by side.
    pub fn extent(&self) -> i64 {
        let modes = self.modes.iter();
        let elements = modes.filter(|one| !matches!(one.fate, Fate::Unrolled(_)));
        elements.map(ModeFate::each).product()
    }

    /// The mode that there are values side by side of.
    pub fn unrolled(&self) -> Option<&ModeFate> {
        let is_unrolled = |one: &&ModeFate| matches!(one.fate, Fate::Unrolled(_));
        self.modes.iter().find(is_unrolled)
    }

    /// Values side by side.
    pub fn planes(&self) -> i64 {
        self.unrolled().map_or(1, ModeFate::each)
    }

    /// The mode that work tiles stand along; none where a tile has all that there is.
    pub fn counted(&self) -> Option<&ModeFate> {
        self.modes.iter().find(|one| one.fate.is_counted())
    }

    /// The mode that the main loop goes along.
    pub fn looped(&self) -> Option<&ModeFate> {
        let is_looped = |one: &&ModeFate| matches!(one.fate, Fate::Looped(_));
        self.modes.iter().find(is_looped)
    }

    /// Gives the mode that its elements lie along another fate, of as many elements.
    pub fn becomes(&mut self, fate: impl Fn(i64) -> Fate) {
        if let Some(first) = self.modes.first_mut() {
            first.fate = fate(first.each());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A group of modes with what follows of it: elements, values side by side, what is counted,
    /// what is looped.
    type Case = (
        &'static [(&'static str, Fate)],
        i64,
        i64,
        &'static str,
        &'static str,
    );

    #[test]
    fn a_dimension_is_what_its_modes_are() {
        let cases: [Case; 7] = [
            (&[("m", Fate::Tiled(128))], 128, 1, "m", ""),
            (&[("k", Fate::Looped(64))], 64, 1, "", "k"),
            (&[("n", Fate::Whole(512))], 512, 1, "", ""),
            (
                &[("n", Fate::Tiled(64)), ("p", Fate::Unrolled(2))],
                64,
                2,
                "n",
                "",
            ),
            (
                &[("j", Fate::Whole(128)), ("g", Fate::One)],
                128,
                1,
                "g",
                "",
            ),
            (
                &[("i", Fate::Whole(128)), ("g", Fate::Looped(1))],
                128,
                1,
                "",
                "g",
            ),
            // An image's tile, as an implicit product has it.
            (
                &[("ow", Fate::Tiled(8)), ("oh", Fate::Whole(16))],
                128,
                1,
                "ow",
                "",
            ),
        ];
        for (modes, extent, planes, counted, looped) in cases {
            let modes = modes.iter().map(|(mode, fate)| ModeFate::new(mode, *fate));
            let dim = Dim {
                modes: modes.collect(),
            };
            let name = |one: Option<&ModeFate>| one.map_or(String::new(), |one| one.mode.clone());
            assert_eq!((dim.extent(), dim.planes()), (extent, planes), "{dim:?}");
            assert_eq!(name(dim.counted()), counted, "{dim:?}");
            assert_eq!(name(dim.looped()), looped, "{dim:?}");
            assert_eq!(
                Some(dim.mode()),
                dim.modes.first().map(|one| one.mode.as_str())
            );
        }
    }

    #[test]
    fn what_is_held_stays_as_large() {
        let mut dim = Dim::new("n", Fate::Tiled(64));
        dim.modes.push(ModeFate::new("p", Fate::Unrolled(2)));
        dim.becomes(Fate::Whole);
        assert_eq!(dim.modes[0].fate, Fate::Whole(64));
        assert_eq!(dim.counted(), None);
        assert_eq!((dim.extent(), dim.planes()), (64, 2));
    }
}
