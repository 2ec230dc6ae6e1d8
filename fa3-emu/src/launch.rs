//! Launching a kernel: its shape, its arguments, and the run.

use crate::ir::Program;
use crate::machine::{self, Geometry, Memory, RunError};
use crate::options::{Options, Order};
use crate::trace::Trace;

/// Threads of a CTA at most (CUDA programming guide, "Technical Specifications per Compute
/// Capability").
const MAX_THREADS: u64 = 1024;
/// CTAs along each axis of a grid at most (the same table).
const MAX_GRID: [u32; 3] = [i32::MAX as u32, 65_535, 65_535];
/// CTAs of a cluster at most, where a kernel asks for more than the portable eight.
const MAX_CLUSTER: u64 = 16;

/// The shape of a launch.
///
/// ```
/// use fa3_emu::Launch;
/// let launch = Launch { dynamic_shared: 4096, ..Launch::new([132, 1, 1], [384, 1, 1]) };
/// assert_eq!(launch.cluster, None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// CTAs, x, y and z.
    pub grid: [u32; 3],
    /// Threads of a CTA.
    pub block: [u32; 3],
    /// CTAs of a cluster; `None` for what the kernel requires, or else one.
    pub cluster: Option<[u32; 3]>,
    /// Bytes of dynamic shared memory a CTA.
    pub dynamic_shared: u32,
}

impl Launch {
    /// `grid` CTAs of `block` threads, in the clusters that the kernel requires, without dynamic
    /// shared memory.
    pub const fn new(grid: [u32; 3], block: [u32; 3]) -> Self {
        Self { grid, block, cluster: None, dynamic_shared: 0 }
    }
}

/// What a launch did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Instructions executed, counted once a warp.
    pub steps: u64,
    /// The timeline, where [`Options::trace`] asks for it.
    pub trace: Option<Trace>,
}

/// Runs `program` to its end, on `memory`. Equal launches on equal memory do equal things, under
/// equal options. Clusters share nothing but global memory; where those of a kernel communicate through
/// it, one waiting for a later one, as many must run at once ([`Options::threads`]).
///
/// `arguments` are the bytes of each parameter, in order; tensor maps are those of
/// [`TensorMapDesc::to_map_bytes`](fa3_sys::TensorMapDesc::to_map_bytes).
///
/// ```
/// use fa3_emu::{Launch, Memory, Options, ir::Program, ptx, run};
/// let module = ptx::parse("
///     .version 9.0
///     .target sm_90a
///     .address_size 64
///     .visible .entry number(.param .u64 out)
///     {
///         .reg .b32 %r<2>;
///         .reg .b64 %rd<4>;
///         ld.param.u64 %rd1, [out];
///         mov.u32 %r1, %tid.x;
///         mul.wide.u32 %rd2, %r1, 4;
///         add.s64 %rd3, %rd1, %rd2;
///         st.global.u32 [%rd3], %r1;
///         ret;
///     }
/// ")?;
/// let program = Program::compile(&module, "number")?;
/// let mut memory = Memory::new();
/// let out = memory.allocate(&[0; 3 * 4])?;
/// let launch = Launch::new([1, 1, 1], [3, 1, 1]);
/// let report = run(&program, &launch, &[&out.to_le_bytes()], &mut memory, &Options::default())?;
/// assert_eq!(memory.read(out, 12)?, [0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0]);
/// assert_eq!(report.steps, 6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`RunError::Launch`] when the shape or the arguments don't fit the kernel; the others when the
/// run goes wrong. `memory` then holds what was written until then.
pub fn run(
    program: &Program,
    launch: &Launch,
    arguments: &[&[u8]],
    memory: &mut Memory,
    options: &Options,
) -> Result<Report, RunError> {
    let most = Options::MAX_THREADS;
    if !(1..=most).contains(&options.threads) {
        return Err(refused("threads", options.threads, format!("1 to {most} run clusters")));
    }
    let geometry = geometry(program, launch)?;
    let params = parameter_block(program, arguments)?;
    if options.trace && options.order != Order::Eager {
        return Err(refused("order", options.order, "a trace is recorded of the eager order"));
    }
    let (steps, tracks) = machine::run_grid(program, &geometry, &params, memory, options)?;
    let trace = options.trace.then(|| Trace {
        kernel: program.entry.clone(),
        tracks,
        files: program.files.clone(),
        symbols: program.shared.symbols.clone(),
    });
    Ok(Report { steps, trace })
}

