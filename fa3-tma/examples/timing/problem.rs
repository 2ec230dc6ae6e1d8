//! A kernel with random tensors on the GPU.

use std::error::Error;

use fa3_sys::driver::{Buffer, DriverError, Stream};
use fa3_tma_examples::params::{GemmParams, TransposeParams};
use fa3_tma_examples::{Binding, Gemm, Transpose};
use half::bf16;
use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;
use rand_pcg::Pcg64Mcg;

/// What is computed.
#[derive(Clone, Copy, Debug)]
pub enum Work {
    Gemm(Gemm),
    Transpose(Transpose),
}

/// Work bound to tensors of its own.
pub struct Problem {
    work: Work,
    values: Normal,
    // Buffers are freed before the kernel is unloaded, and that waits until the kernel has run.
    pub output: Buffer,
    _inputs: Vec<Buffer>,
    binding: Bound,
}

enum Bound {
    Gemm(Box<Binding<GemmParams, 4>>),
    Transpose(Box<Binding<TransposeParams, 2>>),
}

impl Problem {
    /// Allocates the tensors and fills the inputs. (Constant ones would draw less power, and the card
    /// then runs faster.)
    pub fn new(stream: &Stream, work: Work, seed: u64) -> Result<Self, Box<dyn Error>> {
        let (context, sms) = (stream.context(), stream.context().device().sm_count);
        let values = Normal::new(seed);
        let upload = |tensor, elements: u64| -> Result<Buffer, Box<dyn Error>> {
            let data: Vec<bf16> = (0..elements).map(|at| values.at(tensor, at)).collect();
            Ok(Buffer::from_slice(stream, bytemuck::cast_slice::<_, u16>(&data))?)
        };
        let (output, inputs, binding);
        match work {
            Work::Gemm(gemm) => {
                let Gemm { m, n, strides, .. } = gemm;
                let biases: Vec<f32> = (0..n).map(|column| values.at(2, column).to_f32()).collect();
                inputs = vec![
                    upload(0, m * strides[0])?,
                    upload(1, n * strides[1])?,
                    Buffer::from_slice(stream, &biases)?,
                ];
                output = Buffer::new(context, 2 * (m * strides[2]) as usize)?;
                let tensors = [&inputs[0], &inputs[1], &inputs[2], &output];
                binding = Bound::Gemm(gemm.plan(sms)?.bind(context, tensors.map(Buffer::ptr))?.into());
            }
            Work::Transpose(transpose) => {
                inputs = vec![upload(0, transpose.batch * transpose.input[0])?];
                output = Buffer::new(context, 2 * (transpose.batch * transpose.output[0]) as usize)?;
                let tensors = [&inputs[0], &output];
                let plan = transpose.plan()?;
                binding = Bound::Transpose(plan.bind(context, tensors.map(Buffer::ptr))?.into());
            }
        }
        Ok(Self { work, values, output, _inputs: inputs, binding })
    }

    /// Submits the kernel.
    pub fn launch(&self, stream: &Stream) -> Result<(), DriverError> {
        // SAFETY: the tensors were made for the plan and go with `self`; freeing them waits for the
        // kernel.
        unsafe {
            match &self.binding {
                Bound::Gemm(gemm) => gemm.launch(stream),
                Bound::Transpose(transpose) => transpose.launch(stream),
            }
        }
    }

    /// The largest deviation from f64 over sampled elements of the output, as a part of the largest of
    /// them. Rounding to bf16 makes it up to 2⁻⁹.
    #[allow(dead_code, reason = "the bench does not ask")]
    pub fn error(&self, stream: &Stream) -> Result<f64, DriverError> {
        const SAMPLES: u64 = 512;
        let found: Vec<u16> = self.output.to_vec(stream)?;
        let (mut error, mut largest) = (0.0_f64, 0.0_f64);
        for sample in 0..SAMPLES {
            // Scrambled bits of a counter spread the elements.
            let pick =
                |of: u64, turn: u64| ((3 * sample + turn).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20) % of;
            let (at, exact) = match self.work {
                Work::Gemm(gemm) => self.product(gemm, pick(gemm.m, 0), pick(gemm.n, 1)),
                Work::Transpose(Transpose { batch, rows, columns, scale, input, output }) => {
                    let (b, r, c) = (pick(batch, 0), pick(rows, 1), pick(columns, 2));
                    let from = self.values.at(0, b * input[0] + r * input[1] + c);
                    (b * output[0] + c * output[1] + r, from.to_f64() * f64::from(scale))
                }
            };
            let off = (bf16::from_bits(found[at as usize]).to_f64() - exact).abs();
            // NaN must not vanish in a maximum, and JSON has no infinity.
            error = error.max(if off.is_nan() { f64::MAX } else { off });
            largest = largest.max(exact.abs());
        }
        Ok(error / largest.max(f64::MIN_POSITIVE))
    }

    /// Where an element of C lies, and what it is.
    fn product(&self, gemm: Gemm, row: u64, column: u64) -> (u64, f64) {
        let [a, b, c] = gemm.strides;
        let value = |tensor, at| self.values.at(tensor, at).to_f64();
        let products = (0..gemm.k).map(|k| value(0, row * a + k) * value(1, column * b + k));
        let bias = if gemm.bias { value(2, column) } else { 0.0 };
        (row * c + column, products.sum::<f64>() + bias)
    }
}

/// Standard normal numbers, a million of them over and over, so that any is known by its place.
struct Normal(Vec<bf16>);

impl Normal {
    /// A prime: rows of matrices do not repeat.
    const PERIOD: u64 = 1_000_003;

    fn new(seed: u64) -> Self {
        let mut generator = Pcg64Mcg::seed_from_u64(seed);
        Self((0..Self::PERIOD).map(|_| bf16::from_f32(generator.sample(StandardNormal))).collect())
    }

    /// Element `at` of a tensor.
    fn at(&self, tensor: u64, at: u64) -> bf16 {
        self.0[((at + tensor * 300_007) % Self::PERIOD) as usize]
    }
}
