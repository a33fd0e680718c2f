//! The instructions of the catalogue as values, by their ids.
//!
//! In: an id such as `sm80_mma_16x8x16_f32_bf16_bf16`. Out: the atom's layouts. A build without
//! the compiler has no catalogue and says so.

use super::value::Value;

/// The atom of that id, if the catalogue has one with layouts.
#[cfg(feature = "codegen")]
pub fn find(id: &str) -> Option<Value> {
    use tilewright_layout::{CopyAtom, MmaAtom};

    let atom = tilewright_codegen::atoms::catalogue().ok()?.get(id)?;
    if let Some(mma) = &atom.mma {
        return Some(Value::MmaAtom(MmaAtom {
            mnk: mma.mnk,
            thr_id: mma.thr_id.clone(),
            a_tv: mma.a_tv.clone(),
            b_tv: mma.b_tv.clone(),
            c_tv: mma.c_tv.clone(),
        }));
    }
    // The records count bits; whoever wants elements calls `copy_atom_for`.
    let copy = atom.copy.as_ref()?;
    let reference = match copy.ref_is_dst {
        true => &copy.dst_tv_bits,
        false => &copy.src_tv_bits,
    };
    Some(Value::CopyBits(CopyAtom {
        thr_id: copy.thr_id.clone(),
        src_tv: copy.src_tv_bits.clone(),
        dst_tv: copy.dst_tv_bits.clone(),
        ref_tv: reference.clone(),
    }))
}

/// Why there is no such atom.
#[cfg(feature = "codegen")]
pub fn unknown(id: &str) -> String {
    let catalogue = tilewright_codegen::atoms::catalogue();
    match catalogue.ok().and_then(|known| known.nearest(id)) {
        Some(near) => format!("no atom with layouts is called `{id}`; did you mean `{near}`?"),
        None => format!("no atom with layouts is called `{id}`"),
    }
}

/// The atom of that id, if the catalogue has one with layouts.
#[cfg(not(feature = "codegen"))]
pub fn find(_id: &str) -> Option<Value> {
    None
}

/// Why there is no such atom.
#[cfg(not(feature = "codegen"))]
pub fn unknown(id: &str) -> String {
    format!("this build has no catalogue to look `{id}` up in: write it as mma_atom(…)")
}
