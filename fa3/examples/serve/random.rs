//! Standard normal numbers, fast: every thread fills its part with a generator of its own.

use std::thread;

use fa3::Element;
use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;
use rand_pcg::Pcg64Mcg;

/// `len` standard normal numbers, decided by `seed` whatever the number of threads.
pub fn normal<T: Element>(len: usize, seed: u64) -> Vec<T> {
    /// Numbers a generator: small enough to share out, large enough to be worth seeding.
    const PART: usize = 1 << 16;
    let mut data = vec![T::default(); len];
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let parts = len.div_ceil(PART).div_ceil(threads).max(1);
    thread::scope(|scope| {
        for (worker, share) in data.chunks_mut(parts * PART).enumerate() {
            scope.spawn(move || {
                for (n, part) in share.chunks_mut(PART).enumerate() {
                    let stream = (worker * parts + n) as u64;
                    let mut generator =
                        Pcg64Mcg::seed_from_u64(seed ^ stream.wrapping_mul(0x9e37_79b9_7f4a_7c15));
                    part.fill_with(|| T::from_f32(generator.sample(StandardNormal)));
                }
            });
        }
    });
    data
}
