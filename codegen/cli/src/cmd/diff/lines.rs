//! Two texts, line by line.

/// Lines that one of two texts has alone, in their order: `- ` those of the first, `+ ` those of
/// the second. The lines that both have are a longest common sequence.
pub fn moved(before: &str, after: &str) -> Vec<String> {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let width = new.len() + 1;
    // How many lines the rest of both have in common, from each pair of places on.
    let mut common = vec![0usize; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i * width + j] = match old[i] == new[j] {
                true => common[(i + 1) * width + j + 1] + 1,
                false => common[(i + 1) * width + j].max(common[i * width + j + 1]),
            };
        }
    }
    let (mut i, mut j, mut lines) = (0, 0, Vec::new());
    while i < old.len() || j < new.len() {
        let is_common = i < old.len() && j < new.len() && old[i] == new[j];
        let drops_old = j == new.len()
            || (i < old.len() && common[(i + 1) * width + j] >= common[i * width + j + 1]);
        if is_common {
            (i, j) = (i + 1, j + 1);
        } else if drops_old {
            lines.push(format!("- {}", old[i]));
            i += 1;
        } else {
            lines.push(format!("+ {}", new[j]));
            j += 1;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_both_have_is_left_out() {
        assert_eq!(moved("a\nb\nc", "a\nx\nc\nd"), ["- b", "+ x", "+ d"]);
        assert_eq!(moved("a", "a"), [""; 0]);
        assert_eq!(moved("", "a"), ["+ a"]);
        assert_eq!(moved("a\nb", "b\na"), ["- a", "+ a"]);
    }
}
