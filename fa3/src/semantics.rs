//! What attention computes here, on every backend.
//!
//! # Layout
//! Q and O are `[batch, sq, heads_q, dim]`, K and V `[batch, sk, heads_k, dim]`, with free
//! [strides](crate::Layout) but for the last dimension, which is contiguous. Packed batches are
//! `[1, total, heads, dim]`, sequence `n` at tokens `cu[n]..cu[n + 1]`. `heads_k` divides `heads_q`:
//! query head `h` reads head `h / (heads_q / heads_k)` of K and V. V's heads may be narrower or
//! wider than K's. The stride of a dimension of one element means nothing; a stride of zero repeats
//! a slice, in inputs.
//!
//! # Scores
//! `s = scale · q·k`, with `scale` = 1/√d unless [given](crate::Options::scale). A softcap turns it
//! into `cap · tanh(s / cap)`. ALiBi then subtracts `slope · |i + sk − sq − j|`. Then the masks.
//!
//! Scores are f32. One that overflows is not caught: its row is NaN, or does without the key. A row with
//! a NaN among the scores that it sees, or for its sink, is NaN, and its LSE too. O is summed before it
//! is divided: the number of keys times `|v|` stays below 2¹²⁸ on the CPU, and below 2¹¹³ in the GPU
//! kernels, where the maximum that exponentials are relative to may lag behind by 2¹⁵. In these `|s|` stays
//! below 10⁸, for they subtract the maximum after rounding it, scaled: beyond that the rounding alone
//! exceeds the range of f16. A sink that is finite but beyond ±2.3·10³⁸ counts as that.
//!
//! # Masks
//! Causality and windows are aligned at the bottom right: query `i` stands at position
//! `i + (sk − sq)` among the keys. Causal: it sees key `j` when `j ≤ i + (sk − sq)`. A window of
//! `left = W` keeps the `W` keys before its position and the key at it; `right` keeps those after.
//! `(left, 0)` without causality equals causality with `left`. With more queries than keys, the
//! first `sq − sk` causal rows see nothing.
//!
//! # Empty rows
//! A row that sees no key is O = 0 with an LSE of −∞, never NaN. With a sink its LSE is the sink.
//!
//! # Log-sum-exp
//! The natural logarithm of the softmax's denominator, f32, `[batch, heads_q, sq]`, or
//! `[heads_q, total]` of a packed batch. A sink is one more logit a head, already scaled, in the
//! denominator only; the LSE includes it.
//!
//! # Partial results
//! Attention over parts of the keys [merges](mod@crate::merge) into attention over all of them: `LSE = log Σ exp
//! LSE_i`, `O = Σ exp(LSE_i − LSE)·O_i`. A part with an LSE of −∞ counts for nothing, whatever its O holds. Parts
//! leave sinks out, and the merge adds them once. Merging empty rows gives an empty row.
//!
//! # Memory that is not attended to
//! Keys and values beyond a sequence's used length may hold anything, NaN included, and reach
//! nothing. Within it, values are finite.
//!
//! # Lengths that break their rules
//! Offsets fall, or a length exceeds its tensor. On the host they are refused. In device memory
//! nobody sees them: a GPU cuts off what lies beyond the tensors, computes what is left, and touches
//! nothing else; rows that belong to no sequence are not written.
//!
//! # Bits
//! The same inputs on the same target give the same bits, run after run. With
//! [`batch_invariant`](crate::Options::batch_invariant), a row's bits depend on its own sequence
//! alone, not on its neighbours in the batch nor on how they are stored.
