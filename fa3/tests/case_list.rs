//! Every case of the shared list is planned for an H200 or refused by type, without a GPU; and the cases
//! reach every kernel in every way that it runs.

#![allow(clippy::panic, reason = "clippy sees no test in a test's helpers")]

#[path = "common/emulated.rs"]
mod emulated;
#[path = "common/taken.rs"]
mod taken;

use std::collections::BTreeSet;

use fa3::testing::{Case, Set, cases};
use fa3::{CudaTarget, Execution, Plan, Target};

fn plans(list: &[Case]) -> Vec<Plan> {
    let target = Target::Cuda(CudaTarget::H200);
    list.iter().filter_map(|case| taken::plan(&target, case).unwrap_or_else(|why| panic!("{why}"))).collect()
}

#[test]
fn each_case_is_planned_or_refused_as_the_kernels_need() {
    let planned = plans(&[cases(Set::Full), cases(Set::Paper)].concat()).len();
    assert!(planned >= 3_000, "only {planned} cases reach the kernels");
}

/// A kernel, and which ways it takes through its code: a list of tiles or a dense batch, heads that share a
/// tile, edited scores, and keys that are out of sight on the left or the right.
type Way = (String, [bool; 5]);

fn way(plan: &Plan) -> Option<Way> {
    let Execution::Gpu(gpu) = plan.execution() else { return None };
    let params = &gpu.forward.params;
    let masked = [params.window_left, params.window_right].map(|side| side != i32::MAX);
    let [left, right] = masked;
    let ways = [gpu.schedule.is_some(), params.pack > 1, params.edit != 0, left, right];
    Some((gpu.forward.kernel.symbol.clone(), ways))
}

#[test]
fn every_kernel_runs_in_every_way_on_the_card_and_emulated() {
    let symbols = fa3_kernels::forward_kernels().map(fa3_kernels::ForwardKernel::symbol);
    let ways =
        |symbol: String| (0..32).map(move |n| (symbol.clone(), [0, 1, 2, 3, 4].map(|bit| n >> bit & 1 == 1)));
    // Two warpgroups take heads of 64 only where later rows see more keys.
    let run = |(symbol, [_, _, _, left, right]): &Way| !symbol.contains("_d64_m128") || (*right && !left);
    let all: BTreeSet<Way> = symbols.flat_map(ways).filter(run).collect();
    for set in [Set::Full, Set::Emulated] {
        let found: BTreeSet<Way> = plans(&cases(set)).iter().filter_map(way).collect();
        let (missing, more): (Vec<_>, Vec<_>) =
            (all.difference(&found).collect(), found.difference(&all).collect());
        assert!(missing.is_empty() && more.is_empty(), "{set:?}: missing {missing:?}, unexpected {more:?}");
    }
}

#[test]
fn every_kernel_walks_over_many_tiles_and_pairs_odd_numbers_of_them() {
    let (mut many, mut odd) = (BTreeSet::new(), BTreeSet::new());
    for case in cases(Set::Emulated) {
        let plan =
            taken::plan(&Target::Cuda(emulated::target(&case)), &case).unwrap_or_else(|why| panic!("{why}"));
        let Some(Execution::Gpu(gpu)) = plan.as_ref().map(Plan::execution) else { continue };
        let (params, kernel) = (&gpu.forward.params, &gpu.forward.kernel);
        let odd_number = |number: i32| number > 1 && number % 2 == 1;
        if params.tiles / kernel.grid[0] as i32 > 4 {
            many.insert(kernel.symbol.clone());
        }
        if params.paired == 1 && odd_number(params.m_tiles) && odd_number(params.batch_heads) {
            odd.insert(kernel.symbol.clone());
        }
    }
    let all = fa3_kernels::forward_kernels;
    assert_eq!(many, all().map(fa3_kernels::ForwardKernel::symbol).collect());
    let pairs = all().filter(|kernel| !kernel.output_over_query);
    assert_eq!(odd, pairs.map(fa3_kernels::ForwardKernel::symbol).collect());
}
