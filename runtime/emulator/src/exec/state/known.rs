//! What of other clusters is ordered before an access: by cluster the last epoch of each agent.
//!
//! Cheap to copy and to join: clusters that know the same share it, and chunks of clusters that
//! did not change stay shared.

use std::sync::Arc;

/// Clusters that are kept together.
const CHUNK: usize = 64;

/// The last epochs of a cluster by agent; missing ones are 0, `None` is all 0.
type Epochs = Option<Arc<[u32]>>;

/// Epochs of clusters, by their number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known(Option<Arc<Vec<Arc<[Epochs; CHUNK]>>>>);

impl Known {
    /// Whether nothing is known of any cluster.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Whether both are one and the same; two that are not may be equal.
    #[inline]
    pub(crate) fn is(&self, other: &Known) -> bool {
        match (&self.0, &other.0) {
            (Some(mine), Some(theirs)) => Arc::ptr_eq(mine, theirs),
            (None, None) => true,
            _ => false,
        }
    }

    fn chunks(&self) -> &[Arc<[Epochs; CHUNK]>] {
        self.0.as_deref().map_or(&[], |chunks| chunks)
    }

    /// The epochs of a cluster.
    pub(crate) fn of(&self, cluster: u32) -> Option<&Arc<[u32]>> {
        let chunk = self.chunks().get(cluster as usize / CHUNK)?;
        chunk.get(cluster as usize % CHUNK)?.as_ref()
    }

    /// Whether an agent of a cluster is known up to an epoch.
    pub(crate) fn has(&self, cluster: u32, agent: u32, epoch: u32) -> bool {
        let epochs = self.of(cluster);
        epochs.and_then(|epochs| epochs.get(agent as usize)) >= Some(&epoch)
    }

    /// Whether joining the other would change nothing.
    pub(crate) fn covers(&self, other: &Known) -> bool {
        if self.is(other) {
            return true;
        }
        let (mine, theirs) = (self.chunks(), other.chunks());
        let covers = |(mine, theirs): (&Arc<[Epochs; CHUNK]>, &Arc<[Epochs; CHUNK]>)| {
            Arc::ptr_eq(mine, theirs) || mine.iter().zip(theirs.iter()).all(|(a, b)| above(a, b))
        };
        mine.len() >= theirs.len() && mine.iter().zip(theirs).all(covers)
    }

    /// What the other knows is known too.
    pub(crate) fn join(&mut self, other: &Known) {
        if other.covers(self) {
            self.0.clone_from(&other.0);
        } else if !self.covers(other) {
            let chunks = Arc::make_mut(self.0.get_or_insert_default());
            for (index, theirs) in other.chunks().iter().enumerate() {
                match chunks.get_mut(index) {
                    Some(mine) if Arc::ptr_eq(mine, theirs) => {}
                    Some(mine) => {
                        let mine = Arc::make_mut(mine);
                        mine.iter_mut().zip(theirs.iter()).for_each(raise);
                    }
                    None => chunks.push(Arc::clone(theirs)),
                }
            }
        }
    }

    /// The epochs of a cluster are known.
    pub(crate) fn learn(&mut self, cluster: u32, epochs: Arc<[u32]>) {
        let (chunk, index) = (cluster as usize / CHUNK, cluster as usize % CHUNK);
        let chunks = Arc::make_mut(self.0.get_or_insert_default());
        while chunks.len() <= chunk {
            chunks.push(Arc::new([const { None }; CHUNK]));
        }
        let mine = chunks.get_mut(chunk).map(Arc::make_mut);
        if let Some(mine) = mine.and_then(|chunk| chunk.get_mut(index)) {
            raise((mine, &Some(epochs)));
        }
    }
}

/// Whether epochs are none below others.
fn above(mine: &Epochs, theirs: &Epochs) -> bool {
    let (Some(mine), Some(theirs)) = (mine, theirs) else {
        return theirs.is_none();
    };
    let rest = theirs.get(mine.len()..).unwrap_or_default();
    Arc::ptr_eq(mine, theirs)
        || mine.iter().zip(theirs.iter()).all(|(a, b)| a >= b) && rest.iter().all(|e| *e == 0)
}

/// Epochs up to the higher of both.
fn raise((mine, theirs): (&mut Epochs, &Epochs)) {
    if above(theirs, mine) {
        mine.clone_from(theirs);
    } else if !above(mine, theirs)
        && let (Some(a), Some(b)) = (&*mine, theirs)
    {
        let at = |epochs: &[u32], index: usize| epochs.get(index).copied().unwrap_or(0);
        let highest = |index| at(a, index).max(at(b, index));
        *mine = Some((0..a.len().max(b.len())).map(highest).collect());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(list: &[(u32, &[u32])]) -> Known {
        let mut known = Known::default();
        for (cluster, epochs) in list {
            known.learn(*cluster, Arc::from(*epochs));
        }
        known
    }

    #[test]
    fn what_is_known_is_the_higher_of_both() {
        let (a, b) = (of(&[(0, &[3, 1]), (70, &[2])]), of(&[(0, &[1, 1, 4])]));
        assert!(!a.covers(&b) && !b.covers(&a));
        let mut both = a.clone();
        both.join(&b);
        assert!(both.covers(&a) && both.covers(&b));
        assert_eq!(both.of(0).map(|epochs| &**epochs), Some(&[3, 1, 4][..]));
        assert!(both.has(70, 0, 2) && !both.has(70, 0, 3));
        assert!(!both.has(70, 1, 1) && !both.has(1, 0, 1) && !both.has(700, 0, 1));
    }

    #[test]
    fn what_adds_nothing_leaves_it_as_it_is() {
        let known = of(&[(3, &[5, 5])]);
        let mut same = known.clone();
        same.join(&of(&[(3, &[4, 5, 0])]));
        same.join(&Known::default());
        assert!(same.is(&known));
        let mut less = of(&[(3, &[5])]);
        less.join(&known);
        assert!(less.is(&known));
        less.learn(3, Arc::from([6, 1]));
        assert!(!less.is(&known) && less.has(3, 0, 6) && less.has(3, 1, 5));
        assert!(!known.has(3, 0, 6));
        assert!(Known::default().is(&Known::default()) && Known::default().is_empty());
    }
}
