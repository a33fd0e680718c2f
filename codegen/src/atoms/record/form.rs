//! A record as written: what serde reads. Unknown keys and wrong types are errors.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Record {
    pub(super) id: String,
    pub(super) cute: Option<String>,
    pub(super) kind: KindName,
    pub(super) mma: Option<Mma>,
    pub(super) copy: Option<Copy>,
    pub(super) convert: Option<Convert>,
    pub(super) operands: Vec<Operand>,
    pub(super) align_bytes: u32,
    pub(super) min_sm: u32,
    #[serde(default)]
    pub(super) exact: bool,
    pub(super) min_ptx: u32,
    pub(super) source: String,
    pub(super) emit: EmitForm,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum KindName {
    Copy,
    Mma,
    Sync,
    Convert,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum SpaceName {
    Gmem,
    Smem,
    Rmem,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum RegName {
    B16,
    B32,
    B64,
    F32,
    F64,
}

#[derive(Deserialize)]
#[serde(tag = "is", rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum Operand {
    In {
        name: String,
        reg: RegName,
        count: u32,
    },
    Out {
        name: String,
        reg: RegName,
        count: u32,
    },
    InOut {
        name: String,
        reg: RegName,
        count: u32,
    },
    Address {
        name: String,
        space: SpaceName,
        align_bytes: Option<u32>,
    },
    #[serde(rename = "tensor_map")]
    TensorMap {
        name: String,
    },
    Int {
        name: String,
    },
    Ints {
        name: String,
        count: u32,
    },
    Imm {
        name: String,
    },
    Imms {
        name: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Mma {
    pub(super) mnk: [i64; 3],
    pub(super) types: MmaTypes,
    pub(super) thr_id: String,
    pub(super) a_tv: String,
    pub(super) b_tv: String,
    pub(super) c_tv: String,
    #[serde(default)]
    pub(super) smem: Vec<MmaSource>,
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
pub(super) enum MmaSource {
    A,
    B,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MmaTypes {
    pub(super) d: String,
    pub(super) a: String,
    pub(super) b: String,
    pub(super) c: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Copy {
    pub(super) from: SpaceName,
    pub(super) to: SpaceName,
    pub(super) thr_id: String,
    pub(super) src_tv_bits: String,
    pub(super) dst_tv_bits: String,
    pub(super) reference: Side,
    pub(super) access_bytes: u32,
    #[serde(default)]
    pub(super) asynchronous: bool,
    pub(super) src_bytes: Option<String>,
    pub(super) tensor: Option<Tensor>,
    pub(super) bulk: Option<Bulk>,
    pub(super) reduce: Option<ReduceName>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Bulk {
    #[serde(default)]
    pub(super) multicast: bool,
    #[serde(default)]
    pub(super) remote: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ReduceName {
    Add,
    Min,
    Max,
    Inc,
    Dec,
    And,
    Or,
    Xor,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tensor {
    pub(super) rank: u32,
    #[serde(default)]
    pub(super) multicast: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Side {
    Src,
    Dst,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Convert {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) values: u32,
}

/// Exactly one of `llvm`, `intrinsic`, `template`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EmitForm {
    pub(super) llvm: Option<LlvmName>,
    pub(super) intrinsic: Option<String>,
    pub(super) args: Option<Vec<Value>>,
    pub(super) types: Option<BTreeMap<String, String>>,
    pub(super) template: Option<String>,
    pub(super) values: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum LlvmName {
    Load,
    Store,
    Fma,
    FloatConvert,
    FloatPack2,
}
