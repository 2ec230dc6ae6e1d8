//! What is supported on a target, and why not: one function, which planning asks too.

use core::fmt;

use fa3_sys::Arch;

use crate::error::{Reason, Unsupported};
use crate::plan::scores::Scores;
use crate::plan::tiling::Tiling;
use crate::plan::{heuristics, maps, tuning};
use crate::{CudaTarget, DType, Dims, Options, Problem, Result, Sequences, Sizes, Target, Tuning, Window};

/// Whether `target` can compute `problem`.
///
/// ```
/// use fa3::{CudaTarget, DType, Options, Problem, Sizes, Target, support};
/// let target = Target::Cuda(CudaTarget::H200);
/// let problem = Problem::dense(DType::Bf16, Sizes::new(1, 4096, 16, 128), Options::default());
/// assert!(support(&target, &problem).is_ok());
/// let odd = Problem::dense(DType::Bf16, Sizes::new(1, 4096, 16, 100), Options::default());
/// let error = support(&target, &odd).unwrap_err();
/// assert!(error.to_string().contains("a multiple of 8"));
/// ```
///
/// # Errors
/// [`Error::Argument`](crate::Error::Argument) for a malformed problem,
/// [`Error::Unsupported`](crate::Error::Unsupported) with every reason for a
/// well-formed one that the target does not take.
pub fn support(target: &Target, problem: &Problem) -> Result<()> {
    check(target, problem, &problem.dims()?, &Tuning::default())
}

pub(crate) fn check(target: &Target, problem: &Problem, dims: &Dims, tuning: &Tuning) -> Result<()> {
    let reasons = match target {
        Target::Cuda(cuda) => forward_reasons(cuda, problem, dims, tuning),
        Target::Cpu(_) => Vec::new(),
    };
    if reasons.is_empty() {
        return Ok(());
    }
    let target = match target {
        Target::Cuda(cuda) => cuda.arch.to_string(),
        Target::Cpu(_) => "the CPU".to_owned(),
    };
    Err(Unsupported { target, reasons }.into())
}

/// What would take any of the refused problems.
const ELSEWHERE: &str = "the CPU backend takes it";

fn forward_reasons(target: &CudaTarget, problem: &Problem, dims: &Dims, tuning: &Tuning) -> Vec<Reason> {
    if target.arch != Arch::Sm90a {
        return vec![Reason {
            argument: "target",
            value: target.arch.to_string(),
            rule: format!("forward kernels exist for {} only", Arch::Sm90a),
            remedy: ELSEWHERE,
        }];
    }
    let mut reasons = Vec::new();
    let mut refuse = |argument, value: String, rule: &str| {
        reasons.push(Reason { argument, value, rule: rule.to_owned(), remedy: ELSEWHERE });
    };
    if heuristics::kernel_type(problem.q.dtype).is_none() {
        refuse("dtype", problem.q.dtype.to_string(), "the kernels multiply bf16 and f16");
    }
    for (argument, width) in [("head_dim", dims.d), ("v.shape[3]", dims.dv)] {
        if width > WIDEST || !width.is_multiple_of(8) {
            let rule = "the kernels take heads of a multiple of 8 elements, up to 256";
            refuse(argument, width.to_string(), rule);
        }
    }
    score_reasons(problem, dims, &mut refuse);
    reasons.extend(tuning::reasons(tuning, problem, dims));
    if !reasons.is_empty() || dims.is_empty() {
        return reasons;
    }
    layout_reasons(target, problem, dims, tuning)
}

