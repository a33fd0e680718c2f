//! One tensor copy between a tensor and shared memory, as bytes.

use super::kernel::module;
use tilewright_emulator::{
    Arg, Content, Launch, Memory, Module, Options, Params, Report, TensorMap, run,
};

/// What shared memory holds before.
pub const BEFORE: u8 = 0xee;

/// A copy by one thread of a warp.
pub struct Copy<'c> {
    /// The elements of the tensor.
    pub tensor: &'c [u8],
    /// Its map; the address is filled in.
    pub map: TensorMap,
    pub coords: &'c [i32],
    /// Offsets of an im2col load.
    pub offsets: &'c [u16],
    /// Bytes of shared memory that the kernel declares for the box; they are filled with
    /// [`BEFORE`], or with `shared`.
    pub declared: usize,
    /// Declares the box as dynamic shared memory.
    pub dynamic: bool,
    pub shared: Option<&'c [u8]>,
    /// Stores instead of loading.
    pub stores: bool,
    /// Bytes that the load tells the mbarrier.
    pub bytes: usize,
}

fn list<T: ToString>(values: &[T]) -> String {
    let values: Vec<String> = values.iter().map(ToString::to_string).collect();
    format!("{{{}}}", values.join(", "))
}

impl Copy<'_> {
    fn instructions(&self) -> String {
        let rank = self.coords.len();
        let at = format!("[%map, {}]", list(self.coords));
        let im2col = self.map.im2col.is_some();
        if self.stores {
            let mode = if im2col { ".im2col_no_offs" } else { ".tile" };
            return format!(
                "cp.async.bulk.tensor.{rank}d.global.shared::cta{mode}.bulk_group {at}, [%r10];
                 cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"
            );
        }
        let (mode, offsets) = match im2col {
            true => (".im2col", format!(", {}", list(self.offsets))),
            false => (".tile", String::new()),
        };
        let bytes = self.bytes;
        format!(
            "mbarrier.init.shared::cta.b64 [bar], 1;
             mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], {bytes};
             cp.async.bulk.tensor.{rank}d.shared::cluster.global{mode}\
             .mbarrier::complete_tx::bytes [%r10], {at}, [bar]{offsets};
             W: mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0; @!%p2 bra W;"
        )
    }

    fn text(&self) -> String {
        let declared = self.declared;
        let (before, own) = match self.dynamic {
            true => (".extern .shared .align 1024 .b8 box[];", String::new()),
            false => ("", format!(".shared .align 1024 .b8 box[{declared}];")),
        };
        // The mbarrier is declared behind the box, or before dynamic memory.
        let body = format!(
            "{own} .shared .align 8 .b64 bar; .reg .b64 %map, %in, %out, %at;
             mov.u32 %r10, box; mov.u32 %r1, %laneid; ld.param.u64 %in, [p]; ld.param.u64 %out, [q];
             mov.u32 %r2, %r1;
             F: setp.ge.u32 %p1, %r2, {declared}; @%p1 bra G; cvt.u64.u32 %at, %r2;
             add.u64 %at, %at, %in; ld.global.u8 %r3, [%at]; add.u32 %r4, %r10, %r2;
             st.shared.u8 [%r4], %r3; add.u32 %r2, %r2, 32; bra F;
             G: fence.proxy.async.shared::cta; bar.warp.sync -1;
             setp.ne.u32 %p1, %r1, 0; @%p1 bra D;
             mov.b64 %map, m; cvta.param.u64 %map, %map;
             {}
             D: bar.warp.sync -1; mov.u32 %r2, %r1;
             H: setp.ge.u32 %p1, %r2, {declared}; @%p1 bra E; cvt.u64.u32 %at, %r2;
             add.u64 %at, %at, %out; add.u32 %r4, %r10, %r2; ld.shared.u8 %r3, [%r4];
             st.global.u8 [%at], %r3; add.u32 %r2, %r2, 32; bra H;
             E:",
            self.instructions()
        );
        let params = "k(.param .align 64 .b8 m[128], .param .u64 p, .param .u64 q)";
        module(0, before, &body).replace("k()", params)
    }

    /// What the box in shared memory and the tensor hold after the copy.
    pub fn run(&self) -> (Vec<u8>, Vec<u8>, Report) {
        let text = self.text();
        let module = Module::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let mut memory = Memory::new();
        let filled = vec![BEFORE; self.declared];
        let before = self.shared.unwrap_or(&filled);
        let mut alloc = |name: &str, bytes: &[u8]| {
            let content = Content::Bytes(bytes);
            memory.alloc(name, bytes.len() as u64, content).unwrap()
        };
        let tensor = alloc("tensor", self.tensor);
        let (given, taken) = (alloc("given", before), alloc("taken", &filled));
        let map = TensorMap {
            base: memory.address(tensor),
            ..self.map.clone()
        };
        let map = map.encode().unwrap_or_else(|e| panic!("{e}")).to_vec();
        let launch = Launch {
            entry: "k".to_owned(),
            grid: [1; 3],
            block: [32, 1, 1],
            cluster: [1; 3],
            programmatic: false,
            dynamic_shared_bytes: if self.dynamic {
                self.declared as u32
            } else {
                0
            },
            params: Params::Args(vec![
                Arg::Bytes(map),
                Arg::Buffer(given),
                Arg::Buffer(taken),
            ]),
        };
        let report = run(&module, &launch, &mut memory, &Options::default()).unwrap();
        (memory.read(taken), memory.read(tensor), report)
    }
}
