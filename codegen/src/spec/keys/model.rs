//! The model of a spec, and the one table of its fields: what the rest of the compiler reads.
//!
//! A row is a field, its meaning, its type and its key. The struct, the reader with its limits, the
//! printer, the piece of a point's id, the tuning paths and the JSON Schema follow from it.
//! A key is printed only where its value is not the default, so that a new row changes no id.

use std::collections::BTreeMap;
use std::sync::Arc;

use tilewright_layout::Swizzle;

use super::read::{Field, Fields, Reader};
use super::valued::{Said, Valued};
use crate::arch::{Arch, PORTABLE_CLUSTER};
use crate::atoms::model::Space::{Gmem, Rmem, Smem};
use crate::dtype::DType;
pub use crate::spec::kernel::forms::{FormKind, Role};
pub use crate::spec::kernel::operand::{Axis, Operand, OperandId, Stride, with_role};
pub use crate::spec::kernel::resolved::Computes;
use crate::spec::kernel::shape::Shape;
use crate::spec::keys::key::{Key, Kind, hop, int, key, paths_of};
pub use crate::spec::words::auto::Auto;
use crate::spec::words::printed::{Map, Printed};
use crate::spec::words::record::{file, record};
use crate::spec::words::vocabulary::Worded;
pub use crate::spec::words::vocabulary::{
    Accumulation, KernelSchedule, LaunchKind, MmaOperands, Passes, Raster, Realign, SchedulerKind,
};

/// Most elements of the tile that a tiled MMA covers.
const MMA_TILE: i64 = 1 << 24;

record! {
    /// The way of one operand's data, atom by atom. Keys are `<from>2<to>` with g, s, r for the
    /// memory spaces; `None` is a way not taken.
    CopyPath {
        /// Atom from global to shared memory.
        g2s: Option<Auto<String>> = hop(Gmem, Smem);
        /// Atom from shared memory to registers.
        s2r: Option<Auto<String>> = hop(Smem, Rmem);
        /// Atom from global memory to registers, past shared memory.
        g2r: Option<Auto<String>> = hop(Gmem, Rmem);
        /// The same in the last of several passes over the operand, which reads it for the last
        /// time; without it, `g2r`.
        g2r_last: Option<Auto<String>> = hop(Gmem, Rmem);
        /// Atom from registers to shared memory.
        r2s: Option<Auto<String>> = hop(Rmem, Smem);
        /// Atom from shared to global memory.
        s2g: Option<Auto<String>> = hop(Smem, Gmem);
        /// Atom from registers to global memory, past shared memory.
        r2g: Option<Auto<String>> = hop(Rmem, Gmem);
        /// Whether a copy in the workspace takes the operand's place, so that any address and any
        /// stride between its rows do.
        realign: Auto<Realign> = key(Kind::Word(&Realign::LIST)).of_products();
    }
}

record! {
    /// The tiled MMA of a gemm.
    Mma {
        /// Id of the MMA atom.
        atom: Auto<String> = key(Kind::MmaAtom);
        /// How many atoms side by side along m, n and k.
        atoms: Auto<[i64; 3]> = key(Kind::Triple { most: 1024 }).tuned_piece(6, "w");
        /// Tile that the atoms cover with their values, along m, n and k.
        permutation: Auto<[i64; 3]> = key(Kind::Triple { most: MMA_TILE }).tuned_piece(7, "p");
        /// Which factor is the MMA's A. With `ba` what is said by position, here, in `cta_tile` and
        /// in `cluster`, is along n, m and k.
        operands: Auto<MmaOperands> = key(Kind::Word(&MmaOperands::LIST)).piece(16, "");
    }
}

record! {
    /// Stages and schedule of the main loop.
    Pipeline {
        /// Buffers of the shared-memory ring.
        stages: Auto<u32> = int(1, 32, 1).of_products().piece(2, "s");
        /// Who loads and who computes.
        schedule: Auto<KernelSchedule> =
            key(Kind::Word(&KernelSchedule::LIST)).of_products().tuned_piece(3, "");
        /// Groups of asynchronous MMAs that run on while the next are issued.
        in_flight: Auto<u32> = int(0, 1, 1).of_products().tuned_piece(4, "f");
        /// Registers that a producer's thread keeps; consumers share out the rest.
        producer_registers: Auto<u32> = int(24, 248, 8).of_products().tuned_piece(5, "r");
    }
}

