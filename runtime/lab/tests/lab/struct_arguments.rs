//! Launch files with a struct that is passed by value, as kernels of CUTLASS take their parameters.
#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use tilewright_emulator::{Options, Sanitize};
use tilewright_lab::launch_file::{LaunchFile, LaunchFileError, Outcome, Schedule};

/// `struct P { CUtensorMap map; float *y; const float *x; float by; unsigned ones; }`: a row of the
/// map's tensor, to which `x` times `by` is added, where all bits of `ones` are set.
const PTX: &str = "
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .align 64 .b8 p[192])
{
    .shared .align 128 .b8 row[128];
    .shared .align 8 .b64 full;
    .reg .pred %p<4>;
    .reg .b32 %r<8>;
    .reg .f32 %f<4>;
    .reg .b64 %a<10>;
    mov.u32 %r0, %tid.x;
    mov.u32 %r1, row;
    mov.u32 %r2, full;
    mov.u32 %r3, 0;
    setp.ne.u32 %p0, %r0, 0;
    @%p0 bra MADE;
    mbarrier.init.shared::cta.b64 [%r2], 1;
    fence.mbarrier_init.release.cluster;
    fence.proxy.async.shared::cta;
MADE:
    bar.sync 0;
    @%p0 bra WAIT;
    mov.b64 %a0, p;
    cvta.param.u64 %a1, %a0;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 128;
    mov.u32 %r4, 1;
    cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes \
        [%r1], [%a1, {%r3, %r4}], [%r2];
WAIT:
    mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r2], %r3;
    @!%p1 bra WAIT;
    ld.param.u32 %r5, [p+148];
    setp.ne.u32 %p2, %r5, 0xffffffff;
    @%p2 bra END;
    ld.param.u64 %a2, [p+128];
    ld.param.u64 %a3, [p+136];
    ld.param.f32 %f0, [p+144];
    mul.wide.u32 %a4, %r0, 4;
    add.u64 %a5, %a2, %a4;
    add.u64 %a6, %a3, %a4;
    shl.b32 %r6, %r0, 2;
    add.u32 %r7, %r1, %r6;
    ld.shared.f32 %f1, [%r7];
    ld.global.f32 %f2, [%a6];
    fma.rn.f32 %f3, %f2, %f0, %f1;
    st.global.f32 [%a5], %f3;
END:
    ret;
}
";

fn manifest() -> Value {
    let buffer = |name: &str, more: Value| {
        let mut all = json!({"kind": "buffer", "name": name, "dtype": "f32", "bytes": 128});
        all.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        all
    };
    let map = json!({
        "at": 0, "kind": "tensormap", "name": "map", "buffer": "g", "data_type": "FLOAT32",
        "rank": 2, "global_dim": [32, 2], "global_strides": [128], "box_dim": [32, 1],
        "element_strides": [1, 1], "interleave": "NONE", "swizzle": "NONE", "oob_fill": "NONE",
    });
    json!({
        "id": "struct", "ptx": "ptx/k.ptx", "arch": "sm_90", "entry": "k",
        "grid": [1, 1, 1], "block": [32, 1, 1],
        "args": [
            {"kind": "struct", "name": "p", "size": 192, "hex": "ff".repeat(192), "fields": [
                map,
                buffer("y", json!({"at": 128, "role": "out", "expect": "y.bin"})),
                buffer("x", json!({"at": 136, "role": "in", "init": "x.bin"})),
                {"at": 144, "kind": "scalar", "name": "by", "dtype": "f32", "value": 3},
            ]},
            {"kind": "memory", "name": "g", "role": "in", "dtype": "f32", "bytes": 256,
             "init": "g.bin"},
        ],
    })
}

