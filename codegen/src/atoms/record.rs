//! One record as written, and its translation to the model.
//!
//! Comes in: a record as generic data, parameters already expanded. Goes out: an [`Atom`]. Unknown
//! keys, wrong types and missing facts are errors that name the record.

mod form;

use std::collections::BTreeSet;

use serde_json::Value;
use tilewright_bundle::Sums;
use tilewright_layout::Layout;

use super::model::{
    Atom, ConvertFacts, CopyFacts, Emit, IntrinsicArg, IntrinsicResult, Kind, MmaFacts,
    OperandDecl, OperandKind,
};
use crate::dtype::DType;
use form::{Convert, Copy, EmitForm, Mma, MmaSource, Operand, Record, Side};

type Result<T> = std::result::Result<T, String>;

/// The atom of one expanded record.
pub(super) fn atom(source: Value) -> Result<Atom> {
    let id = source
        .get("id")
        .and_then(Value::as_str)
        .unwrap_or("record without id")
        .to_owned();
    let record: Record =
        serde_json::from_value(source).map_err(|error| format!("{id}: {error}"))?;
    translate(record).map_err(|problem| format!("{id}: {problem}"))
}

fn translate(record: Record) -> Result<Atom> {
    let kind = record.kind;
    let facts = [
        (Kind::Mma, record.mma.is_some()),
        (Kind::Copy, record.copy.is_some()),
        (Kind::Convert, record.convert.is_some()),
        (Kind::Sync, record.sync.is_some()),
        (Kind::Arithmetic, record.arithmetic.is_some()),
    ];
    if let Some((of, given)) = facts.into_iter().find(|&(of, given)| given != (of == kind)) {
        return Err(format!(
            "a {kind:?} record {} {of:?} facts",
            if given { "has" } else { "lacks" }
        ));
    }
    let operands: Vec<OperandDecl> = record.operands.into_iter().map(operand).collect();
    let aligns = operands.iter().filter_map(|operand| operand.align_bytes);
    for align_bytes in aligns.chain([record.align_bytes]) {
        if !align_bytes.is_power_of_two() {
            return Err(format!("align_bytes is {align_bytes}, not a power of two"));
        }
    }
    let names: BTreeSet<&str> = operands
        .iter()
        .map(|operand| operand.name.as_str())
        .collect();
    if names.len() != operands.len() {
        return Err("two operands have one name".to_owned());
    }
    let emit = emit(record.emit, &names)?;
    let copy = record.copy.map(copy_facts).transpose()?;
    if let Some(name) = copy.as_ref().and_then(|copy| copy.src_bytes.as_deref())
        && !names.contains(name)
    {
        return Err(format!("src_bytes names {name:?}, which is no operand"));
    }
    Ok(Atom {
        id: record.id,
        cute: record.cute,
        kind,
        mma: record.mma.map(mma_facts).transpose()?,
        copy,
        convert: record.convert.map(convert_facts).transpose()?,
        sync: record.sync,
        arithmetic: record.arithmetic,
        operands,
        align_bytes: record.align_bytes,
        min_sm: record.min_sm,
        exact: record.exact,
        min_ptx: record.min_ptx,
        source: record.source,
        emit,
    })
}

fn operand(operand: Operand) -> OperandDecl {
    let own_align = match &operand {
        Operand::Address { align_bytes, .. } => *align_bytes,
        _ => None,
    };
    let (name, kind) = match operand {
        Operand::In { name, reg, count } => (name, OperandKind::RegsIn { ty: reg, count }),
        Operand::Out { name, reg, count } => (name, OperandKind::RegsOut { ty: reg, count }),
        Operand::InOut { name, reg, count } => (name, OperandKind::RegsInOut { ty: reg, count }),
        Operand::InOuts { name, reg } => (name, OperandKind::RegsInOuts { ty: reg }),
        Operand::Predicate { name } => (name, OperandKind::Predicate),
        Operand::TensorMap { name } => (name, OperandKind::TensorMap),
        Operand::Address { name, space, .. } => (name, OperandKind::Address(space)),
        Operand::Int { name } => (name, OperandKind::Int),
        Operand::Ints { name, count } => (name, OperandKind::Ints(count)),
        Operand::Imm { name } => (name, OperandKind::Imm),
        Operand::Imms { name } => (name, OperandKind::Imms),
    };
    OperandDecl {
        name,
        kind,
        align_bytes: own_align,
    }
}

fn layout(text: &str) -> Result<Layout<i64>> {
    text.parse()
        .map_err(|error| format!("layout {text:?}: {error}"))
}

fn dtype(name: &str) -> Result<DType> {
    crate::dtype::named(name).ok_or_else(|| format!("{name:?} is no element type"))
}

