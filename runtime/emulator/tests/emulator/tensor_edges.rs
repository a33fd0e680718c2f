//! Tensor copies over the edge of a tensor: loads end at the element, stores at 16 bytes.

use super::kernel::{module, sorted_ids};
use tilewright_emulator::{
    Arg, Content, Launch, Memory, Module, Options, Params, Report, TensorMap, TensorType, run,
};

/// Columns of the tensor; a row of it is 26 bytes.
const COLUMNS: usize = 13;
const ROWS: usize = 5;
/// Bytes from row to row.
const PITCH: usize = 48;

/// Stores, or adds, a box of 8 rows of 16 columns that hold 1, at column 0 and row 0. Returns the
/// elements of the buffer, `bytes` long, and the findings.
fn store(way: &str, bytes: usize) -> (Vec<u16>, Vec<&'static str>) {
    let (found, report) = stored(way, bytes, |_| {});
    (found, sorted_ids(&report.findings))
}

fn stored(way: &str, bytes: usize, change: impl Fn(&mut TensorMap)) -> (Vec<u16>, Report) {
    let coordinates = if way.contains("3d") {
        "%r5, %r5, %r5"
    } else {
        "%r5, %r5"
    };
    let body = format!(
        ".shared .align 128 .b8 box[256]; .reg .b64 %map; mov.u32 %r1, %laneid;
         shl.b32 %r2, %r1, 3; mov.u32 %r3, box; add.u32 %r2, %r2, %r3;
         mov.u32 %r4, 0x00010001; st.shared.v2.u32 [%r2], {{%r4, %r4}};
         fence.proxy.async.shared::cta; bar.warp.sync -1;
         setp.ne.u32 %p1, %r1, 0; @%p1 bra DONE;
         mov.b64 %map, m; cvta.param.u64 %map, %map; mov.u32 %r5, 0;
         {way} [%map, {{{coordinates}}}], [%r3];
         cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
         DONE:"
    );
    let text = module(0, "", &body).replace("k()", "k(.param .align 64 .b8 m[128])");
    let module = Module::parse(&text).unwrap_or_else(|e| panic!("{e}"));
    let mut memory = Memory::new();
    let out = memory.alloc("out", bytes as u64, Content::Bytes(&vec![0; bytes]));
    let out = out.unwrap();
    let mut map = TensorMap::tiled(
        TensorType::Uint16,
        memory.address(out),
        &[COLUMNS as u64, ROWS as u64],
        &[PITCH as u64],
        &[16, 8],
    );
    change(&mut map);
    let launch = Launch {
        entry: "k".to_owned(),
        grid: [1; 3],
        block: [32, 1, 1],
        cluster: [1; 3],
        programmatic: false,
        dynamic_shared_bytes: 0,
        params: Params::Args(vec![Arg::Bytes(map.encode().unwrap().to_vec())]),
    };
    let report = run(&module, &launch, &mut memory, &Options::default()).unwrap();
    let elements = memory.read(out);
    let elements = elements.chunks_exact(2);
    let elements = elements.map(|e| u16::from_le_bytes([e[0], e[1]]));
    (elements.collect(), report)
}

const STORE: &str = "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group";
const ADD: &str = "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group";

#[test]
fn a_store_fills_the_piece_that_holds_the_edge() {
    // What a reduction does with the bytes behind the edge was not measured: it leaves them alone.
    for (way, columns) in [(STORE, 16), (ADD, COLUMNS)] {
        let (found, ids) = store(way, ROWS * PITCH);
        assert_eq!(ids, [""; 0], "{way}");
        for (at, value) in found.iter().enumerate() {
            // 26 bytes a row become 32; rows behind the tensor stay as they are.
            let inside = at % (PITCH / 2) < columns;
            assert_eq!(*value, u16::from(inside), "{way}: element {at}");
        }
    }
}

#[test]
fn a_last_row_that_ends_its_buffer_is_passed() {
    let whole = (ROWS - 1) * PITCH + 2 * COLUMNS;
    assert_eq!(store(STORE, whole).1, ["oob_global"]);
    assert_eq!(store(STORE, whole + 6).1, [""; 0]);
}

#[test]
fn an_interleaved_map_is_refused_by_name() {
    let way = STORE.replace("2d", "3d");
    let (_, report) = stored(&way, ROWS * PITCH, |map| {
        (map.rank, map.interleave) = (3, 1);
        (map.dims[2], map.strides[1]) = (1, (ROWS * PITCH) as u64);
    });
    let messages: Vec<_> = report.findings.iter().map(|f| f.message.as_str()).collect();
    assert_eq!(sorted_ids(&report.findings), ["tensormap_invalid"]);
    assert!(
        messages[0].contains("unsupported interleave of 16 bytes"),
        "{messages:?}"
    );
}
