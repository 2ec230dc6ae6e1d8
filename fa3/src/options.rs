//! What attention computes, besides its operands.

/// How far a query sees. Aligned bottom-right: with `offset = sk - sq`, query `i` sees key `j`
/// when `i + offset - left <= j <= i + offset + right`; `None` is unbounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Window {
    /// Keys before the query's own position that it sees.
    pub left: Option<usize>,
    /// Keys after the query's own position that it sees.
    pub right: Option<usize>,
}

/// The options of one attention call; `Options::default()` is plain softmax attention.
///
/// ```
/// use fa3::Options;
/// let options = Options { causal: true, ..Options::default() };
/// assert_eq!(options.scale_for(64), 0.125);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Options {
    /// The factor on Q·Kᵀ; `None` is 1/√d.
    pub scale: Option<f32>,
    /// Query `i` sees key `j` only when `j <= i + (sk - sq)`. Combines with `window`.
    pub causal: bool,
    /// A sliding window.
    pub window: Window,
    /// `cap` turns a scaled score `s` into `cap * tanh(s / cap)`, before masks; positive.
    pub softcap: Option<f32>,
    /// Whether the bits of a row of O and of the LSE may depend on its own sequence alone: on its
    /// query, on that sequence's keys and values, on its position among them, and on head counts,
    /// types and the other options. Then they are the same whatever other sequences are in the
    /// batch, however many, however long, and whether the batch is dense, padded
    /// ([`UsedKeys`](crate::Sequences::UsedKeys)) or [`Packed`](crate::Sequences::Packed). Planning
    /// may then choose nothing by lengths, which costs speed where short sequences run better
    /// otherwise.
    pub batch_invariant: bool,
}

impl Options {
    /// Plain softmax attention: the default, for constants.
    pub const PLAIN: Self = Self {
        scale: None,
        causal: false,
        window: Window { left: None, right: None },
        softcap: None,
        batch_invariant: false,
    };

    /// The scale that applies to a head dimension of `d`.
    pub fn scale_for(&self, d: usize) -> f32 {
        self.scale.unwrap_or_else(|| (1.0 / (d as f64).sqrt()) as f32)
    }

    /// The window with causality folded in.
    pub fn effective_window(&self) -> Window {
        let right = if self.causal { Some(0) } else { self.window.right };
        Window { left: self.window.left, right }
    }
}
