//! Records are read, found by their ids, and refused with everything that is wrong with them.

use super::*;

#[test]
fn lookups_find_and_suggest() {
    let catalogue = catalogue().unwrap();
    assert_eq!(
        catalogue.get("sm80_cp_async_cg_16").unwrap().kind,
        Kind::Copy
    );
    assert!(catalogue.get("sm80_cp_async_cg_32").is_none());
    assert_eq!(
        catalogue.nearest("sm80_cp_asinc_cg_16"),
        Some("sm80_cp_async_cg_16")
    );
    assert_eq!(catalogue.nearest("§"), None);
}

#[test]
fn malformed_records_are_all_named() {
    let good = "{ id: x, kind: sync, sync: { does: meet, scope: cta }, operands: [], \
                align_bytes: 1, min_sm: 50, min_ptx: 10, source: s, \
                emit: { intrinsic: i, args: [] } }";
    assert_eq!(
        Catalogue::read(&[("a", &format!("- {good}"))])
            .unwrap()
            .iter()
            .len(),
        1
    );
    let with = |from: &str, to: &str| format!("- {}", good.replace(from, to));
    let cases = [
        (with("kind: sync,", "kind: sink,"), "unknown variant"),
        (
            with("sync: { does: meet, scope: cta }, ", ""),
            "lacks Sync facts",
        ),
        (with("does: meet", "does: greet"), "`greet`"),
        (
            with("source: s", "source: s, extra: 1"),
            "unknown field `extra`",
        ),
        (with("kind: sync,", "kind: copy,"), "lacks Copy facts"),
        (with("args: []", "args: [d]"), "no operand"),
        (
            with("args: []", "args: [], gives: [b32, d]"),
            "gives names \"d\"",
        ),
        (
            with("intrinsic: i, args: []", "llvm: load, template: t"),
            "emit is one of",
        ),
        (
            with("align_bytes: 1", "align_bytes: 3"),
            "not a power of two",
        ),
        (format!("- {good}\n- {good}"), "is taken"),
        (with("id: x", "id: x, id: y"), "duplicate"),
        (
            with(
                "kind: sync, sync: { does: meet, scope: cta }",
                "kind: convert, convert: { from: f32, to: f99, values: 1 }",
            ),
            "\"f99\"",
        ),
        ("- [".to_owned(), "a: "),
    ];
    for (text, wanted) in cases {
        let problem = Catalogue::read(&[("a", &text)]).unwrap_err();
        assert!(problem.contains(wanted), "{wanted:?} is not in {problem:?}");
    }
    let both =
        Catalogue::read(&[("a", &with("kind: sync,", "kind: sink,")), ("b", "- 1")]).unwrap_err();
    assert!(
        both.contains("a, record 1") && both.contains("b, record 1"),
        "{both}"
    );
}
