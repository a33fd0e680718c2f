//! The generator's instructions, for the calculator of layouts.

use tilewright_layout_cli::atoms::Atoms;
use tilewright_layout_cli::value::Value;

/// The catalogue of the generator; a build without it has none, and says so.
pub struct Catalogue;

#[cfg(feature = "codegen")]
impl Atoms for Catalogue {
    fn find(&self, id: &str) -> Option<Value> {
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

    fn unknown(&self, id: &str) -> String {
        let catalogue = tilewright_codegen::atoms::catalogue();
        match catalogue.ok().and_then(|known| known.nearest(id)) {
            Some(near) => format!("no atom with layouts is called `{id}`; did you mean `{near}`?"),
            None => format!("no atom with layouts is called `{id}`"),
        }
    }
}

#[cfg(not(feature = "codegen"))]
impl Atoms for Catalogue {
    fn find(&self, id: &str) -> Option<Value> {
        tilewright_layout_cli::atoms::NoAtoms.find(id)
    }

    fn unknown(&self, id: &str) -> String {
        tilewright_layout_cli::atoms::NoAtoms.unknown(id)
    }
}
