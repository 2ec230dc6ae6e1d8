//! Parameter blocks: the Rust structures are the source, and the build step turns their layouts
//! into assertions that the device code compiles against.

use fa3_sys::{BlockLayout, parameter_block};

parameter_block! {
    /// The forward kernels' last parameter. The four before it are the tensor maps of Q, K, V and
    /// O, 128 bytes each. `i32::MAX` is an unbounded side of the window.
    ForwardParams {
        /// Device address of the log-sum-exp, f32 `[batch, heads_q, sq]`; zero when not wanted.
        lse: u64,
        /// Device address of O, for rows that do not leave by TMA.
        o: u64,
        /// Device address of the list of tiles that the schedule kernel writes
        /// ([`ScheduleParams::list`]); zero when every sequence is of full length.
        schedule: u64,
        /// Device address of a sink a query head, f32; zero for none.
        sinks: u64,
        /// Device address of an ALiBi slope a query head, f32; zero for none.
        slopes: u64,
        /// Elements from one batch entry of O to the next.
        o_batch: i64,
        /// Elements from one row of O to the next.
        o_row: i64,
        /// Elements from one head of O to the next.
        o_head: i64,
        /// What scores are multiplied by before exponentials to base two are taken; positive. The
        /// scale times log₂e, or one where scores are edited.
        scale_log2: f32,
        /// Edited scores only: what a product is multiplied by first. The scale times log₂e, and
        /// with a softcap that times two over the cap.
        score_scale: f32,
        /// Edited scores only: the softcap times log₂e, zero for none.
        softcap_log2: f32,
        /// One when scores are edited (a softcap, slopes, or a scale that is not positive), else
        /// zero.
        edit: i32,
        /// Rows of Q a batch entry.
        sq: i32,
        /// Rows of K and V a batch entry; may be zero.
        sk: i32,
        /// The width of V's heads, a multiple of 8.
        dv: i32,
        /// Query heads that share a tile: 1, or `group`, whose rows then lie side by side.
        pack: i32,
        /// [`ForwardParams::reciprocal`] of `pack`.
        pack_reciprocal: i32,
        /// Heads of tiles: query heads over `pack`.
        heads: i32,
        /// Query heads a K/V head.
        group: i32,
        /// Keys before a query's own that it sees.
        window_left: i32,
        /// Keys after a query's own that it sees: zero under a causal mask.
        window_right: i32,
        /// Without a schedule: `heads` times batch.
        batch_heads: i32,
        /// Without a schedule: tiles of rows a head: `sq` over the queries a tile, rounded up.
        m_tiles: i32,
        /// Without a schedule: `m_tiles` times `batch_heads`.
        tiles: i32,
        /// Without a schedule: heads that are worked on together, so that their K and V stay in
        /// L2; at least one.
        section: i32,
        /// One when a CTA takes tiles two by two, a long one and a short one of a causal mask, so that
        /// CTAs that persist have equally much to do; else zero. Not with a schedule.
        paired: i32,
    }
}

impl ForwardParams {
    /// 2¹⁶ over `pack`, rounded up: what the kernels multiply a tile's rows by to divide them by `pack`.
    /// Exact while both are below 256 (Granlund and Montgomery, "Division by Invariant Integers using
    /// Multiplication"). Zero of zero.
    ///
    /// ```
    /// use fa3_kernels::ForwardParams;
    ///
    /// assert_eq!((127 * ForwardParams::reciprocal(7)) >> 16, 127 / 7);
    /// ```
    pub const fn reciprocal(pack: u32) -> i32 {
        if pack == 0 { 0 } else { 65_536_u32.div_ceil(pack).cast_signed() }
    }
}

parameter_block! {
    /// The schedule kernel's only parameter. It takes lengths as they come: what they say beyond
    /// the tensors is cut off.
    ScheduleParams {
        /// Device address of the list: [`CHUNK_BYTES`] whose first four are how many chunks
        /// there are (i32), then room for `capacity` chunks of [`CHUNK_BYTES`] each.
        list: u64,
        /// Device address of Q's cumulative lengths, i32 `[sequences + 1]`; zero when every
        /// sequence is a batch entry with all its queries.
        cu_q: u64,
        /// Device address of K's cumulative lengths, i32 `[sequences + 1]`; zero as above.
        cu_k: u64,
        /// Device address of the keys that each sequence uses, i32 `[sequences]`; zero for all.
        used_k: u64,
        /// How many sequences.
        sequences: i32,
        /// Rows of Q a batch entry.
        sq: i32,
        /// Rows of K and V a batch entry.
        sk: i32,
        /// No sequence has more queries.
        max_q: i32,
        /// Queries a tile.
        tile_queries: i32,
        /// Heads of tiles.
        heads: i32,
        /// Keys times heads whose K and V fit their part of L2; zero takes heads one by one.
        section_keys: i32,
        /// The most chunks that the list has room for.
        capacity: i32,
    }
}

parameter_block! {
    /// The merging kernel's only parameter. Tensors of O are `[batch, sq, heads, dv]`, the log-sum-exps
    /// f32 `[batch, heads, sq]`, one partial result after the other.
    MergeParams {
        /// Device address of the partial results' O.
        parts: u64,
        /// Device address of their log-sum-exps, −∞ for rows without keys.
        parts_lse: u64,
        /// Device address of O.
        o: u64,
        /// Device address of the log-sum-exp; zero when not wanted.
        lse: u64,
        /// Device address of a sink a head, f32; zero for none.
        sinks: u64,
        /// Elements from one partial result of O to the next.
        part_stride: i64,
        /// Elements from one batch entry of a partial result to the next.
        part_batch: i64,
        /// Elements from one row of a partial result to the next.
        part_row: i64,
        /// Elements from one head of a partial result to the next.
        part_head: i64,
        /// Elements from one batch entry of O to the next.
        o_batch: i64,
        /// Elements from one row of O to the next.
        o_row: i64,
        /// Elements from one head of O to the next.
        o_head: i64,
        /// How many partial results there are; may be zero.
        count: i32,
        /// Rows of O: batch times heads times `sq`, below 2³¹.
        rows: u32,
        /// Rows a batch entry and head.
        sq: u32,
        /// Heads.
        heads: u32,
        /// The width of a head, a multiple of 8.
        dv: i32,
        /// Threads a row: 1 to [`MERGE_THREADS`](crate::MERGE_THREADS).
        lanes: u32,
        /// The type of the partial results: 0 for f32, 1 for f16, 2 for bf16.
        part_type: i32,
        /// The type of O, as above.
        o_type: i32,
    }
}

/// Bytes of a chunk of the schedule, and of the list's header.
pub const CHUNK_BYTES: usize = 32;

/// Every parameter block of this crate.
pub const LAYOUTS: &[BlockLayout] = &[ForwardParams::LAYOUT, ScheduleParams::LAYOUT, MergeParams::LAYOUT];
