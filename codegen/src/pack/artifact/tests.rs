//! Machine code of kernels, made by ptxas and read again from a bundle.
#![allow(clippy::unwrap_used)]

use std::ffi::OsStr;

use tilewright_bundle::{Bundle, Route};

use super::*;
use crate::arch::Arch;
use crate::ptx::ptxas;
use crate::{LineInfo, Making, pack, spec};

/// A copy of rows by that tile.
fn made(tile: &str, info: LineInfo, cubin: (&str, bool)) -> Artifact {
    let text = format!(
        "kernel: copy\nname: copy_rows\narch: sm_80\noperands:\n  \
         s: {{ dtype: f32, layout: '(m,n):(lds,1)' }}\n  \
         d: {{ dtype: f32, layout: '(m,n):(ldd,1)' }}\ncta_tile: '{tile}'\n"
    );
    let file = spec::parse("copy/rows.yaml", &text).unwrap();
    let making = Making::chosen(info, OsStr::new("required"), cubin).unwrap();
    crate::artifact(&file, &file.points[0], &making).unwrap()
}

const TILE: &str = "(16,256)";

fn opened(artifacts: Vec<Artifact>) -> Result<Bundle, String> {
    let provenance = pack::provenance(ptxas::find().as_deref());
    let writer = pack::writer(artifacts, provenance).map_err(|error| error.to_string())?;
    let zip = writer.to_zip().unwrap();
    Bundle::from_zip(&zip).map_err(|error| error.to_string())
}

#[test]
fn the_same_assembler_makes_the_same_code_which_the_bundle_has() {
    let artifact = made(TILE, LineInfo::Beside, ("sm_90", false));
    let code = artifact.cubin.clone().unwrap();
    assert_eq!(code.target, "sm_90");
    let again = made(TILE, LineInfo::Beside, ("sm_90", false));
    assert!(again.cubin.unwrap() == code, "other bytes");
    let text = serde_json::to_string(&artifact).unwrap();
    let read: Artifact = serde_json::from_str(&text).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), text);
    assert!(read.cubin.unwrap() == code, "other bytes");
    let cut = text.replacen("\"f0VMR", "\"f0VM!", 1);
    assert!(serde_json::from_str::<Artifact>(&cut).is_err());
    // What the manifest says is said of this code, not of that for the PTX's own architecture.
    let path = ptxas::find().unwrap();
    let arch = Arch::parse("sm_90").unwrap();
    let report = ptxas::assemble_with(&path, &artifact.ptx, &arch).unwrap();
    assert_eq!(artifact.kernel.resources.registers, Some(report.registers));
    assert!(report.cubin == code.bytes, "other bytes");
    let own = made(TILE, LineInfo::Beside, ("own", false)).cubin.unwrap();
    assert_eq!(own.target, "sm_80");
    assert!(own.bytes != code.bytes);
    let bundle = opened(vec![artifact]).unwrap();
    assert_eq!(
        bundle.cubin(&bundle.kernels()[0]),
        Some(code.bytes.as_slice())
    );
    let version = bundle.provenance().ptxas.as_deref();
    assert_eq!(version, Some(report.version.as_str()));
    assert!(
        made(TILE, LineInfo::Beside, ("never", false))
            .cubin
            .is_none()
    );
}

#[test]
fn code_of_another_kernel_or_architecture_is_no_bundle() {
    let artifact = made(TILE, LineInfo::Beside, ("own", false));
    let mut swapped = artifact.clone();
    swapped.cubin = made("(8,256)", LineInfo::Beside, ("own", false)).cubin;
    let told = opened(vec![swapped]).unwrap_err();
    assert!(
        told.contains("has no code of the kernel copy_rows"),
        "{told}"
    );
    let mut other = artifact.clone();
    "sm_90".clone_into(&mut other.cubin.as_mut().unwrap().target);
    let told = opened(vec![other]).unwrap_err();
    assert!(
        told.contains("is machine code for sm_80; its target is sm_90"),
        "{told}"
    );
    let mut cut = artifact;
    cut.cubin.as_mut().unwrap().bytes.truncate(1000);
    let told = opened(vec![cut]).unwrap_err();
    assert!(told.contains("is a damaged ELF file"), "{told}");
}

#[test]
fn code_names_lines_where_the_ptx_does() {
    let has_lines = |info| {
        let code = made(TILE, info, ("own", false)).cubin.unwrap();
        let name = b".debug_line";
        code.bytes.windows(name.len()).any(|part| part == name)
    };
    assert!(has_lines(LineInfo::Directives));
    assert!(!has_lines(LineInfo::Beside));
}

#[test]
fn code_alone_needs_the_driver_of_its_assembler() {
    let beside = made(TILE, LineInfo::Beside, ("own", false)).kernel;
    assert_eq!((beside.route, beside.min_driver), (Route::Ptx, 11_000));
    let alone = made(TILE, LineInfo::Beside, ("own", true)).kernel;
    let version = ptxas::version(&ptxas::find().unwrap()).unwrap();
    let major: u32 = version.split('.').next().unwrap().parse().unwrap();
    assert_eq!(
        (alone.route, alone.min_driver),
        (Route::CubinOnly, major * 1000)
    );
}
