//! The GPU that a case is emulated on.

use fa3::CudaTarget;
use fa3::testing::Case;

/// SMs: a kernel that persists has all tiles on one, or some, or one.
const SMS: [u32; 4] = [1, 2, 3, CudaTarget::H200.sms];
/// L2: sections of few heads of some hundred keys, or of all.
const L2: [u64; 2] = [2 << 20, CudaTarget::H200.l2_bytes];

/// By the case's seed.
pub fn target(case: &Case) -> CudaTarget {
    let [sms, l2] = [SMS.len(), L2.len()].map(|choices| (case.seed % choices as u64) as usize);
    CudaTarget { sms: SMS[sms], l2_bytes: L2[l2], ..CudaTarget::H200 }
}
