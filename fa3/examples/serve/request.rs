//! What is asked for.

use fa3::{DType, Options, Problem, Sizes, Window};
use serde::Deserialize;

/// One line of the protocol.
#[derive(Debug, Deserialize)]
pub struct Request {
    op: String,
    dtype: String,
    b: usize,
    sq: usize,
    sk: usize,
    hq: usize,
    hk: usize,
    d: usize,
    dv: usize,
    #[serde(default)]
    causal: bool,
    window: Option<[i64; 2]>,
    lens: Option<Vec<usize>>,
    /// How long to call before measuring, in milliseconds.
    pub warmup_ms: f64,
    /// How long to measure, in milliseconds.
    pub measure_ms: f64,
}

impl Request {
    /// Reads a line.
    pub fn parse(line: &str) -> Result<Self, String> {
        serde_json::from_str(line).map_err(|error| format!("not a request: {error}"))
    }

    /// The problem that it poses. Whether it is supported is for the planner to say.
    pub fn problem(&self) -> Result<Problem, String> {
        if self.op != "fwd" {
            return Err(format!("op is {:?}, and only \"fwd\" is timed", self.op));
        }
        if self.lens.is_some() {
            return Err("lens is given, and only sequences of one length are timed".to_owned());
        }
        let dtype = match self.dtype.as_str() {
            "bf16" => DType::Bf16,
            "fp16" => DType::F16,
            other => {
                return Err(format!("dtype is {other:?}, and only \"bf16\" and \"fp16\" are timed"));
            }
        };
        let sizes = Sizes {
            batch: self.b,
            sq: self.sq,
            sk: self.sk,
            heads_q: self.hq,
            heads_k: self.hk,
            d: self.d,
            dv: self.dv,
        };
        // A negative side is unbounded.
        let side = |keys: i64| usize::try_from(keys).ok();
        let window = self
            .window
            .map_or(Window::default(), |[left, right]| Window { left: side(left), right: side(right) });
        let options = Options { causal: self.causal, window, ..Options::default() };
        Ok(Problem::dense(dtype, sizes, options))
    }
}
