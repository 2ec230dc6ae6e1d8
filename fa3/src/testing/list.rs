//! The list of cases.

use super::Case;
use super::covering::covering;
use super::dense::dense;
use super::large::large;
use super::named::{long_causal, named, paper};
use super::options::options;
use super::paths::paths;

/// Which part of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Set {
    /// The cases of [`Set::Full`] that cost next to nothing.
    Small,
    /// The cases of [`Set::Full`] that take an emulated GPU a moment, all of [`Set::Paths`], and a long one
    /// for each kernel that causal masks reach by nothing shorter.
    Emulated,
    /// bf16 and f16, d of 64, 128 and 256, causal and not, lengths around every tile size, in many
    /// arrangements.
    Dense,
    /// bf16 and f16, every head dimension that is a multiple of 8 up to 256 with dense batches, used keys
    /// and packed sequences of many lengths, and every two of masks, biases, scales, head counts,
    /// arrangements and distributions with each other and with these.
    Covering,
    /// The smallest inputs of errors that attention libraries are known to have had.
    Named,
    /// Every option, dtype and head dimension, in combination.
    Options,
    /// Long sequences, many of them, and many heads to a head of K and V.
    Large,
    /// Every way through each kernel, on short sequences: dense and ragged, one head a tile and several,
    /// scores as they are and edited, and every kind of mask.
    Paths,
    /// [`Set::Dense`], [`Set::Covering`], [`Set::Named`], [`Set::Options`], [`Set::Large`] and
    /// [`Set::Paths`].
    Full,
    /// The FlashAttention-3 paper's accuracy experiment: f16, outliers, 4 heads of 2,048 tokens. The
    /// bound on its root mean square error is 10⁻⁴.
    Paper,
}

/// The cases of a set, always the same and in the same order.
///
/// ```
/// use fa3::testing::{Set, cases};
/// let dense = cases(Set::Dense);
/// assert!(dense.len() >= 320 && dense.iter().all(|case| case.lse || !case.sinks));
/// ```
pub fn cases(set: Set) -> Vec<Case> {
    match set {
        Set::Small => cases(Set::Full).into_iter().filter(|case| case.products() <= SMALL).collect(),
        Set::Emulated => {
            let always = [long_causal(), paths()].concat();
            let full = cases(Set::Full).into_iter();
            full.filter(|case| whole_tiles(case) <= EMULATED || always.contains(case)).collect()
        }
        Set::Dense => dense(),
        Set::Covering => covering(),
        Set::Named => named(),
        Set::Options => options(),
        Set::Large => large(),
        Set::Paths => paths(),
        Set::Full => [dense(), covering(), named(), options(), large(), paths()].concat(),
        Set::Paper => paper(),
    }
}

/// Multiplications of a small case.
const SMALL: usize = 1 << 22;

/// Multiplications of a case that is emulated, in whole tiles.
const EMULATED: usize = 3 << 23;

/// Multiplications of a case in tiles of 128 queries, 128 keys and 64 columns, which kernels work on
/// whole. Few queries of a group of heads share a tile.
pub(super) fn whole_tiles(case: &Case) -> usize {
    let tiles = |length: usize| length.next_multiple_of(128);
    let group = case.heads_q.checked_div(case.heads_k).unwrap_or(0);
    let rows = |queries: usize| {
        let (alone, together) = (case.heads_q * tiles(queries), case.heads_k * tiles(queries * group));
        if queries < 64 { together } else { alone }
    };
    let sequences = case.lengths_of_sequences();
    let pairs: usize = sequences.iter().map(|&(queries, keys)| rows(queries) * tiles(keys)).sum();
    pairs * (case.d.next_multiple_of(64) + case.dv.next_multiple_of(64))
}

/// An entry of a list that is walked in steps of its own, so that few cases share several.
pub(super) fn cycle<T: Copy, const N: usize>(list: [T; N], step: usize) -> T {
    list[step % N]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::testing::Need;

    #[test]
    fn no_two_cases_are_equal() {
        let full = cases(Set::Full);
        let lines: BTreeSet<_> = full.iter().map(Case::to_string).collect();
        assert_eq!(lines.len(), full.len());
        assert!(
            lines.iter().all(|line| line.len() <= 250),
            "{:?}",
            lines.iter().max_by_key(|line| line.len())
        );
        let names: BTreeSet<_> = full.iter().map(|case| &case.name).filter(|name| !name.is_empty()).collect();
        assert_eq!(names.len(), cases(Set::Named).len());
    }

    #[test]
    fn the_smaller_half_is_emulated_and_costs_little() {
        let (full, emulated) = (cases(Set::Full), cases(Set::Emulated));
        assert!(2 * emulated.len() >= full.len(), "{} of {}", emulated.len(), full.len());
        // Half a second for 2^26, under three orders and all checks.
        let cost: usize = emulated.iter().map(whole_tiles).sum();
        assert!(cost <= 480 << 26, "{} tiles of 512 x 512 x 128", cost >> 26);
        let dims = |list: &[Case]| -> BTreeSet<_> { list.iter().map(|case| (case.d, case.dv)).collect() };
        assert_eq!(dims(&emulated), dims(&full));
    }

    #[test]
    fn every_need_occurs() {
        use Need::*;
        let found: BTreeSet<_> = cases(Set::Full).iter().flat_map(Case::needs).collect();
        let all = [
            F32,
            HeadDim,
            OtherHeadDim,
            UsedKeys,
            Packed,
            Window,
            Softcap,
            Sinks,
            Alibi,
            NonPositiveScale,
            UnalignedStrides,
            ZeroStride,
            EmptyOutput,
            EmptyKeys,
        ];
        assert!(all.iter().all(|need| found.contains(need)), "{found:?}");
    }
}
