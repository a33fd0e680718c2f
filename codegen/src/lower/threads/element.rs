//! Runs the code of elements on registers.
//!
//! Comes in: straight-line code, the registers of its inputs and of its result. Goes out:
//! statements. A result is written by the call that gives it; all else is in temporaries, which
//! runs use one after the other.

use std::collections::BTreeMap;

use crate::atoms::model::{OperandKind, RegType};
use crate::element::{Call, Code, Slot};
use crate::error::{Error, Result};
use crate::ir::thread::program::{Arg, Reg, Scalar, Stmt};

/// Registers that hold values within one run, by type.
#[derive(Clone, Debug, Default)]
pub struct Temps {
    registers: BTreeMap<RegType, Vec<Reg>>,
}

impl Temps {
    /// Makes sure that the code finds its temporaries: registers that are missing are declared as a
    /// file of that name, type and length, whose number `declare` gives.
    pub fn reserve(&mut self, code: &Code, declare: &mut dyn FnMut(&str, RegType, usize) -> u32) {
        let mut needs: BTreeMap<RegType, usize> = BTreeMap::new();
        for ty in code.temporaries() {
            *needs.entry(ty).or_default() += 1;
        }
        for (ty, count) in needs {
            let known = self.registers.entry(ty).or_default();
            let missing = count.saturating_sub(known.len());
            if missing > 0 {
                let file = declare(&format!("temp_{}", ty.name()), ty, missing);
                known.extend((0..missing as u32).map(|index| Reg { file, index }));
            }
        }
    }
}

/// One run in progress.
struct Run<'r> {
    code: &'r Code,
    inputs: &'r [Vec<Reg>],
    temps: &'r Temps,
    /// Temporaries in use, by type.
    used: BTreeMap<RegType, usize>,
    /// Where calls and scalars are.
    places: BTreeMap<Slot, Reg>,
    env: &'r dyn Fn(Slot) -> Option<Scalar>,
    statements: Vec<Stmt>,
}

/// Runs the code once. Inputs are the registers that hold the run's elements, outputs those that
/// its results go to; `env` tells scalars, coordinates and extents. An output may be an input's
/// register.
///
/// # Errors
/// [`Error::Bug`] where registers or values are missing.
pub fn run(
    code: &Code,
    inputs: &[Vec<Reg>],
    outputs: &[Reg],
    temps: &mut Temps,
    env: &dyn Fn(Slot) -> Option<Scalar>,
) -> Result<Vec<Stmt>> {
    let mut run = Run {
        code,
        inputs,
        temps,
        used: BTreeMap::new(),
        places: BTreeMap::new(),
        env,
        statements: Vec::new(),
    };
    if outputs.len() != code.results.len() {
        return Err(run.bug(format!(
            "{} registers take {} results",
            outputs.len(),
            code.results.len()
        )));
    }
    for (slot, ty) in code.set() {
        let reg = run.temporary(ty)?;
        run.set(slot, reg)?;
        run.places.insert(slot, reg);
    }
    let last_reads = last_reads(code, inputs);
    for (number, call) in code.calls.iter().enumerate() {
        // A result that nothing reads afterwards in its register's old meaning goes there.
        let direct = |at: usize| {
            let slot = Slot::Call(number, at as u32);
            let output = code.results.iter().position(|result| *result == slot)?;
            let reg = outputs[output];
            let read_later = last_reads.get(&reg).is_some_and(|last| *last > number);
            (!read_later).then_some(reg)
        };
        let mut regs = Vec::new();
        for (at, ty) in call.outputs.iter().enumerate() {
            let reg = match direct(at) {
                Some(reg) => reg,
                None => run.temporary(*ty)?,
            };
            run.places.insert(Slot::Call(number, at as u32), reg);
            regs.push(reg);
        }
        run.call(call, &regs)?;
    }
    for (slot, &output) in code.results.iter().zip(outputs) {
        match slot {
            Slot::Input(..) | Slot::Call(..) => {
                let from = run.place(*slot)?;
                if from != output {
                    let set = Stmt::Set(output, Scalar::Reg(from));
                    run.statements.push(set);
                }
            }
            _ => run.set(*slot, output)?,
        }
    }
    Ok(run.statements)
}

/// The last call that reads each register of an input; past all where it is a result itself.
fn last_reads(code: &Code, inputs: &[Vec<Reg>]) -> BTreeMap<Reg, usize> {
    let mut last = BTreeMap::new();
    let mut read = |slot: &Slot, number: usize| {
        if let Slot::Input(input, at) = slot
            && let Some(reg) = inputs.get(*input).and_then(|regs| regs.get(*at as usize))
        {
            last.insert(*reg, number);
        }
    };
    for (number, call) in code.calls.iter().enumerate() {
        call.inputs
            .iter()
            .flatten()
            .for_each(|slot| read(slot, number));
    }
    let past = code.calls.len();
    code.results.iter().for_each(|slot| read(slot, past));
    last
}

impl Run<'_> {
    fn bug(&self, message: String) -> Error {
        Error::bug("lower", "an element", message, format!("{:?}", self.code))
    }

    fn temporary(&mut self, ty: RegType) -> Result<Reg> {
        let used = self.used.entry(ty).or_default();
        let reg = self.temps.registers.get(&ty).and_then(|all| all.get(*used));
        let reg = reg.copied();
        *used += 1;
        reg.ok_or_else(|| self.bug(format!("no temporary of type {} is left", ty.name())))
    }

    fn place(&self, slot: Slot) -> Result<Reg> {
        let reg = match slot {
            Slot::Input(input, at) => {
                let regs = self.inputs.get(input);
                regs.and_then(|regs| regs.get(at as usize)).copied()
            }
            other => self.places.get(&other).copied(),
        };
        reg.ok_or_else(|| self.bug(format!("{slot:?} is in no register")))
    }

    /// Sets a register to a scalar.
    fn set(&mut self, slot: Slot, reg: Reg) -> Result<()> {
        let scalar = match slot {
            Slot::Bits(bits, _) => Some(Scalar::Bits(bits)),
            other => (self.env)(other),
        };
        let scalar = scalar.ok_or_else(|| self.bug(format!("{slot:?} has no value")))?;
        self.statements.push(Stmt::Set(reg, scalar));
        Ok(())
    }

    fn call(&mut self, call: &Call, outputs: &[Reg]) -> Result<()> {
        let (mut inputs, mut outputs) = (call.inputs.iter(), outputs.iter().copied());
        let mut args = Vec::new();
        for operand in &call.atom.operands {
            args.push(Arg::Regs(match operand.kind {
                OperandKind::RegsOut { count, .. } => {
                    outputs.by_ref().take(count as usize).collect()
                }
                OperandKind::RegsIn { .. } => {
                    let slots = inputs.next().into_iter().flatten();
                    slots.map(|slot| self.place(*slot)).collect::<Result<_>>()?
                }
                _ => {
                    let message = format!("{} has an operand {}", call.atom.id, operand.name);
                    return Err(self.bug(message));
                }
            }));
        }
        self.statements.push(Stmt::Atom {
            atom: call.atom.clone(),
            args,
        });
        Ok(())
    }
}
