//! Calls, returns, exits and indexed branches.
//!
//! Arguments travel by bytes of local memory (`.param` variables) or by registers. Lanes that
//! call one function from one depth share a frame and may reconverge in it, wherever they came
//! from.

use crate::exec::state::{Flow, Frame, Return, State, UNDEFINED, Warp};
use crate::finding::FindingId;
use crate::inst::{Actual, Call, Exec, Inst, Lanes, PredSrc, Src};
use crate::module::{FUNCTION_WINDOW, Formal, widen};

/// Registers all frames of a warp may hold: 64 MiB.
const MAX_FRAME_REGISTERS: usize = 1 << 18;

impl Warp {
    pub(crate) fn branch_indexed(
        &mut self,
        st: &mut State<'_>,
        index: &Src,
        targets: &[u32],
        mask: u32,
    ) -> Flow {
        let values = self.values(st, index, mask);
        let (pc, depth, function) = (self.pc(), self.depth(), self.function());
        let rest = self.group_mask() & !mask;
        let mut groups = vec![(rest, pc + 1, depth, function)];
        let mut beyond = 0;
        for (lane, value) in values
            .iter()
            .enumerate()
            .filter(|(lane, _)| mask >> lane & 1 == 1)
        {
            let index = *value as u32 as usize;
            if index >= targets.len() {
                beyond |= 1 << lane;
            }
            // NOTE: an index beyond the list is undefined behaviour; the lane takes the last
            // target.
            let target = targets
                .get(index.min(targets.len().wrapping_sub(1)))
                .copied();
            let target = target.unwrap_or(pc + 1);
            match groups.iter_mut().skip(1).find(|group| group.1 == target) {
                Some(group) => group.0 |= 1 << lane,
                None => groups.push((1 << lane, target, depth, function)),
            }
        }
        if beyond != 0 && st.sanitize() {
            let (site, count) = (self.site(beyond), targets.len());
            st.report(FindingId::OobParam, site, None, || {
                format!("brx.idx with an index beyond its {count} targets")
            });
        }
        self.replace_group(groups);
        Flow::Regroup
    }

    pub(crate) fn call(&mut self, st: &mut State<'_>, call: &Call, mask: u32) -> Flow {
        let (pc, depth, function) = (self.pc(), self.depth(), self.function());
        let rest = self.group_mask() & !mask;
        let mut targets: Vec<(u32, u32)> = Vec::new(); // function, lanes
        match call.target {
            Ok(id) => targets.push((id, mask)),
            Err(src) => {
                let values = self.values(st, &src, mask);
                for (lane, value) in values.iter().enumerate() {
                    if mask >> lane & 1 == 0 {
                        continue;
                    }
                    let value = match st.env.module.narrow {
                        true => widen(*value),
                        false => *value,
                    };
                    let id = (value.wrapping_sub(FUNCTION_WINDOW) / 16) as u32;
                    match targets.iter_mut().find(|target| target.0 == id) {
                        Some(target) => target.1 |= 1 << lane,
                        None => targets.push((id, 1 << lane)),
                    }
                }
            }
        }
        let mut groups = vec![(rest, pc + 1, depth, function)];
        for (id, lanes) in targets {
            match self.enter(st, call, id, lanes) {
                Some(start) => groups.push((lanes, start, depth + 1, id)),
                None => {
                    self.bad_call(st, id, lanes);
                    return self.exit(st, mask);
                }
            }
        }
        self.replace_group(groups);
        Flow::Regroup
    }

    #[cold]
    fn bad_call(&mut self, st: &mut State<'_>, id: u32, lanes: u32) {
        let (site, depth) = (self.site(lanes), self.depth());
        let limits = st.env.options;
        st.report(FindingId::NoProgress, site, None, || {
            format!(
                "call of function {id} at depth {depth}: no such function with these \
                 arguments, or more than \
                 {} nested calls or {} bytes of local memory",
                limits.call_depth, limits.local_bytes
            )
        });
        st.stopped = true;
    }

