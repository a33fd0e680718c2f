//! From asynchronous copies to the race detector.

use crate::exec::state::{End, Pending, Place, Race, Site, Span, State, TileAt, Touch, Work};

/// Shared bytes from a place on.
type SharedSpan = (Place, u32);

impl State<'_> {
    /// Shows a copy that is issued to the detector.
    pub(crate) fn watch_copy(&mut self, op: &Pending) {
        let Some(mut race) = self.race.take() else {
            return;
        };
        let site = op.site;
        let object = |place: &Place| {
            let phase = self.mbarrier(*place).map_or(0, |object| object.phase);
            (*place, phase)
        };
        let objects: Vec<(Place, u64)> = match &op.end {
            End::Mbarriers(places, _) => places.iter().map(object).collect(),
            End::Group(_) => Vec::new(),
        };
        let group = match op.end {
            End::Group(group) => group,
            End::Mbarriers(..) => 0,
        };
        let (reads, writes) = self.shared_spans(&op.work);
        self.watch_global_copy(&mut race, op);
        for span in reads {
            match objects.first() {
                None => race.copy_reads(span, group, site),
                Some(object) => race.copy_reads_until(span, *object, site),
            }
        }
        let unordered = |object: &(Place, u64)| {
            (!race.object_ordered(object.0, site)).then_some((object.0, site))
        };
        let unordered: Vec<(Place, Site)> = objects.iter().filter_map(unordered).collect();
        for (spans, object) in writes.into_iter().zip(objects) {
            for span in spans {
                race.copy_writes(span, object, site);
            }
        }
        self.race = Some(race);
        self.report_conflicts();
        self.report_init_races(&unordered);
    }

    /// The shared bytes that a copy reads, and those it writes at each of its destinations.
    fn shared_spans(&mut self, work: &Work) -> (Vec<SharedSpan>, Vec<Vec<SharedSpan>>) {
        match work {
            Work::Copy {
                src, dst, bytes, ..
            } => {
                let shared = |span: &Span| match span {
                    Span::Shared(place) => Some((*place, *bytes as u32)),
                    Span::Global(_) => None,
                };
                let writes = dst.iter().filter_map(shared).map(|span| vec![span]);
                (shared(src).into_iter().collect(), writes.collect())
            }
            Work::Write { dst, data, .. } => (Vec::new(), vec![vec![(*dst, data.len() as u32)]]),
            Work::Load { map, dst, .. } => {
                let map = self.tensor_map(*map);
                let spans = |place: &Place| {
                    let spans = map.as_ref().map(|map| self.tile_pieces(map, *place));
                    spans.unwrap_or_default()
                };
                (Vec::new(), dst.iter().map(spans).collect())
            }
            Work::Store { map, src, .. } => {
                let map = self.tensor_map(*map);
                let spans = map.map(|map| self.tile_pieces(&map, *src));
                (spans.unwrap_or_default(), Vec::new())
            }
        }
    }

    /// Shows what a copy touches in global memory.
    pub(crate) fn watch_global_copy(&mut self, race: &mut Race, op: &Pending) {
        let reduces = |reduce: &Option<_>| reduce.is_some();
        let (spans, touch) = match &op.work {
            Work::Copy {
                src,
                dst,
                bytes,
                reduce,
            } => match (src, dst.first()) {
                (Span::Global(at), _) => (vec![(*at, *bytes as u32)], Touch::copy(false, false)),
                (_, Some(Span::Global(at))) => {
                    let touch = Touch::copy(true, reduces(reduce));
                    (vec![(*at, *bytes as u32)], touch)
                }
                _ => return,
            },
            Work::Load { map, at, .. } => {
                (self.tile_spans(*map, at, false), Touch::copy(false, false))
            }
            Work::Store {
                map, at, reduce, ..
            } => (
                self.tile_spans(*map, at, reduce.is_none()),
                Touch::copy(true, reduces(reduce)),
            ),
            Work::Write { .. } => return,
        };
        let signal = match &op.end {
            End::Group(group) => Some(race.bulk_writes(*group, op.site)),
            End::Mbarriers(places, _) => {
                let first = places.first().copied().zip(op.phases.first().copied());
                first.and_then(|object| race.object_signal(object))
            }
        };
        if let Some(signal) = signal {
            race.global_copy(touch, signal, &spans, op.site);
        }
    }

    /// The bytes of a tile in global memory.
    fn tile_spans(&mut self, map: u64, at: &TileAt, stores: bool) -> Vec<(u64, u32)> {
        let mut spans = Vec::new();
        if let Some(map) = self.tensor_map(map) {
            map.walk(&at.coords, &at.offsets, |run| {
                let Some(address) = run.address else { return };
                let hint = &mut self.region_hint;
                let bytes = run.bytes + if stores { map.spill_bytes(&run) } else { 0 };
                if self.env.global.find(address, bytes, hint).is_some() {
                    spans.push((address, bytes as u32));
                }
            });
        }
        spans
    }
}
