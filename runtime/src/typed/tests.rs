//! Typed operands on the emulator, with hand-written kernels.
#![allow(clippy::unwrap_used)]

use tilewright_bundle::Kernel;
use tilewright_fixture::{
    COPY, LOOKED_UP, SCALED, bundle_of, copy_kernel, looked_up_kernel, packed_copy_kernel,
    scaled_kernel,
};

use super::*;
use crate::{Device, Error, Refusal, Runtime};

fn runtime(kernel: Kernel, ptx: &str) -> (Runtime, String) {
    let runtime = Runtime::new(bundle_of([(kernel, ptx)]), Device::emulator());
    let function = runtime.kernels()[0].semantics.function.to_string();
    (runtime, function)
}

fn numbers(count: usize) -> Vec<f32> {
    (0..count).map(|at| at as f32).collect()
}

#[test]
fn slices_and_arrays_are_the_same_operands() {
    let (runtime, function) = runtime(copy_kernel("copy_f32@plain-1"), COPY);
    let source = numbers(3 * 12);
    let wanted: Vec<f32> = source
        .chunks(12)
        .flat_map(|row| row[..8].to_vec())
        .collect();
    let call = || Call::new(&function).extent("m", 3).extent("n", 8);
    let mut on_host = vec![0.0f32; 3 * 8];
    let s: In<'_, f32, 2> = In::from(&source).strides([12, 1]);
    let d: Out<'_, f32, 2> = Out::from(&mut on_host);
    call()
        .input("s", s)
        .output("d", d)
        .launch(&runtime)
        .unwrap();
    assert_eq!(on_host, wanted);
    let source = Array::from_slice(runtime.device(), &source).unwrap();
    let mut array = Array::<f32>::zeros(runtime.device(), 1 + 3 * 10).unwrap();
    array.write(30, &[7.0]).unwrap();
    let s: In<'_, f32, 2> = In::from(&source).strides([12, 1]);
    let d: Out<'_, f32, 2> = Out::from(&mut array).strides([10, 1]).starting_at(1);
    let chosen = call().input("s", s).output("d", d);
    assert_eq!(
        chosen.select(&runtime).unwrap().kernel.id,
        "copy_f32@plain-1"
    );
    chosen.launch(&runtime).unwrap();
    let written = array.to_vec().unwrap();
    let rows: Vec<f32> = written[1..]
        .chunks(10)
        .flat_map(|row| row[..8].to_vec())
        .collect();
    assert_eq!(
        (rows, written[0], written[9], written[30]),
        (wanted, 0.0, 0.0, 7.0)
    );
}

#[test]
fn an_operand_starts_inside_its_memory() {
    let (runtime, function) = runtime(copy_kernel("copy_f32@plain-1"), COPY);
    let source = numbers(3 * 8);
    let mut written = vec![0.0f32; 3 * 8];
    for start in [25, usize::MAX] {
        let s: In<'_, f32, 2> = In::from(&source).starting_at(start);
        let d: Out<'_, f32, 2> = Out::from(&mut written);
        let call = Call::new(&function).extent("m", 3).extent("n", 8);
        let told = call.input("s", s).output("d", d).launch(&runtime);
        let told = told.map(|_| ()).unwrap_err().to_string();
        assert!(told.contains("of its memory, which has 96"), "{told}");
    }
}

#[test]
fn an_input_may_lie_where_the_output_does() {
    let (runtime, function) = runtime(scaled_kernel("scaled@x-1"), SCALED);
    let mut rows = numbers(2 * 4);
    let wanted: Vec<f32> = rows.iter().map(|value| value * 0.5).collect();
    let call = Call::new(&function).extent("m", 2).scalar("alpha", 0.5);
    let d: Out<'_, f32, 2> = Out::from(&mut rows[..]);
    call.input("s", In::<f32, 2>::in_place())
        .output("d", d)
        .launch(&runtime)
        .unwrap();
    assert_eq!(rows, wanted);
}

