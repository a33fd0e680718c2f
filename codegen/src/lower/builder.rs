//! Grows a thread program: parameters, variables, registers, and the statements a section of the
//! kernel starts with.
//!
//! Invariant: an expression handed to [`Builder::hoist`] depends on parameters, the CTA and thread
//! index and hoisted variables of the section only, so it is computed once, at the section's start.
//! A later section computes its own from pinned indices, so that nothing of it holds registers
//! through the main loop.

use std::collections::HashMap;

use crate::arch::Arch;
use crate::atoms::model::RegType;
use crate::ir::thread::expr::{add, div, int, mul, rem};
use crate::ir::thread::program::{
    Expr, IntType, Param, ParamId, ParamType, Program, RegFile, Special, Stmt, VarDecl, VarId,
};
use crate::plan::copies::thread_digits::Digit;
use crate::plan::data::assumptions::Assumption;
use crate::plan::data::model::Plan;
use crate::plan::data::moves::Hop;
use crate::spec::WORKSPACE;
use crate::spec::keys::model::{Operand, OperandId};

/// A thread program under construction.
pub(super) struct Builder {
    program: Program,
    prologue: Vec<Stmt>,
    hoisted: HashMap<Expr, VarId>,
    /// The tile operation that is being lowered, and the one that the prologue's end is of.
    op: u32,
    prologue_op: Option<u32>,
    cta: Expr,
    tid: Expr,
    /// Threads that share out a tile.
    threads: i64,
}

/// A section set aside while a part of it is built.
pub(super) struct Scope {
    prologue: Vec<Stmt>,
    prologue_op: Option<u32>,
    hoisted: HashMap<Expr, VarId>,
    tid: Expr,
}

impl Builder {
    /// A program with the plan's parameters: pointers, extents, strides.
    pub(super) fn new(plan: &Plan) -> Builder {
        let program = Program {
            entry: plan.entry.clone(),
            params: params(plan),
            threads: plan.cta_threads(),
            min_ctas_per_sm: plan.min_ctas_per_sm,
            smem_bytes: plan.arena.bytes(),
            smem_align_bytes: smem_align(plan.arch),
            vars: Vec::new(),
            files: Vec::new(),
            body: Vec::new(),
        };
        let shared_by = i64::from(plan.work.shared_by);
        Builder {
            program,
            prologue: Vec::new(),
            hoisted: HashMap::new(),
            op: 0,
            prologue_op: None,
            cta: match shared_by {
                1 => Expr::Special(Special::CtaidX),
                _ => div(Expr::Special(Special::CtaidX), int(shared_by)),
            },
            tid: if shared_by > 1 {
                let rank = rem(Expr::Special(Special::CtaidX), int(shared_by));
                let own = int(i64::from(plan.cta_threads()));
                add(mul(rank, own), Expr::Special(Special::TidX))
            } else if plan.cta_threads() / 2 < plan.threads {
                Expr::Special(Special::TidX)
            } else {
                let threads = int(i64::from(plan.threads));
                rem(Expr::Special(Special::TidX), threads)
            },
            threads: i64::from(plan.threads),
        }
    }

    /// Starts a part of the section whose statements stand together: what is hoisted from here on
    /// is computed at the part's start.
    pub(super) fn begin_scope(&mut self) -> Scope {
        Scope {
            prologue: std::mem::take(&mut self.prologue),
            prologue_op: self.prologue_op.take(),
            hoisted: self.hoisted.clone(),
            tid: self.tid.clone(),
        }
    }

    /// Starts such a part inside of a loop, whose threads nothing before it knows: what depends on
    /// them is not moved before the loop, where it would hold registers through it.
    pub(super) fn begin_scope_apart(&mut self) -> Scope {
        let scope = self.begin_scope();
        let id = self.var("tid", IntType::I32, false);
        self.compute(Stmt::Pin(id, self.tid.clone()));
        self.tid = Expr::Var(id);
        scope
    }

    /// Ends the part and hands out the statements it starts with.
    pub(super) fn end_scope(&mut self, scope: Scope) -> Vec<Stmt> {
        self.hoisted = scope.hoisted;
        self.prologue_op = scope.prologue_op;
        self.tid = scope.tid;
        std::mem::replace(&mut self.prologue, scope.prologue)
    }

    /// Computes the expression once at the section's start, as the first lane of each warp has it.
    pub(super) fn uniform(&mut self, name: &str, expr: Expr) -> Expr {
        let id = self.var(name, IntType::I32, false);
        self.compute(Stmt::Uniform(id, expr));
        Expr::Var(id)
    }

    /// Appends to what is computed first, for the operation that is being lowered.
    fn compute(&mut self, statement: Stmt) {
        if self.prologue_op != Some(self.op) {
            self.prologue_op = Some(self.op);
            self.prologue.push(Stmt::From(self.op));
        }
        self.prologue.push(statement);
    }

    /// The next tile operation of the kernel, in the order of its text, is lowered from here on.
    pub(super) fn next_op(&mut self, last: u32) -> u32 {
        self.op = last + 1;
        self.op
    }

