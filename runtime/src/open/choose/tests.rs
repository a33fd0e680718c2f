//! Choices by a word, and their reasons.
#![allow(clippy::unwrap_used)]

use tilewright_bundle::{DType, Sha256Hex, TunedDevice, TunedPoint};
use tilewright_fixture::{
    GEMM, assume, bundle, bundle_of, choice, gemm_kernel, picky_gemm, table, tuned,
};

use super::*;
use crate::device::Device;
use crate::emulated::EmulatorSettings;
use crate::launch::info::DeviceInfo;
use crate::launch::layout::Extents;
use crate::launch::problem::Problem;
use crate::launch::request::Placed;
use crate::launch::tensors::Described;
use crate::select::explanation::{Tuned, Why};
use crate::select::table::{Selector, Source};

fn gemm(dtype: DType, lead: i64) -> Request<'static> {
    let operands = [("a", (4, 16), lead), ("b", (5, 16), lead), ("d", (4, 5), 5)];
    let operands = operands.map(|(operand, (rows, cols), lead)| Placed {
        tensor: Described {
            operand,
            dtype,
            place: Extents::new([(rows, lead), (cols, 1)]),
        },
        address: 0x1000,
        bytes: None,
    });
    Request {
        operands: operands.to_vec(),
        ..Request::default()
    }
}

fn explained_of(runtime: &Runtime, word: &str, request: &Request<'_>) -> Explanation {
    let meant = runtime.meant(word).unwrap();
    let meant: Vec<_> = meant.into_iter().map(|k| (k, request)).collect();
    let told = runtime.explain(word, &meant);
    // What is explained is what is chosen.
    let chosen = runtime.choose(word, &meant).ok();
    let chosen = chosen.map(|chosen| (chosen.kernel.id.clone(), chosen.source));
    let explained = told.chosen.as_ref().ok();
    assert_eq!(explained.map(|c| (c.kernel.clone(), c.source)), chosen);
    told
}

fn explained(word: &str, request: &Request<'_>) -> String {
    let runtime = Runtime::new(bundle(), Device::emulator());
    explained_of(&runtime, word, request).to_string()
}

#[test]
fn what_is_passed_over_has_its_reason() {
    let text = explained("gemm", &gemm(DType::F32, 17));
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[0].starts_with("gemm: acc[m,n]: f32 = sum[k] a[m,k] * b[n,k]; d[m,n] = acc"),
        "{text}"
    );
    let asked = "asked: 4x5x16 a:(17,1) b:(17,1) d:(5,1), on emulator (4 SMs)";
    assert_eq!(lines[1], asked, "{text}");
    let chosen = "chosen: gemm_f32@plain-2 (untuned): the bundle has no tuning table of the \
                  function: the first kernel that fits, the most special first";
    assert_eq!(lines[2], chosen, "{text}");
    let picky = "refused: gemm_f32@picky-1: it assumes lda % 8 == 0, and lda is 17";
    assert!(lines[3].starts_with(picky), "{text}");
    assert!(text.contains("fits: gemm_f32_tn@hopper-1: "), "{text}");
    let aligned = explained("gemm", &gemm(DType::F32, 16));
    assert!(aligned.contains("chosen: gemm_f32@picky-1"), "{aligned}");
    let last =
        "fits: gemm_f32@plain-2: it assumes nothing but its layouts, and comes after all others";
    assert!(aligned.contains(last), "{aligned}");
}

#[test]
fn an_operand_out_of_line_costs_the_kernel_that_minds() {
    let mut request = gemm(DType::F32, 16);
    request.operands[0].address += 4;
    let text = explained("gemm", &request);
    assert!(text.contains("chosen: gemm_f32@plain-2"), "{text}");
    assert!(text.contains("picky-1: `a` is at address 0x1004"), "{text}");
}

#[test]
fn words_that_mean_nothing_are_told() {
    let runtime = Runtime::new(bundle(), Device::emulator());
    let error = runtime.meant("softmax").unwrap_err().to_string();
    assert_eq!(
        error,
        "no kernel of the bundle is a \"softmax\": it has copy, gemm"
    );
    let text = explained("gemm", &gemm(DType::F16, 16));
    assert!(
        text.contains("chosen: none: no \"gemm\" kernel takes these tensors"),
        "{text}"
    );
    assert!(text.contains("its a is f32, not f16"), "{text}");
    assert_eq!(runtime.functions().len(), 2);
}

