//! mbarriers, clusters, bulk and tensor copies, tensor maps, proxy fences.

use super::atomic::{atom_type, check_atom};
use super::decoder::Decoder;
use super::lanes::ZERO;
use super::memory::note_global;
use super::operands::{Decoded, to_src};
use crate::finding::Space;
use crate::inst::{
    AccessSpace, Address, Arrival, AtomOp, BulkCopy, Exec, Fence, MapCopy, MapField, MapReplace,
    Mapa, MbarrierKind, MbarrierOp, Reach, Reduction, Scope, Src, StoreAsync, TensorCopy,
    TensorKind, ThreadFence,
};
use crate::operand::Operand;
use crate::types::Ty;

/// The space an operand in shared memory is addressed in.
fn shared_space(d: &Decoder<'_, '_>, named: Option<Space>) -> AccessSpace {
    let spelled = ["shared", "shared::cta", "shared::cluster"];
    if spelled.iter().any(|name| d.has(name)) || named == Some(Space::Shared) {
        AccessSpace::Of(Space::Shared)
    } else {
        AccessSpace::Generic
    }
}

pub(super) fn mbarrier(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    let mut op = MbarrierOp {
        kind: MbarrierKind::Init,
        space: AccessSpace::Generic,
        address: Address {
            base: ZERO,
            offset: 0,
        },
        count: Src::Imm(1),
        dst: None,
        dst_pred: None,
        reach: match () {
            () if d.has("relaxed") => Reach::Relaxed,
            () if d.has("cluster") => Reach::Cluster,
            () => Reach::Cta,
        },
    };
    let mut at = 0;
    match d.form.spec.base {
        "mbarrier.init" => {
            d.count(2, 2)?;
            op.count = d.src(1, Ty::B32)?;
        }
        "mbarrier.inval" => {
            d.count(1, 1)?;
            op.kind = MbarrierKind::Inval;
        }
        "mbarrier.expect_tx" | "mbarrier.complete_tx" => {
            d.count(2, 2)?;
            op.kind = MbarrierKind::ExpectTx;
            if d.form.spec.base == "mbarrier.complete_tx" {
                op.kind = MbarrierKind::CompleteTx;
            }
            op.count = d.src(1, Ty::B32)?;
        }
        "mbarrier.pending_count" => {
            d.count(2, 2)?;
            op.kind = MbarrierKind::PendingCount;
            (op.dst, op.count) = (Some(d.dst(0, 32)?), d.src(1, Ty::B64)?);
            return Ok(Exec::Mbarrier(Box::new(op)));
        }
        "mbarrier.test_wait" | "mbarrier.try_wait" => {
            let suspends = d.form.spec.base == "mbarrier.try_wait";
            d.count(3, if suspends { 4 } else { 3 })?;
            let parity = d.has("parity");
            op.kind = MbarrierKind::Wait { parity, suspends };
            op.dst_pred = match d.operand(0)? {
                Operand::Sink => None,
                _ => Some(d.pred_dst(0)?),
            };
            op.count = d.src(2, if parity { Ty::B32 } else { Ty::B64 })?;
            at = 1;
        }
        _ => at = arrive(d, &mut op)?,
    }
    let (address, named) = d.address(at)?;
    (op.space, op.address) = (shared_space(d, named), address);
    Ok(Exec::Mbarrier(Box::new(op)))
}

/// `mbarrier.arrive` and `.arrive_drop`: gives the place of the address.
fn arrive(d: &Decoder<'_, '_>, op: &mut MbarrierOp) -> Decoded<usize> {
    let count = d.count(1, 3)?;
    let arrival = Arrival {
        expect_tx: d.has("expect_tx"),
        drop: d.form.spec.base == "mbarrier.arrive_drop",
        no_complete: d.has("noComplete"),
    };
    op.kind = MbarrierKind::Arrive(arrival);
    let first = match d.operand(0)? {
        Operand::Memory { .. } => 0,
        Operand::Sink => 1,
        _ if d.has("shared::cluster") => {
            return Err("an arrival in the cluster gives no state: write _".to_owned());
        }
        _ => {
            op.dst = Some(d.dst(0, 64)?);
            1
        }
    };
    if count > first + 1 {
        op.count = d.src(first + 1, Ty::B32)?;
    } else if arrival.expect_tx || arrival.no_complete {
        return Err("the last operand is missing".to_owned());
    }
    Ok(first)
}

pub(super) fn copy_arrive(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    d.count(1, 1)?;
    let (address, named) = d.address(0)?;
    Ok(Exec::CopyArrive {
        space: shared_space(d, named),
        address,
        no_increment: d.has("noinc"),
    })
}

pub(super) fn cluster_arrive(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    d.count(0, 0)?;
    let (aligned, relaxed) = (d.has("aligned"), d.has("relaxed"));
    Ok(Exec::ClusterArrive { aligned, relaxed })
}

