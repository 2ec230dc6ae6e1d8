//! The loops that measure the tensor cores multiply what they say they do.

use bytemuck::cast_slice;
use fa3_emu::{Memory, Order};
use fa3_tma_examples::{CEILINGS, Ceiling, CeilingKernel};
use half::bf16;

use crate::{SMS, launch, values};

const PASSES: u64 = 9;

/// The sums over the rows of a K-major tile in the 128-byte swizzle, a column each.
fn column_sums(tile: &[bf16], rows: usize, columns: usize) -> Vec<f64> {
    let at = |row: usize, column: usize| {
        let piece = (column % 64 / 8) ^ (row % 8);
        column / 64 * rows * 64 + row * 64 + piece * 8 + column % 8
    };
    let sum = |column| (0..rows).map(|row| f64::from(tile[at(row, column)])).sum();
    (0..columns).map(sum).collect()
}

/// The sum of all results of a CTA: that of a product is the sum, over the contraction, of a column's
/// sum of A by a row's sum of B.
fn expected(kernel: &CeilingKernel, source: &[bf16]) -> f64 {
    let (d, keys, rows) = (kernel.head_dim as usize, kernel.keys as usize, 64 * kernel.warpgroups as usize);
    let (mut total, mut rest) = (0.0, source);
    if kernel.scores {
        let (q, after) = rest.split_at(rows * d);
        let (k, after) = after.split_at(keys * d);
        // Each pass begins S anew.
        total += dot(&column_sums(q, rows, d), &column_sums(k, keys, d));
        rest = after;
    }
    if kernel.values {
        let (v, p) = rest.split_at(keys * d);
        let mut by_key = vec![0.0; keys];
        for (index, pair) in p.chunks_exact(2).enumerate() {
            // Register i of thread t (PTX ISA, "Register Fragments for wgmma.mma_async.m64nNk16").
            let (i, t) = (index / 128, index % 128);
            let key = i / 4 * 16 + i % 4 / 2 * 8 + t % 4 * 2;
            by_key[key] += f64::from(pair[0]);
            by_key[key + 1] += f64::from(pair[1]);
        }
        // V is MN-major: panels of 64 columns, a row of the panel a key.
        let row = |key: usize| (0..d / 64).flat_map(move |panel| &v[(panel * keys + key) * 64..][..64]);
        let by_row: Vec<f64> = (0..keys).map(|key| row(key).map(|&v| f64::from(v)).sum()).collect();
        total += (PASSES * u64::from(kernel.warpgroups)) as f64 * dot(&by_key, &by_row);
    }
    total
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[test]
fn every_loop_multiplies_what_it_counts() {
    for kernel in CEILINGS {
        // Quarters, which f32 adds up without rounding.
        let source = values(u64::from(kernel.shared_bytes()) / 2, 5);
        let mut memory = Memory::new();
        let threads = (SMS * kernel.threads()) as usize;
        let addresses = [cast_slice(&source), &vec![0xa5; 4 * threads][..]]
            .map(|bytes: &[u8]| memory.allocate(bytes).unwrap());
        let ceiling = Ceiling { kernel, passes: PASSES, source: addresses[0], sums: addresses[1] };
        launch(&ceiling.plan(SMS), [], &mut memory, Order::Seeded(1));
        let sums = memory.read(addresses[1], 4 * threads).unwrap();
        let sums = sums.chunks_exact(4).map(|word| f32::from_le_bytes([word[0], word[1], word[2], word[3]]));
        let found: f64 = sums.map(f64::from).sum();
        assert_eq!(found, f64::from(SMS) * expected(&kernel, &source), "{}", kernel.name);
    }
}
