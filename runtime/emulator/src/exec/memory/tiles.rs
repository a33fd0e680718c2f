//! Tiles of tensors, between global and shared memory.

use crate::exec::state::{DEFINED, OFFSET_MASK, Place, SHARED_START, Site, Span, State, TileAt};
use crate::finding::{FindingId, Space};
use crate::inst::Reduction;
use crate::tensor_map::{PIECE_BYTES, TensorFill, TensorMap, TensorType};

impl State<'_> {
    /// Fills a tile of shared memory in every CTA named.
    pub(crate) fn load_tile(&mut self, map: u64, at: &TileAt, dst: &[Place], site: Site) {
        let Some(map) = self.tensor_map(map) else {
            return;
        };
        let mut tile = vec![0u8; map.tile_bytes() as usize];
        if map.fill == TensorFill::Nan {
            fill_nan(&map, &mut tile);
        }
        let mut outside = None;
        map.walk(&at.coords, &at.offsets, |run| {
            let Some(address) = run.address else { return };
            let range = run.at as usize..(run.at + run.bytes) as usize;
            let Some(part) = tile.get_mut(range) else {
                return;
            };
            let hint = &mut self.region_hint;
            if self.env.global.find(address, run.bytes, hint).is_none() {
                outside.get_or_insert((address, run.bytes));
                return;
            }
            self.read_span(Span::Global(address), part, site);
        });
        if let Some((address, bytes)) = outside {
            self.outside_tensor(address, bytes, site);
        }
        for place in dst {
            let base = self.address_of(*place);
            let Some(part) = self.part_mut(place.0) else {
                continue;
            };
            let rank = base & !OFFSET_MASK;
            for (index, piece) in tile.chunks(PIECE_BYTES as usize).enumerate() {
                let at = PIECE_BYTES * index as u64;
                let to = map.shared_address(base, at).wrapping_sub(rank);
                let to = to.wrapping_sub(u64::from(SHARED_START)) as usize;
                if let Some((data, state)) = part.shared.range_mut(to, piece.len()) {
                    data.copy_from_slice(piece);
                    state.fill(DEFINED);
                }
            }
        }
    }

    /// The shared bytes of a tile: all at once, or by pieces where rows lie apart.
    pub(crate) fn tile_pieces(&self, map: &TensorMap, place: Place) -> Vec<(Place, u32)> {
        let bytes = map.tile_bytes();
        if !map.is_spread() {
            return vec![(place, bytes as u32)];
        }
        let base = self.address_of(place);
        let pieces = (0..bytes).step_by(PIECE_BYTES as usize);
        let places = pieces.filter_map(|at| self.place(map.shared_address(base, at)));
        places.map(|place| (place, PIECE_BYTES as u32)).collect()
    }

    /// Moves a tile of shared memory to the tensor; what lies outside of it is left out.
    pub(crate) fn store_tile(
        &mut self,
        map: u64,
        at: &TileAt,
        src: Place,
        reduce: Option<Reduction>,
        site: Site,
    ) {
        let Some(map) = self.tensor_map(map) else {
            return;
        };
        let base = self.address_of(src);
        let mut pieces = Vec::new();
        let mut outside = None;
        map.walk(&at.coords, &at.offsets, |run| {
            let Some(address) = run.address else { return };
            // What reductions do with the bytes behind the end is not known.
            let spill = reduce.map_or_else(|| map.spill_bytes(&run), |_| 0);
            let hint = &mut self.region_hint;
            let bytes = run.bytes + spill;
            if self.env.global.find(address, bytes, hint).is_none() {
                outside.get_or_insert((address, bytes));
                return;
            }
            pieces.push((run.at, run.bytes, spill, address));
        });
        for (at, bytes, spill, address) in pieces {
            self.spill(&map, (base, at + bytes, spill), address + bytes, site);
            let mut done = 0;
            while done < bytes {
                // A swizzle keeps pieces of 16 bytes together, and rows end with a piece.
                let step = (PIECE_BYTES - (at + done) % PIECE_BYTES).min(bytes - done);
                let mut data = [0u8; PIECE_BYTES as usize];
                let data = &mut data[..step as usize];
                if let Some(place) = self.place(map.shared_address(base, at + done)) {
                    self.read_span(Span::Shared(place), data, site);
                }
                self.write_span(Span::Global(address + done), data, reduce, site);
                done += step;
            }
        }
        if let Some((address, bytes)) = outside {
            self.outside_tensor(address, bytes, site);
        }
    }

    /// Writes the bytes of a box behind the end of the tensor, which share 16 bytes with its last
    /// elements. Nobody has to have written them.
    fn spill(&mut self, map: &TensorMap, (base, at, bytes): (u64, u64, u64), to: u64, site: Site) {
        let mut data = [0u8; PIECE_BYTES as usize];
        let Some(data) = data.get_mut(..bytes as usize).filter(|_| bytes > 0) else {
            return;
        };
        let from = self.place(map.shared_address(base, at));
        let part = from.and_then(|(rank, at)| Some((self.part_mut(rank)?, at as usize)));
        if let Some((part, at)) = part
            && let Some((source, _)) = part.shared.range_mut(at, data.len())
        {
            data.copy_from_slice(source);
        }
        self.write_span(Span::Global(to), data, None, site);
    }

    #[cold]
    fn outside_tensor(&mut self, address: u64, bytes: u64, site: Site) {
        let location = self.locate(Space::Global, address);
        self.report(FindingId::OobGlobal, site, Some(location), || {
            format!("a tensor copy touches {bytes} bytes at {address:#x}, which are in no buffer")
        });
    }
}

/// Fills a tile with the NaN of its type.
fn fill_nan(map: &TensorMap, tile: &mut [u8]) {
    let nan: u64 = match map.ty {
        TensorType::Float16 | TensorType::Bfloat16 => 0x7fff,
        TensorType::Float64 => 0x7fff_ffff_ffff_ffff,
        _ => 0x7fff_ffff,
    };
    for element in tile.chunks_mut(map.ty.bytes() as usize) {
        for (byte, value) in element.iter_mut().zip(nan.to_le_bytes()) {
            *byte = value;
        }
    }
}
