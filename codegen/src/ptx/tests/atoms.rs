//! Every record becomes code: LLVM knows its intrinsic with that signature, its template renders,
//! and ptxas accepts the text at the architecture and version that the record names.

use std::collections::BTreeMap;

use super::*;
use crate::arch::ARCHES;
use crate::atoms::model::{Atom, Kind, OperandKind};
use crate::ptx::{emit, ptxas};

/// Registers where a call gives as many as it likes, and coordinates likewise.
const AT_WILL: u32 = 16;
const MODES: u32 = 3;

/// Constants of an operand: of offsets one for each four of the atom's registers.
fn imms(name: &str) -> Vec<i64> {
    match name {
        "offsets" => (0..i64::from(AT_WILL) / 4)
            .map(|vector| 16 * vector)
            .collect(),
        // Numbers from 0 on.
        "ranks" | "rounds" => vec![0, 1, 2],
        _ => vec![0, 2],
    }
}

/// Type and number of the registers of an operand, and whether the atom reads and writes them.
fn file_of(kind: OperandKind) -> Option<(RegType, u32, [bool; 2])> {
    Some(match kind {
        OperandKind::RegsIn { ty, count } => (ty, count, [true, false]),
        OperandKind::RegsOut { ty, count } => (ty, count, [false, true]),
        OperandKind::RegsInOut { ty, count } => (ty, count, [true, true]),
        OperandKind::RegsInOuts { ty } => (ty.unwrap_or(RegType::B32), AT_WILL, [true, true]),
        _ => return None,
    })
}

/// Loads a register at that place, or sets a predicate by what is there.
fn load(b: &mut Build, reg: Reg, ty: RegType, from: Arg) -> Vec<Stmt> {
    if ty != RegType::Pred {
        let id = format!("sm50_ld_global_{}", ty.bits() / 8);
        return vec![run(&id, vec![regs(&[reg]), from])];
    }
    let words = b.file("words", RegType::B32, 2);
    vec![
        run("sm50_ld_global_4", vec![regs(&words[..1]), from]),
        Stmt::Set(words[1], Scalar::Bits(0)),
        run("sm50_ne_s32", vec![regs(&[reg]), regs(&words)]),
    ]
}

/// Stores a register at that place, or what a predicate chooses.
fn store(b: &mut Build, reg: Reg, ty: RegType, to: Arg) -> Vec<Stmt> {
    if ty != RegType::Pred {
        let id = format!("sm50_st_global_{}", ty.bits() / 8);
        return vec![run(&id, vec![to, regs(&[reg])])];
    }
    let words = b.file("words", RegType::B32, 3);
    let choose = vec![regs(&words[..1]), regs(&[reg]), regs(&words[1..])];
    vec![
        Stmt::Set(words[1], Scalar::Bits(1)),
        Stmt::Set(words[2], Scalar::Bits(0)),
        run("sm50_where_s32", choose),
        run("sm50_st_global_4", vec![to, regs(&words[..1])]),
    ]
}

/// A kernel that loads every input register, runs the atom once and stores every output register.
fn kernel_of(atom: &Arc<Atom>) -> Program {
    let mut b = Build::new(&atom.id);
    b.0.smem_bytes = 4096;
    let (s, d) = (b.source("s"), b.output("d"));
    let n = b.param("n", ParamType::I32);
    let (mut before, mut after, mut args) = (Vec::new(), Vec::new(), Vec::new());
    let bytes = || wide(mul(tid(), int(256)));
    let ints = |count: u32| vec![Expr::Param(n); count as usize];
    for (number, operand) in (0..).zip(&atom.operands) {
        // Apart: registers that hold the same would be one.
        let here = |at: usize| 2048 * number + 8 * at as i64;
        match operand.kind {
            OperandKind::RegsIn { .. }
            | OperandKind::RegsOut { .. }
            | OperandKind::RegsInOut { .. }
            | OperandKind::RegsInOuts { .. } => {
                let (ty, count, [reads, writes]) = file_of(operand.kind).unwrap();
                let file = b.file(&operand.name, ty, count);
                for (at, &reg) in file.iter().enumerate() {
                    if reads {
                        before.extend(load(&mut b, reg, ty, gmem(s, bytes(), here(at))));
                    }
                    if writes {
                        after.extend(store(&mut b, reg, ty, gmem(d, bytes(), here(at))));
                    }
                }
                args.push(regs(&file));
            }
            OperandKind::Address(Space::Smem) => args.push(smem(mul(tid(), int(16)), 512)),
            OperandKind::Address(_) if operand.name == "dst" => args.push(gmem(d, bytes(), 512)),
            OperandKind::Address(_) => args.push(gmem(s, bytes(), 512)),
            OperandKind::Int => args.push(Arg::Int(Expr::Param(n))),
            OperandKind::Ints(count) => args.push(Arg::Ints(ints(count.unwrap_or(MODES)))),
            OperandKind::Predicate => {
                args.push(Arg::Predicate(b.var(&operand.name, IntType::I1, false)));
            }
            OperandKind::TensorMap => {
                args.push(Arg::TensorMap(b.param("map", ParamType::TensorMap)));
            }
            OperandKind::Imms => args.push(Arg::Imms(imms(&operand.name))),
            OperandKind::Imm => args.push(Arg::Imm(match operand.name.as_str() {
                "count" => 1,
                "registers" => 40,
                "threads" => 128,
                _ => 0,
            })),
        }
    }
    let asynchronous = atom.mma.as_ref().is_some_and(|mma| mma.smem != [false; 2]);
    if asynchronous {
        before.push(run("sm90_wgmma_fence", vec![]));
        let wait = run("sm90_wgmma_wait", vec![args[0].clone(), Arg::Imm(0)]);
        after.splice(0..0, [run("sm90_wgmma_commit_group", vec![]), wait]);
    }
    // A group of nothing is open and over as well.
    if atom.id == "sm90_wgmma_commit_group" {
        before.push(run("sm90_wgmma_fence", vec![]));
        after.push(run("sm90_wgmma_wait", vec![regs(&[]), Arg::Imm(0)]));
    }
    before.push(Stmt::Atom {
        atom: Arc::clone(atom),
        args,
    });
    before.append(&mut after);
    b.0.body = before;
    b.0
}

