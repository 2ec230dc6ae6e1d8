//! What the GPU's kernels take, stated apart from `fa3::support`, so that neither can drop a
//! feature unseen.

use fa3::testing::{Case, Need};
use fa3::{Error, Execution, Plan, Target};

/// Whether the kernels take the case, in the terms of the case list.
fn is_taken(case: &Case) -> bool {
    let refused = |need: &Need| matches!(need, Need::F32 | Need::HeadDim | Need::UnalignedStrides);
    !case.needs().iter().any(refused)
}

/// Plans the case; `None` where it is refused, as it should be.
pub fn plan(target: &Target, case: &Case) -> Result<Option<Plan>, String> {
    let plan = match Plan::forward(target, &case.problem()) {
        Ok(plan) => plan,
        Err(Error::Unsupported(_)) if !is_taken(case) => return Ok(None),
        Err(error) => return Err(format!("{error}; the case is: {case}")),
    };
    if !is_taken(case) {
        return Err(format!("planned although it needs {:?}:\n{plan}", case.needs()));
    }
    let empty = matches!(plan.execution(), Execution::Nothing);
    if empty != case.needs().contains(&Need::EmptyOutput) {
        return Err(format!("a launch for no output, or none for some:\n{plan}"));
    }
    Ok(Some(plan))
}
