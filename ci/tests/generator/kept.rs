//! What the compiler and the assembler make of a point, made once for all tests of a run.
//!
//! Comes in: a point. Goes out: what tests read of the outcome. Each test is a process of its own,
//! so that what the first of them makes lies in a file below the tests' target folder. The file
//! names what it was made of: the contents of this very test program, in which the generator, its
//! templates, its instructions and LLVM are linked; the whole point; the assembler's contents;
//! whether the assembler is asked, or only of what is not recorded ([`judged`]). With any of them
//! changed it is made anew. Whoever works on a file holds its lock, and the others wait
//! for it.

use std::fs::{self, File};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use tilewright_bundle::Sha256Hex;
use tilewright_codegen::first_good::first_good;
use tilewright_codegen::pack::{self, Artifact};
use tilewright_codegen::plan::data::model::Plan;
use tilewright_codegen::ptx::ptxas::{self, PtxasReport};
use tilewright_codegen::spec::Point;
use tilewright_codegen::{Making, compile};

use crate::judged;

/// What one point became.
#[derive(Serialize, Deserialize)]
pub struct Kept {
    /// The manifest entry, without what the assembler says, and the PTX.
    pub artifact: Artifact,
    /// The certificate's steps.
    pub steps: Vec<Step>,
    /// What the assembler said, or why it refused the text.
    pub assembled: Result<Assembled, String>,
}

/// What tests read of a step of the certificate.
#[derive(Serialize, Deserialize, PartialEq)]
pub struct Step {
    /// Operand and hop.
    pub step: String,
    /// Atom id.
    pub atom: String,
    /// Wavefronts of its accesses to shared memory, and the fewest possible.
    pub wavefronts: Option<[u64; 2]>,
    /// Of the worst access, how many times the fewest it takes.
    pub conflict_degree: Option<f64>,
    /// Sectors of the worst request to global memory.
    pub sectors_per_request: Option<u32>,
}

/// What tests read of the assembler's report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Assembled {
    /// Registers of a thread.
    pub registers: u32,
    /// Static and dynamic shared memory in bytes.
    pub smem_bytes: u32,
    /// Bytes of spill loads and stores.
    pub spill_bytes: u32,
    /// What the gate has against it.
    pub violations: Vec<String>,
}

/// A file of one point.
#[derive(Serialize, Deserialize)]
struct Page {
    made_of: String,
    kept: Kept,
}

/// What a point becomes, or the report of why it has no kernel.
pub fn kept(point: &Point) -> Result<Kept, String> {
    let asked = judged::is_sampled(&point.id);
    let made_of = format!("{} {asked} {point:?}", tools());
    let made_of = Sha256Hex::of(made_of.as_bytes()).to_string();
    let mut file = locked(&folder().join(format!("{}.json", point.id)));
    let mut text = String::new();
    // Text that was cut short when its writer was killed is none.
    let page = file
        .read_to_string(&mut text)
        .ok()
        .and_then(|_| serde_json::from_str::<Page>(&text).ok());
    if let Some(page) = page.filter(|page| page.made_of == made_of) {
        return Ok(page.kept);
    }
    let page = Page {
        made_of,
        kept: make(point)?,
    };
    file.set_len(0).unwrap();
    file.rewind().unwrap();
    // An assembler that was not there, or late, is asked again.
    if page.kept.assembled.is_ok() {
        let text = serde_json::to_string(&page).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }
    Ok(page.kept)
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("kernels")
}

/// A file that nobody else reads or writes while it is open.
fn locked(path: &Path) -> File {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut options = File::options();
    let options = options.read(true).write(true).create(true).truncate(false);
    let file = options.open(path).unwrap();
    file.lock().unwrap();
    file
}

fn make(point: &Point) -> Result<Kept, String> {
    let making = Making {
        ptxas: ptxas::find(),
        ..Making::default()
    };
    let first = compile(point).map_err(|error| error.report(false))?;
    let (made, assembled) = match judged::verdict(&point.id, &first.ptx.text) {
        Some(verdict) => (first, Ok(verdict)),
        // What is refused whatever is taken is kept as its first plan has it.
        None => {
            let (made, report) = match first_good(point, &making, |_| {}) {
                Ok(found) => (found.made, found.reports.into_iter().next()),
                Err(_) => (first, None),
            };
            let assembled = assemble(&made.plan, &made.ptx.text, report);
            (made, assembled)
        }
    };
    let steps = made.certificate.steps.iter().map(|step| Step {
        step: step.step.clone(),
        atom: step.atom.clone(),
        wavefronts: step.shared_memory.map(|all| [all.taken, all.least]),
        conflict_degree: step.shared_memory.map(|all| all.degree()),
        sectors_per_request: step.sectors_per_request,
    });
    let steps = steps.collect();
    let artifact = pack::artifact(&made, &[]);
    Ok(Kept {
        artifact: artifact.map_err(|error| error.report(false))?,
        steps,
        assembled,
    })
}

fn assemble(plan: &Plan, text: &str, known: Option<PtxasReport>) -> Result<Assembled, String> {
    let report = match known {
        Some(report) => report,
        None => ptxas::assemble(text, &plan.arch).map_err(|error| error.report(false))?,
    };
    let violations = ptxas::gate(&report).into_iter();
    Ok(Assembled {
        registers: report.registers,
        smem_bytes: report.smem_bytes + plan.arena.bytes(),
        spill_bytes: report.spill_load_bytes + report.spill_store_bytes,
        violations: violations.map(|one| one.to_string()).collect(),
    })
}

/// The hashes of the programs that everything kept is made by.
fn tools() -> &'static str {
    static TOOLS: OnceLock<String> = OnceLock::new();
    TOOLS.get_or_init(|| {
        let hash = |path: &Path| Sha256Hex::of(&fs::read(path).unwrap()).to_string();
        let own = hash(&std::env::current_exe().unwrap());
        let ptxas = ptxas::find().map_or("no ptxas".to_owned(), |path| hash(&path));
        format!("{own} {ptxas}")
    })
}

/// What is of another point, or was cut short, is made anew; the rest is taken as it is.
#[test]
fn what_is_kept_is_of_this_program_and_this_point() {
    let points = crate::shipped::points();
    let [mut first, mut other] = [&points[0], &points[1]].map(Point::clone);
    // No other test asks for a point of this name.
    first.id = format!("{}-kept", first.id);
    other.id = first.id.clone();
    let text = |point: &Point| kept(point).unwrap().artifact.ptx;
    let made = text(&first);
    assert_ne!(text(&other), made);
    assert_eq!(text(&first), made);
    let path = folder().join(format!("{}.json", first.id));
    let page = fs::read_to_string(&path).unwrap();
    fs::write(&path, &page[..page.len() / 2]).unwrap();
    assert_eq!(text(&first), made);
    assert_eq!(fs::read_to_string(&path).unwrap(), page);
    fs::write(&path, page.replace(".visible .entry", ".weak .entry")).unwrap();
    assert!(text(&first).contains(".weak .entry"));
    fs::remove_file(&path).unwrap();
}
