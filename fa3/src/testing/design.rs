//! Designs: combinations of the levels of many factors, few enough to run them all, in which every few
//! levels that matter meet.

use core::cmp::Reverse;

/// Factors, and which of them are to meet.
pub(super) struct Design {
    /// How many levels each factor has.
    pub(super) levels: Vec<usize>,
    /// Groups of factors, each in rising order. Every combination of the levels of a group is to occur.
    pub(super) groups: Vec<Vec<usize>>,
}

impl Design {
    /// Completes each row, of which the levels of the first factors are given, factor by factor: of the
    /// levels that `allowed` takes after those before, the one that brings the most combinations which no
    /// row has yet, and among these the one whose combinations are the rarest. A row that nothing is
    /// allowed for ends there.
    pub(super) fn complete(
        &self,
        given: impl IntoIterator<Item = Vec<usize>>,
        allowed: impl Fn(&[usize]) -> bool,
    ) -> Vec<Vec<usize>> {
        let size = |group: &[usize]| group.iter().map(|&factor| self.levels[factor]).product();
        let mut counts: Vec<Vec<usize>> = self.groups.iter().map(|group| vec![0; size(group)]).collect();
        let mut rows = Vec::new();
        for (number, mut row) in given.into_iter().enumerate() {
            for factor in row.len()..self.levels.len() {
                // Equals are taken in turn.
                let turned = (0..self.levels[factor]).map(|level| (level + number) % self.levels[factor]);
                let candidates = turned.filter_map(|level| {
                    row.push(level);
                    let cost = allowed(&row).then(|| self.cost(&row, &counts));
                    row.pop();
                    Some((cost?, level))
                });
                let Some((_, level)) = candidates.min_by_key(|&(cost, _)| cost) else { break };
                row.push(level);
            }
            for (group, counts) in self.groups.iter().zip(&mut counts) {
                if group.iter().all(|&factor| factor < row.len()) {
                    counts[self.combination(group, &row)] += 1;
                }
            }
            rows.push(row);
        }
        rows
    }

    /// The number of the combination that a row has of a group's levels.
    fn combination(&self, group: &[usize], row: &[usize]) -> usize {
        group.iter().fold(0, |number, &factor| number * self.levels[factor] + row[factor])
    }

    /// What the last level of a row costs: combinations that are new cost less, then rare ones.
    fn cost(&self, row: &[usize], counts: &[Vec<usize>]) -> (Reverse<usize>, usize) {
        let last = row.len() - 1;
        let groups = self.groups.iter().zip(counts).filter(|(group, _)| group.last() == Some(&last));
        let (mut new, mut seen) = (0, 0);
        for (group, counts) in groups {
            let count = counts[self.combination(group, row)];
            new += usize::from(count == 0);
            seen += count;
        }
        (Reverse(new), seen)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_pair_and_every_triple_that_is_asked_for_occurs() {
        let design = Design {
            levels: vec![6, 5, 3, 3, 2],
            groups: vec![vec![0, 2], vec![1, 2], vec![0, 3], vec![1, 3], vec![2, 3], vec![2, 3, 4]],
        };
        let crossed = (0..30).map(|n| vec![n % 6, (n % 6 + n / 6) % 5]);
        let rows = design.complete(crossed, |_| true);
        assert_eq!(rows.len(), 30);
        for group in &design.groups {
            let size: usize = group.iter().map(|&factor| design.levels[factor]).product();
            let found: BTreeSet<Vec<usize>> =
                rows.iter().map(|row| group.iter().map(|&factor| row[factor]).collect()).collect();
            assert_eq!(found.len(), size, "{group:?}");
        }
    }

    #[test]
    fn what_is_not_allowed_does_not_occur() {
        let design = Design { levels: vec![3, 3], groups: vec![vec![0, 1]] };
        let given = || (0..9).map(|n| vec![n % 3]);
        let rows = design.complete(given(), |row| row.len() < 2 || row[0] != row[1]);
        assert!(rows.iter().all(|row| row.len() == 2 && row[0] != row[1]), "{rows:?}");
        assert_eq!(rows.iter().collect::<BTreeSet<_>>().len(), 6);
        let stuck = design.complete(given(), |_| false);
        assert!(stuck.iter().all(|row| row.len() == 1));
    }
}
