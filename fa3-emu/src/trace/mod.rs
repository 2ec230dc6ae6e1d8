//! Timelines: what each warp and each engine did, and when, by a model of time.
//!
//! The emulator does not measure time, it computes it: a [`Trace`] is the kernel's execution laid out
//! over cycles by a simple model of a multiprocessor, good enough to see what overlaps with what and
//! who waits for whom, and no more. Every warp has a clock. An instruction is issued when the
//! scheduler of its warp and the unit that executes it are free; instructions of a warp are issued in
//! the order of the PTX, and only loads delay what follows them. A wait ends when what it waits for
//! is there. The warp with the least clock runs next.
//!
//! | what | takes | why |
//! |---|---|---|
//! | any instruction | 1 cycle of one of four schedulers | H100 whitepaper, "H100 SM" |
//! | integers, comparisons, conversions | 2 cycles of a unit | CUDA programming guide, "Arithmetic Instructions": 64 results a cycle and SM |
//! | `ex2`, `lg2`, `rcp`, `sqrt` | 8 cycles of a unit | the same: 16 a cycle and SM |
//! | shuffles and votes | 4 cycles of a unit | the same: 32 a cycle and SM |
//! | shared memory | 1 cycle of the SM for 128 bytes | CUDA programming guide, "Shared Memory": 32 banks of 4 bytes |
//! | `wgmma` m64nNk16 | N/2 cycles of the SM's tensor cores, one at a time | 989 Tflop/s of 132 SMs at 1.83 GHz are 4096 flop a cycle and SM |
//! | bulk and tensor copies | 1 cycle for 64 bytes, one at a time in each direction, then 700 cycles | assumed: the order of what is published (Luo et al., arXiv:2501.12084) |
//! | loads from global and shared memory | 500 and 30 cycles | assumed, likewise |
//! | what another CTA of the cluster has to notice | 180 cycles | Luo et al., arXiv:2402.13499 |
//!
//! Each CTA has a multiprocessor of its own and starts at cycle 0, however many there are. Cache misses,
//! bank conflicts and power are not modelled.

mod cost;
mod groups;
mod json;
mod moments;
mod multiprocessor;
mod tracer;

use crate::ir::{Line, Symbol};

pub(crate) use moments::Key;
pub(crate) use tracer::Tracer;

/// What the warps and the engines of a launch did, by the [model](self) of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The kernel.
    pub kernel: String,
    /// Of each CTA the engines, then the warps.
    pub tracks: Vec<Track>,
    /// The source files that lines refer to.
    pub files: Vec<String>,
    /// The kernel's variables in shared memory.
    pub symbols: Vec<Symbol>,
}

/// One actor's activities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Track {
    /// The CTA's index in the grid.
    pub cta: [u32; 3],
    /// Whose.
    pub actor: Actor,
    /// In order, without overlap.
    pub spans: Vec<Span>,
}

/// Who does something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Actor {
    /// Copies into the CTA's shared memory.
    Loads,
    /// Copies and reductions out of it.
    Stores,
    /// The tensor cores.
    Tensor,
    /// A warp, by its number in the CTA.
    Warp(u32),
}

/// Something that takes time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first cycle.
    pub start: u64,
    /// The cycle after the last.
    pub end: u64,
    /// What it is.
    pub activity: Activity,
    /// The instruction; of a run, the first.
    pub line: Line,
    /// Of an engine's operation: the warp that issued it, and when.
    pub issued: Option<Issued>,
}

/// When a warp issued an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Issued {
    /// The warp's CTA.
    pub cta: [u32; 3],
    /// The warp in its CTA; of a warpgroup, the first.
    pub warp: u32,
    /// The cycle.
    pub at: u64,
}

