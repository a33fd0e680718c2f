//! What a member of a team sees alone: groups of asynchronous work that it has started, buffers of
//! shared memory that only its own threads use, accumulators that products write.
//!
//! Threads see what others wrote into a buffer once they have met behind it, and may write what
//! others have read once they have met behind that.

use std::collections::{BTreeMap, VecDeque};

use crate::ir::tile::{Engine, Kernel, PipeId, TileId};

/// A buffer: its tile and its number.
pub(in crate::certify) type BufferId = (TileId, u32);

/// What a group of asynchronous work uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Held {
    /// A slot of a pipe, by its position: products read it.
    Slot(PipeId, u64),
    /// A buffer: copies write it, stores read it.
    Buffer(BufferId),
    /// A tile in registers: products read it.
    Registers(TileId),
}

/// How far a buffer's filling is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Filling {
    #[default]
    Nothing,
    /// Copies that have not been awaited write it.
    Asked,
    /// Written, and its threads have not met since.
    Written,
    /// For all threads to read.
    Whole,
}

#[derive(Clone, Copy, Debug, Default)]
struct Buffer {
    filling: Filling,
    /// Whether the current filling has been read.
    used: bool,
    /// Whether threads have read it and not met since.
    reading: bool,
    /// Whether stores that are not done read it.
    leaving: bool,
}

/// Groups of one pipe.
#[derive(Clone, Debug, Default)]
struct Groups {
    open: Vec<Held>,
    closed: VecDeque<Vec<Held>>,
    /// Whether registers are in order for products.
    fenced: bool,
}

/// What a member does with partial sums in scratch memory. Those who give and those who take them
/// meet at flags, in no cluster together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Partials {
    #[default]
    Nothing,
    /// Its own are written, and no flag says so.
    Stored,
    /// Another's are there to be added.
    Awaited,
    /// They are added, and the flag is still raised.
    Added,
}

/// What a member of a team sees alone.
pub(super) struct Own {
    groups: Vec<Groups>,
    engines: Vec<Option<Engine>>,
    buffers: BTreeMap<BufferId, Buffer>,
    /// Accumulators that products may still write.
    busy: Vec<TileId>,
    /// Pipes that it has filled slots of, and not seen them come back.
    owed: Vec<PipeId>,
    /// What it does with partial sums.
    partials: Partials,
}

impl Own {
    pub fn new(kernel: &Kernel) -> Own {
        let engines = (0..kernel.pipes.len()).map(|pipe| kernel.engine(PipeId(pipe)));
        Own {
            groups: vec![Groups::default(); kernel.pipes.len()],
            engines: engines.collect(),
            buffers: BTreeMap::new(),
            busy: Vec::new(),
            owed: Vec::new(),
            partials: Partials::default(),
        }
    }

    fn buffer(&mut self, id: BufferId) -> &mut Buffer {
        self.buffers.entry(id).or_default()
    }

    /// Threads write a buffer, or copies do that they start.
    pub fn write(&mut self, id: BufferId, by: Option<PipeId>) -> Result<(), String> {
        let open = by.map_or(&[][..], |pipe| &self.groups[pipe.0].open);
        let again = open.contains(&Held::Buffer(id));
        let buffer = self.buffer(id);
        let wrong = match buffer.filling {
            _ if buffer.reading => Some("which threads may still read"),
            _ if buffer.leaving => Some("which stores may still read"),
            Filling::Asked if !again => Some("which copies may still write"),
            Filling::Whole if !buffer.used => Some("which nobody has read yet"),
            _ => None,
        };
        if let Some(wrong) = wrong {
            return Err(format!("writes buffer {}, {wrong}", id.1));
        }
        buffer.used = false;
        buffer.filling = match by {
            Some(_) => Filling::Asked,
            None => Filling::Written,
        };
        if let Some(pipe) = by.filter(|_| !again) {
            self.groups[pipe.0].open.push(Held::Buffer(id));
        }
        Ok(())
    }

    /// Threads read a buffer, or stores do that they start: a group of that pipe, closed at once.
    pub fn read(&mut self, id: BufferId, by: Option<PipeId>) -> Result<(), String> {
        let buffer = self.buffer(id);
        let wrong = match buffer.filling {
            Filling::Whole => None,
            Filling::Nothing => Some("which nothing was written into"),
            Filling::Asked => Some("whose copies it has not awaited"),
            Filling::Written => Some("whose writers it has not met since"),
        };
        if let Some(wrong) = wrong {
            return Err(format!("reads buffer {}, {wrong}", id.1));
        }
        buffer.used = true;
        match by {
            None => buffer.reading = true,
            Some(pipe) => {
                buffer.leaving = true;
                self.groups[pipe.0].closed.push_back(vec![Held::Buffer(id)]);
            }
        }
        Ok(())
    }

    /// The threads that share its buffers meet.
    pub fn meet(&mut self) {
        for buffer in self.buffers.values_mut() {
            buffer.reading = false;
            if buffer.filling == Filling::Written {
                buffer.filling = Filling::Whole;
            }
        }
    }

    /// Registers are as the threads left them, for products to go on with.
    pub fn fence(&mut self, pipe: PipeId) {
        self.groups[pipe.0].fenced = true;
    }

    /// Products of slots start, into those tiles.
    pub fn multiply(&mut self, pipe: PipeId, acc: &[TileId], slots: &[Held]) -> Result<(), String> {
        let groups = &mut self.groups[pipe.0];
        if !groups.fenced {
            return Err("starts products whose registers no fence orders".into());
        }
        groups.open.extend_from_slice(slots);
        self.busy.extend_from_slice(acc);
        Ok(())
    }

