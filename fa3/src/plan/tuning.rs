//! Choices that planning makes by measurement, made by the caller.

use fa3_kernels::ForwardKernel;

use super::heuristics;
use crate::error::Reason;
use crate::{Dims, Problem, Sequences};

/// What of a GPU's plan is chosen by the caller, for measuring; what is `None` is chosen as ever. Speed
/// depends on it, and so may a result's last bits.
///
/// ```
/// use fa3::{CudaTarget, DType, Options, Plan, Problem, Sizes, Target, Tuning, Walk};
/// let target = Target::Cuda(CudaTarget::H200);
/// let options = Options { causal: true, ..Options::default() };
/// let problem = Problem::dense(DType::Bf16, Sizes::new(1, 4096, 16, 128), options);
/// let in_pairs = Tuning { walk: Some(Walk::Pairs), ..Tuning::default() };
/// println!("{}", Plan::tuned(&target, &problem, &in_pairs)?);
/// # Ok::<(), fa3::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tuning {
    /// The forward kernel: a row of [`fa3_kernels`]' table, or one of your own build, which
    /// [`CudaBackend::add_kernel`](crate::CudaBackend::add_kernel) knows the machine code of.
    pub kernel: Option<ForwardKernel>,
    /// How CTAs share the tiles. For sequences of one length only: the others' tiles are listed.
    pub walk: Option<Walk>,
    /// The part of L2 that K and V of the heads which are worked on together may take; zero for one
    /// head after the other.
    pub section_of_l2: Option<f64>,
}

/// How the CTAs of a launch share the tiles of sequences of one length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Walk {
    /// A CTA works on one tile and ends.
    TileEach,
    /// A CTA stays on its SM and takes a tile in each stride of the grid.
    Persistent,
    /// As [`Persistent`](Self::Persistent), two tiles at a time: a long one and a short one of a causal
    /// mask.
    Pairs,
}

impl Walk {
    /// CTAs on `sms` multiprocessors.
    pub(super) fn grid(self, tiles: u32, sms: u32) -> u32 {
        match self {
            Self::TileEach => tiles,
            Self::Persistent => tiles.min(sms),
            Self::Pairs => tiles.div_ceil(2).min(sms),
        }
    }
}

/// Why the problem cannot be computed that way.
pub(crate) fn reasons(tuning: &Tuning, problem: &Problem, dims: &Dims) -> Vec<Reason> {
    let mut reasons = Vec::new();
    let mut refuse = |argument, value: String, rule: &str, remedy| {
        reasons.push(Reason { argument, value, rule: rule.to_owned(), remedy });
    };
    if let Some(kernel) = tuning.kernel.filter(|kernel| !is_well_formed(kernel)) {
        let rule = "no forward kernel has such a tile";
        let remedy = "2 or 3 consumers, clusters of 1 or 2, a multiple of 16 keys up to 256, widths that are \
                      multiples of 32 up to 256";
        refuse("tuning.kernel", format!("{kernel:?}"), rule, remedy);
    } else if let Some(kernel) = tuning.kernel {
        let holds = heuristics::kernel_type(problem.q.dtype) == Some(kernel.operand)
            && kernel.head_dim as usize >= dims.d
            && kernel.value_dim as usize >= dims.dv;
        if !holds {
            let rule = "the problem's elements are of another type, or its heads are wider";
            refuse("tuning.kernel", kernel.symbol(), rule, "choose another one, or none");
        }
    }
    if let Some(walk) = tuning.walk
        && problem.sequences != Sequences::Dense
    {
        let rule = "the tiles of sequences of unequal length are listed";
        refuse("tuning.walk", format!("{walk:?}"), rule, "leave it open");
    }
    if let Some(part) = tuning.section_of_l2
        && !(part >= 0.0 && part.is_finite())
    {
        refuse("tuning.section_of_l2", part.to_string(), "a part is at least zero, and finite", "0.5");
    }
    reasons
}

