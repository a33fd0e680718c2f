//! What bounds the run of a pipeline, in a sentence.

use tilewright_codegen::certify::timeline::{Steady, Timeline};

/// What takes longest of a k tile, by the model's clock: products, the loads of what they need, or
/// where neither fills the time, how long a slot is on its way, or what threads do.
pub fn bound(timeline: &Timeline) -> String {
    let costs = &timeline.costs;
    let units = [costs.k_tile_cycles, costs.k_tile_loads()];
    sentence(units, timeline.slots(), timeline.steady) + &not_counted(costs.row_bytes)
}

/// What is measured of factors in rows of so many bytes, and not known to the clock
/// (bench/results/h200/2026-11-26-swizzles.md).
fn not_counted(row_bytes: u64) -> String {
    let longer = match row_bytes {
        16 => "3.4 to 4.7",
        32 => "2.1 to 3.2",
        64 => "1.1 to 1.8",
        _ => return String::new(),
    };
    format!(
        " Not counted: rows of {row_bytes} bytes of a factor's tile, in the place of 128, take \
         {longer} times as long (H200)."
    )
}

/// Of products and loads of a k tile, a ring of so many slots, and a long main loop.
fn sentence([products, loads]: [u64; 2], slots: usize, steady: Steady) -> String {
    let (busy, all) = (products.max(loads), steady.k_tile_cycles);
    // Within a tenth they are alike.
    if all * 10 <= busy * 11 {
        let what = if loads * 10 > products * 11 {
            "loads"
        } else if products * 10 > loads * 11 {
            "the tensor cores"
        } else {
            "the tensor cores and by loads alike"
        };
        return format!(
            "Bound by {what}: a k tile takes {products} cycles of products and {loads} of loads."
        );
    }
    let (what, why) = match 2 * steady.wait_cycles > all - busy {
        true => {
            let noun = if slots == 1 { "slot is" } else { "slots are" };
            let enough = steady.enough_slots;
            let why = format!(", as {slots} {noun} too few to hide it: {enough} would do");
            ("the latency of loads", why)
        }
        false => ("what threads do between products", String::new()),
    };
    format!(
        "Bound by {what}: a k tile takes {all} cycles, {products} of products and {loads} of \
         loads{why}."
    )
}

#[cfg(test)]
mod tests {
    use super::{Steady, sentence};

    fn said(units: [u64; 2], slots: usize, [all, waits]: [u64; 2]) -> String {
        let steady = Steady {
            k_tile_cycles: all,
            wait_cycles: waits,
            enough_slots: 4,
        };
        sentence(units, slots, steady)
    }

    #[test]
    fn what_takes_longest_bounds_it() {
        for (units, begins) in [
            ([512, 256], "Bound by the tensor cores:"),
            ([512, 500], "Bound by the tensor cores and by loads alike:"),
            ([512, 564], "Bound by loads:"),
        ] {
            let said = said(units, 4, [563, 20]);
            assert!(said.starts_with(begins), "{said}");
        }
    }

    #[test]
    fn a_ring_that_is_too_short_bounds_it() {
        assert_eq!(
            said([1024, 768], 2, [2000, 900]),
            "Bound by the latency of loads: a k tile takes 2000 cycles, 1024 of products and 768 \
             of loads, as 2 slots are too few to hide it: 4 would do."
        );
        assert!(said([512, 512], 1, [2000, 1400]).contains("as 1 slot is too few"));
    }

    #[test]
    fn what_the_clock_does_not_know_is_said() {
        assert_eq!(super::not_counted(128), "");
        assert!(super::not_counted(64).contains("64 bytes of a factor's tile"));
    }

    #[test]
    fn what_threads_compute_bounds_it() {
        let said = said([512, 256], 4, [900, 10]);
        assert!(
            said.starts_with("Bound by what threads do between products: a k tile takes 900"),
            "{said}"
        );
    }
}
