//! The text form of a flow: a node a line, then what each pass makes.

use std::fmt;

use crate::plan::data::values::{Does, Every, Flow, Staged};

impl fmt::Display for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let along = if self.along == 0 { "first" } else { "second" };
        write!(f, "  vectors of {} along the {along} mode", self.vector)?;
        let names: Vec<String> = self.nodes.iter().map(|node| node.name.clone()).collect();
        for (at, node) in self.nodes.iter().enumerate() {
            write!(f, "\n    {} {}: ", node.dtype, node.name)?;
            match &node.does {
                Does::Load(name) => {
                    write!(f, "load {name}")?;
                    match &node.staged {
                        None => {}
                        Some(Staged::Filled) => f.write_str(" through shared memory")?,
                        Some(Staged::Boxes) => f.write_str(" of a slot of the ring")?,
                        Some(Staged::Turned(_)) if node.summed => {
                            f.write_str(" through registers and shared memory")?;
                        }
                        Some(Staged::Turned(_)) => f.write_str(", turned in shared memory")?,
                    }
                }
                Does::Product([a, b], plane) => {
                    write!(f, "sums of {} * {}", names[*a], names[*b])?;
                    if *plane > 0 {
                        write!(f, ", of plane {plane}")?;
                    }
                }
                Does::Map(_, from) => {
                    let from: Vec<&str> = from.iter().map(|at| names[*at].as_str()).collect();
                    let calls = node.element[0].as_ref();
                    let calls = calls.map_or(0, |element| element.code.calls.len());
                    write!(f, "map of {} in {calls} calls", from.join(", "))?;
                }
                Does::Carried(_, from) => {
                    let from: Vec<&str> = from.iter().map(|at| names[*at].as_str()).collect();
                    write!(f, "carried from trip to trip, with {}", from.join(", "))?;
                }
                Does::Fold(from, number) => {
                    write!(f, "fold of {}", names[*from])?;
                    if let Some(fold) = self.folds.get(*number) {
                        write!(f, ": {fold}")?;
                    }
                }
            }
            if node.every == Every::Trip {
                f.write_str(", every trip")?;
            }
            match (&node.stored, self.combined_by(at)) {
                (Some(name), None) => write!(f, ", stored to {name}")?,
                (Some(name), Some((_, how))) => write!(f, ", combined with {name}: {how}")?,
                (None, _) => {}
            }
            if let Some(table) = node.table {
                write!(f, " where {} says", names[table])?;
            }
        }
        if let Some(passes) = &self.passes {
            for (number, pass) in (1..).zip(&passes.passes) {
                let made: Vec<&str> = pass.made.iter().map(|at| names[*at].as_str()).collect();
                write!(f, "\n    pass {number}: {}", made.join(", "))?;
            }
        }
        Ok(())
    }
}
