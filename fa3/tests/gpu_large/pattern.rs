//! A tensor of any size that a few elements determine: they repeat.

use half::bf16;

/// How many elements repeat: a prime, so that a wrong offset meets other elements, however round it is.
const PERIOD: usize = 1_000_003;

/// Elements in [−2, 2), repeated.
pub struct Pattern {
    elements: Vec<bf16>,
}

impl Pattern {
    pub fn new() -> Self {
        let mut state = 88_172_645_463_325_252u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            bf16::from_f32((state >> 40) as f32 / (1 << 22) as f32 - 2.0)
        };
        Self { elements: (0..PERIOD).map(|_| next()).collect() }
    }

    /// What repeats, from its element number `start` on.
    pub fn period(&self, start: usize) -> Vec<bf16> {
        let (before, after) = self.elements.split_at(start % PERIOD);
        [after, before].concat()
    }

    /// `len` elements from `offset` on, of a tensor that begins with element number `start`.
    pub fn append(&self, to: &mut Vec<bf16>, start: usize, offset: usize, len: usize) {
        let at = (start + offset) % PERIOD;
        let whole = self.elements.get(at..at + len);
        match whole {
            Some(whole) => to.extend_from_slice(whole),
            None => to.extend((at..at + len).map(|at| self.elements[at % PERIOD])),
        }
    }
}
