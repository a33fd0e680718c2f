//! Values of a register in the lanes of a warp, as short as their pattern allows.

/// The values in the lanes of `mask`: one number when all are equal, `first+step*lane` when they
/// go up evenly, else the first few.
pub fn values(lanes: &[u64; 32], mask: u32) -> String {
    let all: Vec<(u64, u64)> = (0u64..32)
        .zip(lanes)
        .filter(|(lane, _)| mask >> lane & 1 == 1)
        .map(|(lane, value)| (lane, *value))
        .collect();
    let Some(&(first_lane, first)) = all.first() else {
        return "-".to_owned();
    };
    if all.iter().all(|(_, value)| *value == first) {
        return number(first);
    }
    if let Some(&(second_lane, second)) = all.get(1) {
        let rise = second.wrapping_sub(first) as i64;
        let step = rise / (second_lane - first_lane) as i64;
        let start = first.wrapping_sub((step as u64).wrapping_mul(first_lane));
        let at = |lane: u64| start.wrapping_add((step as u64).wrapping_mul(lane));
        if step != 0 && all.iter().all(|(lane, value)| *value == at(*lane)) {
            return match step {
                1 => format!("{}+lane", number(start)),
                _ => format!("{}{step:+}*lane", number(start)),
            };
        }
    }
    let shown: Vec<String> = all
        .iter()
        .take(4)
        .map(|(_, value)| number(*value))
        .collect();
    let more = if all.len() > 4 { ", …" } else { "" };
    format!("[{}{more}]", shown.join(", "))
}

/// Small numbers in decimal, others (addresses, bits of floats) in hexadecimal.
fn number(value: u64) -> String {
    if value < 100_000 {
        value.to_string()
    } else {
        format!("{value:#x}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_short() {
        let of = |f: fn(u64) -> u64| -> [u64; 32] { std::array::from_fn(|lane| f(lane as u64)) };
        let all = u32::MAX;
        assert_eq!(values(&of(|_| 7), all), "7");
        assert_eq!(values(&of(|lane| 32 + lane), all), "32+lane");
        assert_eq!(
            values(&of(|lane| 0x10_0000 + 4 * lane), all),
            "0x100000+4*lane"
        );
        assert_eq!(values(&of(|lane| 100 - 3 * lane), all), "100-3*lane");
        assert_eq!(values(&of(|lane| lane * lane), all), "[0, 1, 4, 9, …]");
        assert_eq!(
            values(&of(|lane| lane / 8), 0x0101_0101),
            "[0, 1, 2, 3]".to_owned()
        );
        assert_eq!(values(&of(|lane| 2 * lane), 0b1010), "0+2*lane");
        assert_eq!(values(&of(|lane| lane), 0), "-");
    }
}
