//! Launches of the forward kernels on an emulated device.

use fa3_emu::ir::Program;
use fa3_emu::{Launch, Memory, Options, ptx, run};
use fa3_kernels::{ForwardKernel, ForwardParams, Operand};
use fa3_sys::tensormap::{DataType, Swizzle, TensorMapDesc};
use fa3_sys::{Arch, TensorMap};

use super::problem::{Operands, Problem};

/// A tensor map over `[dim, sequence, heads, batch]` of a contiguous `[batch, sequence, heads, dim]`.
fn map(problem: &Problem, tokens: usize, heads: usize, box_extents: [u32; 4], address: u64) -> TensorMap {
    let data_type = match problem.operand {
        Operand::F16 => DataType::F16,
        Operand::Bf16 => DataType::Bf16,
    };
    let extents = [problem.dim, tokens, heads, problem.batch].map(|extent| extent as u64);
    let head = 2 * extents[0];
    let strides = [head * extents[2], head, head * extents[2] * extents[1]];
    let desc = TensorMapDesc::tiled(data_type, &extents, &strides, &box_extents).unwrap();
    desc.with_swizzle(Swizzle::Bytes128).to_map_bytes(address).unwrap()
}

/// The program of a kernel of the table.
pub fn compiled(kernel: &ForwardKernel) -> Program {
    let text = fa3_kernels::ptx(&kernel.symbol(), Arch::Sm90a).unwrap();
    Program::compile(&ptx::parse(text).unwrap(), &kernel.symbol()).unwrap()
}

/// A launch of a kernel on a problem.
#[derive(Clone)]
pub struct Prepared {
    pub launch: Launch,
    pub arguments: Vec<Vec<u8>>,
    pub memory: Memory,
    /// The address of O, and its bytes.
    pub o: (u64, usize),
    /// The address of the log-sum-exp, and its bytes.
    pub lse: (u64, usize),
}

/// The launch of `kernel` on a grid of at most `ctas`.
pub fn prepare(kernel: &ForwardKernel, problem: &Problem, operands: &Operands, ctas: u32) -> Prepared {
    let mut memory = Memory::new();
    let q = memory.allocate(&problem.encode(&operands.q)).unwrap();
    let k = memory.allocate(&problem.encode(&operands.k)).unwrap();
    let v = memory.allocate(&problem.encode(&operands.v)).unwrap();
    let (o_bytes, lse_bytes) = (2 * operands.q.len(), 4 * problem.batch * problem.heads_q * problem.sq);
    let o = memory.allocate_filled(o_bytes, 0xff).unwrap();
    let lse = memory.allocate_filled(lse_bytes, 0xff).unwrap();
    let boxes = kernel.boxes();
    // A map cannot describe an empty tensor: without keys it stands on Q, and no key is visible.
    let keys = |address| match problem.sk {
        0 => map(problem, 1, 1, boxes.kv, q),
        sk => map(problem, sk, problem.heads_k, boxes.kv, address),
    };
    let maps = [
        map(problem, problem.sq, problem.heads_q, boxes.q, q),
        keys(k),
        keys(v),
        map(problem, problem.sq, problem.heads_q, boxes.o, o),
    ];
    let number = |value: usize| i32::try_from(value).unwrap();
    let m_tiles = problem.sq.div_ceil(kernel.tile_m() as usize);
    let batch_heads = problem.batch * problem.heads_q;
    let params = ForwardParams {
        lse,
        scale_log2: problem.scale() * std::f32::consts::LOG2_E,
        sq: number(problem.sq),
        sk: number(problem.sk),
        heads_q: number(problem.heads_q),
        group: number(problem.heads_q / problem.heads_k),
        batch_heads: number(batch_heads),
        m_tiles: number(m_tiles),
        tiles: number(m_tiles * batch_heads),
        section: 2.min(number(batch_heads)),
        causal: i32::from(problem.causal),
    };
    let params_bytes = bytemuck::bytes_of(&params).to_vec();
    let arguments = maps.iter().map(|map| map.as_bytes().to_vec()).chain([params_bytes]).collect();
    let grid = ctas.min(u32::try_from(params.tiles).unwrap());
    let launch = Launch {
        dynamic_shared: kernel.shared_bytes(),
        ..Launch::new([grid, 1, 1], [kernel.threads(), 1, 1])
    };
    Prepared { launch, arguments, memory, o: (o, o_bytes), lse: (lse, lse_bytes) }
}

/// O and the log-sum-exp that `kernel` computes on a grid of at most `ctas`.
pub fn forward(
    kernel: &ForwardKernel,
    program: &Program,
    problem: &Problem,
    operands: &Operands,
    ctas: u32,
    options: &Options,
) -> (Vec<f32>, Vec<f32>) {
    let Prepared { launch, arguments, mut memory, o, lse } = prepare(kernel, problem, operands, ctas);
    let arguments: Vec<&[u8]> = arguments.iter().map(Vec::as_slice).collect();
    run(program, &launch, &arguments, &mut memory, options)
        .unwrap_or_else(|error| panic!("{} {problem:?}: {error}", kernel.symbol()));
    let output = problem.decode(memory.read(o.0, o.1).unwrap());
    let sums = memory.read(lse.0, lse.1).unwrap().chunks_exact(4);
    (output, sums.map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect())
}