record! {
    /// Tile scheduler.
    Scheduler {
        /// One tile for each CTA, many, or equal shares of all work.
        kind: Auto<SchedulerKind> =
            key(Kind::Word(&SchedulerKind::LIST)).of_products().tuned_piece(11, "");
        /// Order in which CTAs visit output tiles.
        raster: Auto<Raster> = key(Kind::Word(&Raster::LIST)).tuned_piece(10, "");
        /// Most CTAs of a persistent grid; fewer than the GPU has may save power.
        ctas: Auto<u32> = int(1, 65_536, 1).of_products().tuned_piece(12, "n");
        /// Whether a tile holds all of a folded mode, or passes along it go chunk by chunk; of two
        /// folded modes they go along the tile's second, and a CTA has all of the first.
        passes: Auto<Passes> = key(Kind::Word(&Passes::LIST)).of_rows().tuned_piece(14, "");
        /// Whether the kernel's start overlaps the end of the one before in the stream.
        launch: Auto<LaunchKind> =
            key(Kind::Word(&LaunchKind::LIST)).tuned_piece(13, "");
    }
}

/// What the names of a formula stand for is part of it.
const SCALARS: Key = key(Kind::Scalars).of(
    "scalars",
    "Numbers of the formula that are given by value, each with its type.",
    false,
);
const MODES: Key = key(Kind::Modes).of(
    "modes",
    "Modes of the formula with a constant extent, or whose groups each have their own.",
    false,
);

/// The tuning space is no field of a spec: each of its points is a spec.
const TUNE: Key = key(Kind::Tune).of(
    "tune",
    "The tuning space: dotted paths into this file, each with the values to try. Of a list of maps \
     all that each gives.",
    false,
);

file! {
    /// A checked spec, or one point of its tuning space (then every tuned field holds its value).
    Spec of Own and SCALARS, MODES, TUNE {
        /// What is computed, of which operands, on what.
        problem: Problem {
            own {
                /// Word of the kernel: one with a default formula, or any where `compute` is
                /// written.
                kernel: String = key(Kind::Kernel).required();
                /// Name: `<kernel>_<rest>` for the file `specs/<kernel>/<rest>.yaml`.
                name: String = key(Kind::Name).required();
                /// PTX target the kernel is generated for.
                arch: Arch = key(Kind::Arch).required().tunable();
                /// Element type and layout of every tensor argument.
                operands: Vec<Operand> = key(Kind::Operands).required();
                /// What is computed, a statement a line; left out, it is the kernel's default
                /// formula.
                compute: Arc<Computes> = key(Kind::Compute);
                /// Type that sums are held in.
                accumulator: DType = key(Kind::DType).required().of_products().of_default();
            }
            rows {
                /// What becomes of sums that tensor cores cut short: of e4m3 and e5m2 on sm_90a.
                accumulation: Option<Accumulation> =
                    key(Kind::Word(&Accumulation::LIST)).of_products().piece(0, "");
            }
        }
        /// How it is computed. What is `auto` is left to the plan.
        schedule: Schedule {
            own {
                /// Extents of the part of the problem that one CTA works on, by position or by
                /// mode. Of maps and folds of more than two modes it names two; a CTA has one
                /// coordinate along each of the others.
                cta_tile: Vec<i64> = key(Kind::Tile).required().tunable();
            }
            rows {
                /// Threads of a CTA.
                threads: Auto<u32> = int(32, 1024, 32).tuned_piece(8, "t");
                /// Threads of a CTA side by side along the mode of vectors, the others along the
                /// other mode of the tile. With all of them along it, rows share what has no other
                /// mode.
                threads_along: Auto<u32> = int(1, 1024, 1).of_rows().tuned_piece(15, "a");
                /// CTAs that must fit one SM at a time: bounds the registers of a thread.
                min_ctas_per_sm: Auto<u32> = int(1, 32, 1).tuned_piece(9, "o");
                /// CTAs of a cluster along m, n and k: of products those along m share b's tiles,
                /// along n a's, and along k each has a part of one tile's sums; of rows those along
                /// a folded mode share one tile.
                cluster: [i64; 3] =
                    key(Kind::Triple { most: PORTABLE_CLUSTER }).tunable().piece(1, "c");
                /// The tiled MMA.
                mma: Mma = key(Kind::Record(Mma::KEYS)).of_products();
            }
            own {
                /// The way of each operand's data, atom by atom.
                copy: BTreeMap<String, CopyPath> = key(Kind::Paths(CopyPath::KEYS));
                /// Swizzle of each operand's tile in shared memory.
                swizzle: BTreeMap<String, Auto<Swizzle>> = key(Kind::Swizzles);
            }
            rows {
                /// How loads run ahead of their use.
                pipeline: Pipeline = key(Kind::Record(Pipeline::KEYS));
                /// Which output tile a CTA works on, and when.
                scheduler: Scheduler = key(Kind::Record(Scheduler::KEYS));
            }
        }
    }
}

