//! The sixteen named barriers of a CTA (PTX ISA, "bar, bar.cta, barrier, barrier.cta").

/// The number of named barriers.
pub const NAMED_BARRIERS: usize = 16;

/// An arrival that the barrier's state forbids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NamedBarrierError {
    /// No such barrier.
    #[error("named barrier {id}: 0 to 15 would do")]
    Id {
        /// The barrier.
        id: u32,
    },
    /// A number of threads that no barrier waits for.
    #[error("named barrier {id} for {threads} threads: a multiple of 32 from 32 up would do")]
    Threads {
        /// The barrier.
        id: u32,
        /// Threads that it is to wait for.
        threads: u32,
    },
    /// Those who meet at the barrier disagree on how many they are.
    #[error("named barrier {id} for {threads} threads, but those that arrived before wait for {others}")]
    Disagreement {
        /// The barrier.
        id: u32,
        /// Threads that it is to wait for.
        threads: u32,
        /// Threads that it waits for.
        others: u32,
    },
    /// More threads arrive than the barrier waits for.
    #[error("{arriving} threads arrive at named barrier {id}, where {arrived} of {threads} arrived before")]
    OverArrival {
        /// The barrier.
        id: u32,
        /// Threads that arrive.
        arriving: u32,
        /// Threads that arrived before.
        arrived: u32,
        /// Threads that it waits for.
        threads: u32,
    },
}

/// The named barriers of a CTA.
///
/// `bar.arrive` is an [arrival](Self::arrive); `bar.sync` is an arrival whose thread then waits until
/// the generation in which it arrived has [passed](Self::passed).
///
/// ```
/// use fa3_emu::engine::named::NamedBarriers;
/// let mut barriers = NamedBarriers::default();
/// let waiting = barriers.arrive(1, 64, 32)?;
/// assert!(!barriers.passed(1, waiting)?);
/// barriers.arrive(1, 64, 32)?;
/// assert!(barriers.passed(1, waiting)?);
/// # Ok::<(), fa3_emu::engine::named::NamedBarrierError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedBarriers {
    barriers: [Named; NAMED_BARRIERS],
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Named {
    generation: u64,
    arrived: u32,
    /// Threads that this generation waits for; meaningless before the first arrival.
    threads: u32,
}

impl NamedBarriers {
    /// `arriving` threads, such as a warp's 32, arrive at barrier `id`, which waits for `threads`. The
    /// generation that they arrived in.
    ///
    /// # Errors
    /// [`NamedBarrierError`]; the barrier is as before.
    pub fn arrive(&mut self, id: u32, threads: u32, arriving: u32) -> Result<u64, NamedBarrierError> {
        let index = usize::try_from(id).unwrap_or(usize::MAX);
        let barrier = self.barriers.get_mut(index).ok_or(NamedBarrierError::Id { id })?;
        if threads == 0 || !threads.is_multiple_of(32) {
            return Err(NamedBarrierError::Threads { id, threads });
        }
        let Named { generation, arrived, threads: others } = *barrier;
        if arrived != 0 && others != threads {
            return Err(NamedBarrierError::Disagreement { id, threads, others });
        }
        match arrived.checked_add(arriving) {
            Some(sum) if sum < threads => *barrier = Named { generation, arrived: sum, threads },
            Some(sum) if sum == threads => {
                *barrier = Named { generation: generation + 1, arrived: 0, threads };
            }
            _ => return Err(NamedBarrierError::OverArrival { id, arriving, arrived, threads }),
        }
        Ok(generation)
    }

    /// Whether all threads of `generation` have arrived at barrier `id`.
    ///
    /// # Errors
    /// [`NamedBarrierError::Id`].
    pub fn passed(&self, id: u32, generation: u64) -> Result<bool, NamedBarrierError> {
        let index = usize::try_from(id).unwrap_or(usize::MAX);
        let barrier = self.barriers.get(index).ok_or(NamedBarrierError::Id { id })?;
        Ok(barrier.generation > generation)
    }

    /// Barriers at which some threads have arrived and others are awaited: id, threads arrived,
    /// threads awaited in all.
    pub fn incomplete(&self) -> impl Iterator<Item = (usize, u32, u32)> {
        let barriers = self.barriers.iter().enumerate();
        barriers.filter(|(_, b)| b.arrived != 0).map(|(id, b)| (id, b.arrived, b.threads))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_producer_arrives_and_a_consumer_waits() {
        let mut barriers = NamedBarriers::default();
        // 128 threads arrive and go on; 128 others wait for them.
        for _ in 0..4 {
            assert_eq!(barriers.arrive(15, 256, 32), Ok(0));
        }
        let waiting: Vec<_> = (0..3).map(|_| barriers.arrive(15, 256, 32).unwrap()).collect();
        assert_eq!(barriers.passed(15, waiting[0]), Ok(false));
        assert_eq!(barriers.incomplete().collect::<Vec<_>>(), [(15, 224, 256)]);
        assert_eq!(barriers.arrive(15, 256, 32), Ok(0));
        assert!(waiting.iter().all(|&generation| barriers.passed(15, generation) == Ok(true)));
        // The next generation is another, and may wait for another number.
        assert_eq!(barriers.arrive(15, 64, 32), Ok(1));
        assert_eq!(barriers.passed(15, 1), Ok(false));
    }

    #[test]
    fn misuse_is_refused_and_changes_nothing() {
        let mut barriers = NamedBarriers::default();
        assert_eq!(barriers.arrive(16, 32, 32), Err(NamedBarrierError::Id { id: 16 }));
        assert_eq!(barriers.passed(u32::MAX, 0), Err(NamedBarrierError::Id { id: u32::MAX }));
        for threads in [0, 48] {
            assert_eq!(barriers.arrive(3, threads, 32), Err(NamedBarrierError::Threads { id: 3, threads }));
        }
        barriers.arrive(3, 64, 32).unwrap();
        let before = barriers.clone();
        let disagreement = NamedBarrierError::Disagreement { id: 3, threads: 96, others: 64 };
        assert_eq!(barriers.arrive(3, 96, 32), Err(disagreement));
        let over = NamedBarrierError::OverArrival { id: 3, arriving: 64, arrived: 32, threads: 64 };
        assert_eq!(barriers.arrive(3, 64, 64), Err(over));
        assert!(barriers.arrive(3, 64, u32::MAX).is_err());
        assert_eq!(barriers, before);
        assert_eq!(over.to_string(), "64 threads arrive at named barrier 3, where 32 of 64 arrived before");
    }

    proptest! {
        #[test]
        fn generations_are_the_arrivals_divided_by_the_threads(
            warps in 1_u32..8,
            arrivals in 0_u32..60,
            id in 0_u32..16,
        ) {
            let mut barriers = NamedBarriers::default();
            for arrival in 0..arrivals {
                let generation = barriers.arrive(id, 32 * warps, 32).unwrap();
                prop_assert_eq!(generation, u64::from(arrival / warps));
                let last = (arrival + 1).is_multiple_of(warps);
                prop_assert_eq!(barriers.passed(id, generation), Ok(last));
            }
            prop_assert_eq!(barriers.incomplete().count(), usize::from(!arrivals.is_multiple_of(warps)));
        }
    }
}
