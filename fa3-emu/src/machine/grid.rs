//! The grid: its clusters, in order, one a thread.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::asynchronous::{Asynchronous, GROUP};
use super::cluster::Cluster;
use super::cta::Cta;
use super::device::Device;
use super::fault::RunError;
use super::memory::Memory;
use super::random::Random;
use super::special::coordinates;
use super::warp::Warp;
use crate::check::{Checker, FragmentTable, Rules, Shape};
use crate::engine::cluster::ClusterBarrier;
use crate::ir::Program;
use crate::options::{Options, Order};
use crate::trace::{Tracer, Track};

/// The checked shape of a launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Geometry {
    /// CTAs.
    pub(crate) grid: [u32; 3],
    /// Threads of a CTA.
    pub(crate) block: [u32; 3],
    /// CTAs of a cluster; each extent divides the grid's.
    pub(crate) cluster: [u32; 3],
    /// Bytes of shared memory a CTA, static and dynamic.
    pub(crate) shared_bytes: u32,
    /// Those of them that are dynamic.
    pub(crate) dynamic_shared: u32,
}

impl Geometry {
    /// Threads of a CTA.
    pub(crate) fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// Warps of a CTA.
    pub(crate) fn warps(&self) -> usize {
        self.threads().div_ceil(32) as usize
    }

    /// The warpgroup of a warp by its place in the cluster, by the warpgroup's place there.
    pub(crate) fn warpgroup(&self, warp: usize) -> usize {
        let warps = self.warps();
        warp / warps * warps.div_ceil(GROUP) + warp % warps / GROUP
    }

    /// What a checker is to know of a cluster.
    fn shape(&self) -> Shape {
        let (ctas, warps) = (self.ranks(), self.threads().div_ceil(32));
        Shape { ctas, warps, shared_bytes: self.shared_bytes }
    }

    /// CTAs of a cluster.
    fn ranks(&self) -> u32 {
        self.cluster.iter().product()
    }
}

/// Runs every cluster. The warp instructions executed, and what was recorded of them.
///
/// Threads take clusters in order. One that fails keeps later ones from being begun, and all before it
/// have been, so that the error of the lowest is the one that a single thread would have met.
pub(crate) fn run_grid(
    program: &Program,
    geometry: &Geometry,
    params: &[u8],
    memory: &mut Memory,
    options: &Options,
) -> Result<(u64, Vec<Track>), RunError> {
    let clusters: [u64; 3] =
        std::array::from_fn(|axis| (geometry.grid[axis] / geometry.cluster[axis].max(1)).into());
    let count: u64 = clusters.iter().product();
    let device = memory.share();
    let rules = Rules::from(options.checks);
    let fragments = if rules.registers { FragmentTable::new(program) } else { FragmentTable::default() };
    let checker =
        || (rules != Rules::NONE).then(|| Box::new(Checker::new(geometry.shape(), rules, Some(&fragments))));
    let (next, steps) = (AtomicU64::new(0), AtomicU64::new(0));
    let failed: Mutex<Option<(u64, RunError)>> = Mutex::new(None);
    let recorded: Mutex<Vec<(u64, Vec<Track>)>> = Mutex::new(Vec::new());
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let over =
                failed.lock().is_ok_and(|failed| failed.as_ref().is_some_and(|(lowest, _)| *lowest < number));
            if number >= count || over {
                return;
            }
            let [x, y, _] = clusters;
            let index = [number % x, number / x % y, number / x / y].map(|at| at as u32);
            let mut cluster = cluster(program, geometry, params, &device, options, index);
            cluster.checker = checker();
            let result = cluster.run();
            steps.fetch_add(cluster.steps, Ordering::Relaxed);
            if let (Some(tracer), Ok(mut recorded)) = (cluster.tracer.take(), recorded.lock()) {
                recorded.push((number, tracer.finish()));
            }
            if let (Err(error), Ok(mut failed)) = (result, failed.lock()) {
                if failed.as_ref().is_none_or(|(other, _)| number < *other) {
                    *failed = Some((number, error));
                }
                return;
            }
        }
    };
    std::thread::scope(|scope| {
        for started in 1..options.threads.min(usize::try_from(count).unwrap_or(usize::MAX)) {
            if let Err(error) = std::thread::Builder::new().spawn_scoped(scope, work) {
                let rule = format!("the host starts no more than {started}: {error}");
                let refused =
                    RunError::Launch { argument: "threads", value: options.threads.to_string(), rule };
                if let Ok(mut failed) = failed.lock() {
                    *failed = Some((0, refused));
                }
                return;
            }
        }
        work();
    });
    if let Ok(Some((_, error))) = failed.into_inner() {
        return Err(error);
    }
    let mut recorded = recorded.into_inner().unwrap_or_default();
    recorded.sort_unstable_by_key(|&(number, _)| number);
    Ok((steps.into_inner(), recorded.into_iter().flat_map(|(_, tracks)| tracks).collect()))
}

fn cluster<'a>(
    program: &'a Program,
    geometry: &'a Geometry,
    params: &'a [u8],
    memory: &'a Device<'a>,
    options: &'a Options,
    index: [u32; 3],
) -> Cluster<'a> {
    let ranks = geometry.ranks();
    let seed = if let Order::Seeded(seed) = options.order { seed } else { 0 };
    let number = index.iter().fold(0, |number, &at| number << 21 ^ u64::from(at));
    let ctas = (0..ranks).map(|rank| {
        let within = coordinates(rank, geometry.cluster);
        let index = std::array::from_fn(|axis| index[axis] * geometry.cluster[axis] + within[axis]);
        Cta::new(index, geometry.threads(), geometry.shared_bytes)
    });
    let warps = (0..ranks as usize).flat_map(|cta| {
        (0..geometry.threads().div_ceil(32))
            .map(move |warp| Warp::new(program, cta, warp, geometry.threads() - 32 * warp))
    });
    let warps: Vec<Warp> = warps.collect();
    let mut random = Random::new(seed, number);
    let behind = random.below(warps.len());
    let ctas: Vec<_> = ctas.collect();
    let tracer = options.trace.then(|| Tracer::new(ctas.iter().map(|cta| cta.index), geometry.warps()));
    Cluster {
        program,
        geometry,
        params,
        memory,
        options,
        ctas,
        warps,
        barrier: ClusterBarrier::new(ranks * geometry.threads()),
        asynchronous: Asynchronous::new(ranks as usize * geometry.warps().div_ceil(GROUP)),
        random,
        behind,
        checker: None,
        steps: 0,
        tracer: tracer.map(Box::new),
    }
}