#[test]
fn of_functions_that_take_the_bits_the_one_of_the_very_type_is_meant() {
    let mut rounding = gemm_kernel("gemm_a_tf32@bits-1");
    for operand in &mut rounding.semantics.operands[..2] {
        operand.dtype = DType::TF32;
    }
    let plain = gemm_kernel("gemm_f32@plain-2");
    let both = bundle_of([(rounding.clone(), GEMM), (plain, GEMM)]);
    let runtime = Runtime::new(both, Device::emulator());
    assert_eq!(runtime.meant("gemm").unwrap().len(), 2);
    let told = explained_of(&runtime, "gemm", &gemm(DType::F32, 16));
    assert_eq!(told.chosen.unwrap().kernel, "gemm_f32@plain-2");
    // Where no function has the very type, the one that takes the bits does.
    let alone = Runtime::new(bundle_of([(rounding, GEMM)]), Device::emulator());
    let told = explained_of(&alone, "gemm", &gemm(DType::F32, 16));
    assert_eq!(told.chosen.unwrap().kernel, "gemm_a_tf32@bits-1");
}

/// A picky gemm, two plain ones and the last, which the table's row of 4x5x16 does not name.
fn tabled(sm: Option<u32>) -> Runtime {
    let ids = ["gemm_f32@b-2", "gemm_f32@c-3", "gemm_f32@d-4"];
    let kernels = ids.map(gemm_kernel).into_iter();
    let kernels = kernels.chain([picky_gemm("gemm_f32@a-1")]);
    let bundle = bundle_of(kernels.map(|kernel| (kernel, GEMM)));
    let device = TunedDevice {
        name: "emulator".to_owned(),
        sm: Some(80),
        sms: 4,
    };
    let timed = bundle.kernels().iter().zip([1.25, 1.5, 2.0]);
    let row = TunedPoint {
        extents: bundle.kernels()[0]
            .free_extents()
            .map(|(_, name)| match name {
                "m" => 4,
                "n" => 5,
                _ => 16,
            })
            .collect(),
        strides: Vec::new(),
        choices: timed.map(|(kernel, us)| choice(kernel, us)).collect(),
    };
    let tuning = table(&bundle.kernels()[0], device, vec![row]);
    let settings = EmulatorSettings {
        sm,
        ..EmulatorSettings::default()
    };
    Runtime::new(tuned(&bundle, &tuning), Device::emulator_with(settings))
}

#[test]
fn the_row_of_a_table_is_told_with_its_times() {
    let runtime = tabled(Some(80));
    let told = explained_of(&runtime, "gemm", &gemm(DType::F32, 16));
    let text = told.to_string();
    let chosen = "chosen: gemm_f32@a-1 (measured): the fastest of the tuning table's row m=4 k=16 \
                  n=5 of emulator (sm_80, 4 SMs), 1.25 thread instructions";
    assert!(text.contains(chosen), "{text}");
    let others: Vec<&str> = told.others.iter().map(|one| one.kernel.as_str()).collect();
    assert_eq!(others, ["gemm_f32@b-2", "gemm_f32@c-3", "gemm_f32@d-4"]);
    assert_eq!(told.others[0].why, Why::Slower { us: 1.5 });
    assert_eq!(told.others[2].why, Why::NotInRow);
    // The first of the row minds where `a` lies; the second is chosen, by the same row.
    let mut moved = gemm(DType::F32, 16);
    moved.operands[0].address += 4;
    let told = explained_of(&runtime, "gemm", &moved);
    let chosen = told.chosen.unwrap();
    assert_eq!(
        (chosen.kernel.as_str(), chosen.source, chosen.us),
        ("gemm_f32@b-2", Source::Measured, Some(1.5))
    );
    assert!(matches!(told.others[0].why, Why::Refused { .. }));
}

