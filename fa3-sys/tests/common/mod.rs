//! Random tensor maps: legal ones, and ones at a chosen rule's limit.
//!
//! Shared by the test that counts them, which needs no GPU, and the one that compares the driver's
//! verdict on each with ours.

#![allow(dead_code, unused_imports, reason = "each test program uses its part")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "clippy sees no test in a test's helpers")]

mod aim;
mod args;
mod draw;
mod near;
mod parse;
mod report;
mod traits;

pub(crate) use aim::{Side, aim};
pub(crate) use args::{Args, Columns, Verdict};
pub(crate) use draw::{Wish, legal};
pub(crate) use near::{needs_blackwell, side_counted};
pub(crate) use parse::parse;
pub(crate) use report::{Answer, lines, report};

use fa3_sys::Arch;
use fa3_sys::tensormap::Rule;
use rand::SeedableRng;
use rand::seq::IndexedRandom;
use rand_pcg::Pcg64Mcg;

/// The seed of the suite.
pub(crate) const SEED: u64 = 0x7e50_4d41;
/// How many descriptions the suite has.
pub(crate) const CASES: usize = 10_000;
/// How many descriptions lie on each side of each rule's limit, at least.
pub(crate) const PER_SIDE: usize = 120;
/// How many descriptions break two rules or more, at most.
const TANGLED: usize = 500;
/// How many boxes have a multiple of 2^32 bytes.
const DIVIDED: usize = 20;

/// The rules that the driver can be asked about: every one but that on the arrays' lengths, of
/// which it sees nothing.
pub(crate) fn rules() -> impl Iterator<Item = Rule> {
    Rule::ALL.into_iter().filter(|&rule| rule != Rule::Lengths)
}

/// The suite: for each rule both sides of its limit, some descriptions that break two rules, some
/// boxes of very many bytes, and legal ones for the rest.
pub(crate) fn suite(seed: u64) -> Vec<Args> {
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    let mut suite = Vec::with_capacity(CASES);
    for rule in rules() {
        for side in [Side::Legal, Side::Illegal] {
            suite.extend((0..PER_SIDE).map(|_| aim(&mut rng, rule, side)));
        }
    }
    let all: Vec<_> = rules().collect();
    for _ in 0..TANGLED {
        let rule = *all.choose(&mut rng).unwrap();
        let mut args = aim(&mut rng, rule, Side::Illegal);
        let other = legal(&mut rng, &Wish::default());
        args.interleave = other.interleave;
        args.swizzle = other.swizzle;
        args.data_type = other.data_type;
        suite.push(args);
    }
    suite.extend((0..DIVIDED).map(|_| aim::divided_by_2_to_the_32(&mut rng)));
    while suite.len() < CASES {
        suite.push(legal(&mut rng, &Wish::default()));
    }
    suite
}

/// The architecture whose verdicts are compared where there is no device to ask.
pub(crate) const ARCH: Arch = Arch::Sm90a;
