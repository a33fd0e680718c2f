//! What a service sees of a runtime, here on the emulator: counters, events, faults.
#![allow(clippy::unwrap_used, clippy::panic)]

mod fixture;
#[path = "fixture/listening.rs"]
mod listening;

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use fixture::*;
use listening::Listening;
use tilewright_runtime::bundle::{Capability, Kernel, Policy, SigningKey, TunedDevice, TunedPoint};
use tilewright_runtime::{
    Arg, Device, EmulatorSettings, Error, FoundBy, Load, Options, Problem, Query, Refusal, Runtime,
    Source,
};
use tracing::Event;
use tracing::field::{Field, Visit};

/// An event as text.
struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        // What a launch takes is another time each time.
        if !field.name().ends_with("_ns") {
            write!(self.0, " {}={value:?}", field.name()).unwrap();
        }
    }
}

/// What is told while some work is done, a line each.
fn heard(work: impl FnOnce()) -> String {
    let text = Arc::new(Mutex::new(String::new()));
    let written = text.clone();
    let listening = Listening(move |event: &Event<'_>| {
        let mut line = Line(event.metadata().level().to_string());
        event.record(&mut line);
        written.lock().unwrap().push_str(&(line.0 + "\n"));
    });
    tracing::subscriber::with_default(listening, work);
    let text = text.lock().unwrap();
    text.clone()
}

/// A picky gemm and a plain one, of which a table names the first, or first both.
fn tabled(named: usize) -> Runtime {
    let kernels = [picky_gemm("gemm_f32@a-1"), gemm_kernel("gemm_f32@b-2")];
    let bundle = bundle_of(kernels.map(|kernel| (kernel, GEMM)));
    let device = TunedDevice {
        name: "emulator".to_owned(),
        sm: Some(80),
        sms: 4,
    };
    let kernels = bundle.kernels().iter();
    let point = TunedPoint {
        extents: vec![8, 8, 8],
        strides: Vec::new(),
        choices: kernels.take(named).map(|k| choice(k, 1.0)).collect(),
    };
    let tuning = table(&bundle.kernels()[0], device, vec![point]);
    let settings = EmulatorSettings {
        sm: Some(80),
        ..EmulatorSettings::default()
    };
    Runtime::new(tuned(&bundle, &tuning), Device::emulator_with(settings))
}

fn multiply(runtime: &Runtime, problem: &Problem) -> Result<String, Error> {
    let extent = |name| problem.extent(name).unwrap() as usize;
    let (m, n, k) = (extent("m"), extent("n"), extent("k"));
    let device = runtime.device();
    let a = device.alloc_with(&vec![0; 4 * m * k])?;
    let b = device.alloc_with(&vec![0; 4 * n * k])?;
    let d = device.alloc((4 * m * n) as u64)?;
    let args = [Arg::new("a", &a), Arg::new("b", &b), Arg::new("d", &d)];
    let (kernel, _) = runtime.launch_best(&Query::gemm(), problem, &args)?;
    Ok(kernel.id.clone())
}