#[test]
fn tables_of_other_devices_and_layouts_are_told_apart() {
    let told = explained_of(&tabled(Some(90)), "gemm", &gemm(DType::F32, 16));
    let devices = vec!["emulator (sm_80, 4 SMs)".to_owned()];
    assert_eq!(told.tuned, Some(Tuned::OtherDevices(devices)));
    let mut turned = gemm(DType::F32, 16);
    turned.operands[1].tensor.place = Extents::new([(5, 1), (16, 5)]);
    let told = explained_of(&tabled(Some(80)), "gemm", &turned);
    assert_eq!(told.tuned, Some(Tuned::OtherLayouts));
    let text = told.to_string();
    assert!(
        text.contains("are of operands that lie otherwise"),
        "{text}"
    );
}

#[test]
fn an_explanation_counts_nothing() {
    let runtime = Runtime::new(bundle(), Device::emulator());
    let meant = runtime.meant("gemm").unwrap();
    let request = gemm(DType::F32, 17);
    let meant: Vec<_> = meant.into_iter().map(|k| (k, &request)).collect();
    runtime.explain("gemm", &meant);
    assert_eq!(runtime.counters().skipped, Default::default());
    runtime.choose("gemm", &meant).unwrap();
    assert_eq!(runtime.counters().skipped.values().sum::<u64>(), 1);
}

#[test]
fn code_that_the_device_refuses_is_explained_as_it_is_chosen() {
    let mut broken = picky_gemm("gemm_f32@broken-0");
    broken.launches[0].params.pop();
    let plain = gemm_kernel("gemm_f32@plain-2");
    let both = bundle_of([(broken.clone(), GEMM), (plain, GEMM)]);
    // Nobody has loaded anything before it is asked.
    let runtime = Runtime::new(both, Device::emulator());
    let told = explained_of(&runtime, "gemm", &gemm(DType::F32, 16));
    assert_eq!(told.chosen.as_ref().unwrap().kernel, "gemm_f32@plain-2");
    let text = told.to_string();
    let refused = "refused: gemm_f32@broken-0: the driver refused the code: ";
    assert!(text.contains(refused), "{text}");
    let alone = Runtime::new(bundle_of([(broken, GEMM)]), Device::emulator());
    let text = explained_of(&alone, "gemm", &gemm(DType::F32, 16)).to_string();
    assert!(text.contains("chosen: none: every kernel"), "{text}");
}

#[test]
fn a_problem_is_asked_about_as_tensors_are() {
    let bundle = bundle();
    let kernel = bundle.kernel("gemm_f32@plain-2").unwrap();
    let problem = Problem::new(4, 5, 16);
    let problem = problem.row_major("a", 17).row_major("b", 17);
    let refusals = Request::of_problem(kernel, &problem).unwrap_err();
    assert_eq!(refusals.len(), 1, "{refusals:?}");
    let problem = problem.row_major("d", 5);
    let request = Request::of_problem(kernel, &problem).unwrap();
    let mut placed = gemm(DType::F32, 17);
    for operand in &mut placed.operands {
        operand.address = 0;
    }
    assert_eq!(request.operands, placed.operands);
    assert_eq!(
        request.problem(kernel).unwrap().to_string(),
        problem.to_string()
    );
}

/// Strides that the first kernel of a function does not take may be another's, who takes them.
#[test]
fn strides_of_another_kernel_are_asked_about() {
    let kernels = [
        picky_gemm("gemm_f32@picky-1"),
        gemm_kernel("gemm_f32@plain-2"),
    ];
    let bundle = bundle_of(kernels.map(|kernel| (kernel, GEMM)));
    let problem = Problem::new(4, 5, 16).with_strides("a", [1, 5]);
    let problem = problem.row_major("b", 17).row_major("d", 5);
    let runtime = Runtime::new(bundle, Device::emulator());
    let first = runtime.bundle().kernel("gemm_f32@picky-1").unwrap();
    let request = Request::of_problem(first, &problem).unwrap();
    let meant = [(first, &request)];
    let told = runtime.explain("gemm", &meant);
    assert_eq!(told.chosen.as_ref().unwrap().kernel, "gemm_f32@plain-2");
    let text = told.to_string();
    let refused = "refused: gemm_f32@picky-1: `a` has strides (1,5); the kernel takes";
    assert!(text.contains(refused), "{text}");
    let chosen = runtime.choose("gemm", &meant).unwrap();
    assert_eq!(chosen.kernel.id, "gemm_f32@plain-2");
}

