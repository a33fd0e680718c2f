//! What others call the element types.

use pyo3::prelude::*;
use tilewright_runtime::bundle::DType;

use crate::failure::Error;

/// Names of PyTorch, NumPy and `ml_dtypes`, beside the specs' own.
const NAMES: &[(&str, DType)] = &[
    ("float64", DType::F64),
    ("float32", DType::F32),
    ("float16", DType::F16),
    ("bfloat16", DType::BF16),
    ("float8_e4m3fn", DType::E4M3),
    ("float8_e5m2", DType::E5M2),
    ("float8_e8m0fnu", DType::UE8M0),
    ("float4_e2m1fn_x2", DType::E2M1),
    ("int8", DType::S8),
    ("uint8", DType::U8),
    ("bool", DType::U8),
    ("int16", DType::S16),
    ("uint16", DType::U16),
    ("int32", DType::S32),
    ("uint32", DType::U32),
    ("int64", DType::S64),
    ("uint64", DType::U64),
];

/// Codes of array interfaces: the letter and the bytes of an element.
const CODES: &[(&str, DType)] = &[
    ("f8", DType::F64),
    ("f4", DType::F32),
    ("f2", DType::F16),
    ("i1", DType::S8),
    ("u1", DType::U8),
    ("b1", DType::U8),
    ("i2", DType::S16),
    ("u2", DType::U16),
    ("i4", DType::S32),
    ("u4", DType::U32),
    ("i8", DType::S64),
    ("u8", DType::U64),
];

/// The element type of that name: `torch.bfloat16`, `bfloat16` or `bf16`.
pub(crate) fn named(name: &str) -> PyResult<DType> {
    let bare = name.rsplit('.').next().unwrap_or(name);
    let mut known = NAMES.iter();
    let found = known.find(|(text, _)| *text == bare).map(|(_, d)| *d);
    found.or_else(|| DType::from_text(bare)).ok_or_else(|| {
        let all: Vec<&str> = NAMES.iter().map(|(text, _)| *text).collect();
        let own: Vec<&str> = DType::ALL.iter().map(|dtype| dtype.text()).collect();
        let (all, own) = (all.join(", "), own.join(", "));
        Error::new_err(format!(
            "{name:?} is no element type that kernels know: {all}; or {own}"
        ))
    })
}

/// The element type of an array interface's `typestr`, `<f4`; of one that holds anything, what
/// `name` says.
pub(crate) fn of_interface(typestr: &str, name: Option<&str>) -> PyResult<DType> {
    if typestr.starts_with('>') {
        let text =
            format!("elements of type {typestr:?} are big-endian; kernels read little-endian");
        return Err(Error::new_err(text));
    }
    let code = typestr.trim_start_matches(['<', '|', '=']);
    let mut known = CODES.iter();
    match (known.find(|(text, _)| *text == code), name) {
        (Some((_, dtype)), _) => Ok(*dtype),
        (None, Some(name)) => named(name),
        (None, None) => Err(Error::new_err(format!(
            "elements of type {typestr:?} are none that kernels know; say what they are by \
             tilewright.as_dtype"
        ))),
    }
}
