//! Barriers and warp collectives.

use super::decoder::Decoder;
use super::floating;
use super::lanes::ZERO;
use super::operands::{Decoded, to_dst, to_pred_dst};
use crate::inst::{Barrier, BarrierKind, Collective, CollectiveKind, Exec, PredSrc, Src};
use crate::operand::Operand;
use crate::types::Ty;

pub(super) fn barrier(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    let aligned = d.form.spec.base == "bar" || d.has("aligned");
    let reductions = [
        ("popc", BarrierKind::Popc),
        ("and", BarrierKind::And),
        ("or", BarrierKind::Or),
    ];
    let kind = match (d.has("red"), d.has("arrive"), d.choose(&reductions)) {
        (true, _, Some(kind)) => kind,
        (true, _, None) => return Err(".red needs .popc, .and or .or".to_owned()),
        (_, true, None) => BarrierKind::Arrive,
        (_, false, None) => BarrierKind::Sync,
        _ => return Err("an operation goes with .red".to_owned()),
    };
    let mut bar = Barrier {
        kind,
        aligned,
        id: ZERO,
        count: None,
        pred: PredSrc::Const(true),
        dst: None,
        dst_pred: None,
    };
    let reduces = d.has("red");
    let first = usize::from(reduces);
    if reduces {
        let count = d.count(3, 4)?;
        match kind {
            BarrierKind::Popc => bar.dst = Some(d.dst(0, 32)?),
            _ => bar.dst_pred = Some(d.pred_dst(0)?),
        }
        bar.pred = d.pred_src(count - 1)?;
        if count == 4 {
            bar.count = Some(d.src(2, Ty::U32)?);
        }
    } else {
        let count = d.count(if kind == BarrierKind::Arrive { 2 } else { 1 }, 2)?;
        if count == 2 {
            bar.count = Some(d.src(1, Ty::U32)?);
        }
    }
    bar.id = d.src(first, Ty::U32)?;
    Ok(Exec::Barrier(Box::new(bar)))
}

fn collective(kind: CollectiveKind, mask: impl Into<Option<Src>>) -> Collective {
    Collective {
        kind,
        dst: None,
        dst_pred: None,
        a: ZERO,
        b: ZERO,
        c: ZERO,
        pred: PredSrc::Const(true),
        mask: mask.into(),
        width: 32,
        mods: crate::num::float::FloatMods(0),
    }
}

fn boxed(collective: Collective) -> Decoded<Exec> {
    Ok(Exec::Collective(Box::new(collective)))
}

pub(super) fn bar_warp(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    d.count(1, 1)?;
    boxed(collective(CollectiveKind::BarWarp, d.src(0, Ty::B32)?))
}

/// The member mask, the last of `all` operands. Without `.sync`, the form of old targets, the lanes
/// that execute take part.
fn members(d: &Decoder<'_, '_>, all: usize) -> Decoded<Option<Src>> {
    if d.has("sync") {
        d.count(all, all)?;
        return d.src(all - 1, Ty::B32).map(Some);
    }
    d.count(all - 1, all - 1)?;
    Ok(None)
}

/// `d|p`, either of which may be `_`.
fn results(d: &Decoder<'_, '_>, bits: u32, out: &mut Collective) -> Decoded<()> {
    let (first, second) = d.pair(0)?;
    out.dst = match first {
        Operand::Sink => None,
        operand => Some(to_dst(operand, bits)?),
    };
    out.dst_pred = match second {
        None | Some(Operand::Sink) => None,
        Some(operand) => Some(to_pred_dst(operand)?),
    };
    Ok(())
}

pub(super) fn shfl(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    let mask = members(d, 5)?;
    let kinds = [
        ("up", CollectiveKind::ShflUp),
        ("down", CollectiveKind::ShflDown),
        ("bfly", CollectiveKind::ShflBfly),
    ];
    let kind = d.choose(&kinds).unwrap_or(CollectiveKind::ShflIdx);
    let mut out = collective(kind, mask);
    results(d, 32, &mut out)?;
    (out.a, out.b, out.c) = (d.src(1, Ty::B32)?, d.src(2, Ty::B32)?, d.src(3, Ty::B32)?);
    boxed(out)
}

pub(super) fn vote(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    let mask = members(d, 3)?;
    let kinds = [
        ("all", CollectiveKind::VoteAll),
        ("any", CollectiveKind::VoteAny),
        ("uni", CollectiveKind::VoteUni),
    ];
    let kind = d.choose(&kinds).unwrap_or(CollectiveKind::VoteBallot);
    let mut out = collective(kind, mask);
    match (kind, d.ty(0)) {
        (CollectiveKind::VoteBallot, Ty::B32) => out.dst = Some(d.dst(0, 32)?),
        (CollectiveKind::VoteBallot, _) | (_, Ty::B32) => {
            return Err("only .ballot has type .b32".to_owned());
        }
        _ => out.dst_pred = Some(d.pred_dst(0)?),
    }
    out.pred = d.pred_src(1)?;
    boxed(out)
}

pub(super) fn matching(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    d.count(3, 3)?;
    let kind = if d.has("all") {
        CollectiveKind::MatchAll
    } else {
        CollectiveKind::MatchAny
    };
    let mut out = collective(kind, d.src(2, Ty::B32)?);
    results(d, 32, &mut out)?;
    out.a = d.src(1, d.ty(0))?;
    out.width = d.ty(0).bits();
    boxed(out)
}

pub(super) fn redux(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    d.count(3, 3)?;
    let ty = d.ty(0);
    let (signed, float) = (ty.is_signed(), ty == Ty::F32);
    let kind = match () {
        () if d.has("add") && !float => CollectiveKind::ReduxAdd { float },
        () if d.has("min") => CollectiveKind::ReduxMin { signed, float },
        () if d.has("max") => CollectiveKind::ReduxMax { signed, float },
        () if d.has("and") && ty == Ty::B32 => CollectiveKind::ReduxAnd,
        () if d.has("or") && ty == Ty::B32 => CollectiveKind::ReduxOr,
        () if d.has("xor") && ty == Ty::B32 => CollectiveKind::ReduxXor,
        () => return Err(format!("unsupported type .{} of this operation", ty.name())),
    };
    let mut out = collective(kind, d.src(2, Ty::B32)?);
    out.dst = Some(d.dst(0, 32)?);
    out.a = d.src(1, ty)?;
    out.mods = floating::mods(d);
    boxed(out)
}

pub(super) fn elect(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    d.count(2, 2)?;
    let mut out = collective(CollectiveKind::Elect, d.src(1, Ty::B32)?);
    results(d, 32, &mut out)?;
    boxed(out)
}

pub(super) fn activemask(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    d.count(1, 1)?;
    Ok(Exec::ActiveMask { dst: d.dst(0, 32)? })
}