    /// Closes the open group.
    pub fn commit(&mut self, pipe: PipeId) -> Result<(), String> {
        let engine = self.engines[pipe.0];
        let groups = &mut self.groups[pipe.0];
        if groups.open.is_empty() && engine == Some(Engine::Products) {
            return Err("closes a group of no products".into());
        }
        groups.fenced = false;
        let group = std::mem::take(&mut groups.open);
        groups.closed.push_back(group);
        Ok(())
    }

    /// Waits until no more than so many closed groups are not done.
    pub fn finish(&mut self, pipe: PipeId, left: usize) {
        let groups = &mut self.groups[pipe.0];
        let over = groups.closed.len().saturating_sub(left);
        let done: Vec<Held> = groups.closed.drain(..over).flatten().collect();
        let engine = self.engines[pipe.0];
        for held in done {
            let Held::Buffer(id) = held else { continue };
            let buffer = self.buffer(id);
            match engine {
                Some(Engine::Copies) => buffer.filling = Filling::Written,
                Some(Engine::Stores) => buffer.leaving = false,
                Some(Engine::Products) | None => {}
            }
        }
    }

    /// All groups are done, and the accumulators are the threads' again.
    pub fn retire(&mut self, pipe: PipeId, tiles: &[TileId]) {
        self.finish(pipe, 0);
        self.busy.retain(|tile| !tiles.contains(tile));
    }

    /// What copies of a pipe brought into tiles and nobody read is dropped.
    pub fn restart(&mut self, pipe: PipeId, tiles: &[TileId]) -> Result<(), String> {
        let groups = &self.groups[pipe.0];
        if !groups.open.is_empty() || !groups.closed.is_empty() {
            return Err("begins a ring anew whose copies are not done".into());
        }
        for (id, buffer) in &mut self.buffers {
            if !tiles.contains(&id.0) {
                continue;
            }
            if buffer.reading || buffer.filling == Filling::Written {
                return Err("begins a ring anew and has not met the others since".into());
            }
            buffer.filling = Filling::Nothing;
        }
        Ok(())
    }

    /// Threads read or write a tile in registers.
    pub fn touch(&mut self, tile: TileId) -> Result<(), String> {
        if self.busy.contains(&tile) {
            return Err("touches accumulators that products may still write".into());
        }
        match self.holds(Held::Registers(tile)) {
            true => Err("touches registers that products may still read".into()),
            false => Ok(()),
        }
    }

    /// Whether products that are not done read a slot.
    pub fn reads(&self, pipe: PipeId, position: u64) -> bool {
        self.holds(Held::Slot(pipe, position))
    }

    /// Whether a group that is not done uses that.
    fn holds(&self, what: Held) -> bool {
        let groups = self.groups.iter();
        let mut held = groups.flat_map(|groups| groups.closed.iter().flatten().chain(&groups.open));
        held.any(|held| *held == what)
    }

    /// It fills a slot of a pipe that barriers guard.
    pub fn fill(&mut self, pipe: PipeId) {
        self.owed.push(pipe);
    }

    /// All slots of the pipe have come back.
    pub fn settle(&mut self, pipe: PipeId) {
        self.owed.retain(|owed| *owed != pipe);
    }

    /// It writes its partial sums.
    pub fn store_partial(&mut self) -> Result<(), String> {
        self.partials = match self.partials {
            Partials::Nothing => Partials::Stored,
            _ => return Err("writes partial sums before it is done with others".into()),
        };
        Ok(())
    }

    /// It raises its flag.
    pub fn raise(&mut self) -> Result<(), String> {
        self.partials = match self.partials {
            Partials::Stored => Partials::Nothing,
            _ => return Err("raises its flag without partial sums of its own".into()),
        };
        Ok(())
    }

    /// It waits for another's flag.
    pub fn await_partial(&mut self) -> Result<(), String> {
        self.partials = match self.partials {
            Partials::Nothing => Partials::Awaited,
            Partials::Stored => return Err("waits for partial sums before it gives its own".into()),
            _ => return Err("waits for partial sums whose flag it has not cleared".into()),
        };
        Ok(())
    }

    /// It adds another's partial sums.
    pub fn add_partial(&mut self) -> Result<(), String> {
        self.partials = match self.partials {
            Partials::Awaited => Partials::Added,
            Partials::Added => return Err("adds partial sums twice".into()),
            _ => return Err("adds partial sums unawaited".into()),
        };
        Ok(())
    }

    /// It clears another's flag.
    pub fn clear(&mut self) -> Result<(), String> {
        self.partials = match self.partials {
            Partials::Added => Partials::Nothing,
            _ => return Err("clears a flag whose partial sums it has not added".into()),
        };
        Ok(())
    }

    /// What is not done when it ends.
    pub fn at_end(&self) -> Result<(), String> {
        if self.partials != Partials::Nothing {
            return Err("before its partial sums are told of, or their flag is cleared".into());
        }
        let mut groups = self.groups.iter();
        if groups.any(|groups| !groups.open.is_empty() || !groups.closed.is_empty()) {
            return Err("before its asynchronous work is done".into());
        }
        // Others would signal barriers of a CTA that has ended.
        match self.owed.is_empty() {
            true => Ok(()),
            false => Err("before its slots have come back".into()),
        }
    }
}
