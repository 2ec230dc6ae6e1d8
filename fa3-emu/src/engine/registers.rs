//! The registers of a CTA's warps, and those that none of them holds (PTX ISA, "setmaxnreg").

/// Registers of a multiprocessor (CUDA programming guide, "Technical Specifications per Compute
/// Capability").
const REGISTERS: u32 = 65536;
/// Registers of a thread at most, in the multiples that they are allocated in.
const MOST: u32 = 248;
/// Threads of a warp.
const WARP: u32 = 32;
/// Warps of a warpgroup.
const GROUP: usize = 4;

/// A change that the pool's state forbids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// A decrease to more than there are.
    #[error("setmaxnreg.dec to {count} registers of a warp that has {held}: at most {held} would do")]
    Decrease {
        /// Registers of each thread asked for.
        count: u32,
        /// Those it has.
        held: u32,
    },
    /// An increase to fewer than there are.
    #[error("setmaxnreg.inc to {count} registers of a warp that has {held}: at least {held} would do")]
    Increase {
        /// Registers of each thread asked for.
        count: u32,
        /// Those it has.
        held: u32,
    },
    /// Warps of a warpgroup that execute different changes.
    #[error(
        "setmaxnreg to {count} registers, where another warp of the warpgroup executed one to {other}: all \
         four must execute the same"
    )]
    Disagreement {
        /// Registers of each thread asked for.
        count: u32,
        /// What the other warp asked for.
        other: u32,
    },
    /// A change that only some warps of a warpgroup have executed, at their end.
    #[error(
        "warpgroup {warpgroup} ends, and only some of its warps have executed setmaxnreg to {count} \
         registers: all four must"
    )]
    Missing {
        /// The warpgroup in its CTA.
        warpgroup: usize,
        /// Registers of each thread asked for.
        count: u32,
    },
}

/// The registers of a CTA. It starts with as many for each thread as a multiprocessor has for that many
/// threads, in multiples of eight, 248 at most; none are left over.
///
/// ```
/// use fa3_emu::engine::registers::RegisterPool;
/// // Three warpgroups of 168 registers a thread: two may have 240 when the third has 24.
/// let mut pool = RegisterPool::new(12);
/// assert_eq!(pool.held(0), 168);
/// assert!(!pool.change(4, true, 240)?, "none are free yet");
/// for producer in 0..4 {
///     assert!(pool.change(producer, false, 24)?);
/// }
/// for consumer in 4..12 {
///     assert!(pool.change(consumer, true, 240)?);
/// }
/// assert_eq!(pool.free(), 0);
/// # Ok::<(), fa3_emu::engine::registers::RegisterError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterPool {
    free: u32,
    warps: Vec<Held>,
    /// By warpgroup, the changes that its first warp to do so executed.
    changes: Vec<Vec<(bool, u32)>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Held {
    /// Of each thread.
    registers: u32,
    /// Changes executed.
    changes: usize,
}

impl RegisterPool {
    /// The registers of a CTA of `warps` warps.
    pub fn new(warps: usize) -> Self {
        let threads = u32::try_from(warps).unwrap_or(u32::MAX).saturating_mul(WARP).max(WARP);
        let registers = (REGISTERS / threads / 8 * 8).min(MOST);
        Self {
            free: 0,
            warps: vec![Held { registers, changes: 0 }; warps],
            changes: vec![Vec::new(); warps.div_ceil(GROUP)],
        }
    }

    /// Registers of each thread of a warp; none if there is no such warp.
    pub fn held(&self, warp: usize) -> u32 {
        self.warps.get(warp).map_or(0, |held| held.registers)
    }

    /// Registers that no warp holds.
    pub const fn free(&self) -> u32 {
        self.free
    }

    /// A warp changes to `count` registers of each thread. Whether there were enough for an increase; if
    /// not, nothing has changed.
    ///
    /// # Errors
    /// [`RegisterError`]; nothing has changed.
    pub fn change(&mut self, warp: usize, increase: bool, count: u32) -> Result<bool, RegisterError> {
        let (Some(held), Some(changes)) = (self.warps.get_mut(warp), self.changes.get_mut(warp / GROUP))
        else {
            return Ok(true);
        };
        if let Some(&other) = changes.get(held.changes)
            && other != (increase, count)
        {
            return Err(RegisterError::Disagreement { count, other: other.1 });
        }
        match increase {
            true if count < held.registers => {
                return Err(RegisterError::Increase { count, held: held.registers });
            }
            false if count > held.registers => {
                return Err(RegisterError::Decrease { count, held: held.registers });
            }
            _ => {}
        }
        let available = self.free.saturating_add(held.registers.saturating_mul(WARP));
        let Some(free) = available.checked_sub(count.saturating_mul(WARP)) else { return Ok(false) };
        self.free = free;
        if changes.len() == held.changes {
            changes.push((increase, count));
        }
        *held = Held { registers: count, changes: held.changes + 1 };
        Ok(true)
    }

    /// That every warp of each warpgroup has executed the same changes, at their end.
    ///
    /// # Errors
    /// [`RegisterError::Missing`].
    pub fn check_complete(&self) -> Result<(), RegisterError> {
        for (warpgroup, (warps, changes)) in self.warps.chunks(GROUP).zip(&self.changes).enumerate() {
            let missing = warps.iter().find_map(|held| changes.get(held.changes));
            if let Some(&(_, count)) = missing {
                return Err(RegisterError::Missing { warpgroup, count });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cta_starts_with_what_a_multiprocessor_has() {
        let held = |warps| RegisterPool::new(warps).held(0);
        assert_eq!([4, 8, 12, 16, 32].map(held), [248, 248, 168, 128, 64]);
    }

    #[test]
    fn changes_in_the_wrong_direction_are_refused() {
        let mut pool = RegisterPool::new(12);
        assert_eq!(pool.change(0, false, 176), Err(RegisterError::Decrease { count: 176, held: 168 }));
        assert_eq!(pool.change(0, true, 160), Err(RegisterError::Increase { count: 160, held: 168 }));
        assert_eq!(pool.change(0, true, 168), Ok(true));
        assert_eq!(pool.change(4, false, 168), Ok(true));
        assert_eq!((pool.held(0), pool.free()), (168, 0));
    }

    #[test]
    fn a_warpgroup_executes_one_change_in_all_its_warps() {
        let mut pool = RegisterPool::new(8);
        assert_eq!(pool.change(0, false, 40), Ok(true));
        assert_eq!(pool.change(1, false, 48), Err(RegisterError::Disagreement { count: 48, other: 40 }));
        assert_eq!(pool.check_complete(), Err(RegisterError::Missing { warpgroup: 0, count: 40 }));
        for warp in 1..4 {
            assert_eq!(pool.change(warp, false, 40), Ok(true));
        }
        assert_eq!(pool.check_complete(), Ok(()));
        assert_eq!(pool.free(), 4 * 32 * (248 - 40));
    }

    #[test]
    fn an_increase_takes_what_is_free_and_no_more() {
        let mut pool = RegisterPool::new(16);
        for warp in 0..4 {
            assert_eq!(pool.change(warp, false, 32), Ok(true));
        }
        assert_eq!(pool.change(4, true, 256), Ok(true));
        assert_eq!(pool.free(), 4 * 32 * 96 - 32 * 128);
        for (warp, enough) in [(5, true), (6, true), (7, false)] {
            assert_eq!(pool.change(warp, true, 256), Ok(enough));
        }
        assert_eq!((pool.held(7), pool.free()), (128, 0));
    }
}