    /// That operation goes on.
    pub(super) fn resume_op(&mut self, op: u32) {
        self.op = op;
    }

    /// The kernel's parameters.
    pub(super) fn params(&self) -> &[Param] {
        &self.program.params
    }

    /// Ends a section: hands out the statements it starts with.
    pub(super) fn end_section(&mut self) -> Vec<Stmt> {
        std::mem::take(&mut self.prologue)
    }

    /// Starts another section, which knows nothing of what the one before has computed.
    pub(super) fn begin_section(&mut self) {
        self.hoisted.clear();
        self.prologue_op = None;
        self.cta = self.pinned("cta", Special::CtaidX);
        self.tid = self.pinned("tid", Special::TidX);
    }

    fn pinned(&mut self, name: &str, special: Special) -> Expr {
        let id = self.var(name, IntType::I32, false);
        self.compute(Stmt::Pin(id, Expr::Special(special)));
        Expr::Var(id)
    }

    /// The CTA's index in the grid.
    pub(super) fn cta(&mut self) -> Expr {
        self.hoist("cta", self.cta.clone())
    }

    /// The parameter of that name.
    pub(super) fn param(&self, name: &str) -> Option<ParamId> {
        self.first_param(|param| param.name == name)
    }

    /// The parameter that holds an operand's address.
    pub(super) fn pointer_to(&self, operand: OperandId) -> Option<ParamId> {
        let is_pointer = |ty| matches!(ty, ParamType::Pointer { .. });
        self.first_param(|param| param.operand == Some(operand) && is_pointer(param.ty))
    }

    /// The parameter that holds an operand's tensor map.
    pub(super) fn map_of(&self, operand: OperandId) -> Option<ParamId> {
        let is_map = |ty| ty == ParamType::TensorMap;
        self.first_param(|param| param.operand == Some(operand) && is_map(param.ty))
    }

    fn first_param(&self, is: impl Fn(&Param) -> bool) -> Option<ParamId> {
        let index = self.program.params.iter().position(is)?;
        u32::try_from(index).ok().map(ParamId)
    }

    /// Declares a variable.
    pub(super) fn var(&mut self, name: &str, ty: IntType, mutable: bool) -> VarId {
        let id = VarId(self.program.vars.len() as u32);
        self.program.vars.push(VarDecl {
            name: name.to_string(),
            ty,
            mutable,
        });
        id
    }

    /// Declares a mutable variable and gives it its first value at the start of the program.
    pub(super) fn state(&mut self, name: &str, ty: IntType, start: Expr) -> VarId {
        let id = self.var(name, ty, true);
        self.compute(Stmt::Assign(id, start));
        id
    }

    /// Computes the expression once at the start of the program; equal expressions share a
    /// variable.
    pub(super) fn hoist(&mut self, name: &str, expr: Expr) -> Expr {
        if matches!(expr, Expr::Int(..) | Expr::Var(_) | Expr::Param(_)) {
            return expr;
        }
        if let Some(id) = self.hoisted.get(&expr) {
            return Expr::Var(*id);
        }
        let ty = self.type_of(&expr);
        let id = self.var(name, ty, false);
        self.compute(Stmt::Let(id, expr.clone()));
        self.hoisted.insert(expr, id);
        Expr::Var(id)
    }

    /// The thread's index among those that share out a tile.
    pub(super) fn tid(&mut self) -> Expr {
        self.hoist("tid", self.tid.clone())
    }

    /// Type of a register file.
    pub(super) fn file_type(&self, file: u32) -> RegType {
        let file = self.program.files.get(file as usize);
        file.map_or(RegType::B32, |file| file.ty)
    }

    /// The number of the register file that is declared next.
    pub(super) fn next_file(&self) -> u32 {
        self.program.files.len() as u32
    }

    /// Declares a register file.
    pub(super) fn file(&mut self, name: &str, ty: RegType, len: usize) -> u32 {
        self.program.files.push(RegFile {
            name: name.to_string(),
            ty,
            len: len as u32,
        });
        (self.program.files.len() - 1) as u32
    }

    /// `sum digit_i(tid) * stride_i` of one component, 32-bit.
    pub(super) fn thread_sum<const N: usize>(
        &mut self,
        name: &str,
        digits: &[Digit<N>],
        component: usize,
    ) -> Expr {
        let threads = self.threads;
        let tid = self.hoist("tid", self.tid.clone());
        let mut sum = int(0);
        for digit in digits.iter().filter(|digit| digit.strides[component] != 0) {
            let shifted = div(tid.clone(), int(digit.prefix));
            let value = if digit.prefix * digit.extent >= threads {
                shifted
            } else {
                rem(shifted, int(digit.extent))
            };
            let value = self.hoist("digit", value);
            sum = add(sum, mul(value, int(digit.strides[component])));
        }
        self.hoist(name, sum)
    }

    /// The finished program.
    pub(super) fn finish(mut self, body: Vec<Stmt>) -> Program {
        self.program.body = body;
        self.program
    }