/// Factors that are no numbers to base two.
fn score_reasons(problem: &Problem, dims: &Dims, refuse: &mut impl FnMut(&'static str, String, &str)) {
    let Options { scale: _, softcap, causal: _, window: _, batch_invariant: _ } = problem.options;
    let scale = problem.options.scale_for(dims.d);
    let scores = Scores::of(problem, dims);
    match softcap {
        Some(cap) if !scores.score_scale.is_finite() => {
            let rule = format!("the scale, {scale}, over the softcap must be finite in f32");
            refuse("options.softcap", cap.to_string(), &rule);
        }
        Some(cap) if cap > LARGEST_SOFTCAP => {
            let rule =
                format!("the kernels take softcaps up to {LARGEST_SOFTCAP}, for the accuracy of the LSE");
            refuse("options.softcap", cap.to_string(), &rule);
        }
        None if !(scores.score_scale * scores.scale_log2).is_finite() => {
            refuse("options.scale", scale.to_string(), "the scale times log₂e must be finite in f32");
        }
        _ => {}
    }
}

/// Lengths, counts and strides that the kernels cannot hold.
fn layout_reasons(target: &CudaTarget, problem: &Problem, dims: &Dims, tuning: &Tuning) -> Vec<Reason> {
    let mut reasons = Vec::new();
    let limit = i32::MAX as usize - 1024;
    for (argument, extent) in [("q.shape[1]", dims.sq), ("k.shape[1]", dims.sk)] {
        if extent > limit {
            reasons.push(Reason {
                argument,
                value: extent.to_string(),
                rule: format!("the kernels count rows in 32 bits, up to {limit}"),
                remedy: ELSEWHERE,
            });
        }
    }
    let Some(tiling) = Tiling::new(target, problem, dims, tuning) else {
        reasons.push(Reason {
            argument: "q.shape",
            value: format!("{:?}", problem.q.layout.shape),
            rule: "the kernels count tiles (batch · heads · rows of tiles) in 31 bits".to_owned(),
            remedy: "split the batch",
        });
        return reasons;
    };
    let layouts = [problem.q, problem.k, problem.v, problem.o].map(|spec| spec.layout);
    let arguments = ["q.strides", "k.strides", "v.strides", "o.strides"];
    let maps = maps::forward(problem, dims, &tiling.kernel, tiling.pack);
    for ((argument, layout), map) in arguments.into_iter().zip(layouts).zip(maps) {
        if let Err(error) = map {
            reasons.push(Reason {
                argument,
                value: format!("{:?} with shape {:?}", layout.strides, layout.shape),
                rule: format!("TMA cannot address it: {error}"),
                remedy: "copy the tensor to strides that are multiples of 8 elements",
            });
        }
    }
    reasons
}

/// One line of the [`table`] of what is supported: a problem and the verdict on it.
#[derive(Clone, Debug)]
pub struct Row {
    /// What distinguishes it from the table's first row.
    pub feature: String,
    /// An example of it.
    pub problem: Problem,
    /// Whether the target takes it, or every reason why not.
    pub verdict: Result<()>,
}

/// What `target` supports: one row for each element type, head dimension, mask, bias and layout of
/// sequences, each varied alone from plain bf16 attention of head dimension 128. Every verdict is
/// [`support`]'s own.
///
/// ```
/// use fa3::{CudaTarget, Target, support};
/// for row in support::table(&Target::Cuda(CudaTarget::H200)) {
///     println!("{row}");
/// }
/// ```
pub fn table(target: &Target) -> Vec<Row> {
    let of = |dtype, d: usize, dv: usize| {
        Problem::dense(dtype, Sizes { heads_k: 4, dv, ..Sizes::new(2, 1024, 16, d) }, Options::default())
    };
    let plain = of(DType::Bf16, 128, 128);
    let with = |options: Options| Problem { options, ..plain };
    let mut rows = Vec::new();
    let mut row = |feature: String, problem: Problem| {
        rows.push(Row { feature, problem, verdict: support(target, &problem) });
    };
    for dtype in [DType::Bf16, DType::F16, DType::F32] {
        row(format!("{dtype}"), of(dtype, 128, 128));
    }
    for (d, dv) in
        [(32, 32), (64, 64), (80, 80), (96, 96), (128, 128), (192, 128), (256, 256), (100, 100), (512, 512)]
    {
        let name = if d == dv { format!("head dimension {d}") } else { format!("head dimensions {d}/{dv}") };
        row(name, of(DType::Bf16, d, dv));
    }
    let default = Options::default();
    row("causal".to_owned(), with(Options { causal: true, ..default }));
    let window = Window { left: Some(255), right: Some(0) };
    row("sliding window".to_owned(), with(Options { window, ..default }));
    row("softcap".to_owned(), with(Options { softcap: Some(30.0), ..default }));
    row("negative scale".to_owned(), with(Options { scale: Some(-0.125), ..default }));
    row("sinks".to_owned(), Problem { sinks: true, ..plain });
    row("ALiBi".to_owned(), Problem { alibi: true, ..plain });
    row("used keys".to_owned(), Problem { sequences: Sequences::UsedKeys, ..plain });
    let mut packed = Problem::dense(DType::Bf16, Sizes::new(1, 2048, 16, 128), default);
    packed.sequences = Sequences::Packed { count: 2, max_q: 1024, max_k: 1024 };
    row("packed sequences".to_owned(), packed);
    let mut transposed = of(DType::Bf16, 128, 128);
    for spec in [&mut transposed.q, &mut transposed.k, &mut transposed.v, &mut transposed.o] {
        let [_, s, h, d] = spec.layout.shape;
        spec.layout.strides = [s * h * d, d, s * d, 1];
    }
    row("strides of [batch, heads, sequence, dim]".to_owned(), transposed);
    let mut odd = plain;
    odd.q.layout.strides = odd.q.layout.strides.map(|stride| if stride == 1 { 1 } else { stride + 1 });
    row("strides that are no multiples of 16 bytes".to_owned(), odd);
    rows
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.verdict {
            Ok(()) => write!(f, "{:<42} yes", self.feature),
            Err(error) => write!(f, "{:<42} no: {error}", self.feature),
        }
    }
}

/// The widest heads that there are kernels for.
const WIDEST: usize = 256;

/// The largest softcap: its error in a score, and in the LSE of one key, is then 2⁻¹⁴, for
/// the kernels' tangent is 2⁻²² of the cap off.
const LARGEST_SOFTCAP: f32 = 256.0;
