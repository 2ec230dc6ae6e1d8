//! What is supported on a target, and why not: one function, which planning asks too.

use core::fmt;

use fa3_sys::Arch;

use crate::error::{Reason, Unsupported};
use crate::plan::{heuristics, maps};
use crate::{CudaTarget, DType, Dims, Options, Problem, Result, Sequences, Sizes, Target, Window};

/// Whether `target` can compute `problem`.
///
/// ```
/// use fa3::{CudaTarget, DType, Options, Problem, Sizes, Target, support};
/// let target = Target::Cuda(CudaTarget::H200);
/// let problem = Problem::dense(DType::Bf16, Sizes::new(1, 4096, 16, 128), Options::default());
/// assert!(support(&target, &problem).is_ok());
/// let capped = Options { softcap: Some(30.0), ..Options::default() };
/// let error = support(&target, &Problem { options: capped, ..problem }).unwrap_err();
/// assert!(error.to_string().contains("softcap"));
/// ```
///
/// # Errors
/// [`Error::Argument`](crate::Error::Argument) for a malformed problem,
/// [`Error::Unsupported`](crate::Error::Unsupported) with every reason for a
/// well-formed one that the target does not take.
pub fn support(target: &Target, problem: &Problem) -> Result<()> {
    check(target, problem, &problem.dims()?)
}

pub(crate) fn check(target: &Target, problem: &Problem, dims: &Dims) -> Result<()> {
    let reasons = match target {
        Target::Cuda(cuda) => forward_reasons(cuda, problem, dims),
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

fn forward_reasons(target: &CudaTarget, problem: &Problem, dims: &Dims) -> Vec<Reason> {
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
    let Options { causal: _, window, softcap, scale: _, batch_invariant: _ } = problem.options;
    if heuristics::kernel_type(problem.q.dtype).is_none() {
        refuse("dtype", problem.q.dtype.to_string(), "the kernels multiply bf16 and f16");
    }
    if !HEAD_DIMS.contains(&dims.d) {
        refuse("head_dim", dims.d.to_string(), "there are kernels for 64, 128 and 256");
    }
    if dims.dv != dims.d {
        refuse("v.shape[3]", dims.dv.to_string(), "the kernels want V's heads as wide as Q's");
    }
    let scale = problem.options.scale_for(dims.d);
    if scale <= 0.0 {
        let rule = "the kernels take a row's maximum before they scale it, which needs a positive scale";
        refuse("options.scale", scale.to_string(), rule);
    }
    if scale > 0.0 && !(scale * core::f32::consts::LOG2_E).is_finite() {
        refuse("options.scale", scale.to_string(), "the scale times log₂e must be finite in f32");
    }
    if window != Window::default() {
        refuse("options.window", describe_window(window), "the kernels have no sliding window yet");
    }
    if let Some(cap) = softcap {
        refuse("options.softcap", cap.to_string(), "the kernels do not cap scores yet");
    }
    if problem.sinks {
        refuse("sinks", "given".to_owned(), "the kernels have no sinks yet");
    }
    if problem.alibi {
        refuse("alibi", "given".to_owned(), "the kernels have no ALiBi yet");
    }
    match problem.sequences {
        Sequences::Dense => {}
        Sequences::UsedKeys => refuse("sequences", "used keys".to_owned(), "the kernels take dense batches"),
        Sequences::Packed { .. } => {
            refuse("sequences", "packed".to_owned(), "the kernels take dense batches")
        }
    }
    if !reasons.is_empty() || dims.is_empty() {
        return reasons;
    }
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
    let Some(choice) = heuristics::forward(target, dims, problem.q.dtype, &problem.options) else {
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
    let maps = maps::forward(problem, dims, choice.kernel);
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
    for (d, dv) in [(32, 32), (64, 64), (96, 96), (128, 128), (192, 128), (256, 256)] {
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

/// Head dimensions that there are kernels for.
const HEAD_DIMS: [usize; 3] = [64, 128, 256];

fn describe_window(window: Window) -> String {
    let side = |keys: Option<usize>| keys.map_or("all".to_owned(), |keys| keys.to_string());
    format!("{} before, {} after", side(window.left), side(window.right))
}
