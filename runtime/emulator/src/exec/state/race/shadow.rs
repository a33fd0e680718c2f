//! What is remembered of each word of shared memory: its last writer and up to four readers;
//! further ones are kept beside.

use crate::inst::Scope;

/// Readers of one word that are remembered.
const READERS: usize = 4;

/// Lanes of a warp, or a signal, that read a word. `agent` is that of lane 0. A product of four
/// warps has a signal for each, and `lanes` says which of them read.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Reader {
    pub(super) agent: u32,
    pub(super) epoch: u32,
    /// 0 when the place is free.
    pub(super) lanes: u32,
    pub(super) pc: u32,
    /// The bytes of the word that were read.
    pub(super) bytes: u8,
    pub(super) strong: Option<Scope>,
}

impl Reader {
    /// Whether whatever is ordered behind the later one is ordered behind this one too.
    pub(super) fn before(&self, later: &Reader) -> bool {
        self.lanes != 0
            && (self.agent, self.strong) == (later.agent, later.strong)
            && self.epoch <= later.epoch
            && self.lanes & !later.lanes == 0
            && self.bytes & !later.bytes == 0
    }
}

/// The last writer of a word.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Writer {
    pub(super) agent: u32,
    pub(super) epoch: u32,
    pub(super) pc: u32,
    /// The bytes written; 0 when nobody wrote.
    pub(super) bytes: u8,
    pub(super) strong: Option<Scope>,
}

/// One word.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Cell {
    pub(super) writer: Writer,
    pub(super) readers: [Reader; READERS],
}

impl Cell {
    /// Remembers a reader; `ordered` says whether an earlier one is before it. Gives one that has
    /// no place any more.
    pub(super) fn read(
        &mut self,
        reader: Reader,
        ordered: impl Fn(&Reader) -> bool,
    ) -> Option<Reader> {
        let same = |known: &&mut Reader| {
            let who = |one: &Reader| (one.agent, one.epoch, one.strong, one.bytes);
            who(known) == who(&reader) && known.lanes != 0
        };
        if let Some(known) = self.readers.iter_mut().find(|known| known.before(&reader)) {
            *known = reader;
            return None;
        }
        if let Some(known) = self.readers.iter_mut().find(same) {
            known.lanes |= reader.lanes;
            return None;
        }
        let free = self
            .readers
            .iter()
            .position(|known| known.lanes == 0)
            .or_else(|| self.readers.iter().position(&ordered));
        let index = free.unwrap_or(reader.epoch as usize % READERS);
        let place = self.readers.get_mut(index)?;
        let before = std::mem::replace(place, reader);
        free.is_none().then_some(before)
    }
}