fn run(change: impl Fn(&mut Value)) -> Result<Outcome, LaunchFileError> {
    let folder = tempfile::tempdir().unwrap();
    let case = folder.path().join("cases/struct");
    std::fs::create_dir_all(&case).unwrap();
    std::fs::create_dir(folder.path().join("ptx")).unwrap();
    std::fs::write(folder.path().join("ptx/k.ptx"), PTX).unwrap();
    let file = |name: &str, values: &dyn Fn(u8) -> f32, count: u8| {
        let bytes: Vec<u8> = (0..count).flat_map(|at| values(at).to_le_bytes()).collect();
        std::fs::write(case.join(name), bytes).unwrap();
    };
    file("g.bin", &|at| f32::from(at) * 100.0, 64);
    file("x.bin", &|at| f32::from(at) / 4.0, 32);
    file(
        "y.bin",
        &|at| f32::from(at + 32) * 100.0 + f32::from(at) * 0.75,
        32,
    );
    let mut value = manifest();
    change(&mut value);
    let path = case.join("manifest.json");
    std::fs::write(&path, value.to_string()).unwrap();
    let schedules = Schedule::first(4).into_iter();
    let options: Vec<Options> = schedules.map(|one| one.options(Sanitize::Strict)).collect();
    LaunchFile::read(&path).and_then(|file| file.run(&case, &options))
}

#[test]
fn pointers_numbers_and_tensor_maps_lie_in_one_parameter() {
    let outcome = run(|_| {}).unwrap();
    assert!(outcome.passed, "{:?}", outcome.reasons);
    let compared = outcome.buffers.iter().map(|one| one.name.as_str());
    assert_eq!(compared.collect::<Vec<_>>(), ["y", "x", "g"]);
}

#[test]
fn what_lies_under_fields_is_zero_unless_it_is_said() {
    let outcome = run(|manifest| {
        manifest["args"][0].as_object_mut().unwrap().remove("hex");
    });
    let outcome = outcome.unwrap();
    assert!(
        !outcome.passed && outcome.reasons[0].contains("buffer y"),
        "{:?}",
        outcome.reasons
    );
}

#[test]
fn a_struct_of_another_size_is_refused_with_the_parameter() {
    let refused = run(|manifest| {
        manifest["args"][0]["size"] = 200.into();
        manifest["args"][0]["hex"] = "00".repeat(200).into();
    });
    let told = refused.unwrap_err().to_string();
    assert!(
        told.contains("argument 0 has 200 bytes, p has 192"),
        "{told}"
    );
}

#[test]
fn a_struct_is_no_larger_than_parameters_may_be() {
    let refused = run(|manifest| {
        manifest["args"][0]["size"] = u64::MAX.into();
        manifest["args"][0].as_object_mut().unwrap().remove("hex");
    });
    let told = refused.unwrap_err().to_string();
    assert!(
        told.contains("a kernel's parameters have 32764 at most"),
        "{told}"
    );
}

#[test]
fn everything_that_is_wrong_with_fields_is_told_at_once() {
    let refused = run(|manifest| {
        manifest["args"][0]["hex"] = "ff".into();
        let fields = manifest["args"][0]["fields"].as_array_mut().unwrap();
        fields[0]["at"] = 32.into();
        fields[2]["at"] = 132.into();
        fields[3]["at"] = 190.into();
        fields[3]["dtyp"] = "f32".into();
        fields.push(json!({"at": 176, "kind": "struct", "name": "q", "size": 8, "fields": []}));
        fields.push(
            json!({"at": 180, "kind": "memory", "name": "w", "dtype": "f32", "bytes": 4,
                           "role": "out"}),
        );
    });
    let told = refused.unwrap_err().to_string();
    for want in [
        "argument by has no key `dtyp`",
        "argument p: hex is not two digits for each of 192 bytes",
        "argument p: field map at 32: its offset is a multiple of 64, such as 64",
        "argument p: field y at 128 of 8 bytes overlaps map, from 32 to 160",
        "argument p: field x at 132: its offset is a multiple of 8, such as 136",
        "argument p: field by at 190: its offset is a multiple of 4, such as 192",
        "argument p: field by at 190 of 4 bytes ends at 194, the struct at 192",
        "argument p: field q at 176 is a struct: list its fields among those of the outer one",
        "argument p: field w at 180 is memory, which is not passed: list it among args",
    ] {
        assert!(told.contains(want), "{want}: {told}");
    }
}
