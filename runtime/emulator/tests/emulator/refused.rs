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
        (
            "mad.lo.u32 %rd1, %r1, %r2, %r3;",
            "mad.lo.u32: destination register has 64 bits, the result 32",
        ),
        (
            "add.u32 %r1, %rd2, %r3;",
            "add.u32: source register has 64 bits, .u32 less",
        ),
        (
            "mul.f32 %r1, %r2, 3;",
            "mul.f32: a whole number is given where .f32 takes a float: write it as one, 0f… or \
             1.0",
        ),
        (
            "add.u32 %r1, %r2, 0f3F800000;",
            "add.u32: a float is given where .u32 takes a whole number",
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

/// The problems of a whole text.
fn problems_of(text: &str) -> Vec<String> {
    match Module::parse(text) {
        Ok(_) => Vec::new(),
        Err(errors) => errors.errors.iter().map(ToString::to_string).collect(),
    }
}

#[test]
fn the_head_of_a_text_stands_once_and_in_its_order() {
    let (version, target, size) = (".version 8.0\n", ".target sm_90a\n", ".address_size 64\n");
    let entry = ".visible .entry k() { ret; }\n";
    let of = |lines: &[&str]| problems_of(&lines.concat());
    assert_eq!(of(&[version, target, size, entry]), [""; 0]);
    // ptxas takes a second target, for what follows.
    assert_eq!(of(&[version, target, target, size, entry]), [""; 0]);
    let cases: [(&[&str], &str); 6] = [
        (
            &[version, version, target, size, entry],
            "2:1: a second .version 8.0",
        ),
        (
            &[version, target, size, entry, version],
            "5:1: a second .version 8.0",
        ),
        (
            &[target, version, entry],
            "2:1: .version does not stand before all else",
        ),
        (
            &[entry, version, target],
            "2:1: .version does not stand before all else",
        ),
        (
            &[version, target, size, size],
            "4:1: a second .address_size",
        ),
        (
            &[version, size, target],
            "3:1: .target does not stand before all else but .version",
        ),
    ];
    for (lines, want) in cases {
        let got = of(lines);
        assert!(got.iter().any(|one| one == want), "{want}: {got:?}");
    }
}

#[test]
fn what_ptxas_refuses_of_a_whole_text_is_refused() {
    let text = |version: &str, target: &str, body: &str| {
        format!(
            ".version {version}\n.target {target}\n.address_size 64\n.visible .entry k() {{\n{body}"
        )
    };
    let shared =
        ".shared .b8 a[40000]; .shared .b8 b[9152]; st.shared.u8 [a], 0; st.shared.u8 [b], 0;";
    let cases = [
        (
            text("99.9", "sm_90", "ret; }"),
            "1:1: unsupported .version 99.9: there are 1.0 to 9.4, and up to 9.9 texts are read as \
             of that",
        ),
        (
            text("8.0", "sm_999", "ret; }"),
            "2:1: unsupported .target sm_999: an architecture such as sm_80 or sm_90a, at most \
             sm_121",
        ),
        (
            text("8.0", "sm_90", "ret; }\n  /* and so"),
            "6:3: a comment begins here and does not end",
        ),
        (
            text("8.0", "sm_90", "ret; }\n.pragma \"nounroll;\n"),
            "6:9: a string begins here and does not end",
        ),
        (
            text("8.0", "sm_90", &format!("{shared} ret; }}")),
            "4:17: entry k has 49152 bytes of static shared memory",
        ),
    ];
    for (text, want) in &cases[..4] {
        let got = problems_of(text);
        assert!(got.iter().any(|one| one == want), "{want}: {got:?}");
    }
    // What a text of an unknown release means is not guessed.
    assert_eq!(problems_of(&cases[0].0).len(), 1);
    assert_eq!(problems_of(&text("9.5", "sm_90", "ret; }")), [""; 0]);
    // 48 KiB are allowed, one byte more is not.
    assert_eq!(problems_of(&cases[4].0), [""; 0]);
    let got = problems_of(&cases[4].0.replace("9152", "9153"));
    let want = "4:17: entry k has 49153 bytes of static shared memory, at most 49152: declare it \
                .extern, with its size given at launch";
    assert_eq!(got, [want]);
}

/// What an architecture lacks is refused where it stands, as ptxas does.
#[test]
fn instructions_of_other_architectures_are_refused() {
    let of = |target: &str, body: &str| {
        let text = super::kernel::module(0, "", body);
        problems_of(&text.replace(".target sm_90", &format!(".target {target}")))
    };
    let cases = [
        ("sm_90", "wgmma.fence.sync.aligned;", "sm_90a"),
        ("sm_100a", "wgmma.fence.sync.aligned;", "sm_90a"),
        (
            "sm_90",
            "setmaxnreg.inc.sync.aligned.u32 96;",
            "sm_90a or a later one with its suffix",
        ),
        (
            "sm_80",
            "ld.relaxed.cluster.global.u32 %r1, [%rd1];",
            "sm_90 or later",
        ),
        ("sm_80", "griddepcontrol.wait;", "sm_90 or later"),
        ("sm_80", "fence.proxy.async;", "sm_90 or later"),
        ("sm_75", "cp.async.wait_all;", "sm_80 or later"),
        (
            "sm_70",
            "movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r2;",
            "sm_75 or later",
        ),
    ];
    for (target, body, needs) in cases {
        let opcode = body.split([' ', ';']).next().unwrap();
        let want = format!("8:1: {opcode}: it needs .target {needs}; the text is for {target}");
        assert_eq!(of(target, body), [want]);
    }
    assert_eq!(of("sm_90a", "wgmma.fence.sync.aligned;"), [""; 0]);
    // A second target is for what follows.
    let entry = |name: &str| format!(".visible .entry {name}() {{ griddepcontrol.wait; ret; }}\n");
    let both = [
        ".version 8.0\n.target sm_90\n.address_size 64\n",
        &entry("a"),
        ".target sm_80\n",
        &entry("b"),
    ];
    let got = problems_of(&both.concat());
    assert_eq!(got.len(), 1, "{got:?}");
    assert!(got[0].starts_with("6:"), "{got:?}");
}

#[test]
fn too_many_instructions_are_an_error() {
    let body = "ret;".repeat((1 << 20) + 1);
    let got = problems(&body);
    assert_eq!(
        got.first().map(String::as_str),
        Some("8:4194305: more than 1048576 instructions")
    );
}