/// Every dotted path to a single value of a file, with its key, in the order of the table.
pub(in crate::spec) fn paths(shape: &Shape) -> Vec<(String, Key)> {
    paths_of(Kind::Record(Spec::KEYS), shape)
}

impl Problem {
    /// The operand of that number.
    pub fn operand(&self, id: OperandId) -> &Operand {
        id.of(&self.operands)
    }

    /// The operand of that role.
    pub fn operand_as(&self, role: Role) -> Option<&Operand> {
        with_role(&self.operands, role)
    }

    /// The factors of its product, that of rows first.
    pub fn factors(&self) -> Option<[&Operand; 2]> {
        let [a, b] = Role::FACTORS.map(|role| self.operand_as(role));
        a.zip(b).map(|(a, b)| [a, b])
    }

    /// The factors of its product and what is made of them.
    pub fn product(&self) -> Option<[&Operand; 3]> {
        let [a, b] = self.factors()?;
        Some([a, b, self.operand_as(Role::Output)?])
    }

    /// Names of the modes that a CTA's tile cuts, those of the output first.
    pub fn modes(&self) -> &[String] {
        &self.compute.modes
    }

    /// The modes that run along an axis of an operand: its own, or those of the table that looks
    /// into it.
    pub fn modes_along<'s>(&'s self, operand: &'s Operand, axis: usize) -> Vec<&'s str> {
        modes_along(&self.operands, operand.axis(axis))
    }

    /// The form of its formula.
    pub fn form(&self) -> FormKind {
        self.compute.kind()
    }
}

/// The modes that run along an axis: its own, or those of the table that looks into it.
pub(crate) fn modes_along<'o>(operands: &'o [Operand], axis: &'o Axis) -> Vec<&'o str> {
    match axis.table {
        None => vec![&axis.mode],
        Some(table) => {
            let axes = table.of(operands).axes.iter();
            axes.map(|axis| axis.mode.as_str()).collect()
        }
    }
}

impl CopyPath {
    /// Whether results are to leave registers for global memory at once.
    pub fn is_direct(&self) -> bool {
        self.r2g.is_some() && self.r2s.is_none() && self.s2g.is_none()
    }
}

impl Point {
    /// The same problem with another schedule.
    pub fn with(&self, schedule: Schedule) -> Point {
        Point {
            id: self.id.clone(),
            spec: Spec {
                problem: self.spec.problem.clone(),
                schedule,
            },
            number: self.number,
        }
    }
}

/// One point of a spec's tuning space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// `name@` plus a readable suffix and a hash: `gemm_bf16_tn@128x256x64_s3-1f3a9c`.
    pub id: String,
    /// The spec with the point's values in place.
    pub spec: Spec,
    /// Its place among all combinations of the file, those that come again counted.
    pub number: usize,
}
