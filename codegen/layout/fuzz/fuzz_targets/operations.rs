//! Hostile operands to every operation on constant layouts.
//!
//! In: bytes that choose two layouts, a tiler and an operation. Out: no panic, no wrap, and where a
//! composition or an inverse of few values answers, the answer has its defining property.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tilewright_layout::*;

struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn byte(&mut self) -> u8 {
        match self.0.split_first() {
            Some((first, rest)) => {
                self.0 = rest;
                *first
            }
            None => 0,
        }
    }

    /// Small numbers mostly; now and then one near the limits of 64 bits.
    fn number(&mut self) -> i64 {
        match self.byte() {
            x @ 0..=199 => i64::from(x % 25),
            x @ 200..=219 => 1 << (x - 200),
            x @ 220..=234 => i64::from(x) - 235,
            x @ 235..=239 => i64::MAX >> (x - 235),
            240 => i64::MIN,
            _ => i64::from(i32::from_le_bytes(std::array::from_fn(|_| self.byte()))),
        }
    }

    fn layout(&mut self, depth: usize) -> Option<Layout> {
        let kind = self.byte();
        if depth == 0 || kind % 3 == 0 {
            let extent = self.number();
            let extent = if kind < 240 {
                extent.checked_abs()?.max(1)
            } else {
                extent
            };
            return Layout::single(extent, self.number()).ok();
        }
        let modes = (0..self.byte() % 4).map(|_| self.layout(depth - 1));
        Layout::from_modes(modes.collect::<Option<Vec<_>>>()?).ok()
    }

    fn tiler(&mut self, depth: usize) -> Option<Tiler> {
        Some(match self.byte() % 4 {
            0 => Tiler::Keep,
            1 if depth > 0 => {
                let modes = (0..self.byte() % 4).map(|_| self.tiler(depth - 1));
                Tiler::Modes(modes.collect::<Option<_>>()?)
            }
            _ => Tiler::Layout(self.layout(1)?),
        })
    }

    fn coord(&mut self, depth: usize) -> IntTuple<Slot<i64>> {
        match self.byte() % 4 {
            0 => IntTuple::leaf(Slot::Keep),
            1 if depth > 0 => IntTuple::tuple((0..self.byte() % 4).map(|_| self.coord(depth - 1))),
            _ => IntTuple::leaf(Slot::At(self.number())),
        }
    }
}

/// Whether the layout has few values, so that they can be listed.
fn few(l: &Layout) -> bool {
    l.size().is_ok_and(|s| s <= 4096)
}

fn check_composition(a: &Layout, b: &Layout) {
    let _ = Comparison::of(a, b).to_string();
    let Ok(r) = composition(a, b) else { return };
    assert!(
        compatible(&b.shape(), &r.shape()).unwrap_or(true),
        "{a} o {b} = {r}"
    );
    if !few(b) {
        return;
    }
    for i in 0..b.size().unwrap_or(0) {
        if let (Ok(x), Ok(got)) = (b.at(i), r.at(i))
            && let Ok(want) = a.at(x)
        {
            assert_eq!(got, want, "{a} o {b} = {r} at {i}");
        }
    }
}

fn check_inverses(a: &Layout) {
    if let Ok(r) = right_inverse(a)
        && few(&r)
    {
        for i in 0..r.size().unwrap_or(0) {
            assert_eq!(
                r.at(i).and_then(|x| a.at(x)),
                Ok(i),
                "right inverse {r} of {a}"
            );
        }
    }
    let (left, pseudo) = (left_inverse(a), left_pseudo_inverse(a));
    for i in 0..if few(a) { a.size().unwrap_or(0) } else { 0 } {
        let Ok(x) = a.at(i) else { continue };
        if let Ok(r) = &left {
            assert_eq!(r.at(x), Ok(i), "left inverse {r} of {a}");
        }
        if let Ok(r) = &pseudo {
            assert_eq!(
                r.at(x).and_then(|j| a.at(j)),
                Ok(x),
                "pseudo-inverse {r} of {a}"
            );
        }
    }
}

fn swizzled(b: &mut Bytes<'_>, a: &Layout, c: &Layout, tiler: &Tiler) {
    let Ok(swizzle) = Swizzle::new(b.number(), b.number(), b.number()) else {
        return;
    };
    let whole = ComposedLayout {
        swizzle,
        offset: b.number(),
        inner: a.clone(),
    };
    let other = ComposedLayout::new(swizzle, c.clone());
    let _ = (
        whole.composition(c),
        whole.composition_by(tiler),
        whole.slice(&b.coord(2)),
    );
    let _ = (
        whole.logical_divide(c),
        whole.zipped_divide(tiler),
        whole.blocked_product(c),
    );
    let _ = (
        whole.local_tile(tiler, &b.coord(2)),
        whole.max_common_layout(&other),
    );
    let _ = (
        whole.upcast(b.number()),
        whole.downcast(b.number()),
        whole.recast(16, b.number()),
    );
    if let Ok(r) = whole.right_inverse() {
        let _ = r.at(b.number());
    }
    if few(a)
        && let Ok(values) = whole.offsets()
    {
        for (i, v) in (0..).zip(values) {
            assert_eq!(whole.at(i), Ok(v), "{whole} at {i}");
        }
    }
}

