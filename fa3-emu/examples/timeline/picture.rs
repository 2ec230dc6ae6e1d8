//! What of a trace is drawn: a row for each engine and each warpgroup, and its bars.

use std::collections::HashMap;

use fa3_emu::trace::{Activity, Actor, Awaited, Span, Trace};
use fa3_kernels::ForwardKernel;

/// A row of bars.
pub struct Row {
    pub name: &'static str,
    pub note: &'static str,
    pub bars: Vec<Bar>,
}

/// A bar: when, what class of thing, and what it says.
pub struct Bar {
    pub start: u64,
    pub end: u64,
    pub class: &'static str,
    pub label: String,
    /// Until when a copy is under way, after it has left its engine.
    pub complete: Option<u64>,
}

impl Bar {
    fn new(span: &Span, class: &'static str, label: impl Into<String>) -> Self {
        let complete = match span.activity {
            Activity::Load { complete, .. } | Activity::Store { complete, .. } => Some(complete),
            _ => None,
        };
        Self { start: span.start, end: span.end, class, label: label.into(), complete }
    }
}

/// Digits below the line.
fn subscript(number: usize) -> String {
    let digit = |c: char| c.to_digit(10).and_then(|digit| char::from_u32('₀' as u32 + digit));
    number.to_string().chars().filter_map(digit).collect()
}

fn spans(trace: &Trace, actor: Actor) -> &[Span] {
    trace.tracks.iter().find(|track| track.actor == actor).map_or(&[], |track| &track.spans)
}

/// The rows of the first CTA. Tiles are numbered as the kernel takes them, from the last key tile down.
pub fn rows(trace: &Trace, kernel: &ForwardKernel) -> Vec<Row> {
    let row = |name, note, bars| Row { name, note, bars };
    let products = products(spans(trace, Actor::Tensor), kernel);
    let tiles = products.iter().filter(|bar| bar.class == "s0").count();
    vec![
        row("TMA", "tiles into shared memory", loads(spans(trace, Actor::Loads), kernel, tiles)),
        row("producer", "warp 0", warp(spans(trace, Actor::Warp(0)), "run", 0)),
        row("tensor cores", "one product at a time", products),
        row("warpgroup 1", "rows 0–63", warp(spans(trace, Actor::Warp(4)), "softmax0", tiles)),
        row("warpgroup 2", "rows 64–127", warp(spans(trace, Actor::Warp(8)), "softmax1", tiles)),
        row("bulk stores", "O to global memory", stores(spans(trace, Actor::Stores), kernel)),
    ]
}

/// Panels that follow each other and complete one mbarrier are a tile. The mbarriers lie in the order
/// of the rings: that of Q, those of K, those of V.
fn loads(spans: &[Span], kernel: &ForwardKernel, tiles: usize) -> Vec<Bar> {
    let mbarrier = |span: &Span| match span.activity {
        Activity::Load { mbarrier, .. } => mbarrier,
        _ => 0,
    };
    let mut offsets: Vec<u32> = spans.iter().map(mbarrier).collect();
    offsets.sort_unstable();
    offsets.dedup();
    let (mut keys, mut values) = (tiles, tiles);
    let panels = (kernel.head_dim / 64) as usize;
    let tile = |panels: &[Span]| {
        let (first, last) = (panels.first()?, panels.last()?);
        let stage = offsets.binary_search(&mbarrier(first)).ok()?;
        let (class, label) = if stage == 0 {
            ("q", "Q".to_owned())
        } else if stage <= offsets.len() / 2 {
            keys = keys.saturating_sub(1);
            ("k", format!("K{}", subscript(keys)))
        } else {
            values = values.saturating_sub(1);
            ("v", format!("V{}", subscript(values)))
        };
        Some(Bar { start: first.start, ..Bar::new(last, class, label) })
    };
    spans.chunks(panels).filter_map(tile).collect()
}

/// The k-steps of one product are a bar.
fn products(spans: &[Span], kernel: &ForwardKernel) -> Vec<Bar> {
    let mut streams: HashMap<(u32, bool), Vec<&Span>> = HashMap::new();
    for span in spans {
        if let Activity::Product { warpgroup, a_in_registers, .. } = span.activity {
            streams.entry((warpgroup, a_in_registers)).or_default().push(span);
        }
    }
    let mut bars = Vec::new();
    for ((warpgroup, values), spans) in streams {
        // The producer is warpgroup 0. Scores take their A, which is Q, from shared memory.
        let (class, steps) = match (warpgroup, values) {
            (1, false) => ("s0", kernel.head_dim / 16),
            (1, true) => ("p0", kernel.tile_n / 16),
            (_, false) => ("s1", kernel.head_dim / 16),
            (_, true) => ("p1", kernel.tile_n / 16),
        };
        let count = spans.len() / steps as usize;
        for (index, steps) in spans.chunks(steps as usize).enumerate() {
            let tile = subscript(count - 1 - index);
            let label = if values { format!("P{tile}V{tile}") } else { format!("S{tile}") };
            let [first, .., last] = steps else { continue };
            bars.push(Bar { start: first.start, ..Bar::new(last, class, label) });
        }
    }
    bars.sort_by_key(|bar| bar.start);
    bars
}

/// Runs with exponentials are softmax. While warps of a warpgroup wait for each other they issue
/// products, which is one run.
fn warp(spans: &[Span], softmax: &'static str, tiles: usize) -> Vec<Bar> {
    let mut tile = tiles;
    let mut bars: Vec<Bar> = Vec::new();
    for span in spans {
        let bar = match span.activity {
            Activity::Run { special, .. } if special > 16 && tile > 0 => {
                tile -= 1;
                Bar::new(span, softmax, format!("exp{}", subscript(tile)))
            }
            Activity::Wait(Awaited::Products | Awaited::Copies) => Bar::new(span, "wait-own", ""),
            // Barrier 0 is `__syncthreads`, before the roles part.
            Activity::Wait(Awaited::Named(1..)) => Bar::new(span, "wait-turn", ""),
            Activity::Wait(Awaited::Mbarrier { .. }) => Bar::new(span, "wait-tiles", ""),
            _ => Bar::new(span, "run", ""),
        };
        match bars.last_mut() {
            Some(last) if last.class == "run" && bar.class == "run" => last.end = bar.end,
            _ => bars.push(bar),
        }
    }
    bars
}

/// The panels of a warpgroup's part of O are a bar.
fn stores(spans: &[Span], kernel: &ForwardKernel) -> Vec<Bar> {
    let panels = spans.chunks((kernel.head_dim / 64) as usize);
    let bar = |panels: &[Span]| {
        let (first, last) = (panels.first()?, panels.last()?);
        Some(Bar { start: first.start, ..Bar::new(last, "v", "O") })
    };
    panels.filter_map(bar).collect()
}
