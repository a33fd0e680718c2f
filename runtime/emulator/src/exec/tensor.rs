//! Tensor copies and the editing of tensor maps on the device.

use crate::exec::state::{
    DEFINED, End, Flow, OFFSET_MASK, Place, SHARED_START, Site, Span, State, TileAt, Warp, Work,
};
use crate::finding::{FindingId, Space};
use crate::inst::{AtomOp, AtomType, Lanes, Reduction, Src, TensorCopy, TensorKind};
use crate::tensor_map::{PIECE_BYTES, TensorFill, TensorMap, TensorType};

/// Shared addresses of tensor copies (ISA 9.7.9.25.5.2).
const TILE_ALIGN: u64 = 128;

impl State<'_> {
    /// Fills a tile of shared memory in every CTA named.
    pub(super) fn load_tile(&mut self, map: u64, at: &TileAt, dst: &[Place], site: Site) {
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
    pub(super) fn tile_pieces(&self, map: &TensorMap, place: Place) -> Vec<(Place, u32)> {
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
    pub(super) fn store_tile(
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

/// The operation of a reducing tensor copy on the map's type.
fn reduction(op: AtomOp, ty: TensorType) -> Reduction {
    let (atom, bits) = match ty {
        TensorType::Float16 => (AtomType::F16, 16),
        TensorType::Bfloat16 => (AtomType::Bf16, 16),
        TensorType::Float64 => (AtomType::F64, 64),
        TensorType::Int32 => (AtomType::Signed, 32),
        TensorType::Int64 => (AtomType::Signed, 64),
        ty if ty.is_float() => (AtomType::F32, 32),
        ty => (AtomType::Unsigned, 8 * ty.bytes() as u32),
    };
    let ty = atom;
    Reduction { op, ty, bits }
}

/// The addresses of one lane's copy.
struct TilePlaces {
    map_at: u64,
    shared: Option<u64>,
    object: Option<u64>,
    ranks: Option<u64>,
}

impl Warp {
    pub(crate) fn tensor(&mut self, st: &mut State<'_>, op: &TensorCopy, mask: u32) -> Flow {
        if op.kind == TensorKind::Prefetch {
            return Flow::Next;
        }
        let maps = self.addresses(st, &op.map, mask);
        let list = |warp: &mut Warp, st: &mut State<'_>, sources: &[Src]| {
            let values = sources.iter().map(|src| warp.values(st, src, mask));
            values.collect::<Vec<Lanes>>()
        };
        let coords = list(self, st, &op.coords);
        let offsets = list(self, st, &op.offsets);
        let shared = op
            .shared
            .as_ref()
            .map(|address| self.shared_operand(st, address, mask));
        let objects = op
            .mbarrier
            .as_ref()
            .map(|address| self.shared_operand(st, address, mask));
        let ranks = op.multicast.as_ref().map(|src| self.values(st, src, mask));
        for lane in (0..32).filter(|lane| mask >> lane & 1 == 1) {
            let Some(map) = self.valid_map(st, op, maps[lane], lane) else {
                continue;
            };
            let mut at = TileAt {
                coords: [0; 5],
                offsets: [0; 3],
            };
            for (coord, values) in at.coords.iter_mut().zip(&coords) {
                *coord = i64::from(values[lane] as u32 as i32);
            }
            for (offset, values) in at.offsets.iter_mut().zip(&offsets) {
                *offset = i64::from(values[lane] as u16);
            }
            let fits = self.aligned_coordinate(st, &map, at.coords[0], lane)
                && self.fitting_offsets(st, &map, &at.offsets, lane);
            if !fits {
                continue;
            }
            let lane_of = |values: &Option<Lanes>| values.as_ref().map(|values| values[lane]);
            let places = TilePlaces {
                map_at: maps[lane],
                shared: lane_of(&shared),
                object: lane_of(&objects),
                ranks: lane_of(&ranks),
            };
            self.tensor_lane(st, op, (&map, at), &places, lane);
        }
        Flow::Next
    }

    /// Issues the copy of one lane.
    fn tensor_lane(
        &mut self,
        st: &mut State<'_>,
        op: &TensorCopy,
        (map, at): (&TensorMap, TileAt),
        places: &TilePlaces,
        lane: usize,
    ) {
        let bytes = map.tile_bytes();
        st.counters.tensor_bytes += bytes;
        let address = places.shared.unwrap_or(0);
        let Some(place) = self.shared_span(st, address, (bytes, TILE_ALIGN), lane) else {
            return;
        };
        if map.is_spread() && !self.spread_fits(st, map, place, lane) {
            return;
        }
        let map_at = places.map_at;
        if let (TensorKind::Load, Some(object)) = (op.kind, places.object) {
            let Some(object) = self.end_object(st, object, lane) else {
                return;
            };
            let dst = self.multicast(st, place, places.ranks, lane);
            let objects = self.multicast(st, object, places.ranks, lane);
            for place in &dst {
                for (place, bytes) in st.tile_pieces(map, *place) {
                    st.begin_write(place, bytes as usize);
                }
            }
            let work = Work::Load {
                map: map_at,
                at,
                dst,
            };
            return self.issue(st, work, End::Mbarriers(objects, bytes as i64), lane);
        }
        let reduce = match op.kind {
            TensorKind::Reduce(op) => Some(reduction(op, map.ty)),
            _ => None,
        };
        let work = Work::Store {
            map: map_at,
            at,
            src: place,
            reduce,
        };
        self.issue(st, work, End::Group(self.bulk_committed[lane]), lane);
    }
}
