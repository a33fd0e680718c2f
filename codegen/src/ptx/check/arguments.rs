//! Arguments of atoms against their operands.

use super::{Checker, clipped};
use crate::atoms::model::{Atom, Emit, LlvmOp, OperandDecl, OperandKind, RegType, Space};
use crate::error::Error;
use crate::ir::thread::program::{Address, Arg, Base, Expr, IntType, ParamType, Reg};

impl<'p> Checker<'p> {
    pub(super) fn reg(&mut self, reg: Reg) -> Option<RegType> {
        match self.program.files.get(reg.file as usize) {
            Some(file) if reg.index < file.len => Some(file.ty),
            Some(file) => {
                self.problem(format!(
                    "register {} of {} in {}",
                    reg.index, file.len, file.name
                ));
                None
            }
            None => {
                self.problem(format!("there is no register file {}", reg.file));
                None
            }
        }
    }

    pub(super) fn atom(&mut self, atom: &'p Atom, args: &'p [Arg]) {
        if !atom.runs_on(*self.arch) {
            let arch = self.arch.to_string();
            let hint = if atom.exact {
                format!("it needs {} exactly", atom.needs())
            } else {
                format!("it needs {} or later", atom.needs())
            };
            self.unsupported.push(Error::Unsupported {
                feature: atom.id.clone(),
                arch,
                hint,
            });
        }
        self.version = self.version.max(atom.min_ptx);
        if args.len() != atom.operands.len() {
            let wanted = atom.operands.len();
            return self.problem(format!(
                "{} takes {wanted} arguments, not {}",
                atom.id,
                args.len()
            ));
        }
        for (operand, arg) in atom.operands.iter().zip(args) {
            self.arg(atom, operand, arg);
        }
    }

    fn arg(&mut self, atom: &Atom, operand: &OperandDecl, arg: &'p Arg) {
        let here = format!("operand {} of {}", operand.name, atom.id);
        match (operand.kind, arg) {
            (
                OperandKind::RegsIn { ty, count }
                | OperandKind::RegsOut { ty, count }
                | OperandKind::RegsInOut { ty, count },
                Arg::Regs(regs),
            ) => {
                self.registers(&here, atom, (ty, count), regs);
            }
            (OperandKind::RegsInOuts { ty }, Arg::Regs(regs)) => {
                let types: Vec<_> = regs.iter().filter_map(|&reg| self.reg(reg)).collect();
                if let Some(ty) =
                    ty.filter(|ty| types.iter().any(|given| given.bits() != ty.bits()))
                {
                    self.problem(format!("{here} is registers {ty:?}; given are {types:?}"));
                }
            }
            (OperandKind::Address(space), Arg::Address(address)) => {
                self.address(&here, space, address);
                let written = operand.name == "dst"
                    && atom.copy.as_ref().is_some_and(|copy| copy.to == space);
                if written && self.is_readonly(address) {
                    self.problem(format!("{here} writes through a read-only parameter"));
                }
            }
            (OperandKind::TensorMap, Arg::TensorMap(param)) => {
                let params = &self.program.params;
                let ty = params.get(param.0 as usize).map(|param| param.ty);
                if ty != Some(ParamType::TensorMap) {
                    self.problem(format!("{here}: parameter {} is no tensor map", param.0));
                }
            }
            (OperandKind::Int, Arg::Int(value)) => self.expect(value, IntType::I32),
            (OperandKind::Predicate, Arg::Predicate(var)) => {
                self.definition(*var, &Expr::Int(0, IntType::I1), false);
            }
            (OperandKind::Ints(count), Arg::Ints(values)) => {
                let given = values.len();
                if let Some(count) = count.filter(|count| given != *count as usize) {
                    self.problem(format!("{here} is {count} integers; given are {given}"));
                }
                for value in values {
                    self.expect(value, IntType::I32);
                }
            }
            (OperandKind::Imm, Arg::Imm(value)) => self.constant(&here, *value),
            (OperandKind::Imms, Arg::Imms(values)) => {
                values.iter().for_each(|value| self.constant(&here, *value));
            }
            (kind, _) => self.problem(clipped(
                400,
                format_args!("{here} is {kind:?}; the argument is {arg:?}"),
            )),
        }
    }

    fn constant(&mut self, here: &str, value: i64) {
        if i32::try_from(value).is_err() {
            self.problem(format!("{here} is {value}, no 32-bit integer"));
        }
    }

    /// Loads and stores take registers of any one width that adds up; other atoms take what they
    /// declare.
    fn registers(&mut self, here: &str, atom: &Atom, declared: (RegType, u32), regs: &[Reg]) {
        let types: Vec<RegType> = regs.iter().filter_map(|&reg| self.reg(reg)).collect();
        if types.len() != regs.len() {
            return;
        }
        let (ty, count) = declared;
        let same_bits = types.windows(2).all(|pair| pair[0] == pair[1]);
        let total: u64 = types.iter().map(|ty| u64::from(ty.bits())).sum();
        let fits = if matches!(atom.emit, Emit::Llvm(LlvmOp::Load | LlvmOp::Store)) {
            same_bits && total == u64::from(ty.bits()) * u64::from(count)
        } else {
            types.len() == count as usize && types.iter().all(|given| given.bits() == ty.bits())
        };
        if !fits {
            self.problem(format!(
                "{here} is {count} registers {ty:?}; given are {types:?}"
            ));
        }
    }

    fn address(&mut self, here: &str, space: Space, address: &'p Address) {
        if address.space != space {
            self.problem(format!(
                "{here} is in {space:?}; the address is in {:?}",
                address.space
            ));
        }
        if i32::try_from(address.imm).is_err() {
            let imm = address.imm;
            self.problem(format!(
                "{here} has the offset field {imm}, no 32-bit integer"
            ));
        }
        match (address.base, address.space) {
            (Base::Smem, Space::Smem) => {
                if self.program.smem_bytes == 0 {
                    self.problem(format!(
                        "{here} is in shared memory, of which the kernel has none"
                    ));
                }
                self.expect(&address.offset, IntType::I32);
            }
            (Base::Param(param), Space::Gmem) => {
                let ty = self
                    .program
                    .params
                    .get(param.0 as usize)
                    .map(|param| param.ty);
                if !matches!(ty, Some(ParamType::Pointer { .. })) {
                    self.problem(format!("{here}: parameter {} is no pointer", param.0));
                }
                self.expect(&address.offset, IntType::I64);
            }
            (base, space) => self.problem(format!("{here}: {base:?} is no start in {space:?}")),
        }
    }

    fn is_readonly(&self, address: &Address) -> bool {
        let Base::Param(param) = address.base else {
            return false;
        };
        let ty = self
            .program
            .params
            .get(param.0 as usize)
            .map(|param| param.ty);
        matches!(ty, Some(ParamType::Pointer { readonly: true, .. }))
    }
}