    fn type_of(&self, expr: &Expr) -> IntType {
        match expr {
            Expr::Int(_, ty) | Expr::Convert(ty, _) => *ty,
            Expr::Var(id) => self.program.vars[id.0 as usize].ty,
            Expr::Param(id) => match self.program.params[id.0 as usize].ty {
                ParamType::I32 => IntType::I32,
                // Scalars are no parts of integer expressions.
                ParamType::I64
                | ParamType::Pointer { .. }
                | ParamType::TensorMap
                | ParamType::Scalar(_) => IntType::I64,
            },
            Expr::Special(_) | Expr::Smem => IntType::I32,
            Expr::Binary(_, a, _) | Expr::Select(_, a, _) => self.type_of(a),
            Expr::Compare(..) => IntType::I1,
        }
    }
}

/// Pointers in operand order, then extents, then strides, each once. Where there are tensor maps
/// the first is one: then they lie as C would have them, else not (see `ptx::cubin`).
fn params(plan: &Plan) -> Vec<Param> {
    let mut params = Vec::new();
    for operand in &plan.operands {
        let by_boxes = is_by_boxes(plan, operand);
        if by_boxes {
            params.push(Param {
                name: format!("{}_map", operand.name),
                ty: ParamType::TensorMap,
                operand: Some(operand.id),
            });
        }
        if by_boxes && !is_by_address(plan, operand) {
            continue;
        }
        let ty = ParamType::Pointer {
            align_bytes: pointer_align(plan, operand),
            readonly: !operand.is_written() && !is_shared(plan, operand),
            shared: is_shared(plan, operand),
        };
        params.push(Param {
            name: operand.name.clone(),
            ty,
            operand: Some(operand.id),
        });
    }
    let axes = plan.operands.iter().flat_map(Operand::all_axes);
    for axis in axes.filter(|axis| !plan.is_of_planes(axis)) {
        push_once(&mut params, &axis.mode, ParamType::I32);
    }
    if plan.workspace().is_some() {
        let ty = ParamType::Pointer {
            align_bytes: WORKSPACE_ALIGN,
            readonly: false,
            shared: false,
        };
        push_once(&mut params, WORKSPACE, ty);
    }
    // Tensor maps hold the strides of the others, tiles in a row have none.
    let named = |operand: &&Operand| {
        let whole = is_by_boxes(plan, operand) || plan.bulk(operand.id).is_some();
        !whole || is_by_address(plan, operand)
    };
    for axis in (plan.operands.iter().filter(named)).flat_map(Operand::all_axes) {
        if let Some(name) = axis.stride.name() {
            push_once(&mut params, name, ParamType::I64);
        }
    }
    for scalar in &plan.computes.formula.signature.scalars {
        push_once(&mut params, &scalar.name, ParamType::Scalar(scalar.dtype));
    }
    let is_map = |param: &Param| param.ty == ParamType::TensorMap;
    if !params.first().is_some_and(is_map) {
        params.sort_by_key(|param| !is_map(param));
    }
    params
}

/// Whether an operand may be where another one is. What is stored there is not to be read past the
/// caches that know of it, nor later than it is read here.
fn is_shared(plan: &Plan, operand: &Operand) -> bool {
    let over = |one: &Operand| plan.over(one).is_some_and(|over| over.id == operand.id);
    operand.over.is_some() || plan.operands.iter().any(over)
}

/// Whether an operand is moved by boxes, which a tensor map describes.
fn is_by_boxes(plan: &Plan, operand: &Operand) -> bool {
    let mut hops = [Hop::G2s, Hop::S2g].into_iter();
    hops.any(|hop| {
        let copy = plan.boxes(operand.id, hop);
        copy.is_some_and(|copy| !copy.packed)
    })
}

/// Whether the address of an operand that boxes move is needed as well: results that they cannot
/// cut are stored one by one, and what those are made of is loaded so.
fn is_by_address(plan: &Plan, operand: &Operand) -> bool {
    operand.is_written() || plan.step(operand.id, Hop::G2r).is_some()
}

/// Scratch memory's alignment, less than every allocation has.
const WORKSPACE_ALIGN: u32 = 128;

fn push_once(params: &mut Vec<Param>, name: &str, ty: ParamType) {
    if !params.iter().any(|param| param.name == name) {
        params.push(Param {
            name: name.to_string(),
            ty,
            operand: None,
        });
    }
}

fn pointer_align(plan: &Plan, of: &Operand) -> u32 {
    let assumed = plan.assumptions.iter();
    let assumed = assumed.filter_map(|assumption| match assumption {
        Assumption::PointerAlignment { operand, bytes, .. } if *operand == of.id => Some(*bytes),
        _ => None,
    });
    assumed.max().unwrap_or(of.dtype.bytes())
}

/// Swizzle patterns repeat every 1024 bytes at most, so a start aligned to that keeps bank
/// predictions true on sm_90; older architectures guarantee 128 bytes.
fn smem_align(arch: Arch) -> u32 {
    if arch.sm >= 90 { 1024 } else { 128 }
}