    /// Makes the frame of the callee and fills its parameters; gives its first instruction.
    fn enter(&mut self, st: &mut State<'_>, call: &Call, id: u32, lanes: u32) -> Option<u32> {
        // An earlier target of the same call may have left its frame the current one.
        self.load_frame(self.depth(), self.function());
        let module = st.env.module;
        let callee = module.functions.get(id as usize)?;
        let caller = module.functions.get(self.function() as usize)?;
        let (start, depth, pc) = (callee.start?, self.depth() + 1, self.pc());
        let fits =
            call.args.len() == callee.params.len() && call.results.len() == callee.results.len();
        if depth > st.env.options.call_depth || !fits {
            return None;
        }
        let caller_key = (self.frame.depth, self.frame.function);
        let caller_bases = self.frame.local_base;
        let args: Vec<Lanes> = call
            .args
            .iter()
            .map(|arg| self.actual_values(st, arg, lanes))
            .collect();
        let known = |frame: &Frame| (frame.depth, frame.function) == (depth, id);
        if !self.frames.iter().any(known) {
            let held: usize = self.frames.iter().map(|frame| frame.regs.len()).sum();
            if held + callee.registers as usize > MAX_FRAME_REGISTERS {
                return None;
            }
            self.frames
                .push(Frame::new(depth, id, callee.registers, callee.predicates));
        }
        self.load_frame(depth, id);
        for defined in self
            .frame
            .defined
            .iter_mut()
            .chain(&mut self.frame.preds_defined)
        {
            *defined &= !lanes;
        }
        for lane in (0..32).filter(|lane| lanes >> lane & 1 == 1) {
            let base = caller_bases[lane] + caller.local_bytes;
            let end = base + callee.local_bytes;
            if end > st.env.options.local_bytes {
                return None;
            }
            self.frame.local_base[lane] = base;
            if let Some(local) = self.local.get_mut(lane) {
                local.resize(end as usize);
                if let Some(fresh) = local.state.get_mut(base as usize..) {
                    fresh.fill(UNDEFINED);
                }
            }
            if let Some(stack) = self.stacks.get_mut(lane) {
                stack.push(Return {
                    pc: pc + 1,
                    function: caller_key.1,
                });
            }
        }
        for ((actual, formal), values) in call.args.iter().zip(&callee.params).zip(&args) {
            self.pass(*actual, *formal, values, lanes, caller_bases);
        }
        Some(start)
    }

    /// What an actual argument is worth, where it is a value.
    fn actual_values(&mut self, st: &State<'_>, actual: &Actual, lanes: u32) -> Lanes {
        match actual {
            Actual::Value(src) => self.values(st, src, lanes),
            Actual::Pred(slot) => {
                let holds = self.pred(
                    &PredSrc::Reg {
                        slot: *slot,
                        negate: false,
                    },
                    lanes,
                );
                std::array::from_fn(|lane| u64::from(holds >> lane & 1))
            }
            Actual::Local(_) | Actual::Result(_) | Actual::Sink => [0; 32],
        }
    }

    /// Gives one argument to the current frame, the callee's.
    fn pass(
        &mut self,
        actual: Actual,
        formal: Formal,
        values: &Lanes,
        lanes: u32,
        from: [u32; 32],
    ) {
        let bases = self.frame.local_base;
        match (actual, formal) {
            (Actual::Local(source), Formal::Local { offset, bytes }) => {
                self.copy_local(lanes, (from, source), (bases, offset), bytes);
            }
            (_, Formal::Local { offset, bytes }) => {
                for lane in (0..32).filter(|lane| lanes >> lane & 1 == 1) {
                    let at = (bases[lane] + offset) as usize;
                    if let Some(local) = self.local.get_mut(lane) {
                        local.store(at, bytes.min(8) as usize, values[lane]);
                    }
                }
            }
            (Actual::Local(source), Formal::Reg(reg)) => {
                let values = self.local_values(from, source, reg.width / 8);
                self.write(reg, lanes, &values);
            }
            (_, Formal::Reg(reg)) => self.write(reg, lanes, values),
            (_, Formal::Pred(slot)) => {
                let holds = (0..32).fold(0, |all, lane| all | (values[lane] as u32 & 1) << lane);
                self.write_pred(slot, lanes, holds);
            }
        }
    }

    /// Values of a variable in local memory.
    fn local_values(&self, bases: [u32; 32], offset: u32, bytes: u32) -> Lanes {
        std::array::from_fn(|lane| {
            let at = (bases[lane] + offset) as usize;
            let loaded = self
                .local
                .get(lane)
                .and_then(|local| local.load(at, bytes as usize));
            loaded.map_or(0, |(value, _)| value)
        })
    }

    /// Copies bytes and their states within each lane's local memory.
    fn copy_local(&mut self, lanes: u32, from: ([u32; 32], u32), to: ([u32; 32], u32), bytes: u32) {
        for lane in (0..32).filter(|lane| lanes >> lane & 1 == 1) {
            let Some(local) = self.local.get_mut(lane) else {
                continue;
            };
            let source = (from.0[lane] + from.1) as usize;
            let target = (to.0[lane] + to.1) as usize;
            let size = bytes as usize;
            let fits = |at: usize| {
                at.checked_add(size)
                    .is_some_and(|end| end <= local.data.len())
            };
            if fits(source) && fits(target) {
                local.data.copy_within(source..source + size, target);
                local.state.copy_within(source..source + size, target);
            }
        }
    }

