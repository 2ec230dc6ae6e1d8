//! The kernels as packed, on an emulated GPU, and the CPU: the same attention.

use fa3::{CudaTarget, Device, Element, Error, HostTensor, Options, Output, attention, fa3_emu};
use half::{bf16, f16};

const QUERIES: usize = 70;
const KEYS: usize = 150;

/// Three query heads that share one of keys and values.
fn run<T: Element>(device: &Device, dim: usize, of: fn(f32) -> T) -> Result<Output<T>, Error> {
    let values = |rows: usize, seed: usize| -> Vec<T> {
        let value = |index: usize| ((index * 37 + seed * 101) % 64) as f32 / 16.0 - 2.0;
        (0..rows * dim).map(|index| of(value(index))).collect()
    };
    let (q, k, v) = (values(3 * QUERIES, 1), values(KEYS, 2), values(KEYS, 3));
    attention(
        device,
        HostTensor::new([1, QUERIES, 3, dim], &q)?,
        HostTensor::new([1, KEYS, 1, dim], &k)?,
        HostTensor::new([1, KEYS, 1, dim], &v)?,
        &Options { causal: true, ..Options::default() },
    )
}

fn agree<T: Element>(dim: usize, of: fn(f32) -> T, value: fn(&T) -> f32) -> Result<(), Error> {
    let gpu = Device::emulated(CudaTarget::H200, fa3_emu::Options::default())?;
    let (found, expected) = (run(&gpu, dim, of)?, run(&Device::cpu(), dim, of)?);
    assert!(found.plan.to_string().contains("fa3_fwd_sm90"), "{}", found.plan);
    assert_eq!(found.o.len(), QUERIES * 3 * dim);
    assert!(expected.o.iter().any(|element| value(element).abs() > 0.1));
    for (found, expected) in found.o.iter().zip(&expected.o) {
        assert!((value(found) - value(expected)).abs() < 0.02, "{} and {}", value(found), value(expected));
    }
    for (found, expected) in found.lse.iter().zip(&expected.lse) {
        assert!((found - expected).abs() < 1e-3, "{found} and {expected}");
    }
    Ok(())
}

#[test]
fn bf16_with_64_columns() -> Result<(), Error> {
    agree(64, bf16::from_f32, |element| element.to_f32())
}

#[test]
fn f16_with_128_columns() -> Result<(), Error> {
    agree(128, f16::from_f32, |element| element.to_f32())
}
