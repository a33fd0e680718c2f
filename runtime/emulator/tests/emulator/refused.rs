//! What is not known is refused by name and line, never skipped.

use tilewright_emulator::Module;

fn problems(body: &str) -> Vec<String> {
    let text = super::kernel::module(0, "", body);
    match Module::parse(&text) {
        Ok(_) => Vec::new(),
        Err(errors) => errors.errors.iter().map(ToString::to_string).collect(),
    }
}

#[test]
fn unknown_opcodes_modifiers_and_directives() {
    let cases = [
        ("frob.u32 %r1, %r2;", "unsupported opcode frob.u32"),
        (
            "add.frob.u32 %r1, %r2, %r3;",
            "unsupported modifier .frob of add",
        ),
        (
            "add.u32.u32 %r1, %r2, %r3;",
            "unsupported modifier .u32 of add",
        ),
        (
            "add.rn.rz.f32 %r1, %r2, %r3;",
            "unsupported second modifier .rz of add",
        ),
        (
            "popc.u32 %r1, %r2;",
            "unsupported type .u32 of popc: one of .b32 .b64",
        ),
        (
            "shf.l.b32 %r1, %r2, %r3, %r4;",
            "shf.l.b32 needs one of .clamp .wrap",
        ),
        (".frob 3;", "unsupported directive .frob"),
        ("add.u32 %r1, %r2;", "add.u32: 2 operands, 3 wanted"),
        (
            "add.u64 %rd1, %rd2, %r3;",
            "add.u64: source register has 32 bits, .u64 more",
        ),
        ("add.u32 %r1, %r99, 1;", "register %r99 is not declared"),
        ("bra NOWHERE;", "label NOWHERE is not defined"),
        (
            "cp.async.cg.shared.global [%r1], [%rd1], 8;",
            "cp.async.cg.shared.global: size 8; allowed are [16]",
        ),
        (
            "tcgen05.fence.sync.aligned;",
            "unsupported opcode tcgen05.fence.sync.aligned",
        ),
        ("mov.u32 %r1, 0x;", "0x is no number"),
        (
            "cvt.s32.f32 %r1, %r2;",
            "cvt.s32.f32: .s32.f32 needs .rni, .rzi, .rmi or .rpi",
        ),
    ];
    for (body, want) in cases {
        let got = problems(body);
        assert_eq!(got.len(), 1, "{body}: {got:?}");
        assert!(got[0].ends_with(want), "{body}: {got:?}");
        assert!(got[0].starts_with("8:"), "{got:?}");
    }
}

#[test]
fn every_problem_is_reported_at_once() {
    let got = problems("frob;\nadd.u32 %r1, %r2;\nmov.u32 %r1, 1;\n{ bra X; }");
    assert_eq!(got.len(), 3, "{got:?}");
}

#[test]
fn modifiers_come_in_any_order() {
    assert_eq!(
        problems("atom.global.gpu.acq_rel.add.u32 %r1, [%rd1], 1;"),
        Vec::<String>::new()
    );
    assert_eq!(
        problems("atom.add.acq_rel.gpu.global.u32 %r1, [%rd1], 1;"),
        Vec::<String>::new()
    );
}

#[test]
fn scopes_own_their_labels_and_registers() {
    let body = "{ .reg .b32 t; mov.u32 t, 1; W: bra W; }\n{ .reg .b64 t; mov.u64 t, 1; W: bra W; }";
    assert_eq!(problems(body), Vec::<String>::new());
}
