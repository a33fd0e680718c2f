//! What arrivals at mbarriers and waits for them order for the race detector.

use crate::exec::state::{Place, State, Warp};
use crate::inst::Reach;

impl Warp {
    /// Calls `f` with each object and the lanes that name it.
    fn by_object(lanes: u32, places: &[Place; 32], mut f: impl FnMut(Place, u32)) {
        let mut rest = lanes;
        while rest != 0 {
            let place = places[rest.trailing_zeros() as usize & 31];
            let same = |lane: usize| u32::from(places[lane] == place) << lane;
            let lanes = (0..32).fold(0, |all, lane| all | same(lane)) & rest;
            f(place, lanes);
            rest &= !lanes;
        }
    }

    pub(crate) fn release_to_objects(
        &self,
        st: &mut State<'_>,
        reach: Reach,
        lanes: u32,
        places: &[Place; 32],
    ) {
        let mut unordered = Vec::new();
        if let Some(race) = &mut st.race {
            Warp::by_object(lanes, places, |place, lanes| {
                let site = self.site(lanes);
                if !race.object_ordered(place, site) {
                    unordered.push((place, site));
                }
                race.object_arrive(place, reach, site);
            });
        }
        st.report_init_races(&unordered);
    }

    pub(crate) fn acquire_from_objects(
        &self,
        st: &mut State<'_>,
        reach: Reach,
        lanes: u32,
        places: &[Place; 32],
    ) {
        let mut unordered = Vec::new();
        let Some(mut race) = st.race.take() else {
            return;
        };
        Warp::by_object(lanes, places, |place, lanes| {
            let site = self.site(lanes);
            if !race.object_ordered(place, site) {
                unordered.push((place, site));
            }
            let phases = st.mbarrier(place).map_or(0, |object| object.phase);
            race.object_pass((place, phases), reach, site);
        });
        st.race = Some(race);
        st.report_init_races(&unordered);
    }
}