pub(super) fn cluster_wait(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    d.count(0, 0)?;
    let aligned = d.has("aligned");
    Ok(Exec::ClusterWait { aligned })
}

pub(super) fn mapa(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    let ranks = d.form.spec.base == "getctarank";
    let count = if ranks { 2 } else { 3 };
    d.count(count, count)?;
    let ty = d.ty(0);
    let address = match d.operand(1)? {
        Operand::Memory { address, .. } if address.offset == 0 => address.base,
        operand => to_src(operand, ty)?,
    };
    Ok(Exec::Mapa(Box::new(Mapa {
        generic: !d.has("shared::cluster"),
        dst: d.dst(0, if ranks { 32 } else { ty.bits() })?,
        address,
        rank: if ranks {
            None
        } else {
            Some(d.src(2, Ty::B32)?)
        },
    })))
}

const OPS: &[(&str, AtomOp)] = &[
    ("add", AtomOp::Add),
    ("min", AtomOp::Min),
    ("max", AtomOp::Max),
    ("and", AtomOp::And),
    ("or", AtomOp::Or),
    ("xor", AtomOp::Xor),
    ("inc", AtomOp::Inc),
    ("dec", AtomOp::Dec),
];

fn reduction(d: &Decoder<'_, '_>) -> Decoded<Option<Reduction>> {
    let (ty, Some(op)) = (d.ty(0), d.choose(OPS)) else {
        return Ok(None);
    };
    if !matches!(ty, Ty::F32 | Ty::F64) || op != AtomOp::Add {
        check_atom(op, ty)?;
    }
    let (ty, bits) = (atom_type(ty), ty.bits());
    Ok(Some(Reduction { op, ty, bits }))
}

pub(super) fn bulk(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    let signals = d.has("mbarrier::complete_tx::bytes");
    let least = if signals { 4 } else { 3 };
    let extra = usize::from(d.has("multicast::cluster")) + usize::from(d.has("L2::cache_hint"));
    d.count(least, least + extra)?;
    let reduce = reduction(d)?;
    if d.form.spec.base == "cp.reduce.async.bulk" && reduce.is_none() {
        return Err("an operation and a type are missing".to_owned());
    }
    let to_shared = signals;
    let from_shared = !(signals && d.has("global"));
    if !to_shared && !d.has("global") {
        return Err("unsupported pair of spaces".to_owned());
    }
    note_global(d, reduce.is_some() && !to_shared);
    Ok(Exec::Bulk(Box::new(BulkCopy {
        dst: d.address(0)?.0,
        src: d.address(1)?.0,
        to_shared,
        from_shared,
        bytes: d.src(2, Ty::B32)?,
        mbarrier: if signals { Some(d.address(3)?.0) } else { None },
        multicast: if d.has("multicast::cluster") {
            Some(d.src(4, Ty::B16)?)
        } else {
            None
        },
        reduce,
    })))
}

pub(super) fn bulk_commit(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    d.count(0, 0)?;
    Ok(Exec::BulkCommit)
}

pub(super) fn bulk_wait(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    d.count(1, 1)?;
    Ok(Exec::BulkWait {
        pending: d.number(0)? as u32,
        read: d.has("read"),
    })
}

fn coordinates(d: &Decoder<'_, '_>, index: usize) -> Decoded<(Address, Vec<Src>)> {
    let Operand::Tensor {
        address,
        start,
        len,
    } = d.operand(index)?
    else {
        return Err(format!("operand {index} is no [map, {{coordinates}}]"));
    };
    let elements = d.elements.get(start..start + len).unwrap_or_default();
    let coords: Decoded<Vec<Src>> = elements
        .iter()
        .map(|operand| to_src(*operand, Ty::B32))
        .collect();
    let rank = ["1d", "2d", "3d", "4d", "5d"]
        .iter()
        .position(|name| d.has(name));
    if rank.map(|rank| rank + 1) != Some(len) {
        return Err(format!("{len} coordinates do not fit the dimensions named"));
    }
    Ok((address, coords?))
}

