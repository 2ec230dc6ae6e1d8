//! The CPU's own attention: exact, tiled, on all threads of the current rayon pool.
//!
//! A work item is a block of query rows of one head. It walks its keys tile by tile with the online
//! softmax (Milakov and Gimelshein 2018; Dao et al. 2022): scores by one matrix product, their
//! exponentials in place, O by another. Each item is computed by one thread in a fixed order, so
//! the bits do not depend on how many threads there are. Memory is a few tiles a thread.

mod block;
mod math;
mod matrix;
mod memory;
mod merge;
mod softmax;

use core::sync::atomic::{AtomicUsize, Ordering};

use half::{bf16, f16};
use rayon::prelude::*;

use crate::lengths::{Lengths, Sequence, sequences};
use crate::{DType, Element, Error, Operands, Problem, Result};
use block::{BLOCK, Block, Scratch};
use memory::{Array, Input, Output};
pub(crate) use merge::merge;

/// Told how many work items are done, of how many: by any thread, in any order.
pub(crate) type Progress<'a> = Option<&'a (dyn Fn(usize, usize) + Sync)>;

/// Computes O, and the LSE where it is asked for.
///
/// # Safety
/// `operands` are of the problem's types and layouts, in this process's memory, aligned to their
/// elements, and present as the problem says. Every one addresses live memory of the size that its
/// layout spans, initialised where it is read; nothing else writes it, nor reads or writes O or the
/// LSE, until this returns. O's elements have addresses of their own, which overlap no other
/// operand.
///
/// # Errors
/// [`Error::Argument`] when the lengths that the operands hold break their rules.
pub(crate) unsafe fn forward(problem: &Problem, operands: &Operands, progress: Progress<'_>) -> Result<()> {
    // SAFETY: the caller's promises, for the element type that the problem names.
    unsafe {
        match problem.q.dtype {
            DType::F32 => forward_typed::<f32>(problem, operands, progress),
            DType::F16 => forward_typed::<f16>(problem, operands, progress),
            DType::Bf16 => forward_typed::<bf16>(problem, operands, progress),
            DType::I32 => Err(Error::argument(
                "q.dtype",
                DType::I32,
                "attention is of floating-point numbers",
                "pass f32, f16 or bf16",
            )),
        }
    }
}

/// All that an item needs: the operands and the problem.
struct Context<'a, T> {
    problem: &'a Problem,
    q: Input<T>,
    k: Input<T>,
    v: Input<T>,
    o: Output<T>,
    lse: Option<Output<f32>>,
    sinks: Option<&'a [f32]>,
    alibi: Option<&'a [f32]>,
}

/// # Safety
/// As [`forward`]; `T` is the problem's element type.
unsafe fn forward_typed<T: Element>(
    problem: &Problem,
    operands: &Operands,
    progress: Progress<'_>,
) -> Result<()> {
    let [batch, sq, heads, _] = problem.q.layout.shape;
    let entries = match problem.sequences {
        crate::Sequences::Packed { count, .. } => count.saturating_add(1),
        _ => batch,
    };
    let lse_layout = crate::Layout::contiguous([batch, heads, sq, 1]);
    // SAFETY: the caller says that each operand is live, typed, aligned, and as large as its shape.
    let (context, used_k, cu_q, cu_k) = unsafe {
        let context = Context {
            problem,
            q: Input::<T>::new(operands.q.pointer, problem.q.layout),
            k: Input::<T>::new(operands.k.pointer, problem.k.layout),
            v: Input::<T>::new(operands.v.pointer, problem.v.layout),
            o: Output::<T>::new(operands.o.pointer, problem.o.layout),
            lse: operands.lse.map(|pointer| Output::new(pointer, lse_layout)),
            sinks: operands.sinks.array(heads),
            alibi: operands.alibi.array(heads),
        };
        (context, operands.used_k.array(entries), operands.cu_q.array(entries), operands.cu_k.array(entries))
    };
    let sequences = sequences(problem, Lengths { used_k, cu_q, cu_k })?;
    let items = Items::new(&sequences, heads);
    let done = AtomicUsize::new(0);
    let run = |scratch: &mut Scratch, index: usize| {
        let Some((sequence, head, first)) = items.get(index) else { return };
        let rows = BLOCK.min(sequence.q_len - first);
        Block { context: &context, sequence, head, first, rows }.compute(scratch);
        if let Some(progress) = progress {
            progress(done.fetch_add(1, Ordering::Relaxed) + 1, items.len());
        }
    };
    (0..items.len()).into_par_iter().for_each_init(Scratch::default, run);
    Ok(())
}

/// The blocks of every head of every sequence, in this order. Not listed: there may be as many as
/// rows of O.
struct Items<'a> {
    sequences: &'a [Sequence],
    heads: usize,
    /// How many items end with each sequence.
    ends: Vec<usize>,
}

impl<'a> Items<'a> {
    fn new(sequences: &'a [Sequence], heads: usize) -> Self {
        // No overflow: there are no more blocks than rows of O.
        let add = |end: &mut usize, sequence: &Sequence| {
            *end += sequence.q_len.div_ceil(BLOCK) * heads;
            Some(*end)
        };
        Self { sequences, heads, ends: sequences.iter().scan(0, add).collect() }
    }

    fn len(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    /// The sequence, the head and the block's first row.
    fn get(&self, index: usize) -> Option<(Sequence, usize, usize)> {
        let n = self.ends.partition_point(|&end| end <= index);
        let (sequence, end) = (*self.sequences.get(n)?, *self.ends.get(n)?);
        let blocks = sequence.q_len.div_ceil(BLOCK);
        let within = index + blocks * self.heads - end;
        Some((sequence, within / blocks, within % blocks * BLOCK))
    }
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
