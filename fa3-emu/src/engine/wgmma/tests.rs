use half::{bf16, f16};
use proptest::prelude::*;

use super::*;
use crate::engine::swizzle::Swizzle;
use crate::ir::mma::OperandTy;

/// The shapes that the kernels have, the extremes, and one that is no multiple of 16.
const COLUMNS: [usize; 7] = [8, 24, 64, 80, 128, 192, 256];

/// The fields of a descriptor.
fn bits(start: usize, leading: usize, stride: usize, swizzle: Swizzle) -> u64 {
    let swizzle = match swizzle {
        Swizzle::None => 0,
        Swizzle::Bytes128 => 1,
        Swizzle::Bytes64 => 2,
        Swizzle::Bytes32 => 3,
    };
    (swizzle << 62) | (stride as u64 >> 4) << 32 | (leading as u64 >> 4) << 16 | start as u64 >> 4
}

#[test]
fn descriptors_decode_to_their_fields() {
    let found = Descriptor::decode(bits(0x2_4680, 0x3_fff0, 0x400, Swizzle::Bytes64)).unwrap();
    assert_eq!((found.start, found.leading, found.stride), (0x2_4680, 0x3_fff0, 0x400));
    assert_eq!(found.swizzle, Swizzle::Bytes64);
    let stray = 1 << 14 | 1;
    assert_eq!(Descriptor::decode(stray), Err(WgmmaError::Reserved { descriptor: stray, bits: 1 << 14 }));
    let based = 5 << 49;
    assert_eq!(Descriptor::decode(based), Err(WgmmaError::BaseOffset { descriptor: based, offset: 5 }));
}

#[test]
fn chunks_lie_where_the_kernels_put_them() {
    // A K-major tile as TMA's 128-byte swizzle leaves it, stepped by 32 bytes: row 9, elements 8–15 of
    // the second step, are chunk 3 of the row, which lies at place 3 ^ 1.
    let scores = Descriptor::decode(bits(0x800 + 32, 0, 1024, Swizzle::Bytes128)).unwrap();
    assert_eq!(scores.chunk(Major::K, 1, 9), 0x800 + 1024 + 128 + 16 * (3 ^ 1));
    // An MN-major one of 96 tokens: token 11, columns 80–87, the third chunk of the second panel,
    // at place 2 ^ 3 of row 3.
    let values = Descriptor::decode(bits(0x800, 96 * 128, 1024, Swizzle::Bytes128)).unwrap();
    assert_eq!(values.chunk(Major::Mn, 10, 11), 0x800 + 96 * 128 + 1024 + 3 * 128 + 16);
    // Unswizzled core matrices of 8 rows of 16 bytes.
    let plain = Descriptor::decode(bits(0x100, 256, 4096, Swizzle::None)).unwrap();
    assert_eq!(plain.chunk(Major::K, 1, 17), 0x100 + 256 + 2 * 4096 + 16);
    assert_eq!(plain.chunk(Major::Mn, 2, 9), 0x100 + 2 * 4096 + 256 + 16);
}

#[test]
fn fragments_cover_the_accumulator_once() {
    let mut sums = Accumulator::new(24).unwrap();
    for warp in 0..4 {
        for register in 0..12 {
            let name = |lane: usize| ((1000 * warp + 32 * register + lane) as f32).to_bits();
            sums.set(warp, register, &std::array::from_fn(name)).unwrap();
        }
    }
    for row in 0..M {
        for column in 0..24 {
            let (warp, lane) = (row / 16, row % 8 * 4 + column % 8 / 2);
            let register = column / 8 * 4 + row % 16 / 8 * 2 + column % 2;
            assert_eq!(sums.at(row, column), Some((1000 * warp + 32 * register + lane) as f32));
        }
    }
    assert_eq!(sums.get(3, 11).unwrap()[31], (3000.0_f32 + 352.0 + 31.0).to_bits());
    assert_eq!((sums.at(64, 0), sums.at(0, 24)), (None, None));
    let refused = |warp, register| WgmmaError::Fragment { warp, register, registers: 12 };
    assert_eq!(sums.get(4, 0), Err(refused(4, 0)));
    assert_eq!(sums.set(0, 12, &[0; 32]), Err(refused(0, 12)));
}

#[test]
fn shapes_that_do_not_exist_or_match_are_refused() {
    for n in [0, 4, 12, 264, usize::MAX] {
        assert_eq!(Accumulator::new(n), Err(WgmmaError::Columns { n }));
    }
    let descriptor = Descriptor::decode(bits(0, 128, 256, Swizzle::None)).unwrap();
    let b = |n| MatrixB::from_shared(OperandTy::F16, n, &descriptor, Major::K, &[0; 1024]);
    assert_eq!(b(20), Err(WgmmaError::Columns { n: 20 }));
    let a = MatrixA::from_registers(OperandTy::F16, |_, _| &[0; 32]);
    let refused = Accumulator::new(8).unwrap().add_product(&a, &b(16).unwrap());
    assert_eq!(refused, Err(WgmmaError::Shapes { accumulator: 8, n: 16 }));
    assert!(matches!(b(40), Err(WgmmaError::Shared { source, .. }) if source.address == 1024));
}

/// A matrix's elements as the kernel means them, by (contraction, other dimension).
struct Plain {
    other: usize,
    bits: Vec<u16>,
}