/// Of an operand without elements strides say nothing.
#[test]
fn an_extent_of_zero_is_told_once() {
    let bundle = bundle();
    let kernel = bundle.kernel("gemm_f32@plain-2").unwrap();
    let problem = Problem::new(4, 5, 0);
    let problem = problem.row_major("a", 0).row_major("b", 0);
    let problem = problem.row_major("d", 5);
    let refusals = Request::of_problem(kernel, &problem).unwrap_err();
    let told: Vec<String> = refusals.iter().map(ToString::to_string).collect();
    let [told] = <[String; 1]>::try_from(told).unwrap();
    assert!(told.starts_with("k is 0; 1 to 2147483647 is allowed: kernels fold something"));
    let runtime = Runtime::new(bundle, Device::emulator());
    let picked = runtime.pick(&Query::gemm(), &problem, &[]).map(|_| ());
    let told = picked.unwrap_err().to_string();
    assert_eq!(told.matches("k is 0").count(), 1, "{told}");
    let counters = runtime.counters();
    assert_eq!((counters.unfit, counters.skipped["extent"]), (1, 3));
    assert!(told.contains("gemm_f32_tn@hopper-1: k is 0"), "{told}");
    let mut request = gemm(DType::F32, 16);
    for (operand, rows) in request.operands.iter_mut().zip([4, 5]) {
        operand.tensor.place = Extents::new([(rows, 1), (0, 1)]);
    }
    let text = explained_of(&runtime, "gemm", &request).to_string();
    assert_eq!(text.matches("k is 0").count(), 1, "{text}");
}

/// Several reasons are told at once.
#[test]
fn every_disagreement_of_operands_is_told() {
    let mut request = gemm(DType::F16, 16);
    request.operands[1].tensor.dtype = DType::S32;
    request.operands[2].tensor.place = Extents::new([(2, 10), (2, 5), (5, 1)]);
    let text = explained("gemm", &request);
    let float = "(PyTorch's `.float()` makes it so)";
    for part in [
        format!("its a is f32, not f16 {float}, and its b is f32, not s32, and"),
        "its d is (m,n):(rsd,csd), and what is given has 3 axes; where the first ones lie without \
         gaps, d.reshape(-1, d.shape[-1]) does"
            .to_owned(),
    ] {
        assert!(text.contains(&part), "{text}");
    }
}

/// Rows before elements that may lie anywhere, and wide accesses before narrow ones, whatever the
/// kernels' names.
#[test]
fn without_a_table_the_most_special_kernel_is_taken() {
    let mut any = gemm_kernel("gemm_f32@a-1");
    any.assumptions = vec![assume("m <= 4096")];
    let mut narrow = picky_gemm("gemm_f32@b-1");
    narrow.assumptions.pop();
    let wide = picky_gemm("gemm_f32@c-1");
    let bundle = bundle_of([any, narrow, wide].map(|kernel| (kernel, GEMM)));
    let runtime = Runtime::new(bundle, Device::emulator());
    let told = explained_of(&runtime, "gemm", &gemm(DType::F32, 16));
    assert_eq!(told.chosen.as_ref().unwrap().kernel, "gemm_f32@c-1");
    let text = told.to_string();
    for line in [
        "fits: gemm_f32@a-1: it is for elements that lie further apart",
        "fits: gemm_f32@b-1: it asks for less alignment",
    ] {
        assert!(text.contains(line), "{text}");
    }
}