#[test]
fn a_fallback_is_counted_and_says_why() {
    let runtime = tabled(2);
    let text = heard(|| {
        assert_eq!(
            multiply(&runtime, &packed_gemm(8, 8, 8)).unwrap(),
            "gemm_f32@a-1"
        );
        assert_eq!(
            multiply(&runtime, &packed_gemm(8, 8, 7)).unwrap(),
            "gemm_f32@b-2"
        );
    });
    let told: Vec<&str> = text.lines().collect();
    let launched = |id: &str, problem: &str| {
        format!(r#"TRACE message=launched a kernel kernel="{id}" problem="{problem}" stream=0"#)
    };
    let first =
        |id: &str| format!(r#"INFO message=launched a kernel for the first time kernel="{id}""#);
    let loaded =
        |id: &str| format!(r#"INFO message=loaded a kernel kernel="{id}" from="emulator""#);
    let passed_over = "DEBUG message=passed over a table's kernel kernel=\"gemm_f32@a-1\" \
                       chosen=\"gemm_f32@b-2\" reason=it assumes ";
    assert_eq!(told.len(), 7, "{text}");
    assert_eq!(told[0], loaded("gemm_f32@a-1"));
    assert_eq!(
        told[1],
        launched("gemm_f32@a-1", "m=8 k=8 n=8 lda=8 ldb=8 rsd=8 csd=1")
    );
    assert_eq!(told[2], first("gemm_f32@a-1"));
    assert!(told[3].starts_with(passed_over), "{text}");
    assert_eq!(told[4], loaded("gemm_f32@b-2"));
    assert_eq!(
        told[5],
        launched(
            "gemm_f32@b-2",
            "m=8 k=7 n=8 rsa=7 csa=1 rsb=7 csb=1 rsd=8 csd=1"
        )
    );
    assert_eq!(told[6], first("gemm_f32@b-2"));
    multiply(&runtime, &packed_gemm(8, 8, 8)).unwrap();
    let counters = runtime.counters();
    assert_eq!((counters.fallbacks, counters.launches()), (1, 3));
    let kernel = counters.kernels["gemm_f32@a-1"];
    assert_eq!((kernel.launches, kernel.loads, kernel.refused), (2, 1, 0));
    assert!(kernel.first_launch_ns > 0 && kernel.load_ns > 0);
}

#[test]
fn a_table_whose_kernels_all_refuse_makes_way_for_the_bundle() {
    let runtime = tabled(1);
    let text = heard(|| {
        let problem = packed_gemm(8, 8, 7);
        let selection = runtime.select(&Query::gemm(), &problem, &[]).unwrap();
        assert_eq!(selection.kernel.id, "gemm_f32@b-2");
        assert_eq!(
            (selection.source, selection.passed_over),
            (Source::Untuned, 1)
        );
    });
    assert!(text.contains("passed over a table's kernel"), "{text}");
    assert_eq!(runtime.counters().fallbacks, 1);
}

#[test]
fn refusals_are_counted_by_kernel_and_by_kind() {
    let runtime = tabled(2);
    let kernel = &runtime.kernels()[0];
    let text = heard(|| {
        let problem = packed_gemm(8, 8, 7);
        assert!(runtime.launch(kernel, &problem, &[]).is_err());
        let picked = runtime.pick(&Query::gemm(), &problem, &[]).unwrap();
        assert_eq!(picked.kernel.id, "gemm_f32@b-2");
    });
    let refused = "DEBUG message=refused a kernel kernel=\"gemm_f32@a-1\" reason=it assumes ";
    assert!(
        text.lines()
            .filter(|line| line.starts_with(refused))
            .count()
            >= 2,
        "{text}"
    );
    let counters = runtime.counters();
    let kernel = counters.kernels["gemm_f32@a-1"];
    assert_eq!(
        (kernel.refused, kernel.launches, kernel.first_launch_ns),
        (1, 0, 0)
    );
    assert_eq!(counters.skipped, runtime.skipped());
    assert!(counters.skipped["assumption"] >= 1);
}

#[test]
fn eager_loading_passes_over_code_that_is_refused() {
    let unread = GEMM.replace("mov.u32", "move.u32");
    let broken = (gemm_kernel("gemm_f32@broken-1"), unread);
    let bundle = bundle_of([broken, (gemm_kernel("gemm_f32@plain-2"), GEMM.to_owned())]);
    let runtime = Runtime::new(bundle, Device::emulator());
    let options = Options {
        load: Load::Eager,
        ..Options::default()
    };
    let mut loaded = None;
    let text = heard(|| loaded = Some(runtime.with_options(&options).unwrap()));
    let warned = "WARN message=the code of a kernel is refused kernel=\"gemm_f32@broken-1\"";
    assert!(text.contains(warned), "{text}");
    let runtime = loaded.unwrap();
    assert_eq!(runtime.counters().kernels["gemm_f32@plain-2"].loads, 1);
    assert_eq!(
        multiply(&runtime, &packed_gemm(2, 3, 4)).unwrap(),
        "gemm_f32@plain-2"
    );
    assert_eq!(runtime.counters().fallbacks, 1);
    assert_eq!(runtime.counters().kernels["gemm_f32@plain-2"].loads, 1);
    // It is told once, and not tried again.
    let text = heard(|| {
        multiply(&runtime, &packed_gemm(2, 3, 4)).unwrap();
        let error = runtime.load(&runtime.kernels()[0]).unwrap_err();
        assert!(matches!(error, Error::Load { .. }), "{error}");
    });
    assert!(!text.contains("WARN"), "{text}");
    runtime.unload(&runtime.kernels()[0]);
    let text = heard(|| assert!(runtime.load(&runtime.kernels()[0]).is_err()));
    assert!(text.contains(warned), "{text}");
}

/// A copy that reads behind its source.
fn faulty(sticky_faults: bool) -> Runtime {
    let wrong = COPY.replace(
        "setp.ge.s32 %right, %column, %n;",
        "setp.ge.s32 %right, %column, 99;",
    );
    assert_ne!(wrong, COPY);
    let bundle = bundle_of([
        (copy_kernel("copy_f32@wrong-1"), wrong),
        (gemm_kernel("gemm_f32@plain-2"), GEMM.to_owned()),
    ]);
    let settings = EmulatorSettings {
        sticky_faults,
        ..EmulatorSettings::default()
    };
    Runtime::new(bundle, Device::emulator_with(settings))
}

fn copied(runtime: &Runtime) -> Error {
    let problem = Problem::new(2, 3, 1).row_major("s", 3).row_major("d", 3);
    let device = runtime.device();
    let s = device.alloc_with(&[0; 24]).unwrap();
    let d = device.alloc(24).unwrap();
    let args = [Arg::new("s", &s), Arg::new("d", &d)];
    let error = runtime.launch(&runtime.kernels()[0], &problem, &args);
    error.unwrap_err()
}

#[test]
fn a_fault_on_the_emulator_is_the_same_error_as_on_a_gpu() {
    let runtime = faulty(false);
    let error = copied(&runtime);
    let Error::Fault(fault) = &error else {
        panic!("{error}");
    };
    assert!(matches!(&fault.by, FoundBy::Emulator { findings } if !findings.is_empty()));
    assert_eq!(
        fault.suspects[0].to_string(),
        "copy_f32@wrong-1 on m=2 n=3 lds=3 ldd=3"
    );
    assert!(
        error
            .to_string()
            .starts_with("copy_f32@wrong-1: the emulator found "),
        "{error}"
    );
    assert!(!error.is_lost() && !runtime.device().is_lost());
    multiply(&runtime, &packed_gemm(2, 2, 2)).unwrap();
}

#[test]
fn faults_that_stick_lose_the_device_as_on_a_gpu() {
    let runtime = faulty(true);
    let memory = runtime.device().alloc_with(&[0; 16]).unwrap();
    let text = heard(|| assert!(matches!(copied(&runtime), Error::Fault(_))));
    assert!(
        text.contains("ERROR message=a kernel faulted fault=copy_f32@wrong-1"),
        "{text}"
    );
    assert!(runtime.device().is_lost() && runtime.counters().is_lost);
    let device = runtime.device();
    for error in [
        multiply(&runtime, &packed_gemm(2, 2, 2)).unwrap_err(),
        device.alloc(1).unwrap_err(),
        device.download(&memory).unwrap_err(),
        device.upload(&memory, 0, &[1]).unwrap_err(),
        device.poison(&memory).unwrap_err(),
        device.synchronize().unwrap_err(),
        runtime.load(&runtime.kernels()[1]).unwrap_err(),
    ] {
        assert!(
            error.is_lost() && matches!(error, Error::ContextLost { .. }),
            "{error}"
        );
        assert!(error.to_string().contains("copy_f32@wrong-1"), "{error}");
    }
    // Another runtime on the device is lost as well; one on a fresh device is not.
    let other = Runtime::new(bundle(), runtime.device().clone());
    assert!(
        multiply(&other, &packed_gemm(2, 2, 2))
            .unwrap_err()
            .is_lost()
    );
    multiply(&faulty(true), &packed_gemm(2, 2, 2)).unwrap();
}

/// A kernel of another bundle may have the id of one that is here, and other code.
#[test]
fn kernels_of_another_bundle_are_told() {
    let of =
        |id: &str, ptx: &str| Runtime::new(bundle_of([(copy_kernel(id), ptx)]), Device::emulator());
    let own = of("copy_f32@plain-1", COPY);
    let same = of("copy_f32@plain-1", COPY);
    let edited = of(
        "copy_f32@plain-1",
        &COPY.replace("ret;", "bar.sync 0; ret;"),
    );
    let other = of("copy_f32@other-1", COPY);
    let told = |from: &Runtime| own.load(&from.kernels()[0]).err().map(|e| e.to_string());
    for _ in 0..2 {
        for foreign in [&edited, &other] {
            let text = told(foreign).unwrap();
            assert!(
                text.contains("is a kernel of another bundle: take"),
                "{text}"
            );
        }
        assert_eq!(told(&same), None);
    }
    let error = own.load(&edited.kernels()[0]).unwrap_err();
    assert!(!error.is_request());
}

/// As on a GPU: what was taken or loaded on one device is refused on another.
#[test]
fn emulators_take_nothing_of_one_another() {
    let bundle = || bundle_of([(copy_kernel("copy_f32@plain-1"), COPY)]);
    let own = Runtime::new(bundle(), Device::emulator());
    let other = Runtime::new(bundle(), Device::emulator());
    let problem = Problem::new(2, 2, 1).row_major("s", 2).row_major("d", 2);
    let memory = |runtime: &Runtime| runtime.device().alloc_with(&[1; 16]).unwrap();
    let (s, d, foreign) = (memory(&own), memory(&own), memory(&other));
    let args = [Arg::new("s", &s), Arg::new("d", &d)];
    let loaded = own.load(&own.kernels()[0]).unwrap();
    own.device().launch(&loaded, &problem, &args).unwrap();
    // A clone is the same device.
    let clone = own.device().clone();
    clone.launch(&loaded, &problem, &args).unwrap();
    let elsewhere = other.device().launch(&loaded, &problem, &args);
    let told = elsewhere.unwrap_err().to_string();
    assert_eq!(told, "the kernel was loaded on another device");
    let args = [Arg::new("s", &foreign), Arg::new("d", &d)];
    let device = own.device();
    for refused in [
        device.launch(&loaded, &problem, &args).map(|_| ()),
        device.download(&foreign).map(|_| ()),
        device.upload(&foreign, 0, &[1]),
        device.poison(&foreign),
    ] {
        assert!(matches!(refused, Err(Error::ForeignBuffer)), "{refused:?}");
    }
}

#[test]
fn a_refusal_names_itself_in_events_and_errors_alike() {
    let runtime = tabled(2);
    let mut told = None;
    let text = heard(|| {
        let problem = packed_gemm(8, 8, 7);
        told = runtime.launch(&runtime.kernels()[0], &problem, &[]).err();
    });
    let Some(Error::Refused { refusals, .. }) = told else {
        panic!("it takes multiples alone");
    };
    let lines = refusals.iter().map(Refusal::to_string);
    for line in lines {
        assert!(text.contains(&line), "{text}");
    }
}

#[test]
fn a_bundle_is_told_of_by_hash_path_and_keys() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kernels");
    let mut bundle = bundle();
    let key = SigningKey::from_random(&[7; 32]);
    bundle.sign(&key);
    bundle.save(&path).unwrap();
    let policy = Policy::signed_by([key.public()]);
    let of_path = heard(|| {
        Runtime::open_with(&path, Device::emulator(), &policy).unwrap();
    });
    let (hash, id) = (bundle.hash().clone(), key.public().id());
    let place = path.display();
    let wanted = format!(
        "INFO message=opened a bundle sha256={hash} path={place} signed_by={id} kernels=4 \
         device=\"emulator\"\n"
    );
    assert_eq!(of_path, wanted);
    let embedded = heard(|| {
        Runtime::new(bundle, Device::emulator());
    });
    let wanted =
        format!("INFO message=opened a bundle sha256={hash} kernels=4 device=\"emulator\"\n");
    assert_eq!(embedded, wanted);
}

#[test]
fn a_text_that_is_no_key_is_an_error_of_the_runtime() {
    fn keys(text: &str) -> Result<usize, Error> {
        Ok(tilewright_runtime::bundle::PublicKey::all_from_pem(text)?.len())
    }
    let told = keys("no key").unwrap_err().to_string();
    assert!(told.starts_with("no "), "{told}");
}

/// A kernel as if it were made for sm_90 and newer.
fn newer(kernel: Kernel) -> Kernel {
    let capability = Capability {
        min_sm: 90,
        exact: false,
    };
    Kernel {
        capability,
        ..kernel
    }
}

/// Kernels, each with its PTX, on a device of compute capability 8.0.
fn on_ampere(kernels: &[(Kernel, &str)]) -> Runtime {
    let settings = EmulatorSettings {
        sm: Some(80),
        ..EmulatorSettings::default()
    };
    let bundle = bundle_of(kernels.iter().cloned());
    Runtime::new(bundle, Device::emulator_with(settings))
}

fn eager() -> Options {
    Options {
        load: Load::Eager,
        ..Options::default()
    }
}

#[test]
fn a_bundle_for_other_devices_is_told_at_the_start_and_no_fault_of_requests() {
    let kernels = [
        (newer(copy_kernel("copy_f32@new-1")), COPY),
        (newer(gemm_kernel("gemm_f32@new-1")), GEMM),
        (hopper_gemm("gemm_f32_tn@hopper-1"), GEMM),
    ];
    let runtime = on_ampere(&kernels);
    let error = runtime.check().unwrap_err();
    let text = error.to_string();
    let told = "emulator (sm_80, 4 SMs) can run no kernel of copy_f32 (";
    assert!(text.starts_with(told), "{text}");
    let why = "copy_f32@new-1, gemm_f32@new-1: it needs sm_90 or newer; the device is sm_80";
    assert!(text.contains(why), "{text}");
    let Error::NotForDevice {
        functions, refused, ..
    } = &error
    else {
        panic!("{error}");
    };
    assert_eq!((functions.len(), refused.len()), (2, 3));
    assert!(!error.is_request());
    let problem = packed_gemm(8, 8, 8);
    let error = multiply(&runtime, &problem).unwrap_err();
    assert!(!error.is_request(), "{error}");
    let error = runtime
        .launch(&runtime.kernels()[1], &problem, &[])
        .unwrap_err();
    assert!(!error.is_request(), "{error}");
    let error = runtime.with_options(&eager()).unwrap_err();
    assert!(matches!(error, Error::NotForDevice { .. }), "{error}");
}

#[test]
fn one_kernel_of_each_function_is_enough_of_a_device() {
    let plain = (gemm_kernel("gemm_f32@plain-1"), GEMM);
    let picky = (picky_gemm("gemm_f32@picky-1"), GEMM);
    let hopper = (hopper_gemm("gemm_f32_tn@hopper-1"), GEMM);
    let copy = (newer(copy_kernel("copy_f32@new-1")), COPY);
    assert!(on_ampere(&[plain.clone(), hopper.clone()]).check().is_ok());
    // One function of two: what runs is loaded, and the check tells the other.
    let runtime = on_ampere(&[plain, copy]).with_options(&eager()).unwrap();
    let text = runtime.check().unwrap_err().to_string();
    assert!(
        text.contains("no kernel of copy_f32 (") && !text.contains("gemm"),
        "{text}"
    );
    // A kernel that another problem would suit makes it the request's fault.
    let mixed = on_ampere(&[picky, hopper]);
    assert!(mixed.check().is_ok());
    let error = multiply(&mixed, &packed_gemm(8, 8, 7)).unwrap_err();
    let Error::NothingFits { refused, .. } = &error else {
        panic!("{error}");
    };
    assert!(error.is_request() && refused.len() == 2, "{error}");
    let at_fault: Vec<bool> = refused.iter().map(|skip| skip.is_request()).collect();
    assert!(at_fault.contains(&true) && at_fault.contains(&false));
}

#[test]
fn shared_memory_that_a_device_has_not_is_no_fault_of_requests() {
    let mut kernel = gemm_kernel("gemm_f32@large-1");
    kernel.launches[0].dynamic_smem_bytes = expr("232449");
    let runtime = on_ampere(&[(kernel, GEMM)]);
    let error = multiply(&runtime, &packed_gemm(8, 8, 8)).unwrap_err();
    let why = "each CTA uses 232449 bytes of shared memory; the device allows 232448";
    assert!(
        error.to_string().contains(why) && !error.is_request(),
        "{error}"
    );
    assert!(runtime.check().is_err());
}

/// Code that the device refuses is known once it was to be loaded.
#[test]
fn code_that_is_refused_is_told_by_the_check() {
    let mut broken = copy_kernel("copy_f32@broken-1");
    broken.launches[0].params.pop();
    let runtime = on_ampere(&[(broken, COPY)]);
    assert!(runtime.check().is_ok());
    let runtime = runtime.with_options(&eager()).unwrap();
    let error = runtime.check().unwrap_err();
    assert!(error.to_string().contains("copy_f32@broken-1"), "{error}");
}

#[test]
fn what_is_printed_to_debug_has_no_code() {
    let runtime = Runtime::new(bundle(), Device::emulator());
    let loaded = runtime.load(&runtime.kernels()[0]).unwrap();
    let printed = [
        format!("{runtime:?}"),
        format!("{:?}", runtime.bundle()),
        format!("{:?}", runtime.candidates()),
        format!("{loaded:?}"),
    ];
    for text in &printed {
        assert!(text.len() < 400, "{text}");
    }
    let told = format!(
        "hash: {}, kernels: 4, tables: 0, files: ",
        runtime.bundle().hash()
    );
    assert!(printed[1].contains(&told), "{}", printed[1]);
    assert!(printed[0].contains(&printed[1]) && printed[2].contains(&printed[1]));
    assert!(
        printed[0].contains("loaded_or_refused: 1"),
        "{}",
        printed[0]
    );
}