    pub(crate) fn ret(&mut self, st: &mut State<'_>, mask: u32) -> Flow {
        if self.depth() == 0 {
            return self.exit(st, mask);
        }
        let (pc, depth, function) = (self.pc(), self.depth(), self.function());
        let rest = self.group_mask() & !mask;
        let mut groups = vec![(rest, pc + 1, depth, function)];
        for lane in (0..32).filter(|lane| mask >> lane & 1 == 1) {
            let Some(back) = self.stacks.get_mut(lane).and_then(Vec::pop) else {
                continue;
            };
            let key = (back.pc, depth - 1, back.function);
            match groups
                .iter_mut()
                .skip(1)
                .find(|group| (group.1, group.2, group.3) == key)
            {
                Some(group) => group.0 |= 1 << lane,
                None => groups.push((1 << lane, back.pc, depth - 1, back.function)),
            }
        }
        for &(lanes, pc, depth, caller) in groups.iter().skip(1) {
            self.load_frame(depth + 1, function);
            self.give_results(st, function, (lanes, pc, depth, caller));
        }
        self.replace_group(groups);
        Flow::Regroup
    }

    /// Copies the results of the callee, whose frame is the current one, to the caller.
    fn give_results(
        &mut self,
        st: &State<'_>,
        function: u32,
        (lanes, pc, depth, caller): (u32, u32, u32, u32),
    ) {
        let module = st.env.module;
        let Some(callee) = module.functions.get(function as usize) else {
            return;
        };
        let Some(Inst {
            exec: Exec::Call(call),
            ..
        }) = module.code.get(pc.wrapping_sub(1) as usize)
        else {
            return;
        };
        let callee_bases = self.frame.local_base;
        let values: Vec<Lanes> = callee
            .results
            .iter()
            .map(|formal| match *formal {
                Formal::Reg(reg) => self.values(st, &Src::Reg(reg.slot), lanes),
                Formal::Pred(slot) => {
                    let holds = self.pred(
                        &PredSrc::Reg {
                            slot,
                            negate: false,
                        },
                        lanes,
                    );
                    std::array::from_fn(|lane| u64::from(holds >> lane & 1))
                }
                Formal::Local { offset, bytes } => {
                    self.local_values(callee_bases, offset, bytes.min(8))
                }
            })
            .collect();
        self.load_frame(depth, caller);
        let bases = self.frame.local_base;
        for ((actual, formal), values) in call.results.iter().zip(&callee.results).zip(&values) {
            match (*actual, *formal) {
                (Actual::Local(target), Formal::Local { offset, bytes }) => {
                    self.copy_local(lanes, (callee_bases, offset), (bases, target), bytes);
                }
                (Actual::Local(target), Formal::Reg(reg)) => {
                    for lane in (0..32).filter(|lane| lanes >> lane & 1 == 1) {
                        let at = (bases[lane] + target) as usize;
                        if let Some(local) = self.local.get_mut(lane) {
                            local.store(at, (reg.width / 8) as usize, values[lane]);
                        }
                    }
                }
                (Actual::Result(reg), _) => self.write(reg, lanes, values),
                (Actual::Pred(slot), _) => {
                    let bit = |lane: usize| (values[lane] as u32 & 1) << lane;
                    self.write_pred(slot, lanes, (0..32).fold(0, |all, lane| all | bit(lane)));
                }
                _ => {}
            }
        }
        for lane in (0..32).filter(|lane| lanes >> lane & 1 == 1) {
            if let Some(local) = self.local.get_mut(lane) {
                local.resize(callee_bases[lane] as usize);
            }
        }
    }

    /// Ends the lanes; what waits for them is told.
    pub(crate) fn exit(&mut self, st: &mut State<'_>, mask: u32) -> Flow {
        let site = self.site(mask);
        self.leave(st, mask);
        let (pc, depth, function) = (self.pc(), self.depth(), self.function());
        let rest = self.group_mask() & !mask;
        self.replace_group([(rest, pc + 1, depth, function)]);
        if let Some(live) = st.near.live.get_mut(self.id as usize) {
            *live &= !mask;
        }
        self.wake();
        st.after_exit(site);
        self.left(st);
        Flow::Regroup
    }
}
