//! What extents the kernels of a spec are for, of all its points: the longest that they hold, and
//! the multiples that rows without gaps have to be for vectors to be aligned.

use std::collections::BTreeMap;

use tilewright_codegen::plan::data::assumptions::Assumption;
use tilewright_codegen::plan::data::model::Plan;
use tilewright_codegen::spec::Point;

/// Conditions on extents that are those of every plan, the widest of each mode.
pub fn most(plans: &[(&Point, Plan)]) -> BTreeMap<String, String> {
    let of_plan = |(_, plan): &(&Point, Plan)| -> BTreeMap<String, i64> {
        let conditions = plan.asks().filter_map(|one| match one {
            Assumption::ExtentMost { mode, most, .. } => Some((mode.clone(), *most)),
            _ => None,
        });
        conditions.collect()
    };
    let mut plans = plans.iter().map(of_plan);
    let mut common = plans.next().unwrap_or_default();
    for other in plans {
        common.retain(|mode, most| {
            let also = other.get(mode);
            *most = also.map_or(*most, |also| *also.max(most));
            also.is_some()
        });
    }
    let told = common.into_iter();
    told.map(|(mode, most)| (mode.clone(), format!("{mode} <= {most}")))
        .collect()
}

/// Conditions on extents without which no plan takes operands without gaps, the least of each.
pub fn without_gaps(plans: &[(&Point, Plan)]) -> Vec<String> {
    let mut plans = plans.iter().map(|(_, plan)| plan.without_gaps());
    let mut common = plans.next().unwrap_or_default();
    for others in plans {
        common.retain_mut(|one| {
            let mut of_modes = others.iter().filter(|other| other.modes == one.modes);
            let other = of_modes.next();
            one.multiple = other.map_or(one.multiple, |other| other.multiple.min(one.multiple));
            other.is_some()
        });
    }
    common.iter().map(ToString::to_string).collect()
}
