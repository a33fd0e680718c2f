//! Tensor copies: operands, what they ask of memory, their issue.

use crate::exec::state::{End, Flow, State, TileAt, Warp, Work};
use crate::inst::{AtomOp, AtomType, Lanes, Reduction, Src, TensorCopy, TensorKind};
use crate::tensor_map::{TensorMap, TensorType};

/// Shared addresses of tensor copies (ISA 9.7.9.25.5.2).
const TILE_ALIGN: u64 = 128;

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
