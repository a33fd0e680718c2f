//! Programs and their PTX, `ci/data/ptx_stage/*.ptx`. `BLESS=1` rewrites the files.

use std::fs;
use std::path::Path;

use super::*;
use crate::ptx::{IrForm, emit, llvm_ir, ptxas};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../ci/data/ptx_stage");

fn golden(program: &Program, arch_name: &str) -> String {
    let arch = arch(arch_name);
    let module = emit(program, &arch, &program.entry).unwrap();
    let entry = program.entry.clone();
    let again =
        std::thread::spawn(move || emit(&programs::by_name(&entry), &arch, "again").unwrap())
            .join();
    assert_eq!(
        module,
        again.unwrap(),
        "{}: two emissions differ",
        program.entry
    );
    let path = Path::new(FOLDER).join(format!("{}.{arch_name}.ptx", program.entry));
    if std::env::var_os("BLESS").is_some() {
        fs::create_dir_all(FOLDER).unwrap();
        fs::write(&path, &module.text).unwrap();
    }
    let wanted = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        module.text,
        wanted,
        "{} differs; BLESS=1 rewrites it",
        path.display()
    );
    let report = ptxas::assemble(&module.text, &arch).unwrap();
    assert_eq!(ptxas::gate(&report), [], "{}", program.entry);
    assert!(report.registers > 0 && !report.cubin.is_empty());
    module.text
}

fn count(text: &str, what: &str) -> usize {
    text.matches(what).count()
}

#[test]
fn vector_copy_uses_offset_fields() {
    for arch in ["sm_80", "sm_90a"] {
        let text = golden(&programs::vector_copy(), arch);
        assert_eq!(count(&text, "ld.global.nc.v4.b32"), 2);
        assert_eq!(
            count(&text, "+2048]"),
            2,
            "the constant part is in the offset field"
        );
    }
}

#[test]
fn hinted_copy_renders_templates() {
    let text = golden(&programs::hinted_copy(), "sm_90");
    assert_eq!(
        count(&text, "ld.global.nc.L1::no_allocate.L2::cache_hint.v4.b32"),
        2
    );
    assert_eq!(count(&text, "st.global.L1::no_allocate.v4.b32"), 2);
    assert_eq!(count(&text, "+2048]"), 2);
}

#[test]
fn staging_uses_short_pointers() {
    let text = golden(&programs::staged(), "sm_80");
    assert_eq!(count(&text, "cp.async.cg.shared.global"), 2);
    assert_eq!(count(&text, "cvta"), 0, "shared pointers are 32-bit");
}

#[test]
fn a_product_stays_before_its_guard() {
    let text = golden(&programs::mma(), "sm_80");
    let product = text.find("mma.sync.aligned.m16n8k16").unwrap();
    let branch = text.find("bra").unwrap_or(usize::MAX);
    assert!(
        product < branch,
        "all threads of a warp run mma.sync together"
    );
    assert_eq!(count(&text, "cvt.rn.bf16x2.f32"), 2);
}

#[test]
fn loops_keep_registers() {
    let text = golden(&programs::looped(), "sm_80");
    assert_eq!(count(&text, "fma.rn.f32"), 4, "the loop is not unrolled");
}

#[test]
fn both_forms_of_llvm_ir_print() {
    let (program, arch) = (programs::looped(), arch("sm_80"));
    let before = llvm_ir(&program, &arch, "k", IrForm::Translated).unwrap();
    let after = llvm_ir(&program, &arch, "k", IrForm::Optimized).unwrap();
    assert!(before.contains("alloca float") && !after.contains("alloca"));
    assert!(after.contains("define ptx_kernel void @looped("));
}
