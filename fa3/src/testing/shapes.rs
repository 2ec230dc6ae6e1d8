//! The lengths of sequences that cases are made of: around the edges of tiles (64, 80, 96, 112, 128 and
//! 192), one or several tiles, more queries than keys and the reverse; and for ragged batches nothing at
//! the beginning, in between, at the end and several times in a row.

use super::{Case, Lengths};

/// The lengths of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Batch entries, and the queries and keys of each.
    Dense(usize, usize, usize),
    /// Queries and keys of a batch entry, and how many of the keys each uses.
    UsedKeys(usize, usize, &'static [i32]),
    /// The queries and the keys of each packed sequence.
    Packed(&'static [i32], &'static [i32]),
}

use Shape::{Dense, Packed, UsedKeys};

pub(super) const SHAPES: [Shape; 54] = [
    Dense(1, 1, 1),
    Dense(4, 1, 65),
    Dense(2, 1, 300),
    Dense(3, 2, 96),
    Dense(1, 3, 193),
    Dense(2, 5, 80),
    Dense(1, 7, 113),
    Dense(1, 9, 20),
    Dense(2, 16, 97),
    Dense(1, 17, 63),
    Dense(1, 63, 17),
    Dense(1, 64, 64),
    Dense(1, 65, 112),
    Dense(2, 64, 80),
    Dense(1, 79, 81),
    Dense(1, 81, 95),
    Dense(1, 96, 128),
    Dense(1, 97, 79),
    Dense(1, 111, 192),
    Dense(1, 113, 111),
    Dense(1, 127, 129),
    Dense(1, 128, 127),
    Dense(1, 129, 64),
    Dense(1, 130, 260),
    Dense(1, 191, 193),
    Dense(1, 192, 96),
    Dense(1, 193, 191),
    Dense(1, 30, 0),
    UsedKeys(1, 200, &[199, 64, 0, 1]),
    UsedKeys(4, 100, &[0, 0, 100, 99]),
    UsedKeys(16, 193, &[192, 193]),
    UsedKeys(33, 130, &[130, 0, 7]),
    UsedKeys(64, 81, &[80, 0, 0, 81]),
    UsedKeys(2, 129, &[80, 95, 96, 111, 112, 128, 129]),
    UsedKeys(64, 90, &[0, 0]),
    UsedKeys(100, 200, &[127]),
    UsedKeys(130, 65, &[64, 65]),
    UsedKeys(5, 40, &FORTY),
    Packed(&[1], &[1]),
    Packed(&[100], &[130]),
    Packed(&[0, 65], &[0, 70]),
    Packed(&[65, 0], &[64, 0]),
    Packed(&[64, 0, 0, 65], &[80, 0, 0, 81]),
    Packed(&[0, 0, 5, 0, 0, 130, 0, 0], &[0, 0, 96, 0, 0, 97, 0, 0]),
    Packed(&[0, 40, 20], &[30, 50, 0]),
    Packed(&[40, 0, 1], &[0, 30, 128]),
    Packed(&[63, 64, 65], &[65, 64, 63]),
    Packed(&[127, 1, 129], &[128, 112, 111]),
    Packed(&[95, 96], &[192, 193]),
    Packed(&[80, 113], &[20, 10]),
    Packed(&[1, 1, 1, 1, 1, 1, 1], &[1, 64, 65, 128, 3, 0, 200]),
    Packed(&[1, 1, 100, 1, 7], &[300, 20, 100, 128, 7]),
    Packed(&[2, 16, 3, 8], &[79, 16, 1, 191]),
    Packed(&FORTY, &FORTY),
];

/// The lengths of forty short sequences.
const FORTY: [i32; 40] = [
    0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 12, 7, 30, 0, 0, 0, 0, 0, 0, 0, 0, 40, 17, 2, 2, 2, 2, 2, 2,
    2, 2, 2, 0, 0, 0,
];

/// From the lengths of sequences to where each begins, and the end.
pub(super) fn cumulative(lengths: &[i32]) -> Vec<i32> {
    let mut end = 0;
    let ends = lengths.iter().map(|length| {
        end += length;
        end
    });
    core::iter::once(0).chain(ends).collect()
}

impl Shape {
    /// The case with these lengths.
    pub(super) fn of(self, case: Case) -> Case {
        let total = |lengths: &[i32]| lengths.iter().map(|&length| length as usize).sum();
        match self {
            Dense(batch, sq, sk) => Case { batch, sq, sk, lengths: Lengths::Dense, ..case },
            UsedKeys(sq, sk, used) => {
                Case { batch: used.len(), sq, sk, lengths: Lengths::UsedKeys(used.to_vec()), ..case }
            }
            Packed(q, k) => {
                let lengths = Lengths::Packed { cu_q: cumulative(q), cu_k: cumulative(k) };
                Case { batch: 1, sq: total(q), sk: total(k), lengths, ..case }
            }
        }
    }

    /// Which of six kinds it is of: dense, used keys or packed, with few queries a sequence or many.
    pub(super) fn kind(self) -> usize {
        let few = |queries: usize| usize::from(queries <= FEW);
        match self {
            Dense(_, sq, _) => few(sq),
            UsedKeys(sq, ..) => 2 + few(sq),
            Packed(q, _) => 4 + few(q.iter().copied().max().unwrap_or(0) as usize),
        }
    }
}

/// How many kinds of shapes there are.
pub(super) const KINDS: usize = 6;

/// So few queries of one head leave most of a tile empty.
const FEW: usize = 16;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn sequences_are_on_and_around_the_edges_of_tiles() {
        let found = |of: fn(&(usize, usize)) -> usize| -> BTreeSet<usize> {
            let sequences = SHAPES.iter().flat_map(|shape| shape.of(Case::default()).lengths_of_sequences());
            sequences.map(|lengths| of(&lengths)).collect()
        };
        let (queries, keys) = (found(|lengths| lengths.0), found(|lengths| lengths.1));
        for edge in [64, 80, 96, 112, 128, 192] {
            assert!((edge - 1..=edge + 1).all(|length| keys.contains(&length)), "{edge}: {keys:?}");
        }
        for edge in [64, 128, 192] {
            assert!((edge - 1..=edge + 1).all(|length| queries.contains(&length)), "{edge}: {queries:?}");
        }
        assert!((0..=3).all(|length| queries.contains(&length) && keys.contains(&length)));
    }

    #[test]
    fn empty_sequences_are_everywhere() {
        let ragged = SHAPES.iter().map(|shape| shape.of(Case::default()).lengths_of_sequences());
        let keys: Vec<Vec<usize>> =
            ragged.map(|sequences| sequences.into_iter().map(|(_, keys)| keys).collect()).collect();
        let some = |of: &dyn Fn(&[usize]) -> bool| keys.iter().any(|keys| of(keys));
        assert!(some(&|keys| keys.len() > 1 && keys[0] == 0 && keys.iter().any(|&n| n > 0)));
        assert!(some(&|keys| keys.len() > 1 && keys[0] > 0 && keys[keys.len() - 1] == 0));
        assert!(some(&|keys| keys.windows(4).any(|n| n[0] > 0 && n[1] == 0 && n[2] == 0 && n[3] > 0)));
        assert!(some(&|keys| keys.len() > 1 && keys.iter().all(|&n| n == 0)));
        assert!(some(&|keys| keys.len() == 40));
        let kinds: BTreeSet<usize> = SHAPES.iter().map(|shape| shape.kind()).collect();
        assert_eq!(kinds.into_iter().collect::<Vec<_>>(), (0..KINDS).collect::<Vec<_>>());
    }
}
