//! Successive halving: how many candidates enter each stage, how long each is looked at, and who
//! goes on.

/// Candidates whose times differ by less are the same to a short look.
const SAME: f64 = 1.005;

/// One stage of a tournament.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stage {
    /// Rounds of the rotation.
    pub rounds: usize,
    /// How many go on.
    pub keep: usize,
}

/// The stages from `candidates` down to `finalists`: each keeps half, and looks twice as long.
pub fn stages(candidates: usize, finalists: usize) -> Vec<Stage> {
    let finalists = finalists.max(1);
    let (mut left, mut rounds) = (candidates, 3);
    let mut stages = Vec::new();
    while left > finalists {
        left = (left / 2).max(finalists);
        stages.push(Stage { rounds, keep: left });
        rounds *= 2;
    }
    stages
}

/// The `keep` fastest with those that a short look cannot tell from the last of them, at most twice
/// as many; then the others. Both fastest first.
pub fn split<T: Copy>(times: &[(T, f64)], keep: usize) -> (Vec<T>, Vec<(T, f64)>) {
    let mut sorted = times.to_vec();
    sorted.sort_by(|a, b| a.1.total_cmp(&b.1));
    let most = sorted.len().min(keep.saturating_mul(2));
    let mut count = sorted.len().min(keep);
    if let Some((_, last)) = count.checked_sub(1).and_then(|at| sorted.get(at)) {
        let line = last * SAME;
        while count < most && sorted.get(count).is_some_and(|(_, us)| *us <= line) {
            count += 1;
        }
    }
    let out = sorted.split_off(count);
    (sorted.into_iter().map(|(which, _)| which).collect(), out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stage_halves_and_looks_longer() {
        let found: Vec<(usize, usize)> = stages(16, 3).iter().map(|s| (s.rounds, s.keep)).collect();
        assert_eq!(found, [(3, 8), (6, 4), (12, 3)]);
        assert!(stages(3, 3).is_empty());
        assert!(stages(0, 0).is_empty());
        assert_eq!(stages(2, 0).len(), 1);
    }

    #[test]
    fn the_fastest_go_on() {
        let times = [('a', 9.0), ('b', 5.0), ('c', 7.0), ('d', 6.0)];
        assert_eq!(
            split(&times, 2),
            (vec!['b', 'd'], vec![('c', 7.0), ('a', 9.0)])
        );
        assert_eq!(split(&times, 9).0.len(), 4);
        assert_eq!(
            split(&times, 0),
            (vec![], vec![('b', 5.0), ('d', 6.0), ('c', 7.0), ('a', 9.0)])
        );
        assert_eq!(split::<char>(&[], 2), (vec![], vec![]));
    }

    #[test]
    fn those_that_cannot_be_told_apart_stay_together_but_not_without_end() {
        let close = [(0, 1.0), (1, 1.002), (2, 1.004), (3, 1.2)];
        assert_eq!(split(&close, 1).0, [0, 1]);
        assert_eq!(split(&close, 2).0, [0, 1, 2]);
        let same = [(0, 1.0); 40];
        assert_eq!(split(&same, 8).0.len(), 16);
    }
}