/// Kernels of one version and one architecture, which the assembler is given at once.
struct Together {
    arch: &'static Arch,
    /// What a text begins with: its version, architecture and size of addresses.
    head: String,
    /// The kernels behind that, each with its atom's id.
    kernels: Vec<(String, String)>,
}

impl Together {
    /// Where a text's head ends.
    const HEAD_ENDS: &str = ".address_size 64\n";

    /// Assembles them; where they are refused, each by itself, to say which.
    fn assemble(&self) {
        let bodies: Vec<&str> = self.kernels.iter().map(|(_, body)| body.as_str()).collect();
        let ptxas = ptxas::find().expect("no ptxas: run ci/setup.sh, or set TILEWRIGHT_PTXAS");
        let text = format!("{}{}", self.head, bodies.concat());
        let all = ptxas::said_of(&ptxas, &text, self.arch);
        if all.is_ok_and(|(report, _)| ptxas::gate(&report).is_empty()) {
            return;
        }
        for (id, body) in &self.kernels {
            let text = format!("{}{body}", self.head);
            let report = ptxas::assemble(&text, self.arch);
            let report = report.unwrap_or_else(|error| panic!("{id}: {error}\n{text}"));
            assert_eq!(ptxas::gate(&report), [], "{id} on {}\n{text}", self.arch);
        }
        panic!(
            "each kernel for {} is fine, and all of them are not",
            self.arch
        );
    }
}

#[test]
fn every_atom_assembles() {
    let mut all: BTreeMap<(&str, u32), Together> = BTreeMap::new();
    for atom in catalogue().unwrap().iter() {
        let program = kernel_of(atom);
        // The first architecture that has it and a specific one stand for all; what one thread
        // computes is the same text on both.
        let plain = matches!(atom.kind, Kind::Arithmetic | Kind::Convert);
        let lowest_of = |arch: &Arch| arch.sm == atom.min_sm.max(75);
        let specific = |arch: &Arch| !plain && arch.name == "sm_90a";
        let stands = |arch: &&Arch| lowest_of(arch) || arch.sm == 70 || specific(arch);
        let runs = ARCHES.iter().filter(|arch| atom.runs_on(**arch));
        for arch in runs.filter(stands) {
            let module = emit(&program, arch, &atom.id).unwrap();
            assert!(module.version >= atom.min_ptx, "{}", atom.id);
            if let Err(errors) = tilewright_emulator::Module::parse(&module.text) {
                panic!(
                    "the emulator refuses {} on {arch}: {errors}\n{}",
                    atom.id, module.text
                );
            }
            // ptxas 13.0 knows sm_75 and later; one portable and one specific architecture stand
            // for all.
            if lowest_of(arch) || arch.name == "sm_90a" {
                let ends = module.text.find(Together::HEAD_ENDS).unwrap();
                let (head, body) = module.text.split_at(ends + Together::HEAD_ENDS.len());
                let together = all
                    .entry((arch.name, module.version))
                    .or_insert_with(|| Together {
                        arch,
                        head: head.to_owned(),
                        kernels: Vec::new(),
                    });
                assert_eq!(together.head, head, "{}", atom.id);
                together.kernels.push((atom.id.clone(), body.to_owned()));
            }
        }
    }
    let kernels: usize = all.values().map(|one| one.kernels.len()).sum();
    assert!(kernels > 60, "only {kernels} kernels are assembled");
    all.values().for_each(Together::assemble);
}

#[test]
fn packed_conversions_are_one_instruction() {
    for ty in ["bf16", "f16"] {
        for sm in ["sm50", "sm80"] {
            let atom = catalogue()
                .unwrap()
                .get(&format!("{sm}_cvt_{ty}x2_f32"))
                .unwrap();
            let text = emit(&kernel_of(atom), &arch("sm_80"), "k").unwrap().text;
            assert_eq!(
                text.matches("cvt.").count() - text.matches("cvt.u64").count(),
                1,
                "{text}"
            );
            assert!(text.contains(&format!("cvt.rn.{ty}x2.f32")), "{text}");
        }
    }
}
