//! When what warps wait for at barriers is there: the latest of the arrivals in each generation.

use std::collections::HashMap;

use super::Awaited;

/// What gathers arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    /// An mbarrier of a CTA.
    Mbarrier { cta: usize, offset: u32 },
    /// A named barrier of a CTA.
    Named { cta: usize, id: u32 },
    /// The cluster's barrier.
    Cluster,
    /// The registers of a CTA, of which there is one generation: 0.
    Registers { cta: usize },
}

impl Key {
    /// What a warp that waits at it waits for.
    pub(super) fn awaited(self) -> Awaited {
        match self {
            Self::Mbarrier { cta, offset } => Awaited::Mbarrier { cta: cta as u32, offset },
            Self::Named { id, .. } => Awaited::Named(id),
            Self::Cluster => Awaited::Cluster,
            Self::Registers { .. } => Awaited::Registers,
        }
    }
}

/// The latest arrivals, by generation. Of each barrier the last two generations are kept: whoever
/// waits for an older one has been let through.
#[derive(Debug, Default)]
pub(super) struct Moments {
    of: HashMap<Key, [Generation; 2]>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Generation {
    number: u64,
    latest: u64,
}

impl Moments {
    /// Something arrives in a generation.
    pub(super) fn arrive(&mut self, key: Key, number: u64, at: u64) {
        let slot = &mut self.of.entry(key).or_default()[(number % 2) as usize];
        if slot.number != number {
            *slot = Generation { number, latest: 0 };
        }
        slot.latest = slot.latest.max(at);
    }

    /// When a generation that is complete became so.
    pub(super) fn of(&self, key: Key, number: u64) -> u64 {
        let slot = self.of.get(&key).map(|slots| slots[(number % 2) as usize]);
        slot.filter(|slot| slot.number == number).map_or(0, |slot| slot.latest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_arrival_of_a_generation_counts() {
        let mut moments = Moments::default();
        let key = Key::Named { cta: 0, id: 1 };
        moments.arrive(key, 0, 50);
        moments.arrive(key, 0, 20);
        moments.arrive(key, 1, 70);
        assert_eq!([moments.of(key, 0), moments.of(key, 1), moments.of(key, 2)], [50, 70, 0]);
        moments.arrive(key, 2, 60);
        assert_eq!([moments.of(key, 0), moments.of(key, 1), moments.of(key, 2)], [0, 70, 60]);
        assert_eq!(moments.of(Key::Named { cta: 1, id: 1 }, 2), 0);
    }
}
