//! What becomes of a product of Q and K before the softmax, as the kernels' parameters say it.

use core::f32::consts::LOG2_E;

use crate::{Dims, Problem};

/// The parameters that turn products into logits to base two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scores {
    /// The factor of the exponential's argument.
    pub(crate) scale_log2: f32,
    /// The factor of a product that is edited.
    pub(crate) score_scale: f32,
    /// The softcap to base two; zero for none.
    pub(crate) softcap_log2: f32,
    /// Whether every product is edited: turned into its logit before the row's maximum is taken.
    /// Without it the maximum is that of the products, which is right for a positive scale only.
    pub(crate) edit: bool,
}

impl Scores {
    pub(crate) fn of(problem: &Problem, dims: &Dims) -> Self {
        let scale = problem.options.scale_for(dims.d);
        let scale_log2 = scale * LOG2_E;
        match problem.options.softcap {
            Some(cap) => {
                // The kernels take the tangent by way of exp2(score_scale · product).
                let score_scale = scale / cap * (2.0 * LOG2_E);
                Self { scale_log2: 1.0, score_scale, softcap_log2: cap * LOG2_E, edit: true }
            }
            None if scale_log2 > 0.0 && !problem.alibi => {
                Self { scale_log2, score_scale: 1.0, softcap_log2: 0.0, edit: false }
            }
            None => Self { scale_log2: 1.0, score_scale: scale_log2, softcap_log2: 0.0, edit: true },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DType, Options, Sizes};

    fn of(scale: Option<f32>, softcap: Option<f32>, alibi: bool) -> Scores {
        let options = Options { scale, softcap, ..Options::default() };
        let problem = Problem { alibi, ..Problem::dense(DType::F16, Sizes::new(1, 1, 1, 64), options) };
        Scores::of(&problem, &problem.dims().unwrap())
    }

    #[test]
    fn a_positive_scale_alone_is_left_to_the_exponential() {
        for (scale, is) in [(None, 0.125), (Some(3.0), 3.0), (Some(1e-45), 1e-45)] {
            let plain = Scores { scale_log2: is * LOG2_E, score_scale: 1.0, softcap_log2: 0.0, edit: false };
            assert_eq!(of(scale, None, false), plain);
        }
    }

    #[test]
    fn other_scales_and_slopes_edit() {
        let edited = |factor| Scores { scale_log2: 1.0, score_scale: factor, softcap_log2: 0.0, edit: true };
        assert_eq!(of(None, None, true), edited(0.125 * LOG2_E));
        for scale in [0.0, -0.0, -2.0, -1e-45] {
            assert_eq!(of(Some(scale), None, false), edited(scale * LOG2_E));
        }
    }

    #[test]
    fn a_softcap_divides_before_and_multiplies_after_the_tangent() {
        for alibi in [false, true] {
            let score_scale = 0.025 * (2.0 * LOG2_E);
            let capped = Scores { scale_log2: 1.0, score_scale, softcap_log2: 5.0 * LOG2_E, edit: true };
            assert_eq!(of(None, Some(5.0), alibi), capped);
        }
    }
}
