//! A problem bound to memory of its own, for benches on a GPU.

use std::sync::Arc;

use fa3::{Backend, Binding, Buffer, Operands, Plan, Problem, Result, Tensor, TensorSpec, Workspace};
use half::bf16;

#[path = "../../examples/serve/random.rs"]
mod random;

/// The binding and what it points into.
pub struct Bound {
    /// The plan with its operands.
    pub binding: Binding,
    _buffers: [Buffer; 5],
}

impl Bound {
    /// Binds a problem in bf16. Its inputs are random: constant ones draw less power, and the card then runs
    /// faster.
    pub fn new(backend: &Arc<dyn Backend>, problem: &Problem) -> Result<Self> {
        let plan = Arc::new(Plan::forward(&backend.target(), problem)?);
        let bytes = |spec: TensorSpec| spec.layout.span().unwrap_or(0) * spec.dtype.size();
        let input = |spec: TensorSpec, seed| {
            let elements = random::normal::<bf16>(spec.layout.span().unwrap_or(0), seed);
            Buffer::from_bytes(backend, bytemuck::cast_slice(&elements))
        };
        let buffers = [
            input(problem.q, 1)?,
            input(problem.k, 2)?,
            input(problem.v, 3)?,
            Buffer::zeroed(backend, bytes(problem.o))?,
            Buffer::zeroed(backend, plan.dims().lse_len * 4)?,
        ];
        let tensor = |n: usize, spec| Tensor { pointer: buffers[n].pointer(), spec };
        let operands = Operands {
            lse: Some(buffers[4].pointer()),
            ..Operands::new(
                tensor(0, problem.q),
                tensor(1, problem.k),
                tensor(2, problem.v),
                tensor(3, problem.o),
            )
        };
        let binding = plan.bind(backend, &operands, Workspace::Own)?;
        Ok(Self { binding, _buffers: buffers })
    }
}
