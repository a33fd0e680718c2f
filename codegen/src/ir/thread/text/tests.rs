//! What the text without names tells apart.

use super::*;
use crate::ir::thread::expr::{add, int};
use crate::ir::thread::program::VarDecl;

/// `y = x + 1` with variables declared in that order, of those names.
fn program(order: [&str; 2], addend: i64) -> Program {
    let declare = |name: &str| VarDecl {
        name: name.to_string(),
        ty: IntType::I32,
        mutable: false,
    };
    let [x, y] = match order {
        ["y", _] => [VarId(1), VarId(0)],
        _ => [VarId(0), VarId(1)],
    };
    Program {
        entry: order.concat(),
        params: Vec::new(),
        threads: 32,
        min_ctas_per_sm: None,
        smem_bytes: 0,
        smem_align_bytes: 0,
        vars: order.map(declare).to_vec(),
        files: Vec::new(),
        body: vec![
            Stmt::Let(x, Expr::Special(Special::TidX)),
            Stmt::From(order.len() as u32),
            Stmt::Let(y, add(Expr::Var(x), int(addend))),
        ],
    }
}

#[test]
fn without_names_only_what_is_done_counts() {
    let of = |order, addend| Nameless(&program(order, addend)).to_string();
    assert_eq!(of(["x", "y"], 1), of(["a", "b"], 1));
    assert_eq!(of(["x", "y"], 1), of(["y", "x"], 1));
    assert_ne!(of(["x", "y"], 1), of(["x", "y"], 2));
    let mut wide = program(["x", "y"], 1);
    wide.vars[0].ty = IntType::I64;
    assert_ne!(of(["x", "y"], 1), Nameless(&wide).to_string());
}