impl Plain {
    /// Small numbers, exact in either type, drawn from `seed`; their sums of products are exact in f32.
    fn new(operand: OperandTy, other: usize, mut seed: u64) -> Self {
        let next = |_| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let value = ((seed >> 40) % 17) as f32 * 0.25 - 2.0;
            match operand {
                OperandTy::F16 => f16::from_f32(value).to_bits(),
                OperandTy::Bf16 => bf16::from_f32(value).to_bits(),
            }
        };
        Self { other, bits: (0..K * other).map(next).collect() }
    }

    fn bits(&self, k: usize, other: usize) -> u16 {
        self.bits[k * self.other + other]
    }

    fn value(&self, operand: OperandTy, k: usize, other: usize) -> f64 {
        match operand {
            OperandTy::F16 => f16::from_bits(self.bits(k, other)).to_f64(),
            OperandTy::Bf16 => bf16::from_bits(self.bits(k, other)).to_f64(),
        }
    }

    /// The matrix in shared memory at `start`, element by element as the ISA's canonical layouts draw
    /// it, and its descriptor.
    fn in_shared(&self, major: Major, swizzle: Swizzle, start: usize) -> (Vec<u8>, u64) {
        let span = swizzle.span_bytes();
        let (contiguous, others) = match major {
            Major::K => (K, self.other),
            Major::Mn => (self.other, K),
        };
        // Atoms of eight rows of `span` bytes: first all along the rows, then across, with a gap.
        let along = 8 * span;
        let across = (others.div_ceil(8) + 1) * along;
        let mut shared = vec![0xff; start + (contiguous * 2).div_ceil(span) * across];
        for k in 0..K {
            for other in 0..self.other {
                let (c, o) = if major == Major::K { (k, other) } else { (other, k) };
                let row = start + o / 8 * along + o % 8 * span + 2 * c / span * across;
                let at = swizzle.apply(row + 2 * c % span);
                shared[at..at + 2].copy_from_slice(&self.bits(k, other).to_le_bytes());
            }
        }
        let swapped = major == Major::Mn && swizzle == Swizzle::None;
        let (leading, stride) = if swapped { (along, across) } else { (across, along) };
        (shared, bits(start, leading, stride, swizzle))
    }

    /// The fragment of A in registers, by warp and register.
    fn in_registers(&self) -> [[[u32; 32]; 4]; 4] {
        std::array::from_fn(|warp| {
            std::array::from_fn(|register| {
                std::array::from_fn(|lane| {
                    // The pair's elements a(2·register) and the next, by the ISA's formula.
                    let row = 16 * warp + lane / 4 + if register % 2 == 1 { 8 } else { 0 };
                    let column = lane % 4 * 2 + if register >= 2 { 8 } else { 0 };
                    u32::from(self.bits(column, row)) | u32::from(self.bits(column + 1, row)) << 16
                })
            })
        })
    }
}

fn operand() -> impl Strategy<Value = OperandTy> {
    prop::sample::select(vec![OperandTy::F16, OperandTy::Bf16])
}

fn layout() -> impl Strategy<Value = (Major, Swizzle)> {
    (prop::sample::select(vec![Major::K, Major::Mn]), prop::sample::select(Swizzle::ALL.to_vec()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn products_are_those_of_three_loops(
        operand in operand(),
        n in prop::sample::select(COLUMNS.to_vec()),
        a_layout in prop::option::of(layout()),
        b_layout in layout(),
        blocks in 0_usize..3,
        negate: bool,
        seed: u64,
    ) {
        let (a, b) = (Plain::new(operand, M, seed), Plain::new(operand, n, !seed));
        let start = 1024 * blocks;
        let left = match a_layout {
            None => {
                let registers = a.in_registers();
                MatrixA::from_registers(operand, |warp, register| &registers[warp][register])
            }
            Some((major, swizzle)) => {
                let (shared, bits) = a.in_shared(major, swizzle, start);
                let descriptor = Descriptor::decode(bits).unwrap();
                MatrixA::from_shared(operand, &descriptor, major, &shared).unwrap()
            }
        };
        let (major, swizzle) = b_layout;
        let (shared, bits) = b.in_shared(major, swizzle, start);
        let descriptor = Descriptor::decode(bits).unwrap();
        let right = MatrixB::from_shared(operand, n, &descriptor, major, &shared).unwrap();

        let mut sums = Accumulator::new(n).unwrap();
        for register in 0..n / 2 {
            sums.set(2, register, &[3.0_f32.to_bits(); 32]).unwrap();
        }
        sums.add_product(&if negate { left.negated() } else { left }, &right).unwrap();
        for row in 0..M {
            for column in 0..n {
                let terms = (0..K).map(|k| a.value(operand, k, row) * b.value(operand, k, column));
                let product = terms.sum::<f64>() * if negate { -1.0 } else { 1.0 };
                let before = if row / 16 == 2 { 3.0 } else { 0.0 };
                prop_assert_eq!(sums.at(row, column).map(f64::from), Some(before + product));
            }
        }
    }
}

#[test]
fn a_step_along_a_swizzled_row_is_32_bytes_of_the_descriptor() {
    // 64 rows of 64 elements as TMA writes them in 128-byte swizzle: the value tells row and column.
    let mut shared = vec![0; 64 * 128];
    let bits_of = |row: usize, k: usize| bf16::from_f32(row as f32 - 32.0 + k as f32).to_bits();
    for row in 0..64 {
        for k in 0..64 {
            let at = Swizzle::Bytes128.apply(128 * row + 2 * k);
            shared[at..at + 2].copy_from_slice(&bits_of(row, k).to_le_bytes());
        }
    }
    for step in 0..4 {
        let descriptor = Descriptor::decode(bits(32 * step, 0, 1024, Swizzle::Bytes128)).unwrap();
        let a = MatrixA::from_shared(OperandTy::Bf16, &descriptor, Major::K, &shared).unwrap();
        for (row, values) in a.rows.iter().enumerate() {
            for (k, value) in values.iter().enumerate() {
                assert_eq!(*value, bf16::from_bits(bits_of(row, 16 * step + k)).to_f32());
            }
        }
    }
}