#[test]
fn a_gpu_that_is_not_here_has_its_own_choice() {
    let bundle = bundle();
    let told = |device: &DeviceInfo| {
        let selector = Selector::new(&bundle, device);
        let candidates = Candidates::new(&bundle, &selector, device);
        let meant = candidates.meant("gemm_f32_tn").unwrap();
        let request = gemm(DType::F32, 16);
        candidates.explain("gemm", &[(meant[0], &request)])
    };
    let ampere = told(&DeviceInfo::of_capability(80)).to_string();
    assert!(ampere.contains("on any GPU (sm_80)"), "{ampere}");
    let exact = "refused: gemm_f32_tn@hopper-1: it needs exactly sm_90; the device is sm_80";
    assert!(ampere.contains(exact), "{ampere}");
    let alone = DeviceInfo {
        cubin_only: true,
        ..DeviceInfo::of_capability(90)
    };
    let text = told(&alone).to_string();
    let none = "chosen: none: every kernel of the function refuses";
    assert!(text.contains(none), "{text}");
    let has_none = "hopper-1: it runs by its machine code alone, which is for no device, as it \
                    has none";
    assert!(text.contains(has_none), "{text}");
    let json = serde_json::to_value(told(&alone)).unwrap();
    assert!(
        json["chosen"].is_null() && json["error"].is_string(),
        "{json}"
    );
    assert_eq!(json["others"][0]["why"], "refused", "{json}");
    assert_eq!(json["others"][0]["refusals"][0]["kind"], "cubin_only");
}

#[test]
fn the_name_of_a_spec_means_no_other_spec_that_begins_so() {
    let ids = ["gemm2@s2-0a", "gemm@s1-0b", "gemm@s2-0c"];
    let of_ids = ids.map(|id| (gemm_kernel(id), GEMM));
    let runtime = Runtime::new(bundle_of(of_ids), Device::emulator());
    let problem = Problem::new(4, 5, 16);
    let problem = problem.row_major("a", 16).row_major("b", 16);
    let problem = problem.row_major("d", 5);
    for (name, id) in [
        ("gemm", "gemm@s1-0b"),
        ("gemm@s2", "gemm@s2-0c"),
        ("gemm2", "gemm2@s2-0a"),
        ("gem", ids[0]),
        ("gemm@s2-0c", "gemm@s2-0c"),
    ] {
        assert_eq!(runtime.named(name).unwrap().id, id, "{name}");
        let found = runtime.find(name, Some(&problem)).unwrap();
        assert_eq!(found.kernel.id, id, "{name}");
    }
    let unknown = runtime.named("hemm").unwrap_err();
    assert!(matches!(unknown, Error::UnknownKernel { .. }), "{unknown}");
}

#[test]
fn a_query_that_no_kernel_answers_says_what_there_is() {
    let runtime = Runtime::new(bundle(), Device::emulator());
    let told = |query: Query| {
        let problem = Problem::new(4, 5, 16);
        let picked = runtime.pick(&query, &problem, &[]).map(|_| ());
        let selected = runtime.select(&query, &problem, &[]).map(|_| ());
        let told = selected.unwrap_err().to_string();
        assert_eq!(picked.unwrap_err().to_string(), told);
        told
    };
    let halves = Query::gemm().with_dtype("a", DType::F16);
    let wanted = "no gemm a=f16 kernel of the bundle can run this problem: its gemm kernels have \
                  a=f32, b=f32, d=f32, sums=f32";
    assert_eq!(told(halves), wanted);
    let kernel = runtime.named("copy_f32").unwrap();
    let like = Query::like(kernel).with_dtype("s", DType::BF16);
    let wanted = "no copy s=bf16 kernel of the bundle can run this problem: its copy kernels have \
                  s=f32, d=f32";
    assert_eq!(told(like), wanted);
    let unknown = told(Query::function(Sha256Hex::of(b"another")));
    assert!(
        unknown.contains(": it computes copy s=f32 d=f32 (copy_f32"),
        "{unknown}"
    );
    assert!(unknown.contains("; gemm a=f32 b=f32 d=f32"), "{unknown}");
}

/// Strides of one row are told as they are given, though no kernel minds them.
#[test]
fn what_was_asked_is_told_as_it_was_asked() {
    let mut request = gemm(DType::F32, 64);
    for (placed, (rows, cols)) in request.operands.iter_mut().zip([(1, 16), (5, 16), (1, 5)]) {
        placed.tensor.place = Extents::new([(rows, 64), (cols, 1)]);
    }
    let text = explained("gemm", &request);
    let asked = "asked: 1x5x16 a:(64,1) b:(64,1) d:(64,1), on emulator (4 SMs)";
    assert_eq!(text.lines().nth(1), Some(asked), "{text}");
}
