//! The plan of a merge.

use fa3_kernels::{MERGE_SYMBOL, MERGE_THREADS, MergeParams};
use fa3_sys::Arch;

use super::MergeProblem;
use super::check::MergeDims;
use crate::error::{Reason, Unsupported};
use crate::{CudaTarget, DType, Error, KernelPlan, Result, Target};

/// What one merge will do. Made from a target, types and layouts alone, without touching a device.
#[derive(Clone, Debug, PartialEq)]
pub struct MergePlan {
    target: Target,
    problem: MergeProblem,
    dims: MergeDims,
    execution: MergeExecution,
}

/// How a merge computes.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum MergeExecution {
    /// O has no element: nothing runs.
    Nothing,
    /// A kernel of a GPU.
    Gpu(MergeKernel),
    /// The CPU, row by row.
    Cpu,
}

/// The launch of the merging kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct MergeKernel {
    /// The kernel and the shape of its launch.
    pub kernel: KernelPlan,
    /// Its parameter block; addresses are filled in when bound.
    pub params: MergeParams,
}

impl MergePlan {
    /// Plans `problem` on `target`.
    ///
    /// # Errors
    /// [`Error::Argument`] for a malformed problem, [`Error::Unsupported`] for one that the target's kernel
    /// does not take: it moves 16 bytes at a time.
    pub fn new(target: &Target, problem: &MergeProblem) -> Result<Self> {
        let dims = problem.dims()?;
        let execution = match target {
            Target::Cuda(cuda) => {
                supported(cuda, problem, &dims)?;
                if dims.rows == 0 {
                    MergeExecution::Nothing
                } else {
                    MergeExecution::Gpu(gpu(problem, &dims)?)
                }
            }
            Target::Cpu(_) if dims.rows == 0 => MergeExecution::Nothing,
            Target::Cpu(_) => MergeExecution::Cpu,
        };
        Ok(Self { target: *target, problem: *problem, dims, execution })
    }

    /// What it was made for.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// What it computes.
    pub fn problem(&self) -> &MergeProblem {
        &self.problem
    }

    /// How it computes.
    pub fn execution(&self) -> &MergeExecution {
        &self.execution
    }

    pub(super) fn dims(&self) -> &MergeDims {
        &self.dims
    }
}

/// Columns that a thread of the kernel works on.
const COLUMNS: usize = 8;

/// What the kernel counts, in 31 bits with room for a CTA or a batch of parts.
const MOST: usize = i32::MAX as usize - 1024;

fn supported(target: &CudaTarget, problem: &MergeProblem, dims: &MergeDims) -> Result<()> {
    let mut reasons = Vec::new();
    let mut refuse = |argument, value: String, rule: &str, remedy| {
        reasons.push(Reason { argument, value, rule: rule.to_owned(), remedy });
    };
    let elsewhere = "the CPU backend takes it";
    if target.arch != Arch::Sm90a {
        let rule = format!("a merging kernel exists for {} only", Arch::Sm90a);
        refuse("target", target.arch.to_string(), &rule, elsewhere);
    }
    if !dims.dv.is_multiple_of(COLUMNS) {
        refuse("o.shape[3]", dims.dv.to_string(), "the kernel takes heads of a multiple of 8", elsewhere);
    }
    for (argument, value) in
        [("parts", problem.parts), ("batch · heads · sq", dims.rows), ("o.shape[3]", dims.dv)]
    {
        if value > MOST {
            let rule = format!("the kernel counts up to {MOST}");
            refuse(argument, value.to_string(), &rule, "split the batch, or merge in several steps");
        }
    }
    let odd = |stride: usize| !stride.is_multiple_of(COLUMNS);
    let steps = |spec: &crate::TensorSpec| {
        let outer = spec.layout.shape.into_iter().zip(spec.layout.strides).take(3);
        outer.filter(|&(extent, _)| extent > 1).any(|(_, stride)| odd(stride))
    };
    let remedy = "copy the tensor to strides that are multiples of 8 elements";
    for (argument, spec) in [("part.strides", &problem.part), ("o.strides", &problem.o)] {
        if steps(spec) {
            let value = format!("{:?} with shape {:?}", spec.layout.strides, spec.layout.shape);
            refuse(argument, value, "the kernel moves 16 bytes at a time", remedy);
        }
    }
    if problem.parts > 1 && odd(problem.part_stride) {
        let value = problem.part_stride.to_string();
        refuse("part_stride", value, "the kernel moves 16 bytes at a time", remedy);
    }
    if reasons.is_empty() {
        return Ok(());
    }
    Err(Unsupported { target: target.arch.to_string(), reasons }.into())
}

fn gpu(problem: &MergeProblem, dims: &MergeDims) -> Result<MergeKernel> {
    let count = |value: usize| {
        let too_large = || Error::argument("part.shape", value, "the kernel counts in 31 bits", "split it");
        u32::try_from(value).ok().filter(|&value| value <= i32::MAX.unsigned_abs()).ok_or_else(too_large)
    };
    let (rows, lanes) = (count(dims.rows)?, count(dims.dv / COLUMNS)?.clamp(1, MERGE_THREADS));
    // Strides that are never stepped along may be any.
    let strides = |spec: &crate::TensorSpec| {
        let outer = spec.layout.shape.into_iter().zip(spec.layout.strides);
        let mut strides = outer.map(|(extent, stride)| if extent > 1 { stride as i64 } else { 0 });
        [(); 3].map(|()| strides.next().unwrap_or(0))
    };
    let [part_batch, part_row, part_head] = strides(&problem.part);
    let [o_batch, o_row, o_head] = strides(&problem.o);
    let params = MergeParams {
        parts: 0,
        parts_lse: 0,
        o: 0,
        lse: 0,
        sinks: 0,
        part_stride: if problem.parts > 1 { problem.part_stride as i64 } else { 0 },
        part_batch,
        part_row,
        part_head,
        o_batch,
        o_row,
        o_head,
        count: count(problem.parts)?.cast_signed(),
        rows,
        sq: count(dims.sq)?,
        heads: count(dims.heads)?,
        dv: count(dims.dv)?.cast_signed(),
        lanes,
        part_type: type_code(problem.part.dtype),
        o_type: type_code(problem.o.dtype),
    };
    let kernel = KernelPlan {
        symbol: MERGE_SYMBOL.to_owned(),
        arch: Arch::Sm90a,
        grid: [rows.div_ceil(MERGE_THREADS / lanes), 1, 1],
        block: MERGE_THREADS,
        cluster: 1,
        shared_bytes: 0,
    };
    Ok(MergeKernel { kernel, params })
}

/// As [`MergeParams::part_type`] says.
fn type_code(dtype: DType) -> i32 {
    match dtype {
        DType::F32 | DType::I32 => 0,
        DType::F16 => 1,
        DType::Bf16 => 2,
    }
}
