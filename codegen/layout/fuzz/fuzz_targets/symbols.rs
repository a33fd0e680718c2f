//! Hostile symbolic layouts, read from text, to the operations that kernels use on them.
//!
//! In: lines of text: a symbolic layout, a second one, a tiler, and facts as `name divisor`. Out:
//! no panic; what is assumed is listed.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tilewright_layout::*;

fn operations(a: &Layout<Sym>, b: &Layout<Sym>, tiler: &Tiler<Sym>) {
    let _ = (
        composition(a, b),
        composition_by(a, tiler),
        logical_divide(a, b),
    );
    let _ = (
        zipped_divide(a, tiler),
        logical_product(a, b),
        blocked_product(a, b),
    );
    let _ = (
        coalesce(a),
        filter(a),
        complement(a, &Sym::constant(64)),
        a.size(),
        a.cosize(),
    );
    let _ = (
        right_inverse(a),
        left_inverse(a),
        left_pseudo_inverse(a),
        nullspace(a),
    );
    let _ = (
        max_common_vector(a, b),
        max_common_layout(a, b),
        a.compact_like(),
    );
    let _ = (
        upcast(a, &Sym::constant(8)),
        downcast(a, &Sym::constant(8)),
        recast(a, 16, 128),
    );
    let _ = (
        compatible(&a.shape(), &b.shape()),
        weakly_compatible(&a.shape(), &b.shape()),
    );
    if let Ok(identity) = Layout::identity(a.shape()) {
        let _ = (composition(&identity, b), zipped_divide(&identity, tiler));
    }
    if let Ok((tile, offset)) = local_tile(a, tiler, &IntTuple::leaf(Slot::At(Sym::constant(3)))) {
        let _ = (tile.to_string(), offset.to_string());
    }
}

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    if text.len() > 512 {
        return;
    }
    let mut lines = text.lines();
    let mut next = || lines.next().unwrap_or("");
    let (Ok(a), Ok(b)) = (next().parse::<Layout<Sym>>(), next().parse::<Layout<Sym>>()) else {
        return;
    };
    let tiler = next().parse::<Tiler<Sym>>().unwrap_or(Tiler::Keep);
    let mut facts = Facts::default();
    for line in lines {
        if let Some((name, by)) = line.split_once(' ') {
            let _ = facts.divides(name, by.parse().unwrap_or(8));
        }
    }
    operations(&a, &b, &tiler);
    let _ = facts.assuming(|facts| {
        let a = a.map(|x| facts.apply(x))?;
        operations(&a, &b, &tiler);
        zipped_divide(&a, &tiler)
    });
});
