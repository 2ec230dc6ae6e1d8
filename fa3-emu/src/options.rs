//! How a launch is run, as far as its kernel cannot tell.

/// The warp instructions after which a cluster is given up, unless the options say otherwise.
const STEP_LIMIT: u64 = 1 << 40;

/// How a launch is run.
///
/// ```
/// use fa3_emu::Options;
/// let options = Options { step_limit: 1_000_000 };
/// # assert_ne!(options, Options::default());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The launch ends with [`RunError::StepLimit`](crate::RunError::StepLimit) after this many warp
    /// instructions of a cluster; 2⁴⁰ by default.
    pub step_limit: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { step_limit: STEP_LIMIT }
    }
}
