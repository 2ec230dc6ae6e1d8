//! Batched transposes on a GPU, compared element by element. Fails where there is none.

#![expect(clippy::unwrap_used, clippy::panic, reason = "what fails here fails the test")]

mod common;

use common::{Gpu, UNTOUCHED};
use fa3_tma_examples::Transpose;
use half::bf16;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Elements that tensors with these strides, of `matrices` matrices of `rows` rows, lie in.
fn span([matrix, row]: [u64; 2], matrices: u64, rows: u64) -> usize {
    ((matrices - 1) * matrix + rows * row) as usize
}

/// Transposes on the GPU and compares all that the output's memory holds.
fn transpose(gpu: &Gpu, problem: Transpose, rng: &mut Pcg64Mcg) {
    let Transpose { batch, rows, columns, scale, input, output } = problem;
    let tensor: Vec<bf16> =
        (0..span(input, batch, rows)).map(|_| bf16::from_f32(rng.random_range(-9.0..9.0))).collect();
    let mut expected = vec![UNTOUCHED; span(output, batch, columns)];
    for (b, c) in (0..batch).flat_map(|b| (0..columns).map(move |c| (b, c))) {
        let to = (b * output[0] + c * output[1]) as usize;
        for r in 0..rows {
            let from = tensor[(b * input[0] + r * input[1] + c) as usize];
            expected[to + r as usize] = bf16::from_f32(from.to_f32() * scale);
        }
    }
    let (from, to) = (gpu.upload(&tensor), gpu.untouched(expected.len()));
    gpu.run(&problem.plan().unwrap(), [&from, &to]);
    let mut found = gpu.download(&to);
    // What lies between the end of a row and the next multiple of 8 elements may be anything.
    for (b, c) in (0..batch).flat_map(|b| (0..columns).map(move |c| (b, c))) {
        let row = (b * output[0] + c * output[1]) as usize;
        found[row + rows as usize..row + rows.next_multiple_of(8) as usize].fill(UNTOUCHED);
    }
    let wrong = found.iter().zip(&expected).position(|(a, b)| a.to_bits() != b.to_bits());
    let values = wrong.map(|at| (found[at], expected[at]));
    assert_eq!((wrong, values), (None, None), "first wrong element, of {problem:?}");
}

/// Strides that leave gaps of up to 72 elements between rows and between matrices; or those of a tensor
/// in which the first rows of all matrices come first, then the second rows.
fn strides([_, row]: [u64; 2], batch: u64, rows: u64, rng: &mut Pcg64Mcg) -> [u64; 2] {
    let row = row + 8 * rng.random_range(0..=9);
    if rng.random() { [row, batch * row] } else { [rows * row + 8 * rng.random_range(0..=9), row] }
}

#[test]
fn transposes_of_200_random_shapes_are_exact() {
    let gpu = Gpu::open();
    let mut rng = Pcg64Mcg::seed_from_u64(8);
    for _ in 0..200 {
        let batch = rng.random_range(1..=6);
        let [rows, columns] = [rng.random_range(1..=600), rng.random_range(1..=600)];
        let mut problem = Transpose::new(batch, rows, columns, rng.random_range(-2.0..2.0));
        if rng.random() {
            problem.input = strides(problem.input, batch, rows, &mut rng);
            problem.output = strides(problem.output, batch, columns, &mut rng);
        }
        transpose(&gpu, problem, &mut rng);
    }
}

#[test]
fn large_transposes_are_exact() {
    let gpu = Gpu::open();
    let mut rng = Pcg64Mcg::seed_from_u64(9);
    for (batch, rows, columns) in [(4, 4096, 4096), (64, 1000, 500), (1, 70_000, 65), (20_000, 3, 17)] {
        transpose(&gpu, Transpose::new(batch, rows, columns, 0.5), &mut rng);
    }
}
