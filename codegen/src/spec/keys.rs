//! The table of keys a spec may hold: what drives the checks, the tuning paths and the JSON Schema.
//!
//! Comes in: a family. Goes out: for every map of the file, its keys with type, limits, default and
//! meaning.

use super::families::FamilyFacts;
use super::model::Family;
use crate::atoms::model::Space;

/// One key of a map.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key {
    /// The key as written.
    pub name: &'static str,
    /// What it means, one sentence.
    pub doc: &'static str,
    /// Type of its value.
    pub kind: Kind,
    /// Families whose specs hold it.
    pub families: &'static [Family],
    /// Whether it must be written.
    pub required: bool,
    /// Whether `auto` is a value, and the default.
    pub auto: bool,
    /// Whether `tune` may vary it.
    pub tunable: bool,
}

/// Type of a value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// Name of a family.
    Family,
    /// Name of the spec.
    Name,
    /// PTX target.
    Arch,
    /// Element type.
    Dtype,
    /// Layout of an operand, two extents with their strides.
    Layout,
    /// Extents of the CTA's tile, as many as the family cuts.
    Tile,
    /// Three positive integers whose product is bounded.
    Triple { most: i64 },
    /// Cluster shape.
    Cluster,
    /// An integer, a multiple of `step`.
    Int { least: i64, most: i64, step: i64 },
    /// Id of an MMA atom.
    MmaAtom,
    /// Id of a copy atom between two memory spaces.
    CopyAtom { from: Space, to: Space },
    /// Swizzle of a shared-memory tile.
    Swizzle,
    /// What becomes of sums that are cut short.
    Accumulation,
    /// Main loop schedule.
    Schedule,
    /// How tiles come to CTAs.
    Scheduler,
    /// How a kernel's start relates to the one before it.
    Launch,
    /// Tile order.
    Raster,
    /// Epilogue expression.
    Epilogue,
    /// A map with these keys.
    Record(&'static [Key]),
    /// A map from operand to type and layout.
    Operands,
    /// A map from operand to data path.
    Paths,
    /// A map from operand to swizzle.
    Swizzles,
    /// A map from dotted path to values.
    Tune,
}

const ALL: &[Family] = &[Family::Copy, Family::Gemm];
const GEMM: &[Family] = &[Family::Gemm];

const fn key(name: &'static str, kind: Kind, doc: &'static str) -> Key {
    Key {
        name,
        doc,
        kind,
        families: ALL,
        required: false,
        auto: false,
        tunable: false,
    }
}

impl Key {
    const fn required(self) -> Key {
        Key {
            required: true,
            ..self
        }
    }

    const fn gemm(self) -> Key {
        Key {
            families: GEMM,
            ..self
        }
    }

    const fn auto(self) -> Key {
        Key {
            auto: true,
            tunable: true,
            ..self
        }
    }

    const fn tunable(self) -> Key {
        Key {
            tunable: true,
            ..self
        }
    }
}

/// Keys of the file.
pub(super) static FILE: &[Key] = &[
    key("kernel", Kind::Family, "Family of the kernel.").required(),
    key(
        "name",
        Kind::Name,
        "Name: `<family>_<rest>` for the file `specs/<family>/<rest>.yaml`.",
    )
    .required(),
    key(
        "arch",
        Kind::Arch,
        "PTX target the kernel is generated for.",
    )
    .required(),
    key(
        "operands",
        Kind::Operands,
        "Element type and layout of every tensor argument.",
    )
    .required(),
    key("accumulator", Kind::Dtype, "Type that sums are held in.")
        .required()
        .gemm(),
    key(
        "accumulation",
        Kind::Accumulation,
        "What becomes of sums that tensor cores cut short: of e4m3 and e5m2 on sm_90a.",
    )
    .gemm(),
    key(
        "cta_tile",
        Kind::Tile,
        "Extents of the part of the problem that one CTA works on.",
    )
    .required()
    .tunable(),
    key("threads", THREADS, "Threads of a CTA.").auto(),
    key(
        "min_ctas_per_sm",
        CTAS,
        "CTAs that must fit one SM at a time: bounds the registers of a thread.",
    )
    .auto(),
    key(
        "cluster",
        Kind::Cluster,
        "CTAs of a cluster along m, n and k: those along m share b's tiles, those along n a's.",
    )
    .gemm()
    .tunable(),
    key("mma", Kind::Record(MMA), "The tiled MMA.").gemm(),
    key(
        "copy",
        Kind::Paths,
        "The way of each operand's data, atom by atom.",
    ),
    key(
        "swizzle",
        Kind::Swizzles,
        "Swizzle of each operand's tile in shared memory.",
    ),
    key(
        "pipeline",
        Kind::Record(PIPELINE),
        "How loads run ahead of their use.",
    ),
    key(
        "scheduler",
        Kind::Record(SCHEDULER),
        "Which output tile a CTA works on, and when.",
    ),
    key("epilogue", Kind::Epilogue, "What is written to the output."),
    key(
        "tune",
        Kind::Tune,
        "The tuning space: dotted paths into this file, each with the values to try.",
    ),
];

const fn int(least: i64, most: i64, step: i64) -> Kind {
    Kind::Int { least, most, step }
}

