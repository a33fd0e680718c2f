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

/// Lines that are told of a long text, at most.
const MOST: usize = 20;

/// Pairs of lines that are compared, at most.
const PAIRS: usize = 1 << 22;

/// The same of long texts of which few lines are others; how many where they are not few.
pub fn edited(before: &str, after: &str) -> Vec<String> {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let alike = old.iter().zip(&new).take_while(|(old, new)| old == new);
    let start = alike.count();
    let (old, new) = (&old[start..], &new[start..]);
    let alike = old.iter().rev().zip(new.iter().rev());
    let end = alike.take_while(|(old, new)| old == new).count();
    let (old, new) = (&old[..old.len() - end], &new[..new.len() - end]);
    if old.len().saturating_mul(new.len()) > PAIRS {
        return vec![format!("{} lines in the place of {}", new.len(), old.len())];
    }
    let mut lines = moved(&old.join("\n"), &new.join("\n"));
    let more = lines.len().saturating_sub(MOST);
    lines.truncate(MOST);
    lines.extend((more > 0).then(|| format!("and {more} more")));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_lines_of_a_long_text_are_told() {
        let long = |at: usize, line: &str| {
            let mut lines: Vec<String> = (0..9000).map(|number| number.to_string()).collect();
            lines[at] = line.to_owned();
            lines.join("\n")
        };
        let told = edited(&long(7, "7"), &long(7, "seven"));
        assert_eq!(told, ["- 7", "+ seven"]);
        assert_eq!(edited("a", "a"), [""; 0]);
        let all = "x\n".repeat(30);
        let last = edited(&all, "").pop();
        assert_eq!(last.as_deref(), Some("and 10 more"));
        let told = edited(&long(1, "a"), &long(8999, "b").replace('4', "5"));
        assert_eq!(told.len(), 1, "{told:?}");
    }

    #[test]
    fn what_both_have_is_left_out() {
        assert_eq!(moved("a\nb\nc", "a\nx\nc\nd"), ["- b", "+ x", "+ d"]);
        assert_eq!(moved("a", "a"), [""; 0]);
        assert_eq!(moved("", "a"), ["+ a"]);
        assert_eq!(moved("a\nb", "b\na"), ["- a", "+ a"]);
    }
}
