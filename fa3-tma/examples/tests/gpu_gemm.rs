//! Matrix products on a GPU, held against exact ones. Fails where there is none.

#![expect(clippy::unwrap_used, clippy::panic, reason = "what fails here fails the test")]

mod common;

use common::{Gpu, UNTOUCHED};
use fa3_tma_examples::Gemm;
use half::bf16;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// A row-major matrix of quarters, −2 to 2: sums of products are exact in f32, and in i32 fast.
struct Matrix {
    columns: usize,
    quarters: Vec<i16>,
}

impl Matrix {
    fn random(rows: u64, columns: u64, rng: &mut Pcg64Mcg) -> Self {
        let quarters = (0..rows * columns).map(|_| rng.random_range(-8..=8)).collect();
        Self { columns: columns as usize, quarters }
    }

    fn row(&self, row: usize) -> &[i16] {
        &self.quarters[row * self.columns..][..self.columns]
    }

    /// In memory, with NaN between the rows: a product that reads it shows it.
    fn elements(&self, stride: u64) -> Vec<bf16> {
        let mut elements = vec![bf16::NAN; self.quarters.len() / self.columns * stride as usize];
        for (row, to) in elements.chunks_mut(stride as usize).enumerate() {
            let values = self.row(row).iter().map(|&quarters| bf16::from_f32(f32::from(quarters) / 4.0));
            to.iter_mut().zip(values).for_each(|(to, value)| *to = value);
        }
        elements
    }
}

fn sms(gpu: &Gpu) -> u32 {
    gpu.context.device().sm_count
}

/// All SMs, or so few that CTAs persist over many tiles of a small problem.
fn some_sms(gpu: &Gpu, rng: &mut Pcg64Mcg) -> u32 {
    if rng.random() { sms(gpu) } else { rng.random_range(1..=8) }
}

/// Multiplies on the GPU, as on one of `sms` SMs, and compares every `step`-th row of C.
fn multiply(gpu: &Gpu, gemm: Gemm, sms: u32, step: usize, rng: &mut Pcg64Mcg) {
    let Gemm { m, n, k, bias, strides } = gemm;
    let (a, b) = (Matrix::random(m, k, rng), Matrix::random(n, k, rng));
    let biases: Vec<f32> = (0..n).map(|_| f32::from(rng.random_range(-64..=64_i16)) / 16.0).collect();
    let inputs = (gpu.upload(&a.elements(strides[0])), gpu.upload(&b.elements(strides[1])));
    let (bias_buffer, c) = (gpu.upload(&biases), gpu.untouched((m * strides[2]) as usize));
    gpu.run(&gemm.plan(sms).unwrap(), [&inputs.0, &inputs.1, &bias_buffer, &c]);

    let (columns, written) = (n as usize, n.next_multiple_of(8) as usize);
    for (row, found) in gpu.download(&c).chunks(strides[2] as usize).enumerate() {
        let stray = found[written..].iter().position(|value| value.to_bits() != UNTOUCHED.to_bits());
        assert_eq!(stray, None, "{gemm:?} on {sms} SMs wrote {row}, {written} + that");
        if row % step != 0 {
            continue;
        }
        for (column, &found) in found[..columns].iter().enumerate() {
            let products = a.row(row).iter().zip(b.row(column)).map(|(&a, &b)| i32::from(a) * i32::from(b));
            let exact = products.sum::<i32>() as f32 / 16.0 + if bias { biases[column] } else { 0.0 };
            assert_eq!(found, bf16::from_f32(exact), "{gemm:?} on {sms} SMs at {row}, {column}");
        }
    }
}

#[test]
fn products_of_200_random_shapes_are_exact() {
    let gpu = Gpu::open();
    let mut rng = Pcg64Mcg::seed_from_u64(5);
    for _ in 0..200 {
        let (m, n, k) = (rng.random_range(1..=900), rng.random_range(1..=1100), 8 * rng.random_range(1..=90));
        let mut gemm = Gemm { bias: rng.random(), ..Gemm::new(m, n, k) };
        if rng.random() {
            gemm.strides.iter_mut().for_each(|stride| *stride += 8 * rng.random_range(0..=9));
        }
        multiply(&gpu, gemm, some_sms(&gpu, &mut rng), 1, &mut rng);
    }
}

#[test]
fn sampled_rows_of_large_products_are_exact() {
    let gpu = Gpu::open();
    let mut rng = Pcg64Mcg::seed_from_u64(6);
    let shapes = [
        (2048, 2048, 2048, 17),
        (4096, 4096, 4096, 67),
        (4001, 5003, 72, 31),
        (100_000, 24, 64, 97),
        (1, 100_000, 128, 1),
        (200, 300, 65_536, 11),
    ];
    for (m, n, k, step) in shapes {
        for bias in [false, true] {
            multiply(&gpu, Gemm { bias, ..Gemm::new(m, n, k) }, sms(&gpu), step, &mut rng);
        }
    }
}

#[test]
fn two_runs_agree_in_every_bit_and_with_f64() {
    let gpu = Gpu::open();
    let mut rng = Pcg64Mcg::seed_from_u64(7);
    let (m, n, k) = (1500, 1300, 4096);
    let mut random =
        |count| -> Vec<bf16> { (0..count).map(|_| bf16::from_f32(rng.random_range(-1.0..1.0))).collect() };
    let (a, b) = (random(m * k), random(n * k));
    let biases = vec![0.125_f32; n];
    let (a_buffer, b_buffer, bias_buffer) = (gpu.upload(&a), gpu.upload(&b), gpu.upload(&biases));
    let gemm = Gemm { bias: true, ..Gemm::new(m as u64, n as u64, k as u64) };
    let stride = gemm.strides[2] as usize;
    // The second shares the tiles out among fewer CTAs.
    let [first, second] = [sms(&gpu), 5].map(|sms| {
        let c = gpu.untouched(m * stride);
        gpu.run(&gemm.plan(sms).unwrap(), [&a_buffer, &b_buffer, &bias_buffer, &c]);
        gpu.download(&c)
    });
    let differs = first.iter().zip(&second).position(|(a, b)| a.to_bits() != b.to_bits());
    assert_eq!(differs, None);
    for (row, column) in
        (0..m).step_by(13).flat_map(|row| (0..n).step_by(17).map(move |column| (row, column)))
    {
        let products =
            a[row * k..].iter().zip(&b[column * k..]).take(k).map(|(a, b)| a.to_f64() * b.to_f64());
        let exact = products.sum::<f64>() + 0.125;
        let error = (first[row * stride + column].to_f64() - exact).abs();
        // Half a unit in the last of bf16's eight places, and what sums in f32 lose on the way.
        assert!(error <= exact.abs() / 256.0 + 0.001, "{error} off {exact} at {row}, {column}");
    }
}