const THREADS: Kind = int(32, 1024, 32);
const CTAS: Kind = int(1, 32, 1);
const STAGES: Kind = int(1, 32, 1);
const IN_FLIGHT: Kind = int(0, 1, 1);
const REGISTERS: Kind = int(24, 248, 8);
const GRID_CTAS: Kind = int(1, 65_536, 1);

/// Keys of one operand.
static OPERAND: &[Key] = &[
    key("dtype", Kind::Dtype, "Element type in memory.").required(),
    key(
        "layout",
        Kind::Layout,
        "Extents and their strides in elements, such as `(m,k):(lda,1)`.",
    )
    .required(),
];

static MMA: &[Key] = &[
    key("atom", Kind::MmaAtom, "Id of the MMA atom.").auto(),
    key(
        "atoms",
        Kind::Triple { most: 1024 },
        "How many atoms side by side along m, n and k.",
    )
    .auto(),
    key(
        "permutation",
        Kind::Triple { most: 1 << 24 },
        "Tile that the atoms cover with their values, along m, n and k.",
    )
    .auto(),
];

static PIPELINE: &[Key] = &[
    key("stages", STAGES, "Buffers of the shared-memory ring.").auto(),
    key("schedule", Kind::Schedule, "Who loads and who computes.")
        .gemm()
        .auto(),
    key(
        "in_flight",
        IN_FLIGHT,
        "Groups of asynchronous MMAs that run on while the next are issued.",
    )
    .gemm()
    .auto(),
    key(
        "producer_registers",
        REGISTERS,
        "Registers that a producer's thread keeps; consumers share out the rest.",
    )
    .gemm()
    .auto(),
];

static SCHEDULER: &[Key] = &[
    key(
        "kind",
        Kind::Scheduler,
        "One tile for each CTA, many, or equal shares of all work.",
    )
    .gemm()
    .auto(),
    key(
        "raster",
        Kind::Raster,
        "Order in which CTAs visit output tiles.",
    )
    .auto(),
    key(
        "ctas",
        GRID_CTAS,
        "Most CTAs of a persistent grid; fewer than the GPU has may save power.",
    )
    .gemm()
    .auto(),
    key(
        "launch",
        Kind::Launch,
        "Whether the kernel's start overlaps the end of the one before in the stream.",
    )
    .gemm()
    .auto(),
];

const fn hop(name: &'static str, from: Space, to: Space, doc: &'static str) -> Key {
    key(name, Kind::CopyAtom { from, to }, doc).auto()
}

static INPUT_PATH: &[Key] = &[
    hop(
        "g2s",
        Space::Gmem,
        Space::Smem,
        "Atom from global to shared memory.",
    ),
    hop(
        "s2r",
        Space::Smem,
        Space::Rmem,
        "Atom from shared memory to registers.",
    ),
    hop(
        "g2r",
        Space::Gmem,
        Space::Rmem,
        "Atom from global memory to registers, past shared memory.",
    ),
];

static OUTPUT_PATH: &[Key] = &[
    hop(
        "r2s",
        Space::Rmem,
        Space::Smem,
        "Atom from registers to shared memory.",
    ),
    hop(
        "s2g",
        Space::Smem,
        Space::Gmem,
        "Atom from shared to global memory.",
    ),
    hop(
        "r2g",
        Space::Rmem,
        Space::Gmem,
        "Atom from registers to global memory, past shared memory.",
    ),
];

/// The keys of a map of that kind in a spec of that family; `None` for kinds that are no such map.
pub(super) fn fields(kind: Kind, facts: &FamilyFacts) -> Option<Vec<Key>> {
    let per_operand = |make: &dyn Fn(bool) -> Key| {
        facts
            .operands
            .iter()
            .map(|o| Key {
                name: o.name,
                ..make(o.is_written())
            })
            .collect()
    };
    Some(match kind {
        Kind::Record(keys) => keys
            .iter()
            .copied()
            .filter(|key| key.families.contains(&facts.family))
            .collect(),
        Kind::Operands => per_operand(&|_| {
            key("", Kind::Record(OPERAND), "Type and layout of the operand.").required()
        }),
        Kind::Paths => per_operand(&|output| {
            let keys = if output { OUTPUT_PATH } else { INPUT_PATH };
            key("", Kind::Record(keys), "Atoms of the operand's way.")
        }),
        Kind::Swizzles => per_operand(&|_| {
            key(
                "",
                Kind::Swizzle,
                "Swizzle of the operand's tile in shared memory.",
            )
            .auto()
        }),
        _ => return None,
    })
}

/// Every dotted path to a single value, with its key, in the order of the table.
pub(super) fn paths(facts: &FamilyFacts) -> Vec<(String, Key)> {
    let mut out = vec![];
    walk(Kind::Record(FILE), facts, "", &mut out);
    out
}

fn walk(kind: Kind, facts: &FamilyFacts, prefix: &str, out: &mut Vec<(String, Key)>) {
    for key in fields(kind, facts).unwrap_or_default() {
        let path = format!("{prefix}{}", key.name);
        match key.kind {
            Kind::Tune => {}
            Kind::Record(_) | Kind::Operands | Kind::Paths | Kind::Swizzles => {
                walk(key.kind, facts, &format!("{path}."), out);
            }
            _ => out.push((path, key)),
        }
    }
}