fn mma_facts(mma: Mma) -> Result<MmaFacts> {
    let sums = Sums {
        unit: mma.sums.unit,
        k: u32::try_from(mma.mnk[2]).map_err(|error| format!("mnk: {error}"))?,
        block: None,
        splits: None,
        rules: mma.sums.rules,
    };
    if let Some(problem) = sums.problems().first() {
        return Err(format!("sums: {problem}"));
    }
    Ok(MmaFacts {
        mnk: mma.mnk,
        types: [
            dtype(&mma.types.d)?,
            dtype(&mma.types.a)?,
            dtype(&mma.types.b)?,
            dtype(&mma.types.c)?,
        ],
        thr_id: layout(&mma.thr_id)?,
        a_tv: layout(&mma.a_tv)?,
        b_tv: layout(&mma.b_tv)?,
        c_tv: layout(&mma.c_tv)?,
        smem: [MmaSource::A, MmaSource::B].map(|source| mma.smem.contains(&source)),
        sums,
    })
}

fn copy_facts(copy: Copy) -> Result<CopyFacts> {
    Ok(CopyFacts {
        from: copy.from,
        to: copy.to,
        thr_id: layout(&copy.thr_id)?,
        src_tv_bits: layout(&copy.src_tv_bits)?,
        dst_tv_bits: layout(&copy.dst_tv_bits)?,
        ref_is_dst: matches!(copy.reference, Side::Dst),
        access_bytes: copy.access_bytes,
        asynchronous: copy.asynchronous,
        src_bytes: copy.src_bytes,
        tensor: copy.tensor,
        bulk: copy.bulk,
        reduce: copy.reduce,
        dtype: copy.dtype.as_deref().map(dtype).transpose()?,
    })
}

fn convert_facts(convert: Convert) -> Result<ConvertFacts> {
    Ok(ConvertFacts {
        from: dtype(&convert.from)?,
        to: dtype(&convert.to)?,
        values: convert.values,
    })
}

fn emit(form: EmitForm, operands: &BTreeSet<&str>) -> Result<Emit> {
    match form {
        EmitForm {
            llvm: Some(op),
            intrinsic: None,
            args: None,
            types: None,
            gives: None,
            template: None,
            values: None,
        } => Ok(Emit::Llvm(op)),
        EmitForm {
            llvm: None,
            intrinsic: Some(name),
            args: Some(args),
            types,
            gives,
            template: None,
            values: None,
        } => {
            let args = args
                .iter()
                .map(|arg| intrinsic_arg(arg, operands))
                .collect::<Result<_>>()?;
            let types: Vec<_> = types.unwrap_or_default().into_iter().collect();
            match types
                .iter()
                .find(|(operand, _)| !operands.contains(operand.as_str()))
            {
                Some((operand, _)) => Err(format!("types names {operand:?}, which is no operand")),
                None => Ok(Emit::Intrinsic {
                    name,
                    args,
                    types,
                    gives: gives
                        .unwrap_or_default()
                        .into_iter()
                        .map(|result| intrinsic_result(result, operands))
                        .collect::<Result<_>>()?,
                }),
            }
        }
        EmitForm {
            llvm: None,
            intrinsic: None,
            args: None,
            types: None,
            gives: None,
            template: Some(file),
            values,
        } => {
            let values: Vec<_> = values.unwrap_or_default().into_iter().collect();
            match values
                .iter()
                .find(|(name, _)| operands.contains(name.as_str()))
            {
                Some((name, _)) => Err(format!("value {name:?} has the name of an operand")),
                None => Ok(Emit::Template { file, values }),
            }
        }
        _ => Err(
            "emit is one of: llvm; intrinsic with args, types and gives; template with values"
                .to_owned(),
        ),
    }
}

/// A predicate's name, or the type of a result that nobody reads.
fn intrinsic_result(result: String, operands: &BTreeSet<&str>) -> Result<IntrinsicResult> {
    if operands.contains(result.as_str()) {
        return Ok(IntrinsicResult::Predicate(result));
    }
    let ty = serde_json::from_value(Value::String(result.clone()));
    ty.map(IntrinsicResult::Unused)
        .map_err(|_| format!("gives names {result:?}, no operand and no type of registers"))
}

/// An operand's name, `name[index]`, or an integer.
fn intrinsic_arg(arg: &Value, operands: &BTreeSet<&str>) -> Result<IntrinsicArg> {
    let bad = || {
        format!("intrinsic argument {arg} is no operand, register of an operand or 32-bit integer")
    };
    if let Some(number) = arg.as_i64() {
        return i32::try_from(number)
            .map(IntrinsicArg::Const)
            .map_err(|_| bad());
    }
    let text = arg.as_str().ok_or_else(bad)?;
    let (name, index) = match text.split_once('[') {
        Some((name, rest)) => (
            name,
            Some(
                rest.strip_suffix(']')
                    .and_then(|n| n.parse().ok())
                    .ok_or_else(bad)?,
            ),
        ),
        None => (text, None),
    };
    if !operands.contains(name) {
        return Err(bad());
    }
    Ok(match index {
        Some(index) => IntrinsicArg::Register(name.to_owned(), index),
        None => IntrinsicArg::Operand(name.to_owned()),
    })
}
