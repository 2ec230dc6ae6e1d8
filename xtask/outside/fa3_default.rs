//! The default features: plans for a GPU that need not be there, and a program with machine code but no PTX.

use fa3::{CudaTarget, DType, Device, Error, Options, Plan, Problem, Sizes, Target};

#[test]
fn a_plan_needs_no_device() -> Result<(), Error> {
    let problem = Problem::dense(DType::Bf16, Sizes::new(1, 4096, 16, 128), Options::default());
    let plan = Plan::forward(&Target::Cuda(CudaTarget::H200), &problem)?;
    assert!(plan.to_string().contains("fa3_fwd_sm90_bf16_d128"), "{plan}");
    Ok(())
}

#[test]
fn the_gpu_or_the_reason_why_not() {
    if let Err(error) = Device::cuda(0) {
        assert!(!error.to_string().is_empty());
    }
}

#[test]
fn only_the_emulator_brings_ptx() -> std::io::Result<()> {
    let program = std::fs::read(std::env::current_exe()?)?;
    // In two parts, so that this program does not have it for this line.
    let entry = [".visible", ".entry fa3_"].join(" ");
    assert!(!program.windows(entry.len()).any(|bytes| bytes == entry.as_bytes()));
    Ok(())
}
