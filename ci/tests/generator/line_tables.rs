//! Lines of PTX lead back to tile operations and to lines of the spec.

use tilewright_bundle::LineTable;
use tilewright_ci::source_tree;
use tilewright_codegen::pack::lines;
use tilewright_codegen::ptx::ptxas;
use tilewright_codegen::spec::{self, SpecFile};
use tilewright_codegen::{Compiled, compile};

fn made(path: &str) -> (SpecFile, Compiled, LineTable) {
    let files = source_tree::files().unwrap();
    let text = files.iter().find(|file| file.path == path).unwrap();
    let file = spec::parse(&text.path, &text.text).unwrap();
    let compiled = compile(&file.points[0]).unwrap();
    let table = lines::table(&file, &compiled.plan, &compiled.tile, &compiled.ptx.lines);
    (file, compiled, table)
}

/// An instruction, how the operation begins that it comes from, and what stands in its line.
type Comes = (&'static str, &'static str, &'static str);

/// Operations of the tile IR that instructions of these words come from, and what stands in the
/// spec's line.
const ORIGINS: [(&str, &str, &[Comes]); 3] = [
    (
        "specs/gemm/sm90_bf16_tn.yaml",
        "sm90_bf16_tn.yaml",
        &[
            ("wgmma.mma_async", "r.acc += s.a[", "accumulator"),
            ("cp.async.bulk.tensor.2d.shared", "copy boxes g.", "layout"),
            ("cp.async.bulk.tensor.2d.global", "copy boxes s.d", "d:"),
            (
                "griddepcontrol.wait",
                "follow the kernel before",
                "cta_tile",
            ),
        ],
    ),
    (
        "specs/gemm/bf16_tn.yaml",
        "bf16_tn.yaml",
        &[
            ("mma.sync", "r.acc += r.a[", "accumulator"),
            ("cp.async.cg", "copy g.", "layout"),
            ("ldmatrix", "copy s.", "layout"),
            ("bar.sync", "meet", "pipeline"),
            // Behind a section, where the work tile's coordinates are computed again.
            ("st.global", "copy r.", "d:"),
        ],
    ),
    (
        "specs/gemm/simt_f32.yaml",
        "simt_f32.yaml",
        &[("fma.rn.f32", "r.acc += r.a[", "mma")],
    ),
];

#[test]
fn instructions_come_from_the_operations_that_they_do() {
    for (path, name, origins) in ORIGINS {
        let (file, compiled, table) = made(path);
        assert_eq!(table.file.as_deref(), Some(name));
        for (instruction, op, key) in origins {
            let mut found = 0;
            for (at, _) in (1..).zip(compiled.ptx.text.lines()).filter(|(_, line)| {
                let line = line.trim_start();
                line.contains(instruction) && !line.starts_with("//")
            }) {
                let origin = table.origin(at).unwrap();
                assert!(origin.op.starts_with(op), "{instruction}: {origin:?}");
                let line = origin.spec.unwrap() as usize;
                let written = file.text.lines().nth(line - 1).unwrap();
                assert!(written.contains(key), "{origin:?}: {written}");
                found += 1;
            }
            assert!(found > 0, "{path} has no {instruction}");
        }
    }
}

#[test]
fn directives_change_nothing_but_the_text() {
    for (path, name, _) in ORIGINS {
        let (_, compiled, table) = made(path);
        let plain = &compiled.ptx.text;
        let (text, moved) = lines::directives(plain, &table);
        assert!(text.contains(&format!("\t.file\t1 \"{name}\"\n")), "{text}");
        let added = |line: &&str| line.starts_with("\t.loc\t") || line.starts_with("\t.file\t");
        let without: Vec<&str> = text.lines().filter(|line| !added(line)).collect();
        assert_eq!(without, plain.lines().collect::<Vec<_>>(), "{path}");
        // The moved table says of each line what the first one says.
        let kept = (1..).zip(text.lines()).filter(|(_, line)| !added(line));
        for ((at, _), before) in kept.zip(1..) {
            assert_eq!(moved.origin(at), table.origin(before), "line {at}");
        }
        let arch = &compiled.plan.arch;
        let [with, bare] = [&text, plain].map(|text| ptxas::assemble(text, arch).unwrap());
        assert_eq!(ptxas::gate(&with), [], "{path}");
        let resources = |report: &ptxas::PtxasReport| (report.registers, report.spill_load_bytes);
        assert_eq!(resources(&with), resources(&bare), "{path}");
    }
}

#[test]
fn the_same_program_has_the_same_lines() {
    let (_, first, _) = made(ORIGINS[0].0);
    let (_, again, _) = made(ORIGINS[0].0);
    assert_eq!(first.ptx.lines, again.ptx.lines);
    let most = first.ptx.lines.iter().map(|(_, op)| *op).max();
    assert!(most.unwrap() as usize <= first.tile.lines().len());
}
