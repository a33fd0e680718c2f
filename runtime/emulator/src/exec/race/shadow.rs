//! What is remembered of each word of shared memory: its last writer and up to four readers.

/// Readers of one word that are remembered.
const READERS: usize = 4;

/// Lanes of a warp, or a signal, that read a word. `agent` is that of lane 0.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reader {
    pub(super) agent: u32,
    pub(super) epoch: u32,
    /// 0 when the place is free.
    pub(super) lanes: u32,
    pub(super) pc: u32,
    pub(super) strong: bool,
}

/// The last writer of a word.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Writer {
    pub(super) agent: u32,
    pub(super) epoch: u32,
    pub(super) pc: u32,
    /// The bytes written; 0 when nobody wrote.
    pub(super) bytes: u8,
    pub(super) strong: bool,
}

/// One word.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cell {
    pub(super) writer: Writer,
    pub(super) readers: [Reader; READERS],
}

impl Cell {
    /// Remembers a reader; `ordered` says whether an earlier one is before it.
    pub(super) fn read(&mut self, reader: Reader, ordered: impl Fn(&Reader) -> bool) {
        let same = |known: &&mut Reader| {
            (known.agent, known.epoch, known.strong) == (reader.agent, reader.epoch, reader.strong)
                && known.lanes != 0
        };
        if let Some(known) = self.readers.iter_mut().find(same) {
            known.lanes |= reader.lanes;
            return;
        }
        let free = self
            .readers
            .iter()
            .position(|known| known.lanes == 0)
            .or_else(|| self.readers.iter().position(&ordered));
        let index = free.unwrap_or(reader.epoch as usize % READERS);
        if let Some(place) = self.readers.get_mut(index) {
            *place = reader;
        }
    }
}
