//! Small kernels around the instructions under test.

use tilewright_emulator::{
    Arg, BufferId, Content, Finding, Launch, Memory, Module, Options, Params, Report, run,
};

/// One value for each lane of a warp.
pub type Lanes = [u64; 32];

const HEADER: &str = ".version 8.7\n.target sm_90\n.address_size 64\n";

/// A module with one entry `k` of one pointer parameter for each of `params`.
pub fn module(params: usize, before: &str, body: &str) -> String {
    let params: Vec<String> = (0..params).map(|i| format!(".param .u64 p{i}")).collect();
    let registers = ".reg .pred %p<8>; .reg .b16 %h<16>; .reg .b32 %r<64>; .reg .b64 %rd<64>;";
    let params = params.join(", ");
    format!("{HEADER}{before}\n.visible .entry k({params})\n{{\n{registers}\n{body}\nret;\n}}\n")
}

/// A launch of `k` with one buffer for each parameter.
pub struct Run {
    pub memory: Memory,
    pub report: Report,
    ids: Vec<BufferId>,
}

impl Run {
    pub fn words(&self, index: usize) -> Vec<u32> {
        let bytes = self.memory.read(self.ids[index]);
        bytes
            .chunks_exact(4)
            .map(|c| u32::from_le_bytes(c.try_into().unwrap()))
            .collect()
    }

    pub fn longs(&self, index: usize) -> Vec<u64> {
        let bytes = self.memory.read(self.ids[index]);
        bytes
            .chunks_exact(8)
            .map(|c| u64::from_le_bytes(c.try_into().unwrap()))
            .collect()
    }

    /// The ids of the findings, sorted, each once.
    pub fn ids(&self) -> Vec<&'static str> {
        sorted_ids(&self.report.findings)
    }
}

/// The ids of findings, sorted, each once.
pub fn sorted_ids<'f>(findings: impl IntoIterator<Item = &'f Finding>) -> Vec<&'static str> {
    let mut ids: Vec<_> = findings.into_iter().map(|f| f.id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// The geometry of a launch.
pub struct Shape {
    pub grid: u32,
    pub block: u32,
    pub shared: u32,
}

pub const WARP: Shape = Shape {
    grid: 1,
    block: 32,
    shared: 0,
};

/// Launches `k` of a text; `None` makes an undefined buffer of 4 KiB.
pub fn launch(text: &str, shape: &Shape, buffers: &[Option<&[u8]>], options: &Options) -> Run {
    let module = Module::parse(text).unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    let mut memory = Memory::new();
    let ids: Vec<BufferId> = buffers
        .iter()
        .enumerate()
        .map(|(i, content)| {
            let name = format!("b{i}");
            match content {
                Some(bytes) => memory.alloc(&name, bytes.len() as u64, Content::Bytes(bytes)),
                None => memory.alloc(&name, 4096, Content::Undefined),
            }
            .unwrap()
        })
        .collect();
    let launch = Launch {
        entry: "k".to_owned(),
        grid: [shape.grid, 1, 1],
        block: [shape.block, 1, 1],
        cluster: [1; 3],
        programmatic: false,
        dynamic_shared_bytes: shape.shared,
        params: Params::Args(ids.iter().map(|id| Arg::Buffer(*id)).collect()),
    };
    let report = run(&module, &launch, &mut memory, options).unwrap();
    Run {
        memory,
        report,
        ids,
    }
}

/// Runs `body` on three inputs for each lane: %rd1 %rd2 %rd3, and their low halves %r1 %r2 %r3
/// and %h1 %h2 %h3. The result is %rd0.
pub fn lanes(body: &str, a: &Lanes, b: &Lanes, c: &Lanes) -> Lanes {
    let load = "
        mov.u32 %r60, %laneid; mul.wide.u32 %rd60, %r60, 8;
        ld.param.u64 %rd50, [p0]; add.u64 %rd50, %rd50, %rd60;
        ld.param.u64 %rd51, [p1]; add.u64 %rd51, %rd51, %rd60;
        ld.param.u64 %rd52, [p2]; add.u64 %rd52, %rd52, %rd60;
        ld.param.u64 %rd53, [p3]; add.u64 %rd53, %rd53, %rd60;
        ld.global.u64 %rd1, [%rd50]; ld.global.u64 %rd2, [%rd51]; ld.global.u64 %rd3, [%rd52];
        cvt.u32.u64 %r1, %rd1; cvt.u32.u64 %r2, %rd2; cvt.u32.u64 %r3, %rd3;
        cvt.u16.u64 %h1, %rd1; cvt.u16.u64 %h2, %rd2; cvt.u16.u64 %h3, %rd3;
        mov.u64 %rd0, 0;\n";
    let text = module(
        4,
        "",
        &format!("{load}{body}\nst.global.u64 [%rd53], %rd0;"),
    );
    let bytes = |lanes: &Lanes| {
        lanes
            .iter()
            .flat_map(|v| v.to_le_bytes())
            .collect::<Vec<u8>>()
    };
    let (a, b, c) = (bytes(a), bytes(b), bytes(c));
    let run = launch(
        &text,
        &WARP,
        &[Some(&a), Some(&b), Some(&c), None],
        &Options::default(),
    );
    assert!(run.report.is_clean(), "{body}: {:?}", run.report.findings);
    std::array::from_fn(|lane| run.longs(3)[lane])
}