fn refused(argument: &'static str, value: impl std::fmt::Debug, rule: impl Into<String>) -> RunError {
    RunError::Launch { argument, value: format!("{value:?}"), rule: rule.into() }
}

fn volume(extents: [u32; 3]) -> u64 {
    extents.iter().fold(1, |product: u64, &extent| product.saturating_mul(extent.into()))
}

fn geometry(program: &Program, launch: &Launch) -> Result<Geometry, RunError> {
    let Launch { grid, block, dynamic_shared, .. } = *launch;
    let threads = volume(block);
    if !(1..=MAX_THREADS).contains(&threads) {
        return Err(refused("block", block, format!("a CTA has 1 to {MAX_THREADS} threads")));
    }
    if let Some(required) = program.required_threads.filter(|&required| required != block) {
        return Err(refused("block", block, format!("the kernel requires {required:?} (.reqntid)")));
    }
    if let Some(most) = program.max_threads.filter(|&most| threads > volume(most)) {
        return Err(refused("block", block, format!("the kernel takes at most {} (.maxntid)", volume(most))));
    }
    let cluster = launch.cluster.or(program.required_cluster).unwrap_or([1; 3]);
    if let Some(required) = program.required_cluster.filter(|&required| required != cluster) {
        return Err(refused(
            "cluster",
            cluster,
            format!("the kernel requires {required:?} (.reqnctapercluster)"),
        ));
    }
    if !(1..=MAX_CLUSTER).contains(&volume(cluster)) {
        return Err(refused("cluster", cluster, format!("a cluster has 1 to {MAX_CLUSTER} CTAs")));
    }
    let whole = grid.iter().zip(cluster).all(|(&ctas, of)| ctas > 0 && ctas.is_multiple_of(of));
    if !whole {
        return Err(refused(
            "grid",
            grid,
            format!("each extent is a positive multiple of the cluster's, {cluster:?}"),
        ));
    }
    if grid.iter().zip(MAX_GRID).any(|(&ctas, most)| ctas > most) {
        return Err(refused("grid", grid, format!("a grid has at most {MAX_GRID:?} CTAs")));
    }
    let shared = &program.shared;
    let dynamic_from = shared.dynamic_offset.unwrap_or(shared.static_bytes);
    let most = program.arch.max_shared_bytes();
    let shared_bytes = dynamic_from.checked_add(dynamic_shared).filter(|&bytes| bytes <= most);
    let shared_bytes = shared_bytes.ok_or_else(|| {
        let left = most.saturating_sub(dynamic_from);
        refused(
            "dynamic_shared",
            dynamic_shared,
            format!("there is room for {left} bytes on {}", program.arch),
        )
    })?;
    Ok(Geometry { grid, block, cluster, shared_bytes, dynamic_shared })
}

fn parameter_block(program: &Program, arguments: &[&[u8]]) -> Result<Vec<u8>, RunError> {
    if arguments.len() != program.params.len() {
        let rule = format!("the kernel has {} parameters", program.params.len());
        return Err(refused("arguments.len()", arguments.len(), rule));
    }
    let mut block = vec![0; program.param_bytes as usize];
    for (param, argument) in program.params.iter().zip(arguments) {
        let place = block.get_mut(param.offset as usize..).and_then(|rest| rest.get_mut(..argument.len()));
        match place.filter(|_| argument.len() == param.size as usize) {
            Some(place) => place.copy_from_slice(argument),
            None => {
                let rule = format!("parameter `{}` has {} bytes", param.name, param.size);
                return Err(refused("argument's bytes", argument.len(), rule));
            }
        }
    }
    Ok(block)
}
