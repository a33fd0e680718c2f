//! Warp collectives with a member mask: shuffles, votes, matches, reductions, `bar.warp.sync`.

use crate::exec::state::{Flow, State, Warp};
use crate::finding::FindingId;
use crate::inst::{Collective, CollectiveKind, Lanes};
use crate::num::float::{FloatMods, minmax32};

/// Lanes that act together, and the mask they named.
struct Members {
    lanes: u32,
    mask: u32,
}

impl Warp {
    pub(crate) fn collective(&mut self, st: &mut State<'_>, op: &Collective, mask: u32) -> Flow {
        let masks = match &op.mask {
            Some(named) => self.values(st, named, mask),
            None => [u64::from(mask); 32],
        };
        let live = self.live(st);
        let mut parties: Vec<Members> = Vec::with_capacity(1);
        for lane in (0..32).filter(|lane| mask >> lane & 1 == 1) {
            let named = masks[lane] as u32;
            match parties.iter_mut().find(|party| party.mask == named) {
                Some(party) => party.lanes |= 1 << lane,
                None => parties.push(Members {
                    lanes: 1 << lane,
                    mask: named,
                }),
            }
        }
        for party in &parties {
            let outside = party.lanes & !party.mask;
            let disagree = party.mask & mask & !party.lanes;
            let missing = party.mask & live & !mask;
            let site = self.site(party.lanes);
            if outside != 0 {
                st.report(FindingId::SyncMask, site, None, || {
                    format!(
                        "lanes {outside:#010x} execute with mask {:#010x}, which does \
                     not name them",
                        party.mask
                    )
                });
            } else if disagree != 0 {
                st.report(FindingId::SyncMask, site, None, || {
                    format!(
                        "lanes {disagree:#010x} of mask {:#010x} name another mask",
                        party.mask
                    )
                });
            } else if missing != 0 {
                if !self.forced() {
                    return Flow::Converge;
                }
                st.report(FindingId::Deadlock, site, None, || {
                    format!(
                        "lanes {missing:#010x} of mask {:#010x} never arrive",
                        party.mask
                    )
                });
            }
        }
        let holds = self.pred(&op.pred, mask);
        let a = self.values(st, &op.a, mask);
        let [b, c] = self.two(st, &[op.b, op.c], mask);
        for party in parties {
            self.perform(st, op, &party, (&a, &b, &c), holds);
        }
        Flow::Next
    }

    fn perform(
        &mut self,
        st: &mut State<'_>,
        op: &Collective,
        party: &Members,
        (a, b, c): (&Lanes, &Lanes, &Lanes),
        holds: u32,
    ) {
        use CollectiveKind as Kind;
        let lanes = party.lanes;
        let mut out = [0u64; 32];
        let mut flags = 0;
        match op.kind {
            Kind::BarWarp => {
                if let Some(race) = &mut st.race {
                    race.warp_join(self.site(lanes));
                }
                return;
            }
            Kind::ShflUp | Kind::ShflDown | Kind::ShflBfly | Kind::ShflIdx => {
                flags = self.shuffle(st, op.kind, lanes, (a, b, c), &mut out);
            }
            Kind::VoteAll => flags = if holds & lanes == lanes { lanes } else { 0 },
            Kind::VoteAny => flags = if holds & lanes != 0 { lanes } else { 0 },
            Kind::VoteUni => {
                let uniform = holds & lanes == lanes || holds & lanes == 0;
                flags = if uniform { lanes } else { 0 };
            }
            Kind::VoteBallot => out = [u64::from(holds & lanes); 32],
            Kind::Elect => {
                let leader = lanes.trailing_zeros() & 31;
                out = [u64::from(leader); 32];
                flags = 1 << leader;
            }
            Kind::MatchAny | Kind::MatchAll => {
                let width = u64::MAX >> (64 - op.width.clamp(1, 64));
                let same = |lane: usize| {
                    let equal = |other: usize| (a[lane] ^ a[other]) & width == 0;
                    let bit = |other: usize| u32::from(equal(other)) << other;
                    (0..32).fold(0, |all, other| all | bit(other)) & lanes
                };
                let first = lanes.trailing_zeros() as usize & 31;
                if op.kind == Kind::MatchAny {
                    out = std::array::from_fn(|lane| u64::from(same(lane)));
                } else if same(first) == lanes {
                    out = [u64::from(lanes); 32];
                    flags = lanes;
                }
            }
            _ => out = [u64::from(reduce(op, lanes, a)); 32],
        }
        if let Some(dst) = op.dst {
            self.write(dst, lanes, &out);
        }
        if let Some(slot) = op.dst_pred {
            self.write_pred(slot, lanes, flags);
        }
    }

