//! The barrier of a thread-block cluster (PTX ISA, "barrier.cluster").

/// More threads than the cluster has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{threads} threads arrive at or leave a cluster barrier that {arrived} of {live} threads have reached: \
     a thread arrives once before it waits"
)]
pub struct ClusterBarrierError {
    /// Threads that arrive or exit.
    pub threads: u32,
    /// Threads that arrived before.
    pub arrived: u32,
    /// Threads of the cluster that have not exited.
    pub live: u32,
}

/// The cluster's barrier, which waits for every thread of the cluster that has not exited.
///
/// ```
/// use fa3_emu::engine::cluster::ClusterBarrier;
/// let mut barrier = ClusterBarrier::new(2 * 128);
/// let phase = barrier.arrive(128)?;
/// assert!(!barrier.passed(phase));
/// barrier.arrive(128)?;
/// assert!(barrier.passed(phase));
/// # Ok::<(), fa3_emu::engine::cluster::ClusterBarrierError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterBarrier {
    live: u32,
    arrived: u32,
    phase: u64,
}

impl ClusterBarrier {
    /// The barrier of a cluster of `threads` threads.
    pub const fn new(threads: u32) -> Self {
        Self { live: threads, arrived: 0, phase: 0 }
    }

    /// `threads` threads arrive. The phase that they arrived in, which
    /// [`barrier.cluster.wait`](Self::passed) waits for.
    ///
    /// # Errors
    /// [`ClusterBarrierError`] when that is more than the phase still waits for; the barrier is as
    /// before.
    pub fn arrive(&mut self, threads: u32) -> Result<u64, ClusterBarrierError> {
        self.check(threads)?;
        let phase = self.phase;
        self.arrived += threads;
        self.advance();
        Ok(phase)
    }

    /// `threads` threads exit, which have not arrived in the current phase; nobody waits for them any
    /// longer.
    ///
    /// # Errors
    /// [`ClusterBarrierError`] when that is more than the phase still waits for; the barrier is as
    /// before.
    pub fn exit(&mut self, threads: u32) -> Result<(), ClusterBarrierError> {
        self.check(threads)?;
        self.live -= threads;
        self.advance();
        Ok(())
    }

    /// Whether every thread has arrived in `phase`.
    pub const fn passed(&self, phase: u64) -> bool {
        self.phase > phase
    }

    /// Threads that arrived in the current phase, and threads it waits for in all.
    pub const fn progress(&self) -> (u32, u32) {
        (self.arrived, self.live)
    }

    fn check(&self, threads: u32) -> Result<(), ClusterBarrierError> {
        let Self { arrived, live, .. } = *self;
        if threads > live - arrived { Err(ClusterBarrierError { threads, arrived, live }) } else { Ok(()) }
    }

    fn advance(&mut self) {
        if self.arrived == self.live && self.arrived != 0 {
            self.arrived = 0;
            self.phase += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_follow_each_other() {
        let mut barrier = ClusterBarrier::new(64);
        assert_eq!(barrier.arrive(32), Ok(0));
        assert_eq!(barrier.progress(), (32, 64));
        assert_eq!(barrier.arrive(32), Ok(0));
        assert!(barrier.passed(0) && !barrier.passed(1));
        assert_eq!(barrier.arrive(32), Ok(1));
        assert_eq!(barrier.arrive(32), Ok(1));
        assert!(barrier.passed(1));
    }

    #[test]
    fn exited_threads_are_not_awaited() {
        let mut barrier = ClusterBarrier::new(96);
        barrier.arrive(32).unwrap();
        barrier.exit(32).unwrap();
        assert!(!barrier.passed(0));
        barrier.exit(32).unwrap();
        assert!(barrier.passed(0), "the last one awaited has exited");
        assert_eq!(barrier.progress(), (0, 32));
        barrier.exit(32).unwrap();
        assert_eq!(barrier, ClusterBarrier { live: 0, arrived: 0, phase: 1 });
    }

    #[test]
    fn a_second_arrival_is_refused() {
        let mut barrier = ClusterBarrier::new(64);
        barrier.arrive(32).unwrap();
        let error = ClusterBarrierError { threads: 64, arrived: 32, live: 64 };
        assert_eq!(barrier.arrive(64), Err(error));
        assert_eq!(barrier.exit(64), Err(error));
        assert_eq!(barrier.progress(), (32, 64));
        assert!(error.to_string().contains("arrives once before it waits"));
    }
}
