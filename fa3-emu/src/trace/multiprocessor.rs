//! A multiprocessor: what of it is busy until when.

use super::cost::{Cost, Unit};

/// Schedulers of an SM; warp `w` of a CTA belongs to scheduler `w % 4`.
const SCHEDULERS: usize = 4;
/// Bytes that copies move in a cycle, in each direction.
const COPY_WIDTH: u64 = 64;
/// Cycles from a copy's last byte at the engine until the copy is complete.
const COPY_LATENCY: u64 = 700;

/// A scheduler and its units: when each is free.
#[derive(Clone, Copy, Debug, Default)]
struct Scheduler {
    issue: u64,
    units: [u64; Unit::OF_A_SCHEDULER],
}

/// When the parts of an SM are free.
#[derive(Clone, Debug, Default)]
pub(super) struct Multiprocessor {
    schedulers: [Scheduler; SCHEDULERS],
    memory: u64,
    tensor: u64,
    loads: u64,
    stores: u64,
}

/// When a copy is where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Copy {
    /// The engine begins.
    pub(super) start: u64,
    /// The engine has read the source.
    pub(super) read: u64,
    /// The bytes are at their destination.
    pub(super) complete: u64,
}

impl Multiprocessor {
    /// A warp issues an instruction at `now` or later; when.
    pub(super) fn issue(&mut self, warp: u32, now: u64, cost: Cost) -> u64 {
        let scheduler = &mut self.schedulers[warp as usize % SCHEDULERS];
        let unit = match cost.unit {
            Unit::Memory => &mut self.memory,
            unit => &mut scheduler.units[unit as usize],
        };
        let start = now.max(scheduler.issue).max(*unit);
        scheduler.issue = start + 1;
        *unit = start + cost.cycles;
        start
    }

    /// The tensor cores begin m64nNk16 at `now` or later; from when until when.
    pub(super) fn multiply(&mut self, now: u64, n: u32) -> (u64, u64) {
        let start = now.max(self.tensor);
        self.tensor = start + u64::from(n) / 2;
        (start, self.tensor)
    }

    /// A copy into shared memory begins at `now` or later.
    pub(super) fn load(&mut self, now: u64, bytes: u32) -> Copy {
        copy(&mut self.loads, now, bytes)
    }

    /// A copy out of shared memory begins at `now` or later.
    pub(super) fn store(&mut self, now: u64, bytes: u32) -> Copy {
        copy(&mut self.stores, now, bytes)
    }
}

fn copy(engine: &mut u64, now: u64, bytes: u32) -> Copy {
    let start = now.max(*engine);
    *engine = start + u64::from(bytes).div_ceil(COPY_WIDTH);
    Copy { start, read: *engine, complete: *engine + COPY_LATENCY }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPECIAL: Cost = Cost { unit: Unit::Special, cycles: 8, latency: 1 };
    const FLOAT: Cost = Cost { unit: Unit::Float, cycles: 1, latency: 1 };
    const MEMORY: Cost = Cost { unit: Unit::Memory, cycles: 4, latency: 1 };

    #[test]
    fn warps_of_one_scheduler_share_it() {
        let mut sm = Multiprocessor::default();
        assert_eq!([sm.issue(0, 10, FLOAT), sm.issue(4, 10, FLOAT), sm.issue(1, 10, FLOAT)], [10, 11, 10]);
        // The special unit is busy for eight cycles, the others go on.
        assert_eq!(
            [sm.issue(0, 20, SPECIAL), sm.issue(4, 20, FLOAT), sm.issue(8, 20, SPECIAL)],
            [20, 21, 28]
        );
        // Memory is one for all.
        assert_eq!([sm.issue(0, 40, MEMORY), sm.issue(1, 40, MEMORY)], [40, 44]);
    }

    #[test]
    fn engines_do_one_thing_at_a_time() {
        let mut sm = Multiprocessor::default();
        assert_eq!([sm.multiply(100, 256), sm.multiply(100, 128)], [(100, 228), (228, 292)]);
        let first = sm.load(0, 6400);
        assert_eq!(first, Copy { start: 0, read: 100, complete: 800 });
        assert_eq!(sm.load(0, 64), Copy { start: 100, read: 101, complete: 801 });
        assert_eq!(sm.store(0, 1).start, 0);
    }
}
