//! The numbers that a seeded order draws: splitmix64.

/// A generator of uniform numbers.
#[derive(Clone, Debug)]
pub(super) struct Random {
    state: u64,
}

impl Random {
    /// The numbers of a cluster of a launch.
    pub(super) fn new(seed: u64, cluster: u64) -> Self {
        let mut random = Self { state: seed };
        random.state = random.next() ^ cluster;
        random
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number below `bound`; 0 when there is none.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_depend_on_the_seed_and_the_cluster_alone() {
        let draw = |seed, cluster| {
            let mut random = Random::new(seed, cluster);
            [(); 8].map(|()| random.below(1000))
        };
        assert_eq!(draw(1, 2), draw(1, 2));
        assert_ne!(draw(1, 2), draw(2, 1));
        assert_ne!(draw(1, 2), draw(1, 3));
        assert!(draw(5, 5).iter().all(|&number| number < 1000));
        assert_eq!(Random::new(3, 4).below(0), 0);
    }

    #[test]
    fn every_number_comes() {
        let mut random = Random::new(0, 0);
        let mut seen = [0; 8];
        (0..800).for_each(|_| seen[random.below(8)] += 1);
        assert!(seen.iter().all(|&count| count > 50), "{seen:?}");
    }
}
