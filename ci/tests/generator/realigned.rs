//! What the runtime offers to whoever has strides that a product does not take, the generator has,
//! and it offers what there is.

use tilewright_bundle::{Kernel, ParamValue};
use tilewright_codegen::error::Error;
use tilewright_codegen::plan;
use tilewright_codegen::spec::keys::model::{Auto, Realign};
use tilewright_codegen::spec::{FormKind, Point};
use tilewright_runtime::{DeviceInfo, Problem, fit};

use crate::kept::kept;
use crate::shipped;

/// An odd one.
const EXTENT: i64 = 4097;

/// Whether a plan is made with an operand's copy in the workspace.
fn is_copied(point: &Point, operand: &str) -> bool {
    let mut copied = point.clone();
    let path = copied.spec.schedule.copy.entry(operand.to_owned());
    path.or_default().realign = Auto::Given(Realign::Workspace);
    match plan::plan(&copied) {
        Ok(_) => true,
        Err(Error::Plan { violations, .. }) => {
            let codes: Vec<&str> = violations.iter().map(|one| one.code).collect();
            assert_eq!(codes, ["realign"], "{}: {operand}", point.id);
            false
        }
        Err(error) => panic!("{}", error.report(false)),
    }
}

/// Whether tensor maps of the kernel lie over an operand.
fn is_mapped(kernel: &Kernel, operand: &str) -> bool {
    let mut params = kernel.launches.iter().flat_map(|launch| &launch.params);
    params.any(|param| match &param.value {
        ParamValue::TensorMap(map) => map.is_over(operand),
        _ => false,
    })
}

#[test]
fn copies_are_offered_where_the_generator_makes_them() {
    let mut points = shipped::points();
    let is_one = |point: &Point| {
        point
            .spec
            .schedule
            .copy
            .values()
            .all(|path| path.realign == Auto::Auto)
    };
    points.retain(|point| point.spec.problem.form() == FormKind::Contraction && is_one(point));
    points.dedup_by(|one, other| one.spec.problem.name == other.spec.problem.name);
    let found = shipped::on_each(&points, |point| {
        let mut kernel = kept(point).unwrap().artifact.kernel;
        kernel.resolve().unwrap();
        let extents = kernel.free_extents();
        let mut problem = Problem::of(extents.map(|(_, name)| (name.to_owned(), EXTENT)));
        for operand in &kernel.semantics.operands {
            let strides = operand.layout.stride.iter().rev().scan(1, |odd, stride| {
                stride.constant_value().or_else(|| {
                    *odd *= EXTENT;
                    Some(*odd)
                })
            });
            let mut strides: Vec<i64> = strides.collect();
            strides.reverse();
            problem = problem.with_strides(&operand.name, strides);
        }
        for scalar in &kernel.semantics.scalars {
            problem = problem.with_scalar(&scalar.name, 1.0);
        }
        let device = DeviceInfo::of_capability(kernel.capability.min_sm);
        let refused = fit(&kernel, &problem, &device).err().unwrap_or_default();
        let said: Vec<String> = refused.iter().map(ToString::to_string).collect();
        let is_offered = |name: &str| {
            let key = format!("`copy: {{ {name}: {{ realign: workspace }} }}`");
            said.iter().any(|one| one.contains(&key))
        };
        let operands = kernel.semantics.operands.iter();
        let refused = operands.filter(|operand| is_mapped(&kernel, &operand.name));
        let found = refused.map(|operand| {
            let (name, offered) = (&operand.name, is_offered(&operand.name));
            let id = &point.id;
            assert_eq!(offered, is_copied(point, name), "{id}: {name}: {said:?}");
            offered
        });
        found.collect::<Vec<bool>>()
    });
    let found = found.concat();
    let offered = found.iter().filter(|offered| **offered).count();
    assert!(
        offered > 100 && offered < found.len(),
        "{offered} of {}",
        found.len()
    );
}