    /// ISA 9.7.9.6, the pseudo code of shfl.sync. Returns the lanes whose source is in range.
    fn shuffle(
        &mut self,
        st: &mut State<'_>,
        kind: CollectiveKind,
        lanes: u32,
        (a, b, c): (&Lanes, &Lanes, &Lanes),
        out: &mut Lanes,
    ) -> u32 {
        let mut in_range = 0;
        let mut inactive = 0;
        for lane in (0..32usize).filter(|lane| lanes >> lane & 1 == 1) {
            let (amount, control) = (b[lane] as u32 & 31, c[lane] as u32);
            let (segment, clamp) = (control >> 8 & 31, control & 31);
            let me = lane as u32;
            let most = me & segment | clamp & !segment;
            let least = me & segment;
            let (source, ok) = match kind {
                CollectiveKind::ShflUp => {
                    let source = me.wrapping_sub(amount);
                    (source, source as i32 >= most as i32)
                }
                CollectiveKind::ShflDown => (me + amount, me + amount <= most),
                CollectiveKind::ShflBfly => (me ^ amount, me ^ amount <= most),
                _ => {
                    let source = least | amount & !segment;
                    (source, source <= most)
                }
            };
            let source = if ok { source & 31 } else { me };
            in_range |= u32::from(ok) << lane;
            inactive |= u32::from(lanes >> source & 1 == 0) << lane;
            out[lane] = a[source as usize & 31];
        }
        if inactive != 0 && st.sanitize() {
            let site = self.site(inactive);
            st.report(FindingId::ShflInactive, site, None, || {
                format!(
                    "lanes {inactive:#010x} read lanes that do not take part ({lanes:#010x} do)"
                )
            });
        }
        in_range
    }
}

fn reduce(op: &Collective, lanes: u32, a: &Lanes) -> u32 {
    use CollectiveKind as Kind;
    let values = (0..32)
        .filter(|lane| lanes >> lane & 1 == 1)
        .map(|lane| a[lane as usize] as u32);
    let float = |larger: bool| {
        let strip = if op.mods.has(FloatMods::ABS) {
            0x7fff_ffff
        } else {
            u32::MAX
        };
        let mods = FloatMods(op.mods.0 & !FloatMods::ABS);
        let best = |a: u32, b: u32| minmax32(u64::from(a), u64::from(b), larger, mods) as u32;
        values.clone().map(|value| value & strip).reduce(best)
    };
    let result = match op.kind {
        Kind::ReduxAdd { .. } => values.reduce(u32::wrapping_add),
        Kind::ReduxAnd => values.reduce(|a, b| a & b),
        Kind::ReduxOr => values.reduce(|a, b| a | b),
        Kind::ReduxXor => values.reduce(|a, b| a ^ b),
        Kind::ReduxMin { float: true, .. } => float(false),
        Kind::ReduxMax { float: true, .. } => float(true),
        Kind::ReduxMin { signed: true, .. } => values.min_by_key(|value| *value as i32),
        Kind::ReduxMax { signed: true, .. } => values.max_by_key(|value| *value as i32),
        Kind::ReduxMin { .. } => values.min(),
        _ => values.max(),
    };
    result.unwrap_or(0)
}
