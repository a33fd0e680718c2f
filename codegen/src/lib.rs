//! Kernel specs to PTX and bundles.
//!
//! The way of a kernel is one straight line, [`compile`]: each stage is a pure function from one
//! printable value to the next. Modules are listed in layering order; a module uses only those
//! above it.
//!
//! ```
//! use tilewright_codegen::{compile, spec};
//! let text = "
//! kernel: copy
//! name: copy_rows
//! arch: sm_80
//! operands:
//!   s: { dtype: f32, layout: '(m,n):(lds,1)' }
//!   d: { dtype: f32, layout: '(m,n):(ldd,1)' }
//! cta_tile: '(16,256)'
//! ";
//! let spec = spec::parse("-", text)?;
//! let compiled = compile(&spec.points[0])?;
//! assert!(compiled.ptx.text.contains("ld.global"));
//! assert_eq!(compiled.plan.threads, 256);
//! # Ok::<(), tilewright_codegen::error::Error>(())
//! ```

pub mod error;
pub mod arch;
pub mod dtype;
pub mod atoms;
pub mod element;
pub mod spec;
pub mod plan;
pub mod ir;
pub mod lower;
pub mod certify;
pub mod ptx;
pub mod making;
pub mod explain;
pub mod pack;
pub mod first_good;
mod way_out;
pub mod kept;
pub mod catalogue;
pub mod guide;

use tilewright_bundle::Route;

use crate::ir::thread::program::Program;
use crate::plan::data::model::Plan;
use crate::spec::keys::model::Point;
use certify::Certificate;
use error::Result;
use ir::tile::Kernel;
use pack::Artifact;
use ptx::PtxModule;
use spec::SpecFile;

pub use making::{LineInfo, MachineCode, Making};

/// Everything the compiler made of one point, stage by stage.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// Every decision.
    pub plan: Plan,
    /// What a CTA does.
    pub tile: Kernel,
    /// What one thread does.
    pub program: Program,
    /// What is proved about it.
    pub certificate: Certificate,
    /// The text, behind which those of its copies stand.
    pub ptx: PtxModule,
    /// The copies of operands that are launched before it or behind it, as the plan has them.
    pub copies: Vec<Compiled>,
}

/// Compiles a point of a spec, as its first plan has it.
///
/// # Errors
/// [`Plan`](error::Error::Plan) with every violated limit,
/// [`Unsupported`](error::Error::Unsupported) for what the architecture lacks,
/// [`Bug`](error::Error::Bug) when a stage's product fails its check.
pub fn compile(point: &Point) -> Result<Compiled> {
    compile_plan(plan::plan(point)?)
}

/// Compiles what was planned.
///
/// # Errors
/// As [`compile`], but for what a plan is refused for.
pub fn compile_plan(plan: Plan) -> Result<Compiled> {
    let tile = ir::tile::build::build(&plan)?;
    let program = lower::lower(&plan, &tile)?;
    let certificate = certify::certify(&plan, &tile, &program)?;
    let copies = plan
        .copies
        .iter()
        .map(|one| compile_plan((*one.copy).clone()));
    let copies: Vec<Compiled> = copies.collect::<Result<_>>()?;
    let own = ptx::emit(&program, &plan.arch, &plan.id)?;
    let ptx = ptx::joined(own, copies.iter().map(|one| &one.ptx));
    Ok(Compiled {
        plan,
        tile,
        program,
        certificate,
        ptx,
        copies,
    })
}

/// Compiles a point of a file by the first of its plans whose kernel ptxas has nothing against, and
/// writes its manifest entry.
///
/// # Errors
/// Those of [`compile`]; [`Plan`](error::Error::Plan) when ptxas spills, uses local memory or
/// serializes, whatever the plan takes for what the spec leaves to it;
/// [`Unsupported`](error::Error::Unsupported) for a kernel that would have no code to run.
pub fn artifact(file: &SpecFile, point: &Point, making: &Making) -> Result<Artifact> {
    let code = making.code_arch(&point.id, &point.spec.problem.arch)?;
    let mut table = Default::default();
    let found = first_good::first_good(point, making, |made| {
        table = pack::lines::table(file, &made.plan, &made.tile, &made.ptx.lines);
        if making.line_info == LineInfo::Directives {
            (made.ptx.text, table) = pack::lines::directives(&made.ptx.text, &table);
        }
    })?;
    let (made, mut reports) = (found.made, found.reports);
    let mut artifact = pack::artifact(&made, &reports)?;
    artifact.kernel.lines = Some(table);
    if let (Some(arch), Some(report)) = (code, reports.pop()) {
        let route = making.machine_code.map_or(Route::Ptx, |code| code.route);
        artifact.ship(arch.ptxas_target, report, route);
    }
    Ok(artifact)
}

pub use way_out::with_way_out;
