//! A record as written: what serde reads. Unknown keys and wrong types are errors.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use tilewright_bundle::{SumRule, SumUnit};

use crate::atoms::arithmetic::ArithmeticFacts;
use crate::atoms::model::{BulkFacts, Kind, LlvmOp, Reduction, RegType, Space, TensorFacts};
use crate::atoms::sync::SyncFacts;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Record {
    pub(super) id: String,
    pub(super) cute: Option<String>,
    pub(super) kind: Kind,
    pub(super) mma: Option<Mma>,
    pub(super) copy: Option<Copy>,
    pub(super) convert: Option<Convert>,
    pub(super) sync: Option<SyncFacts>,
    pub(super) arithmetic: Option<ArithmeticFacts>,
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
#[serde(tag = "is", rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum Operand {
    In {
        name: String,
        reg: RegType,
        count: u32,
    },
    Out {
        name: String,
        reg: RegType,
        count: u32,
    },
    InOut {
        name: String,
        reg: RegType,
        count: u32,
    },
    InOuts {
        name: String,
        reg: Option<RegType>,
    },
    Predicate {
        name: String,
    },
    Address {
        name: String,
        space: Space,
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
        count: Option<u32>,
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
    pub(super) sums: MmaSums,
}

/// What adds, and how, on each architecture; how many products is in `mnk`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MmaSums {
    pub(super) unit: SumUnit,
    pub(super) rules: Vec<SumRule>,
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
    pub(super) from: Space,
    pub(super) to: Space,
    pub(super) thr_id: String,
    pub(super) src_tv_bits: String,
    pub(super) dst_tv_bits: String,
    pub(super) reference: Side,
    pub(super) access_bytes: u32,
    #[serde(default)]
    pub(super) asynchronous: bool,
    pub(super) src_bytes: Option<String>,
    pub(super) tensor: Option<TensorFacts>,
    pub(super) bulk: Option<BulkFacts>,
    pub(super) reduce: Option<Reduction>,
    pub(super) dtype: Option<String>,
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
    pub(super) llvm: Option<LlvmOp>,
    pub(super) intrinsic: Option<String>,
    pub(super) args: Option<Vec<Value>>,
    pub(super) types: Option<BTreeMap<String, String>>,
    pub(super) gives: Option<Vec<String>>,
    pub(super) template: Option<String>,
    pub(super) values: Option<BTreeMap<String, String>>,
}
