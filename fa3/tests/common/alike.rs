//! A case that must give the same bits on several devices, or several times on one.

use fa3::Device;
use fa3::testing::{Case, Report};

use crate::run::{Failed, once};

/// Runs the case on each of the devices, compares the bits, and checks the result.
pub fn alike(first: &Device, others: &[Device], case: &Case) -> Result<Report, Failed> {
    let inputs = case.inputs();
    let outputs = once(first, case, &inputs)?;
    for other in others {
        if !once(other, case, &inputs)?.same_bits(&outputs) {
            return Err(format!("the bits on {first} and on {other} differ; the case is: {case}").into());
        }
    }
    Ok(case.check(&inputs, &outputs)?)
}
