//! Every case of the shared list is planned for an H200 or refused by type, without a GPU.

#[path = "common/taken.rs"]
mod taken;

use fa3::testing::{Set, cases};
use fa3::{CudaTarget, Target};

#[test]
fn each_case_is_planned_or_refused_as_the_kernels_need() {
    let mut planned = 0;
    for case in cases(Set::Full).iter().chain(&cases(Set::Paper)) {
        let plan = taken::plan(&Target::Cuda(CudaTarget::H200), case);
        planned += usize::from(plan.unwrap_or_else(|why| panic!("{why}")).is_some());
    }
    assert!(planned >= 320, "only {planned} cases reach the kernels");
}