pub(super) fn tensor(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    let base = d.form.spec.base;
    let loads = d.has("mbarrier::complete_tx::bytes");
    let im2col = d.has("im2col") || d.has("im2col_no_offs");
    let kind = match (base, loads) {
        ("cp.async.bulk.prefetch.tensor", _) => TensorKind::Prefetch,
        ("cp.reduce.async.bulk.tensor", _) => {
            TensorKind::Reduce(d.choose(OPS).ok_or("an operation is missing")?)
        }
        (_, true) => TensorKind::Load,
        _ => TensorKind::Store,
    };
    let (map, coords) = coordinates(d, usize::from(kind == TensorKind::Load))?;
    let mut copy = TensorCopy {
        kind,
        map,
        coords,
        shared: None,
        mbarrier: None,
        im2col,
        offsets: Vec::new(),
        multicast: None,
    };
    let mut next = match kind {
        TensorKind::Prefetch => 1,
        TensorKind::Load => {
            (copy.shared, copy.mbarrier) = (Some(d.address(0)?.0), Some(d.address(2)?.0));
            3
        }
        _ => {
            copy.shared = Some(d.address(1)?.0);
            note_global(d, matches!(kind, TensorKind::Reduce(_)));
            2
        }
    };
    if d.has("im2col") && matches!(kind, TensorKind::Load | TensorKind::Prefetch) {
        for operand in d.elements(next)? {
            copy.offsets.push(to_src(operand, Ty::B16)?);
        }
        if copy.offsets.len() + 2 != copy.coords.len() {
            return Err("im2col takes two offsets less than coordinates".to_owned());
        }
        next += 1;
    }
    if d.has("multicast::cluster") {
        copy.multicast = Some(d.src(next, Ty::B16)?);
        next += 1;
    }
    d.count(next, next + usize::from(d.has("L2::cache_hint")))?;
    Ok(Exec::Tensor(Box::new(copy)))
}

pub(super) fn store_async(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    d.count(3, 3)?;
    let ty = d.ty(0);
    let reduces = d.form.spec.base == "red.async";
    let reduce = if reduces { reduction(d)? } else { None };
    let values: Decoded<Vec<Src>> = d
        .elements(1)?
        .into_iter()
        .map(|operand| to_src(operand, ty))
        .collect();
    let values = values?;
    let count = d.choose(&[("v2", 2), ("v4", 4)]).unwrap_or(1);
    if values.len() != count {
        return Err(format!("{} values for {count} elements", values.len()));
    }
    Ok(Exec::StoreAsync(Box::new(StoreAsync {
        dst: d.address(0)?.0,
        values,
        bytes: ty.bytes(),
        mbarrier: d.address(2)?.0,
        reduce,
    })))
}

pub(super) fn map_replace(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    let fields = [
        ("global_address", MapField::GlobalAddress),
        ("rank", MapField::Rank),
        ("box_dim", MapField::BoxDim),
        ("global_dim", MapField::GlobalDim),
        ("global_stride", MapField::GlobalStride),
        ("element_stride", MapField::ElementStride),
        ("elemtype", MapField::ElemType),
        ("interleave_layout", MapField::Interleave),
        ("swizzle_mode", MapField::Swizzle),
        ("fill_mode", MapField::Fill),
    ];
    let field = d.choose(&fields).ok_or("no field")?;
    let (address, named) = d.address(0)?;
    let indexed = matches!(
        field,
        MapField::BoxDim | MapField::GlobalDim | MapField::GlobalStride | MapField::ElementStride
    );
    let last = if indexed { 2 } else { 1 };
    d.count(last + 1, last + 1)?;
    let space = match (d.has("global"), shared_space(d, named)) {
        (true, _) => AccessSpace::Of(Space::Global),
        (_, space) => space,
    };
    Ok(Exec::MapReplace(Box::new(MapReplace {
        field,
        space,
        address,
        ordinal: if indexed { d.number(1)? as u32 } else { 0 },
        value: d.src(last, d.ty(0))?,
    })))
}

pub(super) fn map_copy(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    d.count(3, 3)?;
    if d.number(2)? != 128 {
        return Err("the size of a tensor map is 128".to_owned());
    }
    let (dst, src) = (d.address(0)?.0, d.address(1)?.0);
    Ok(Exec::MapCopy(Box::new(MapCopy { dst, src })))
}

pub(super) fn fence(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    let fence = match d.form.spec.base {
        "fence.mbarrier_init" => Fence::MbarrierInit,
        "fence.proxy.async" => {
            let (global, cta) = (d.has("global"), d.has("shared::cta"));
            let shared = cta || d.has("shared::cluster");
            Fence::ProxyAsync {
                shared: shared || !global,
                global: global || !shared,
            }
        }
        "fence.proxy.tensormap::generic" if d.has("acquire") => {
            d.count(2, 2)?;
            Fence::TensormapAcquire(d.address(0)?.0)
        }
        "fence" | "membar" => Fence::Thread(ThreadFence {
            scope: if d.has("cta") {
                Scope::Cta
            } else if d.has("cluster") {
                Scope::Cluster
            } else {
                Scope::Gpu
            },
            acquires: !d.has("release"),
            releases: !d.has("acquire"),
        }),
        _ => Fence::Other,
    };
    Ok(Exec::Fence(Box::new(fence)))
}

pub(super) fn set_max_registers(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    d.count(1, 1)?;
    let count = d.number(0)?;
    if !(24..=256).contains(&count) || !count.is_multiple_of(8) {
        return Err(format!("{count} registers; 24 to 256 in steps of 8"));
    }
    Ok(Exec::SetMaxRegisters {
        increase: d.has("inc"),
        count: count as u32,
    })
}
