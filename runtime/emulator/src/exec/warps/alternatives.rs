//! What other programs would have done where they differ from the one that runs.

use crate::alternatives::{Instead, results};
use crate::exec::state::{State, Warp};
use crate::inst::{Exec, Inst, Lanes};
use crate::module::PREDICATE;

/// A register: its values and the lanes that have one.
type Held = Option<(Lanes, u32)>;

impl Warp {
    /// Notes the programs that would differ at the current instruction.
    pub(crate) fn compare_alternatives(&mut self, st: &mut State<'_>, inst: &Inst, lanes: u32) {
        let Some(watched) = st.env.watched else {
            return;
        };
        for (number, instead) in watched.at(self.pc()) {
            if watched.differs(*number) {
                continue;
            }
            let differs = match instead {
                Instead::Anything => true,
                Instead::Nothing => self.guarded(inst, lanes) != 0,
                Instead::Inst(other) => self.would_differ(st, inst, other, lanes),
            };
            if differs {
                watched.note(*number);
            }
        }
        self.undefined = 0;
    }

    fn would_differ(&mut self, st: &mut State<'_>, a: &Inst, b: &Inst, lanes: u32) -> bool {
        let mut slots = results(&a.exec).unwrap_or_default();
        slots.extend(results(&b.exec).unwrap_or_default());
        let before: Vec<Held> = slots.iter().map(|slot| self.held(*slot)).collect();
        let mut tried = |inst: &Inst| {
            self.undefined = 0;
            let mask = self.guarded(inst, lanes);
            if mask != 0 && !matches!(inst.exec, Exec::Branch { .. }) {
                self.execute(st, inst, mask);
            }
            let after: Vec<Held> = slots.iter().map(|slot| self.held(*slot)).collect();
            for (slot, held) in slots.iter().zip(&before) {
                self.hold(*slot, held);
            }
            (mask, self.undefined, after)
        };
        tried(a) != tried(b)
    }

    fn held(&self, slot: u32) -> Held {
        let index = (slot & !PREDICATE) as usize;
        if slot & PREDICATE == 0 {
            let defined = self.frame.defined.get(index)?;
            return Some((*self.frame.regs.get(index)?, *defined));
        }
        let mut values = [0; 32];
        values[0] = u64::from(*self.frame.preds.get(index)?);
        Some((values, *self.frame.preds_defined.get(index)?))
    }

    fn hold(&mut self, slot: u32, held: &Held) {
        let (index, Some((values, lanes))) = ((slot & !PREDICATE) as usize, held) else {
            return;
        };
        let (defined, place) = match slot & PREDICATE {
            0 => (self.frame.defined.get_mut(index), Some(index)),
            _ => (self.frame.preds_defined.get_mut(index), None),
        };
        if let Some(defined) = defined {
            *defined = *lanes;
        }
        match place {
            Some(index) => {
                if let Some(register) = self.frame.regs.get_mut(index) {
                    *register = *values;
                }
            }
            None => {
                if let Some(predicate) = self.frame.preds.get_mut(index) {
                    *predicate = values[0] as u32;
                }
            }
        }
    }
}
