//! Keeping what leads to a finding: which steps order accesses, and which touch its address.
//!
//! Costs one test for each instruction unless the options ask for it.

use crate::exec::state::{Flow, Focus, Recorder, Site, State, Stepped, Warp};
use crate::finding::{Finding, Space, Threads};
use crate::history::{Event, EventKind};
use crate::inst::{CollectiveKind, Exec, Inst, MbarrierKind, TensorKind};

impl State<'_> {
    /// Keeps what leads to the finding that the options name, if CTAs of this cluster take part.
    pub(crate) fn begin_history(&mut self, ctas: &[[u32; 3]]) {
        let finding = self.env.options.history.as_deref();
        let Some(finding) = finding.filter(|finding| takes_part(finding, ctas)) else {
            return;
        };
        let location = finding.location.as_ref();
        let at = |space: Space| location.filter(|location| location.space == space);
        let focus = Focus {
            shared: at(Space::Shared).and_then(|location| self.place(location.address)),
            global: at(Space::Global).map(|location| location.address),
            hits: Vec::new(),
        };
        if let Some(race) = &mut self.race {
            race.focus = Some(focus);
        }
        self.recorder = Some(Box::new(Recorder::new(finding.clone())));
    }

    /// Ends the history of a cluster.
    pub(crate) fn end_history(&mut self, ctas: &[[u32; 3]]) {
        if let Some(recorder) = self.recorder.take() {
            self.observed.histories.push(recorder.finish(ctas.to_vec()));
        }
    }
}

/// Whether the finding, or its other side, is of one of the CTAs.
fn takes_part(finding: &Finding, ctas: &[[u32; 3]]) -> bool {
    let other = finding.other.as_ref().and_then(|other| other.by);
    ctas.contains(&finding.cta) || other.is_some_and(|by| ctas.contains(&by.cta))
}

impl Warp {
    /// Keeps a step that was made.
    #[cold]
    pub(crate) fn record(&self, st: &mut State<'_>, inst: &Inst, pc: u32, lanes: u32, flow: Flow) {
        let Some(mut recorder) = st.recorder.take() else {
            return;
        };
        let step = recorder.count_step();
        let site = Site {
            pc,
            rank: self.rank,
            warp: self.id,
            lanes,
        };
        let (mut hits, mut others) = (0, Vec::new());
        let focus = st.race.as_mut().and_then(|race| race.focus.as_mut());
        for hit in focus
            .map(|focus| std::mem::take(&mut focus.hits))
            .unwrap_or_default()
        {
            let mine = (hit.pc, hit.rank, hit.warp) == (pc, site.rank, site.warp);
            match mine {
                true => hits |= hit.lanes,
                false => others.push(hit),
            }
        }
        let waits = matches!(flow, Flow::Suspend(_) | Flow::Converge);
        let found = recorder.saw();
        let kind = match (kind_of(&inst.exec), found || hits != 0) {
            // An access elsewhere orders nothing.
            (Some(EventKind::Access), false) => None,
            (None, true) => Some(EventKind::Other),
            (kind, _) => kind,
        };
        if let Some(kind) = kind {
            let (issued, waited) = (issued(&inst.exec, site), waited(&inst.exec));
            let by = Threads {
                cta: st.near.cta,
                warp: self.id,
                lanes,
            };
            let waits = waits || matches!(flow, Flow::Wait(_));
            let event = Event {
                step,
                until: step,
                pc,
                line: inst.line,
                by,
                kind,
                waits,
                hits,
            };
            recorder.keep_step(Stepped {
                event,
                site,
                issued: issued.filter(|_| !waits),
                waited: waited.filter(|_| !waits),
            });
        }
        for hit in others {
            recorder.touched(hit);
        }
        st.stopped |= found;
        st.recorder = Some(recorder);
    }
}

/// What an instruction does to the order of accesses; none where that is nothing.
fn kind_of(exec: &Exec) -> Option<EventKind> {
    Some(match exec {
        Exec::Load { .. }
        | Exec::Store { .. }
        | Exec::Atomic(_)
        | Exec::LoadMatrix(_)
        | Exec::StoreMatrix(_)
        | Exec::LoadFragment(_)
        | Exec::StoreFragment(_)
        | Exec::Discard { .. } => EventKind::Access,
        Exec::AsyncCopy(_) | Exec::Bulk(_) | Exec::StoreAsync(_) | Exec::Wgmma(_) => {
            EventKind::Issue
        }
        Exec::Tensor(copy) if copy.kind != TensorKind::Prefetch => EventKind::Issue,
        Exec::AsyncCommit | Exec::BulkCommit | Exec::WgmmaCommit => EventKind::Commit,
        Exec::AsyncWait { .. } | Exec::BulkWait { .. } | Exec::WgmmaWait { .. } => EventKind::Wait,
        Exec::Mbarrier(op) => match op.kind {
            MbarrierKind::Wait { .. } => EventKind::Wait,
            MbarrierKind::PendingCount => return None,
            _ => EventKind::Arrive,
        },
        Exec::CopyArrive { .. } => EventKind::Arrive,
        Exec::Barrier(_) | Exec::ClusterArrive { .. } | Exec::ClusterWait { .. } => {
            EventKind::Barrier
        }
        Exec::Collective(op) if op.kind == CollectiveKind::BarWarp => EventKind::Barrier,
        Exec::Fence(_) | Exec::WgmmaFence | Exec::FollowGrid => EventKind::Fence,
        Exec::Exit | Exec::Trap => EventKind::Exit,
        _ => return None,
    })
}

/// The parts of the operation that an instruction issues, and whether it is a product: of the warps
/// of a warpgroup the first stands for all.
fn issued(exec: &Exec, site: Site) -> Option<(u32, bool)> {
    match exec {
        Exec::AsyncCopy(_) | Exec::Bulk(_) | Exec::Tensor(_) | Exec::StoreAsync(_) => {
            Some((site.lanes.count_ones(), false))
        }
        Exec::Wgmma(_) if site.warp.is_multiple_of(4) => Some((1, true)),
        _ => None,
    }
}

/// The groups that may be left where an instruction waits for products.
fn waited(exec: &Exec) -> Option<u32> {
    match exec {
        Exec::WgmmaWait { pending } => Some(*pending),
        _ => None,
    }
}
