//! What is asked for.

use fa3::{DType, Options, Problem, Sequences, Sizes, Window};
use serde::Deserialize;

use crate::tuning::Asked as AskedTuning;

/// One line of the protocol.
#[derive(Debug)]
pub enum Asked {
    /// To time attention.
    Attention(Box<Request>),
    /// To time a loop of matrix products.
    Ceiling(CeilingRequest),
}

impl Asked {
    /// Reads a line.
    pub fn parse(line: &str) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Op {
            op: String,
        }
        let op: Result<Op, _> = serde_json::from_str(line);
        let asked = match op {
            Ok(Op { op }) if op == "ceiling" => serde_json::from_str(line).map(Self::Ceiling),
            Ok(_) => serde_json::from_str(line).map(Self::Attention),
            Err(error) => Err(error),
        };
        asked.map_err(|error| format!("not a request: {error}"))
    }
}

/// A loop of matrix products.
#[derive(Debug, Deserialize)]
pub struct CeilingRequest {
    /// Its name in `fa3_tma_examples::CEILINGS`.
    pub name: String,
    /// How long to call before measuring, in milliseconds.
    pub warmup_ms: f64,
    /// How long to measure, in milliseconds.
    pub measure_ms: f64,
}

/// Attention.
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
    /// What planning is not to choose.
    pub tuning: Option<AskedTuning>,
    /// How long to call before measuring, in milliseconds.
    pub warmup_ms: f64,
    /// How long to measure, in milliseconds.
    pub measure_ms: f64,
}

impl Request {
    /// Where each sequence of a packed batch begins and ends; `None` for a dense one.
    pub fn offsets(&self) -> Result<Option<Vec<i32>>, String> {
        let Some(lens) = &self.lens else { return Ok(None) };
        let mut offsets = vec![0i32];
        let mut end = 0i32;
        for &len in lens {
            let next = i32::try_from(len).ok().and_then(|len| end.checked_add(len));
            end = next.ok_or_else(|| "lens add up to 2^31 or more".to_owned())?;
            offsets.push(end);
        }
        Ok(Some(offsets))
    }

    /// The problem that it poses. Whether it is supported is for the planner to say.
    pub fn problem(&self) -> Result<Problem, String> {
        match (self.op.as_str(), &self.lens) {
            ("fwd", None) | ("varlen", Some(_)) => {}
            ("fwd", Some(_)) => return Err("lens is given, which op \"varlen\" takes".to_owned()),
            ("varlen", None) => return Err("op is \"varlen\", which needs lens".to_owned()),
            (other, _) => {
                return Err(format!("op is {other:?}, and only \"fwd\" and \"varlen\" are timed"));
            }
        }
        let dtype = match self.dtype.as_str() {
            "bf16" => DType::Bf16,
            "fp16" => DType::F16,
            other => {
                return Err(format!("dtype is {other:?}, and only \"bf16\" and \"fp16\" are timed"));
            }
        };
        let mut sizes = Sizes {
            batch: self.b,
            sq: self.sq,
            sk: self.sk,
            heads_q: self.hq,
            heads_k: self.hk,
            d: self.d,
            dv: self.dv,
        };
        let mut sequences = Sequences::Dense;
        if let Some(lens) = &self.lens {
            // Self-attention: queries and keys are of one length.
            let total = lens.iter().fold(0usize, |total, &len| total.saturating_add(len));
            let max = lens.iter().copied().max().unwrap_or(0);
            sizes = Sizes { batch: 1, sq: total, sk: total, ..sizes };
            sequences = Sequences::Packed { count: lens.len(), max_q: max, max_k: max };
        }
        // A negative side is unbounded.
        let side = |keys: i64| usize::try_from(keys).ok();
        let window = self
            .window
            .map_or(Window::default(), |[left, right]| Window { left: side(left), right: side(right) });
        let options = Options { causal: self.causal, window, ..Options::default() };
        Ok(Problem { sequences, ..Problem::dense(dtype, sizes, options) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(op: &str, lens: &str) -> Request {
        let line = format!(
            r#"{{"op": "{op}", "dtype": "bf16", "b": 3, "sq": 7, "sk": 7, "hq": 4, "hk": 2, "d": 64, "dv": 64,
                "causal": true, "window": [15, -1], "lens": {lens}, "warmup_ms": 1, "measure_ms": 1}}"#
        );
        match Asked::parse(&line).unwrap() {
            Asked::Attention(request) => *request,
            asked => panic!("{asked:?}"),
        }
    }

    #[test]
    fn a_ceiling_has_a_name_and_a_regime() {
        let line = |rest| format!(r#"{{"op": "ceiling", "warmup_ms": 150, "measure_ms": 100.5{rest}}}"#);
        let asked = Asked::parse(&line(r#", "name": "d64""#));
        let Ok(Asked::Ceiling(CeilingRequest { name, warmup_ms, measure_ms })) = asked else {
            panic!("{asked:?}")
        };
        assert_eq!((name.as_str(), warmup_ms, measure_ms), ("d64", 150.0, 100.5));
        let error = Asked::parse(&line("")).unwrap_err();
        assert!(error.contains("not a request: missing field `name`"), "{error}");
        assert!(Asked::parse("{}").unwrap_err().contains("missing field `op`"));
    }

    #[test]
    fn lens_are_packed() {
        let request = request("varlen", "[3, 0, 7]");
        assert_eq!(request.offsets().unwrap().unwrap(), [0, 3, 3, 10]);
        let problem = request.problem().unwrap();
        assert_eq!(problem.q.layout.shape, [1, 10, 4, 64]);
        assert_eq!(problem.sequences, Sequences::Packed { count: 3, max_q: 7, max_k: 7 });
        assert_eq!(problem.options.window, Window { left: Some(15), right: None });
        problem.dims().unwrap();
        assert_eq!(
            self::request("varlen", "[4294967296]").offsets().unwrap_err(),
            "lens add up to 2^31 or more"
        );
    }

    #[test]
    fn a_dense_batch_has_none() {
        let dense = request("fwd", "null");
        assert_eq!(
            (dense.offsets().unwrap(), dense.problem().unwrap().q.layout.shape),
            (None, [3, 7, 4, 64])
        );
        for (op, lens) in [("fwd", "[1]"), ("varlen", "null"), ("decode", "null")] {
            assert!(request(op, lens).problem().is_err(), "{op} {lens}");
        }
    }
}
