//! What bounds the run of a pipeline, in a sentence.

use tilewright_codegen::certify::timeline::Costs;

/// What takes longest of a k tile, by the model's clock: products, or the loads of what they need.
pub fn bound(costs: &Costs) -> String {
    let loads = costs.slot_bytes / costs.l2_bytes_per_cycle.max(1);
    sentence(costs.k_tile_cycles, loads)
}

fn sentence(products: u64, loads: u64) -> String {
    // Within a tenth they are alike.
    let what = if loads * 10 > products * 11 {
        "Bound by loads"
    } else if products * 10 > loads * 11 {
        "Bound by the tensor cores"
    } else {
        "Bound by the tensor cores and by loads alike"
    };
    format!("{what}: a k tile takes {products} cycles of products and {loads} of loads.")
}

#[cfg(test)]
mod tests {
    use super::sentence;

    #[test]
    fn what_takes_longest_bounds_it() {
        for (products, loads, said) in [
            (512, 256, "Bound by the tensor cores:"),
            (512, 500, "Bound by the tensor cores and by loads alike:"),
            (512, 564, "Bound by loads:"),
        ] {
            let sentence = sentence(products, loads);
            assert!(sentence.starts_with(said), "{sentence}");
        }
    }
}
