//! The mutants of single instructions.

use super::mutants;

/// What each mutant of one instruction has become, by its id.
fn of(instruction: &str) -> Vec<(String, String)> {
    let all = mutants(&format!("{instruction}\n"));
    all.into_iter().map(|one| (one.id, one.is)).collect()
}

fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = list
        .iter()
        .map(|(id, is)| ((*id).to_owned(), (*is).to_owned()));
    owned.collect()
}

#[test]
fn waits_count_and_barriers_have_names() {
    assert_eq!(
        of("cp.async.wait_group 1;"),
        pairs(&[
            ("1:drop", ""),
            (
                "1:duplicate",
                "cp.async.wait_group 1; cp.async.wait_group 1;"
            ),
            ("1:weaken:pending", "cp.async.wait_group 2;"),
        ])
    );
    assert_eq!(
        of("bar.sync 0;")[2..],
        pairs(&[
            ("1:weaken:bar.warp.sync", "bar.warp.sync -1;"),
            ("1:count:other", "bar.sync 1;"),
        ])
    );
}

#[test]
fn mbarriers_have_bytes_parities_and_counts() {
    let wait = of("mbarrier.try_wait.parity.shared::cta.b64 p, [%r1], %r2;");
    assert_eq!(wait[0], ("1:drop".into(), "setp.eq.u32 p, 0, 0;".into()));
    let other = "{ .reg .b32 %mutant; xor.b32 %mutant, %r2, 1; \
                 mbarrier.try_wait.parity.shared::cta.b64 p, [%r1], %mutant; }";
    assert!(
        wait.contains(&("1:parity".into(), other.into())),
        "{wait:?}"
    );
    let expect = of("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 4096;");
    let fewer = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 4080;";
    assert!(
        expect.contains(&("1:bytes:fewer".into(), fewer.into())),
        "{expect:?}"
    );
    let init = of("mbarrier.init.shared::cta.b64 [%r1], 33;");
    let more = "mbarrier.init.shared::cta.b64 [%r1], 34;";
    assert!(
        init.contains(&("1:count:more".into(), more.into())),
        "{init:?}"
    );
}

#[test]
fn products_have_fences_signs_and_groups() {
    assert_eq!(of("wgmma.fence.sync.aligned;").len(), 2);
    let wait = of("wgmma.wait_group.sync.aligned 0;");
    assert!(
        wait.iter().any(|(id, _)| id == "1:weaken:pending"),
        "{wait:?}"
    );
    let product = of("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 \
                      {%f1, %f2, %f3, %f4}, %rd1, %rd2, p, 1, 1, 0, 1;");
    let changed: Vec<&str> = product.iter().map(|(id, _)| id.as_str()).collect();
    let details = ["4=-1", "5=-1", "6=1", "7=0"];
    assert_eq!(
        changed,
        details.map(|detail| format!("1:constant:{detail}"))
    );
}

#[test]
fn predicates_are_negated_and_boundaries_moved() {
    assert_eq!(
        of("@%p1 bra L;"),
        pairs(&[
            ("1:guard:negated", "@!%p1 bra L;"),
            ("1:guard:always", "bra L;"),
            ("1:guard:never", ""),
        ])
    );
    assert_eq!(
        of("setp.lt.s32 %p1, %r1, 8;"),
        pairs(&[
            ("1:compare:le", "setp.le.s32 %p1, %r1, 8;"),
            ("1:constant:2=9", "setp.lt.s32 %p1, %r1, 9;"),
        ])
    );
}

#[test]
fn strides_and_swizzles_change() {
    let is = |text: &str| of(text).into_iter().map(|(_, is)| is).collect::<Vec<_>>();
    assert_eq!(is("xor.b32 %r1, %r2, 48;"), ["xor.b32 %r1, %r2, 0;"]);
    assert_eq!(is("and.b32 %r1, %r2, 112;"), ["and.b32 %r1, %r2, 48;"]);
    assert_eq!(is("shl.b32 %r1, %r2, 7;"), ["shl.b32 %r1, %r2, 8;"]);
    assert_eq!(
        is("st.shared.v2.b32 [%r1+8], {%r2, %r3};"),
        ["st.shared.v2.b32 [%r1+8+8], {%r2, %r3};"]
    );
    assert_eq!(is("add.f32 %f1, %f2, %f3;"), [""; 0]);
    assert_eq!(is("st.global.b16 [%rd1], %h1;"), [""; 0]);
}

#[test]
fn an_instruction_moves_over_accesses_of_its_block() {
    let text = "ld.shared.b32 %r1, [%r2];\nadd.u32 %r1, %r1, 1;\n\
                bar.sync 0;\nst.shared.b32 [%r2], %r1;\n";
    let all = mutants(text);
    let of = |id: &str| {
        let found = all.iter().find(|one| one.id == id);
        found.map(|one| one.apply(text)).unwrap_or_default()
    };
    assert_eq!(
        of("3:move:down"),
        "ld.shared.b32 %r1, [%r2];\nadd.u32 %r1, %r1, 1;\n\n\
         st.shared.b32 [%r2], %r1; bar.sync 0; \n"
    );
    assert!(of("3:move:up").starts_with(" bar.sync 0; ld.shared.b32"));
}
