//! Exact attention without a GPU: one query, two keys of equal score, the mean of the two values.

use fa3::{Device, HostTensor, Options, attention};

#[test]
fn the_mean_of_two_values() -> Result<(), fa3::Error> {
    let q = HostTensor::new([1, 1, 1, 2], &[1.0_f32, 0.0])?;
    let k = HostTensor::new([1, 2, 1, 2], &[0.0, 1.0, 0.0, -1.0])?;
    let v = HostTensor::new([1, 2, 1, 1], &[4.0, 8.0])?;
    let output = attention(&Device::cpu(), q, k, v, &Options::default())?;
    assert_eq!(output.o, [6.0]);
    assert!((output.lse[0] - 2_f32.ln()).abs() < 1e-6);
    Ok(())
}