/// Whether the kernel's source can be compiled for it, registers and shared memory aside.
fn is_well_formed(kernel: &ForwardKernel) -> bool {
    let width = |columns: u32| (32..=256).contains(&columns) && columns.is_multiple_of(32);
    let share = |cluster: u32| (1..=2).contains(&cluster) && kernel.tile_n.is_multiple_of(8 * cluster);
    width(kernel.head_dim)
        && width(kernel.value_dim)
        && (2..=3).contains(&kernel.consumers)
        && (16..=256).contains(&kernel.tile_n)
        && kernel.tile_n.is_multiple_of(16)
        && share(kernel.cluster)
        && kernel.polynomials <= 8
        && !(kernel.scores_ahead && kernel.output_over_query)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CudaTarget, DType, Execution, Options, Plan, Sizes, Target};
    use fa3_kernels::forward_kernels;

    const H200: Target = Target::Cuda(CudaTarget::H200);

    fn problem() -> Problem {
        let options = Options { causal: true, ..Options::default() };
        Problem::dense(DType::Bf16, Sizes::new(1, 16384, 16, 64), options)
    }

    fn grid(tuning: Tuning) -> (u32, i32, i32) {
        let plan = Plan::tuned(&H200, &problem(), &tuning).unwrap();
        let Execution::Gpu(gpu) = plan.execution() else { panic!("no kernel") };
        (gpu.forward.kernel.grid[0], gpu.forward.params.paired, gpu.forward.params.section)
    }

    #[test]
    fn an_empty_tuning_changes_nothing() {
        let tuned = Plan::tuned(&H200, &problem(), &Tuning::default()).unwrap();
        assert_eq!(tuned, Plan::forward(&H200, &problem()).unwrap());
    }

    #[test]
    fn choices_are_followed() {
        let kernel = forward_kernels().find(|kernel| kernel.head_dim == 128).copied();
        let kernel = kernel.map(|row| ForwardKernel { operand: fa3_kernels::Operand::Bf16, ..row });
        let of =
            |walk, section_of_l2| Tuning { kernel, walk: Some(walk), section_of_l2: Some(section_of_l2) };
        assert_eq!(grid(of(Walk::TileEach, 0.0)), (16 * 128, 0, 1));
        assert_eq!(grid(of(Walk::Persistent, 0.5)), (132, 0, 4));
        assert_eq!(grid(of(Walk::Pairs, 1e9)), (132, 1, 16));
    }

    #[test]
    fn a_grid_has_whole_clusters() {
        let row = forward_kernels().find(|kernel| kernel.head_dim == 128).copied().unwrap();
        let kernel = ForwardKernel { operand: fa3_kernels::Operand::Bf16, cluster: 2, ..row };
        let of = |walk| Tuning { kernel: Some(kernel), walk: Some(walk), section_of_l2: Some(0.0) };
        assert_eq!(grid(of(Walk::TileEach)), (16 * 128, 0, 1));
        assert_eq!(grid(of(Walk::Pairs)), (132, 1, 1));
    }

    #[test]
    fn a_kernel_that_is_not_in_the_table_has_another_name() {
        let row = forward_kernels().next().copied().unwrap();
        let own = ForwardKernel { tile_n: row.tile_n - 16, ..row };
        assert_eq!(own.symbol(), format!("{}_own", row.symbol()));
    }

    #[test]
    fn kernels_that_cannot_be_are_refused() {
        let row =
            forward_kernels().find(|kernel| kernel.operand == fa3_kernels::Operand::Bf16).copied().unwrap();
        for kernel in [
            ForwardKernel { cluster: 0, ..row },
            ForwardKernel { cluster: u32::MAX, ..row },
            ForwardKernel { consumers: 0, ..row },
            ForwardKernel { consumers: u32::MAX, ..row },
            ForwardKernel { tile_n: 0, ..row },
            ForwardKernel { tile_n: 72, ..row },
            ForwardKernel { head_dim: u32::MAX, ..row },
            ForwardKernel { value_dim: 72, ..row },
            ForwardKernel { polynomials: 9, ..row },
            ForwardKernel { scores_ahead: true, output_over_query: true, ..row },
        ] {
            let tuning = Tuning { kernel: Some(kernel), ..Tuning::default() };
            let error = Plan::tuned(&H200, &problem(), &tuning).unwrap_err().to_string();
            assert!(error.contains("no forward kernel has such a tile"), "{kernel:?}: {error}");
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let narrow = forward_kernels().find(|kernel| kernel.head_dim == 64).copied();
        let wide = Problem::dense(DType::Bf16, Sizes::new(1, 64, 1, 72), Options::default());
        let used = Problem { sequences: Sequences::UsedKeys, ..problem() };
        for (problem, tuning, argument) in [
            (wide, Tuning { kernel: narrow, ..Tuning::default() }, "tuning.kernel is fa3_fwd"),
            (used, Tuning { walk: Some(Walk::Pairs), ..Tuning::default() }, "tuning.walk is Pairs"),
            (
                problem(),
                Tuning { section_of_l2: Some(f64::NAN), ..Tuning::default() },
                "section_of_l2 is NaN",
            ),
            (problem(), Tuning { section_of_l2: Some(-0.5), ..Tuning::default() }, "section_of_l2 is -0.5"),
        ] {
            let error = Plan::tuned(&H200, &problem, &tuning).unwrap_err().to_string();
            assert!(error.contains(argument), "{error}");
        }
    }
}