/// It has one start and one stride a row there, the output's.
#[test]
fn an_input_in_the_place_of_an_output_lies_as_that_does() {
    let (runtime, function) = runtime(scaled_kernel("scaled@x-1"), SCALED);
    let mut rows = numbers(4 * 8);
    let mut run = |s: In<'_, f32, 2>, ld: usize| {
        let call = Call::new(&function).extent("m", 2).scalar("alpha", 0.5);
        let d: Out<'_, f32, 2> = Out::from(&mut rows[..]);
        let d = d.strides([ld, 1]);
        let run = call.input("s", s).output("d", d).launch(&runtime);
        run.map(|_| ()).map_err(|error| error.to_string())
    };
    let there = || In::<f32, 2>::in_place();
    assert_eq!(run(there(), 4), Ok(()));
    assert_eq!(run(there().strides([8, 1]), 8), Ok(()));
    for s in [there().strides([8, 1]), there().starting_at(4)] {
        let told = run(s, 4).unwrap_err();
        let wanted = "`s` lies in the place of `d`, with its start and strides: give them to `d`";
        assert!(told.starts_with(wanted), "{told}");
    }
}

#[test]
fn arrays_are_operands() {
    let (runtime, function) = runtime(scaled_kernel("scaled@x-1"), SCALED);
    let (source, mut rows) = ([2.0f32, 4.0, 6.0, 8.0], [0.0f32; 4]);
    let call = Call::new(&function).extent("m", 1).scalar("alpha", 0.5);
    let (s, d): (In<'_, f32, 2>, Out<'_, f32, 2>) = (In::from(&source), Out::from(&mut rows));
    call.input("s", s).output("d", d).launch(&runtime).unwrap();
    assert_eq!(rows, [1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn what_does_not_fit_is_refused_before_anything_runs() {
    let (runtime, function) = runtime(copy_kernel("copy_f32@plain-1"), COPY);
    let (source, mut short) = (numbers(3 * 8), vec![0.0f32; 3 * 8 - 1]);
    let call = Call::new(&function).extent("m", 3).extent("n", 8);
    let s: In<'_, f32, 2> = In::from(&source);
    let d: Out<'_, f32, 2> = Out::from(&mut short);
    let refused = call.input("s", s).output("d", d).launch(&runtime);
    let Err(Error::Refused { refusals, .. }) = refused else {
        unreachable!("{refused:?}")
    };
    assert!(
        matches!(refusals[..], [Refusal::BufferTooSmall { .. }]),
        "{refusals:?}"
    );
    let none = Call::new(&function).extent("m", 3).extent("n", 8);
    let d: Out<'_, f32, 2> = Out::from(&mut short);
    let refused = none.input("s", In::<f32, 2>::in_place()).output("d", d);
    let told = refused.launch(&runtime).unwrap_err().to_string();
    assert!(told.contains("no output takes the place of `s`"), "{told}");
    // SAFETY: the emulator takes no address.
    let foreign: In<'_, f32, 2> = unsafe { In::from_raw(4096, 24) };
    let d: Out<'_, f32, 2> = Out::from(&mut short);
    let call = Call::new(&function).input("s", foreign).output("d", d);
    let told = call.launch(&runtime).unwrap_err().to_string();
    assert!(told.contains("no use on the emulator"), "{told}");
    let unknown = Call::new(&"0".repeat(64)).launch(&runtime);
    assert!(
        matches!(unknown, Err(Error::NoSuchFunction { .. })),
        "{unknown:?}"
    );
    assert!(!unknown.unwrap_err().is_request());
    let other = "0".repeat(64);
    let unknown = Call::new(&other).spec("norm").launch(&runtime).unwrap_err();
    let lacks = "no kernel of norm (000000000000), for which";
    assert!(unknown.to_string().contains(lacks), "{unknown}");
    let hashes = [("copy_f32", function.as_str())];
    assert!(check(&runtime, &hashes).is_ok());
    let hashes = [("norm", other.as_str()), hashes[0], ("gate", &other)];
    let told = check(&runtime, &hashes).unwrap_err().to_string();
    let lacks = "no kernel of norm (000000000000), gate (000000000000), for which";
    assert!(told.contains(lacks), "{told}");
}

#[test]
fn types_and_axes_are_those_of_the_function() {
    let (runtime, function) = runtime(copy_kernel("copy_f32@plain-1"), COPY);
    let (halves, mut rows) = ([f16::ONE; 2 * 8], vec![0.0f32; 8]);
    let call = Call::new(&function).extent("m", 1).extent("n", 8);
    let call = call.input::<f16, 2>("s", In::from(&halves[..]));
    let refused = call.output::<f32, 1>("d", Out::from(&mut rows));
    let Err(Error::Refused { refusals, .. }) = refused.launch(&runtime) else {
        unreachable!("another type is launched")
    };
    let told: Vec<String> = refusals.iter().map(ToString::to_string).collect();
    assert!(
        told[0].contains("f16") && told[0].contains("f32"),
        "{told:?}"
    );
    assert!(
        told[1].contains("is given with 1 axis; the kernel takes 2"),
        "{told:?}"
    );
    assert!(rows.iter().all(|value| *value == 0.0));
}

#[test]
fn an_empty_problem_is_a_launch_that_does_nothing() {
    let (runtime, function) = runtime(copy_kernel("copy_f32@plain-1"), COPY);
    let (source, mut rows) = (numbers(0), Vec::<f32>::new());
    let call = Call::new(&function).extent("m", 0).extent("n", 8);
    let s: In<'_, f32, 2> = In::from(&source);
    let d: Out<'_, f32, 2> = Out::from(&mut rows);
    call.input("s", s).output("d", d).launch(&runtime).unwrap();
    assert!(rows.is_empty());
}

#[test]
fn a_promise_is_the_callers_to_give() {
    let (runtime, function) = runtime(looked_up_kernel("looked_up@x-1"), LOOKED_UP);
    let (s, from, to) = (numbers(3 * 4), [2i32, 0], [0i32, 1]);
    let mut d = vec![0.0f32; 2 * 4];
    let mut run = |is_promised: bool| {
        let extents = [("q", 3), ("m", 2), ("r", 2)];
        let call = Call::new(&function)
            .input::<f32, 2>("s", In::from(&s))
            .input::<i32, 1>("from", In::from(&from[..]))
            .input::<i32, 1>("to", In::from(&to[..]))
            .output::<f32, 2>("d", Out::from(&mut d));
        let call = extents
            .into_iter()
            .fold(call, |call, (name, size)| call.extent(name, size));
        match is_promised {
            true => call
                .promise("entries of to are distinct")
                .launch(&runtime)
                .map(|_| ()),
            false => call.launch(&runtime).map(|_| ()),
        }
    };
    let told = run(false).unwrap_err().to_string();
    assert!(told.contains("entries of to are distinct"), "{told}");
    run(true).unwrap();
    assert_eq!(d, [8.0, 9.0, 10.0, 11.0, 0.0, 1.0, 2.0, 3.0]);
}

#[test]
fn a_packed_operand_is_taken_as_it_was_packed() {
    let (runtime, function) = runtime(packed_copy_kernel("copy_f32@packed-1", [1, 4]), COPY);
    // Rows of six elements are eight long in tiles of four.
    let dense: Vec<u8> = bytemuck::cast_slice(&numbers(2 * 6)).to_vec();
    let problem = crate::Problem::of([("m", 2), ("n", 6)]);
    let image = crate::launch::reorder::pack(&runtime.kernels()[0], "s", &problem, &dense).unwrap();
    let image: Vec<f32> = bytemuck::cast_slice::<u8, [u8; 4]>(&image)
        .iter()
        .map(|four| f32::from_le_bytes(*four))
        .collect();
    let mut d = vec![0.0f32; 2 * 6];
    Call::new(&function)
        .extent("m", 2)
        .extent("n", 6)
        .packed("s", Packed::from(&image))
        .output::<f32, 2>("d", Out::from(&mut d))
        .launch(&runtime)
        .unwrap();
    assert_eq!(d, numbers(2 * 6));
}

#[test]
fn an_extent_beyond_all_is_told_as_it_was_given() {
    let (runtime, function) = runtime(copy_kernel("copy_f32@plain-1"), COPY);
    let (s, mut d) = (numbers(8), vec![0.0f32; 8]);
    let call = Call::new(&function).extent("m", usize::MAX).extent("n", 8);
    let call = call.input::<f32, 2>("s", In::from(&s));
    let call = call.output::<f32, 2>("d", Out::from(&mut d));
    let told = call.launch(&runtime).unwrap_err().to_string();
    let wanted = format!("m is {}; 2147483647 is the most", usize::MAX);
    assert!(told.starts_with(&wanted), "{told}");
}

#[test]
fn an_array_prints_its_size_and_not_its_bytes() {
    let array = Array::from_slice(&Device::emulator(), &[1.0f32; 4096]).unwrap();
    let text = format!("{array:?}");
    assert!(text.len() < 1000 && text.contains("bytes: 16384"), "{text}");
}

/// The calls of a service's hot path are the same on the emulator.
#[test]
fn a_prepared_launch_runs_as_often_as_it_is_enqueued() {
    let (runtime, function) = runtime(scaled_kernel("scaled@x-1"), SCALED);
    let device = runtime.device();
    let mut source = Array::from_slice(device, &numbers(8)).unwrap();
    let mut result = Array::<f32>::zeros(device, 8).unwrap();
    let call = || Call::new(&function).extent("m", 2).scalar("alpha", 0.5);
    let s: In<'_, f32, 2> = In::from(&source);
    let d: Out<'_, f32, 2> = Out::from(&mut result);
    let prepared = call()
        .input("s", s)
        .output("d", d)
        .prepare(&runtime)
        .unwrap();
    assert_eq!(prepared.workspace_bytes(), 2 * 4 * 4);
    assert_eq!(result.to_vec().unwrap(), [0.0; 8]);
    let none = std::ptr::null_mut();
    // SAFETY: on the emulator a launch keeps its memory.
    let enqueue = |lent: Option<&Array<u8>>| unsafe {
        device.enqueue_on(none, &prepared, lent.map(Array::buffer))
    };
    let halves = |values: &[f32]| values.iter().map(|value| value * 0.5).collect::<Vec<_>>();
    enqueue(None).unwrap();
    assert_eq!(result.to_vec().unwrap(), halves(&numbers(8)));
    source.write(0, &[7.0; 8]).unwrap();
    let [small, enough] = [31, 32].map(|bytes| Array::<u8>::zeros(device, bytes).unwrap());
    let refused = enqueue(Some(&small)).unwrap_err().to_string();
    assert!(
        refused.contains("workspace has 31 bytes; 32 are needed"),
        "{refused}"
    );
    assert_eq!(result.to_vec().unwrap(), halves(&numbers(8)));
    enqueue(Some(&enough)).unwrap();
    assert_eq!(result.to_vec().unwrap(), [3.5; 8]);
    // SAFETY: as above; a stream of a GPU is refused.
    let streamed = unsafe { device.enqueue_on(std::ptr::dangling_mut(), &prepared, None) };
    assert!(
        streamed
            .unwrap_err()
            .to_string()
            .contains("give a null one")
    );
    // SAFETY: as above.
    let elsewhere = unsafe { Device::emulator().enqueue(&prepared, None) };
    assert!(elsewhere.is_err());
    assert_eq!(runtime.counters().launches(), 2);
}

#[test]
fn a_prepared_launch_may_work_in_place_and_keeps_its_memory() {
    let (runtime, function) = runtime(scaled_kernel("scaled@x-1"), SCALED);
    let device = runtime.device();
    let mut rows = Array::from_slice(device, &numbers(8)).unwrap();
    let call = || Call::new(&function).extent("m", 2).scalar("alpha", 2.0);
    let prepared = |d: Out<'_, f32, 2>| {
        let s = In::<f32, 2>::in_place();
        call().input("s", s).output("d", d).prepare(&runtime)
    };
    let twice = prepared(Out::from(&mut rows)).unwrap();
    // SAFETY: on the emulator a launch keeps its memory.
    let enqueue = || unsafe { device.enqueue(&twice, None) };
    enqueue().unwrap();
    enqueue().unwrap();
    assert_eq!(rows.to_vec().unwrap()[..3], [0.0, 4.0, 8.0]);
    drop(rows);
    enqueue().unwrap();
    let mut on_host = numbers(8);
    let told = prepared(Out::from(&mut on_host)).unwrap_err().to_string();
    assert!(
        told.contains("of the host") && told.contains("into an Array first"),
        "{told}"
    );
    let mut short = Array::<f32>::zeros(device, 7).unwrap();
    let told = prepared(Out::from(&mut short)).unwrap_err().to_string();
    assert!(told.contains("needs 32 bytes"), "{told}");
}
