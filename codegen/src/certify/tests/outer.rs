//! Kernels of more modes than a tile cuts: a CTA's coordinates along the others.

use super::pipeline::planned;
use crate::certify::{Certificate, certify, computed_of, guards_of};
use crate::ir::thread::program::Program;
use crate::ir::tile::Kernel;
use crate::lower;
use crate::plan::data::assumptions::Assumption;
use crate::plan::data::model::Plan;
use crate::plan::data::moves::Hop;

/// Vectors straight through registers, of five modes.
const VECTORS: &str = "
kernel: permute
name: permute_vectors
arch: sm_80
operands:
  s: { dtype: bf16, layout: '(a,b,c,e,f):(s1s,s2s,s3s,s4s,1)' }
  d: { dtype: bf16, layout: '(c,e,b,a,f):(s1d,s2d,s3d,s4d,1)' }
compute: d[c,e,b,a,f] = s[a,b,c,e,f]
cta_tile: { a: 16, f: 32 }
";
/// Elements staged in shared memory.
const STAGED: &str = "
kernel: permute
name: permute_staged
arch: sm_80
operands:
  s: { dtype: f32, layout: '(a,b,c,e):(s1s,s2s,s3s,1)' }
  d: { dtype: f32, layout: '(e,c,b,a):(s1d,s2d,s3d,1)' }
compute: d[e,c,b,a] = s[a,b,c,e]
cta_tile: { a: 32, e: 32 }
";
/// A fold, with operands that lack modes.
const FOLDED: &str = "
kernel: softmax
name: softmax_folded
arch: sm_80
operands:
  x: { dtype: bf16, layout: '(b,h,m,n):(s1x,s2x,s3x,1)' }
  g: { dtype: f32, layout: '(h,n):(ldg,1)' }
  d: { dtype: bf16, layout: '(b,m,h,n):(s1d,s2d,s3d,1)' }
compute: |
  t[b,h,m] = max[n] x[b,h,m,n]
  e[b,h,m,n] = exp(x[b,h,m,n] - t[b,h,m])
  z[b,h,m] = sum[n] e[b,h,m,n]
  d[b,m,h,n] = e[b,h,m,n] / z[b,h,m] * g[h,n] + h - size(b)
cta_tile: { m: 4, n: 256 }
";
/// Strides that are constants.
const CONSTANT: &str = "
kernel: permute
name: permute_constant
arch: sm_80
operands:
  s: { dtype: f32, layout: '(a,b,c,e):(s1s,0,64,1)' }
  d: { dtype: f32, layout: '(b,a,c,e):(s1d,s2d,s3d,1)' }
compute: d[b,a,c,e] = s[a,b,c,e]
cta_tile: { c: 16, e: 32 }
";
const ALL: [&str; 4] = [VECTORS, STAGED, FOLDED, CONSTANT];

fn lowered(text: &str) -> (Plan, Kernel, Program) {
    let (plan, kernel) = planned(text);
    let program = lower::lower(&plan, &kernel).unwrap();
    (plan, kernel, program)
}

fn certificate(text: &str) -> (Plan, Certificate) {
    let (plan, kernel, program) = lowered(text);
    let certificate = certify(&plan, &kernel, &program);
    let certificate = certificate.unwrap_or_else(|error| panic!("{}", error.report(false)));
    (plan, certificate)
}

#[test]
fn every_coordinate_is_shown_inside_and_every_element_is_stored() {
    for text in ALL {
        let (plan, certificate) = certificate(text);
        for mode in &plan.work.outer() {
            let mut computed = certificate.computed.iter();
            assert!(
                computed.any(|one| one.extents[mode] > 1),
                "{mode} of {text}"
            );
            assert!(
                plan.work.grid().text().contains(&format!("* {mode}")),
                "{plan}"
            );
        }
    }
}

#[test]
fn outer_modes_follow_the_output_and_are_slower_than_tiles() {
    let grids = ALL.map(|text| planned(text).0.work.grid().to_string());
    let expected = [
        "ceil_div(a, 16) * ceil_div(f, 32) * c * e * b",
        "ceil_div(e, 32) * ceil_div(a, 32) * c * b",
        "ceil_div(m, 4) * b * h",
        "ceil_div(c, 16) * ceil_div(e, 32) * b * a",
    ];
    assert_eq!(grids, expected);
}

#[test]
fn modes_contiguous_on_either_side_decide_the_way() {
    let step = |plan: &Plan, name: &str, hop: Hop| {
        let operand = plan.named_operand(name).unwrap();
        plan.step(operand.id, hop).cloned()
    };
    let hops = |text: &str, hop: Hop| step(&planned(text).0, "s", hop).is_some();
    assert_eq!(
        [VECTORS, STAGED].map(|text| hops(text, Hop::R2s)),
        [false, true]
    );
    let (plan, _) = planned(VECTORS);
    let bytes = |operand: &str, hop: Hop| {
        let step = step(&plan, operand, hop).unwrap();
        step.atom.copy.as_ref().unwrap().access_bytes
    };
    assert_eq!([bytes("s", Hop::G2r), bytes("d", Hop::R2g)], [16, 16]);
}

#[test]
fn vectors_need_every_stride_of_an_operand_but_their_own_to_be_a_multiple() {
    let (plan, _) = planned(VECTORS);
    let strides: Vec<&str> = (plan.assumptions.iter())
        .filter_map(|one| match one {
            Assumption::StrideMultiple {
                stride,
                multiple: 8,
                ..
            } => Some(stride.as_str()),
            _ => None,
        })
        .collect();
    let all = ["s1s", "s2s", "s3s", "s4s", "s1d", "s2d", "s3d", "s4d"];
    assert_eq!(strides, all);
}

/// The extents of any two outer modes, one taken for the other.
#[test]
fn coordinates_of_another_mode_are_found() {
    for text in ALL {
        let (plan, _, program) = lowered(text);
        let outer = &plan.work.outer();
        for (at, one) in outer.iter().enumerate() {
            for other in &outer[at + 1..] {
                let mut changed = program.clone();
                for param in &mut changed.params {
                    if param.name == *one {
                        param.name = other.clone();
                    } else if param.name == *other {
                        param.name = one.clone();
                    }
                }
                let message = guards_of(&plan, &changed).unwrap_err().to_string();
                assert!(message.contains("no test shows it inside"), "{message}");
            }
        }
    }
}

#[test]
fn more_ctas_than_there_are_coordinates_are_found() {
    for text in ALL {
        let (mut plan, _, program) = lowered(text);
        assert!(guards_of(&plan, &program).is_ok());
        let last = plan.work.apart.last().unwrap().clone();
        plan.work.apart.push(last);
        let message = guards_of(&plan, &program).unwrap_err().to_string();
        assert!(message.contains("no test shows it inside"), "{message}");
    }
}

/// Two axes of an operand, one taken for the other: elements of other places come out.
#[test]
fn elements_of_another_place_are_found() {
    for text in ALL {
        let (mut plan, kernel) = planned(text);
        let axes = &mut plan.operands[0].axes;
        axes.swap(0, 1);
        for step in plan.steps.iter_mut().filter(|step| step.axes.len() > 2) {
            if step.operand == plan.operands[0].id {
                step.axes.swap(0, 1);
            }
        }
        let message = computed_of(&plan, &kernel).unwrap_err().to_string();
        assert!(message.contains("data: "), "{message}");
    }
}
