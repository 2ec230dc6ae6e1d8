//! Launches of the forward kernels on an emulated device.

use fa3_emu::ir::Program;
use fa3_emu::{Launch, Memory, Options, ptx, run};
use fa3_kernels::{CHUNK_BYTES, ForwardKernel, ForwardParams, Operand};
use fa3_sys::tensormap::{DataType, Swizzle, TensorMapDesc};
use fa3_sys::{Arch, TensorMap};

use super::problem::{Operands, Problem};

/// A tensor map whose box has rows as long as the swizzle.
fn map(
    operand: Operand,
    extents: &[usize],
    strides: &[usize],
    box_extents: &[u32],
    address: u64,
) -> TensorMap {
    let data_type = match operand {
        Operand::F16 => DataType::F16,
        Operand::Bf16 => DataType::Bf16,
    };
    let extents: Vec<u64> = extents.iter().map(|&extent| extent as u64).collect();
    let strides: Vec<u64> = strides.iter().map(|&elements| 2 * elements as u64).collect();
    let desc = TensorMapDesc::tiled(data_type, &extents, &strides, box_extents).unwrap();
    let swizzle = if box_extents[0] == 32 { Swizzle::Bytes64 } else { Swizzle::Bytes128 };
    desc.with_swizzle(swizzle).to_map_bytes(address).unwrap()
}

/// Over `[dim, sequence, heads, batch]` of a contiguous `[batch, sequence, heads, dim]`.
fn tensor(
    problem: &Problem,
    [tokens, heads, dim]: [usize; 3],
    box_extents: [u32; 4],
    address: u64,
) -> TensorMap {
    let strides = [heads * dim, dim, tokens * heads * dim];
    map(problem.operand, &[dim, tokens, heads, problem.batch], &strides, &box_extents, address)
}

/// Over `[dim, head in pack, sequence, head of tiles, batch]`.
fn queries(problem: &Problem, pack: usize, box_extents: [u32; 5], address: u64) -> TensorMap {
    let &Problem { dim, sq, heads_q, batch, .. } = problem;
    let strides = [dim, heads_q * dim, pack * dim, sq * heads_q * dim];
    map(problem.operand, &[dim, pack, sq, heads_q / pack, batch], &strides, &box_extents, address)
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

fn number(value: usize) -> i32 {
    i32::try_from(value).unwrap()
}

/// The list of tiles that the schedule kernel makes: a header, then a chunk for each row of tiles.
fn list(problem: &Problem, m_tiles: usize) -> Vec<u8> {
    let mut words = vec![0; CHUNK_BYTES / 4];
    words[0] = number(problem.batch * m_tiles);
    for batch in 0..problem.batch {
        let (used, first) = (problem.used(batch), batch * m_tiles);
        let chunk = [0, problem.sq, 0, used, batch, first, m_tiles, 1].map(number);
        words.extend(chunk.repeat(m_tiles));
    }
    words.into_iter().flat_map(i32::to_le_bytes).collect()
}

/// The launch of `kernel` on a grid of at most `ctas`.
pub fn prepare(kernel: &ForwardKernel, problem: &Problem, operands: &Operands, ctas: u32) -> Prepared {
    let &Problem { dim, value_dim, batch, sq, sk, heads_q, heads_k, .. } = problem;
    let mut memory = Memory::new();
    let mut allocate = |bytes: &[u8]| memory.allocate(bytes).unwrap();
    let [q, k, v] = [&operands.q, &operands.k, &operands.v].map(|values| allocate(&problem.encode(values)));
    let group = heads_q / heads_k;
    let pack = if problem.packed_heads { group } else { 1 };
    let boxes = kernel.boxes(u32::try_from(pack).unwrap());
    let m_tiles = sq.div_ceil(kernel.tile_m() as usize / pack);
    let heads = heads_q / pack;
    let mut per_head = |wanted: bool, value: &dyn Fn(usize) -> f32| {
        let values = (0..heads_q).flat_map(|head| value(head).to_le_bytes());
        if wanted { allocate(&values.collect::<Vec<u8>>()) } else { 0 }
    };
    let slopes = per_head(problem.alibi, &|head| problem.slope(head));
    let sinks = per_head(problem.sinks, &|head| problem.sink(head));
    let schedule = if problem.ragged { allocate(&list(problem, m_tiles)) } else { 0 };
    let (o_bytes, lse_bytes) = (2 * batch * sq * heads_q * value_dim, 4 * batch * heads_q * sq);
    let o = memory.allocate_filled(o_bytes, 0xff).unwrap();
    let lse = memory.allocate_filled(lse_bytes, 0xff).unwrap();
    // A map cannot describe an empty tensor: without keys it stands on Q, and no key is visible.
    let keys = |address, width, box_extents| match sk {
        0 => tensor(problem, [1, 1, dim], box_extents, q),
        _ => tensor(problem, [sk, heads_k, width], box_extents, address),
    };
    let maps = [
        queries(problem, pack, boxes.q, q),
        keys(k, dim, boxes.k),
        keys(v, value_dim, boxes.v),
        tensor(problem, [sq, heads_q, value_dim], boxes.o, o),
    ];
    let tiles = m_tiles * batch * heads;
    let paired = problem.causal && !problem.ragged && (ctas as usize) < tiles;
    let grid = ctas.min(u32::try_from(if paired { tiles.div_ceil(2) } else { tiles }).unwrap());
    let log2 = problem.scale() * std::f32::consts::LOG2_E;
    let edit = problem.alibi || problem.softcap.is_some();
    let params = ForwardParams {
        lse,
        o,
        schedule,
        sinks,
        slopes,
        o_batch: (sq * heads_q * value_dim) as i64,
        o_row: (heads_q * value_dim) as i64,
        o_head: value_dim as i64,
        scale_log2: if edit { 1.0 } else { log2 },
        score_scale: problem.softcap.map_or(if edit { log2 } else { 1.0 }, |cap| 2.0 * log2 / cap),
        softcap_log2: problem.softcap.map_or(0.0, |cap| cap * std::f32::consts::LOG2_E),
        edit: i32::from(edit),
        sq: number(sq),
        sk: number(sk),
        dv: number(value_dim),
        pack: number(pack),
        pack_reciprocal: ForwardParams::reciprocal(u32::try_from(pack).unwrap()),
        heads: number(heads),
        group: number(group),
        window_left: problem.left.map_or(i32::MAX, number),
        window_right: if problem.causal { 0 } else { i32::MAX },
        batch_heads: number(batch * heads),
        m_tiles: number(m_tiles),
        tiles: number(tiles),
        section: 2.min(number(batch * heads)),
        paired: i32::from(paired),
    };
    let params_bytes = bytemuck::bytes_of(&params).to_vec();
    let arguments = maps.iter().map(|map| map.as_bytes().to_vec()).chain([params_bytes]).collect();
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