/// What an actor does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// A warp executes instructions.
    Run {
        /// How many.
        instructions: u64,
        /// Those of them that are exponentials, logarithms, reciprocals or roots.
        special: u64,
    },
    /// A warp waits.
    Wait(Awaited),
    /// The engine copies into shared memory.
    Load {
        /// How many bytes.
        bytes: u32,
        /// The offset of the mbarrier that waits for them.
        mbarrier: u32,
        /// The cycle at which they are there.
        complete: u64,
    },
    /// The engine copies or reduces to global memory; at the end it has read its source.
    Store {
        /// How many bytes.
        bytes: u32,
        /// The cycle at which they are there.
        complete: u64,
    },
    /// `wgmma` m64nNk16.
    Product {
        /// The warpgroup in its CTA.
        warpgroup: u32,
        /// N.
        n: u32,
        /// A comes from registers, rather than from shared memory.
        a_in_registers: bool,
    },
}

/// What a warp waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// A phase of an mbarrier.
    Mbarrier {
        /// Its CTA's rank in the cluster.
        cta: u32,
        /// Its offset in that CTA's shared memory.
        offset: u32,
    },
    /// A named barrier.
    Named(u32),
    /// The cluster's barrier.
    Cluster,
    /// The other warps of the warpgroup, to issue a product together.
    Warpgroup,
    /// Products, `wgmma.wait_group`.
    Products,
    /// Copies to global memory, `cp.async.bulk.wait_group`.
    Copies,
    /// Registers that other warps give back, `setmaxnreg`.
    Registers,
}

impl Trace {
    /// The cycle at which everything is done.
    ///
    /// ```
    /// # use fa3_emu::trace::Trace;
    /// let trace = Trace { kernel: "k".into(), tracks: vec![], files: vec![], symbols: vec![] };
    /// assert_eq!(trace.cycles(), 0);
    /// ```
    pub fn cycles(&self) -> u64 {
        let end = |span: &Span| match span.activity {
            Activity::Load { complete, .. } | Activity::Store { complete, .. } => complete,
            _ => span.end,
        };
        self.tracks.iter().flat_map(|track| &track.spans).map(end).max().unwrap_or(0)
    }

    /// The source line of a span as `file:line`, where the PTX says.
    pub fn source(&self, span: &Span) -> Option<String> {
        let location = span.line.source?;
        let file = self.files.get(location.file as usize)?;
        Some(format!("{file}:{}", location.line))
    }

    /// What a span is, in a few words.
    pub fn label(&self, span: &Span) -> String {
        match span.activity {
            Activity::Run { .. } => "run".to_owned(),
            Activity::Wait(awaited) => format!("wait for {}", self.awaited(awaited)),
            Activity::Load { bytes, .. } => format!("load {bytes} bytes"),
            Activity::Store { bytes, .. } => format!("store {bytes} bytes"),
            Activity::Product { warpgroup, n, .. } => format!("m64n{n}k16 of warpgroup {warpgroup}"),
        }
    }

    fn awaited(&self, awaited: Awaited) -> String {
        match awaited {
            Awaited::Mbarrier { cta, offset } => {
                let holds = |symbol: &&Symbol| {
                    offset.checked_sub(symbol.offset).is_some_and(|within| within < symbol.size)
                };
                let place = match self.symbols.iter().find(holds) {
                    Some(symbol) if symbol.offset == offset => symbol.name.clone(),
                    Some(symbol) => format!("{}+{:#x}", symbol.name, offset - symbol.offset),
                    None => format!("shared {offset:#x}"),
                };
                if cta == 0 { format!("mbarrier {place}") } else { format!("mbarrier {place} of rank {cta}") }
            }
            Awaited::Named(id) => format!("named barrier {id}"),
            Awaited::Cluster => "the cluster's barrier".to_owned(),
            Awaited::Warpgroup => "its warpgroup".to_owned(),
            Awaited::Products => "products".to_owned(),
            Awaited::Copies => "copies".to_owned(),
            Awaited::Registers => "registers".to_owned(),
        }
    }
}