fn tiled(b: &mut Bytes<'_>, a: &Layout, c: &Layout) {
    let Some((x, y, z)) = b
        .layout(2)
        .and_then(|x| Some((x, b.layout(2)?, b.layout(2)?)))
    else {
        return;
    };
    let atom = CopyAtom {
        thr_id: x.clone(),
        src_tv: y.clone(),
        dst_tv: z.clone(),
        ref_tv: y.clone(),
    };
    for copy in [
        make_tiled_copy(atom.clone(), a, c),
        TiledCopy::new(atom, a.clone(), Tiler::Keep),
    ]
    .into_iter()
    .flatten()
    {
        let _ = (copy.partition_s(c), copy.partition_d(c), copy.retile(c));
        if let Ok(thread) = copy.thread(b.number()) {
            let _ = (thread.partition_s(c), thread.partition_d(c));
        }
        let _ = copy.holders(Side::Source, &c.shape(), &IntTuple::leaf(b.number()));
    }
    let mnk = [b.number(), b.number(), b.number()];
    let atom = MmaAtom {
        mnk,
        thr_id: x,
        a_tv: y,
        b_tv: z,
        c_tv: a.clone(),
    };
    if let Ok(mma) = TiledMma::new(atom, c, [Tiler::Keep, Tiler::Keep, Tiler::Keep]) {
        let _ = (mma.tv_a(), mma.tv_b(), mma.tv_c());
        let _ = mma.holders(Operand::A, &c.shape(), &IntTuple::leaf(b.number()));
    }
}

fuzz_target!(|data: &[u8]| {
    let mut b = Bytes(data);
    let op = b.byte();
    let (Some(a), Some(c), Some(tiler)) = (b.layout(3), b.layout(3), b.tiler(2)) else {
        return;
    };
    let n = b.number();
    match op % 16 {
        0 | 1 => check_composition(&a, &c),
        2 => check_inverses(&a),
        3 => {
            let _ = (complement(&a, &n), nullspace(&a), a.compact_like());
        }
        4 => {
            let _ = (
                logical_divide(&a, &c),
                logical_divide_by(&a, &tiler),
                flat_divide(&a, &tiler),
            );
            let _ = (zipped_divide(&a, &tiler), tiled_divide(&a, &tiler));
        }
        5 => {
            let _ = (
                logical_product(&a, &c),
                logical_product_by(&a, &tiler),
                flat_product(&a, &tiler),
            );
            let _ = (zipped_product(&a, &tiler), tiled_product(&a, &tiler));
        }
        6 => {
            let _ = (blocked_product(&a, &c), raked_product(&a, &c));
            let order: Vec<i64> = (0..c.rank()).map(|_| b.number()).collect();
            let _ = (
                tile_to_shape(&a, &c.shape()),
                tile_to_shape_by(&a, &c.shape(), &order),
            );
        }
        7 => {
            let (x, y) = (max_common_vector(&a, &c), max_common_layout(&a, &c));
            assert_eq!(y.as_ref().map(|y| y.size()), x.as_ref().map(|x| Ok(*x)));
            if let Ok(y) = y.as_ref()
                && few(y)
            {
                for i in 0..y.size().unwrap_or(0) {
                    let value = |l: &Layout| y.at(i).and_then(|x| l.at(x));
                    assert_eq!((value(&a), value(&c)), (Ok(i), Ok(i)), "{y} of {a} and {c}");
                }
            }
            // Which layout comes first makes no difference to the size.
            if let (Ok(x), Ok(other)) = (x, max_common_vector(&c, &a)) {
                assert_eq!(x, other, "{a} and {c}");
            }
        }
        8 => {
            let coord = b.coord(3);
            let _ = (
                slice(&coord, &a),
                dice(&coord, &a),
                local_tile(&a, &tiler, &coord),
            );
            let _ = (
                outer_partition(&a, &tiler, &coord),
                local_partition(&a, &c, &n),
            );
        }
        9 => {
            let _ = (upcast(&a, &n), downcast(&a, &n), recast(&a, n, b.number()));
            let _ = (
                coalesce(&a),
                filter(&a),
                coalesce_by(&a, c.profile()),
                flatten(&a),
            );
        }
        10 => swizzled(&mut b, &a, &c, &tiler),
        11 => tiled(&mut b, &a, &c),
        12 => {
            let (x, y) = (n as usize, b.number() as usize);
            let _ = (group(&a, x, y), select(&a, &[x, y]), replace(&a, x, &c));
            let _ = (zip(&a, &c), zip_modes(&a), append(&a, &c), prepend(&a, &c));
            let _ = (x < 64 && y < 64).then(|| take(&a, x, y));
        }
        13 => {
            let (x, y) = (a.shape(), c.shape());
            let _ = (
                compatible(&x, &y),
                weakly_compatible(&x, &y),
                weakly_congruent(a.profile(), c.profile()),
            );
            let _ = (
                crd2crd(&IntTuple::leaf(n), &x, &y),
                crd2idx(&x, &c),
                idx2crd(&n, &x),
                a.at(n),
            );
        }
        14 => {
            if let Ok(identity) = Layout::identity(a.shape()) {
                let _ = (composition(&identity, &c), zipped_divide(&identity, &tiler));
            }
            if let Ok(coords) = Layout::identity(c.shape()) {
                let _ = composition_coords(&a, &coords);
            }
        }
        _ => {
            let offsets: Vec<i64> = (0..data.len().min(64)).map(|_| b.number()).collect();
            let _ = (
                from_offsets(&offsets),
                composition_by(&a, &tiler),
                a.cosize(),
            );
        }
    }
});
