//! The scalar video instructions: `vadd vsub vabsdiff vmin vmax vshl vshr`.

use super::decoder::Decoder;
use super::lanes::ZERO;
use super::operands::{Decoded, to_dst, to_src};
use crate::inst::{Exec, Src};
use crate::num::video::{Part, Second, Video, VideoOp};
use crate::operand::Operand;
use crate::types::Ty;

/// An operand and the part of it that is meant.
fn part(operand: Operand<'_>) -> (Operand<'_>, Part) {
    match operand {
        Operand::Part { reg, part } => {
            let (offset, negate) = (0, false);
            (
                Operand::Reg {
                    reg,
                    offset,
                    negate,
                },
                part,
            )
        }
        whole => (whole, Part::WHOLE),
    }
}

pub(super) fn video(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    let op = match d.form.spec.base {
        "vadd" => VideoOp::Add,
        "vsub" => VideoOp::Sub,
        "vabsdiff" => VideoOp::AbsDiff,
        "vmin" => VideoOp::Min,
        "vmax" => VideoOp::Max,
        "vshl" => VideoOp::ShiftLeft,
        _ => VideoOp::ShiftRight,
    };
    let second = [
        ("add", Second::Add),
        ("min", Second::Min),
        ("max", Second::Max),
    ];
    let second = d.choose(&second).unwrap_or(Second::None);
    let (dst, into) = part(d.operand(0)?);
    let merges = into != Part::WHOLE;
    if merges && second != Second::None {
        return Err("a second operation does not go with a part of the result".to_owned());
    }
    let third = usize::from(merges || second != Second::None);
    d.count(3 + third, 3 + third)?;
    let source = |index: usize| -> Decoded<(Src, Part)> {
        let (operand, part) = part(d.operand(index)?);
        Ok((to_src(operand, Ty::B32)?, part))
    };
    let ((a, a_part), (b, b_part)) = (source(1)?, source(2)?);
    let c = if third == 1 { d.src(3, Ty::B32)? } else { ZERO };
    let video = Video {
        op,
        signed: [0, 1, 2].map(|index| d.ty(index).is_signed()),
        parts: [into, a_part, b_part],
        saturates: d.has("sat"),
        wraps: d.has("wrap"),
        second,
    };
    let (dst, video) = (to_dst(dst, 32)?, Box::new(video));
    let src = [a, b, c];
    Ok(Exec::Video { video, dst, src })
}
