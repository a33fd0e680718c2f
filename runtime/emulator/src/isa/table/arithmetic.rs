//! Arithmetic, comparison, logic and shifts (ISA 9.7.1 to 9.7.8).

use super::super::{bits, compare, floating, integer, video};
use super::*;

/// The rows.
pub(super) static ROWS: &[Spec] = &[
    // 9.7.1 integer arithmetic; add, sub, mul, fma, neg, abs, min, max are shared with floats.
    spec!(
        "add",
        [RND, FTZ, SAT, CC],
        [INT.or(FLOAT).or(PAIR)],
        Integer,
        integer::add_sub
    ),
    spec!(
        "sub",
        [RND, FTZ, SAT, CC],
        [INT.or(FLOAT)],
        Integer,
        integer::add_sub
    ),
    spec!("addc", [CC], [W3264], Integer, integer::add_sub),
    spec!("subc", [CC], [W3264], Integer, integer::add_sub),
    spec!(
        "mul",
        [HALF, RND, FTZ, SAT],
        [INT.or(FLOAT)],
        Integer,
        integer::mul
    ),
    spec!(
        "mad",
        [HALF, RND, FTZ, SAT, CC],
        [INT.or(F3264)],
        Integer,
        integer::mad
    ),
    spec!(
        "madc",
        [req(&["lo", "hi"]), CC],
        [W3264],
        Integer,
        integer::mad
    ),
    spec!(
        "mul24",
        [req(&["lo", "hi"])],
        [W32],
        Integer,
        integer::mul24
    ),
    spec!(
        "mad24",
        [req(&["lo", "hi"]), SAT],
        [W32],
        Integer,
        integer::mad24
    ),
    spec!("sad", [], [INT], Integer, integer::sad),
    spec!(
        "div",
        [opt(&["approx", "full", "rn", "rz", "rm", "rp"]), FTZ],
        [INT.or(F3264)],
        Integer,
        integer::div_rem
    ),
    spec!("rem", [], [INT], Integer, integer::div_rem),
    spec!("abs", [FTZ], [SINT.or(FLOAT)], Integer, integer::abs),
    spec!("neg", [FTZ], [SINT.or(FLOAT)], Integer, integer::neg),
    spec!(
        "min",
        [FTZ, NAN, opt(&["xorsign"]), opt(&["abs"]), RELU],
        [INT.or(FLOAT).or(PAIR)],
        Integer,
        integer::min_max
    ),
    spec!(
        "max",
        [FTZ, NAN, opt(&["xorsign"]), opt(&["abs"]), RELU],
        [INT.or(FLOAT).or(PAIR)],
        Integer,
        integer::min_max
    ),
    spec!("popc", [], [B3264], Integer, bits::popc),
    spec!("clz", [], [B3264], Integer, bits::clz),
    spec!("bfind", [opt(&["shiftamt"])], [W3264], Integer, bits::bfind),
    spec!("fns", [], [B32], Integer, bits::fns),
    spec!("brev", [], [B3264], Integer, bits::brev),
    spec!("bfe", [], [W3264], Integer, bits::bfe),
    spec!("bfi", [], [B3264], Integer, bits::bfi),
    spec!(
        "bmsk",
        [req(&["clamp", "wrap"])],
        [B32],
        Integer,
        bits::bmsk
    ),
    spec!(
        "szext",
        [req(&["clamp", "wrap"])],
        [W32],
        Integer,
        bits::szext
    ),
    spec!("dp4a", [], [W32, W32], Integer, bits::dp4a),
    spec!(
        "dp2a",
        [req(&["lo", "hi"])],
        [W32, W32],
        Integer,
        bits::dp2a
    ),
    // 9.7.3 and 9.7.4 floating point.
    spec!(
        "fma",
        [RND_REQ, FTZ, SAT, RELU],
        [FLOAT],
        Float,
        floating::fma
    ),
    spec!(
        "rcp",
        [opt(&["approx", "rn", "rz", "rm", "rp"]), FTZ],
        [F3264],
        Special,
        floating::rcp_sqrt
    ),
    spec!(
        "sqrt",
        [opt(&["approx", "rn", "rz", "rm", "rp"]), FTZ],
        [F3264],
        Special,
        floating::rcp_sqrt
    ),
    spec!("rsqrt", [APPROX, FTZ], [F3264], Special, floating::approx),
    spec!("sin", [APPROX, FTZ], [F32], Special, floating::approx),
    spec!("cos", [APPROX, FTZ], [F32], Special, floating::approx),
    spec!("lg2", [APPROX, FTZ], [F32], Special, floating::approx),
    spec!(
        "ex2",
        [APPROX, FTZ],
        [F32.or(SHORT)],
        Special,
        floating::approx
    ),
    spec!("tanh", [APPROX], [F32.or(SHORT)], Special, floating::approx),
    spec!(
        "testp",
        [req(&[
            "finite",
            "infinite",
            "number",
            "notanumber",
            "normal",
            "subnormal"
        ])],
        [F3264],
        Compare,
        floating::testp
    ),
    spec!("copysign", [], [F3264], Float, floating::copysign),
    // 9.7.5 to 9.7.8 comparison, selection, logic, shifts.
    spec!(
        "set",
        [COMPARE, BOOL, FTZ],
        [
            TypeSet::of(&[
                Ty::U32,
                Ty::S32,
                Ty::F32,
                Ty::U16,
                Ty::S16,
                Ty::F16,
                Ty::F16x2,
                Ty::Bf16,
                Ty::Bf16x2
            ]),
            SCALAR.or(SHORT)
        ],
        Compare,
        compare::set
    ),
    spec!(
        "setp",
        [COMPARE, BOOL, FTZ],
        [SCALAR.or(SHORT)],
        Compare,
        compare::setp
    ),
    spec!("selp", [], [SCALAR], Compare, compare::selp),
    spec!(
        "slct",
        [FTZ],
        [SCALAR, TypeSet::of(&[Ty::S32, Ty::F32])],
        Compare,
        compare::slct
    ),
    spec!("and", [], [LOGIC], Integer, compare::logic),
    spec!("or", [], [LOGIC], Integer, compare::logic),
    spec!("xor", [], [LOGIC], Integer, compare::logic),
    spec!("not", [], [LOGIC], Integer, compare::not),
    spec!("cnot", [], [BITS], Integer, bits::cnot),
    spec!("lop3", [BOOL], [B32], Integer, bits::lop3),
    spec!(
        "shf",
        [req(&["l", "r"]), req(&["clamp", "wrap"])],
        [B32],
        Integer,
        bits::shf
    ),
    spec!("shl", [], [BITS], Integer, bits::shl),
    spec!("shr", [], [BITS.or(INT)], Integer, bits::shr),
    spec!(
        "prmt",
        [opt(&["f4e", "b4e", "rc8", "ecl", "ecr", "rc16"])],
        [B32],
        Integer,
        bits::prmt
    ),
    // 9.7.18 scalar video instructions.
    spec!(
        "vadd",
        [SAT, SECOND],
        [W32, W32, W32],
        Integer,
        video::video
    ),
    spec!(
        "vsub",
        [SAT, SECOND],
        [W32, W32, W32],
        Integer,
        video::video
    ),
    spec!(
        "vabsdiff",
        [SAT, SECOND],
        [W32, W32, W32],
        Integer,
        video::video
    ),
    spec!(
        "vmin",
        [SAT, SECOND],
        [W32, W32, W32],
        Integer,
        video::video
    ),
    spec!(
        "vmax",
        [SAT, SECOND],
        [W32, W32, W32],
        Integer,
        video::video
    ),
    spec!(
        "vshl",
        [SAT, SECOND, req(&["clamp", "wrap"])],
        [W32, W32, U32],
        Integer,
        video::video
    ),
    spec!(
        "vshr",
        [SAT, SECOND, req(&["clamp", "wrap"])],
        [W32, W32, U32],
        Integer,
        video::video
    ),
];
