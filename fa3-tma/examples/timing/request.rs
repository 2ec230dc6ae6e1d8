//! What is asked for.

use fa3_tma_examples::{Gemm, Transpose};
use serde::Deserialize;

use crate::problem::Work;

/// One line of the protocol.
#[derive(Debug, Deserialize)]
pub struct Request {
    #[serde(flatten)]
    operation: Operation,
    /// How long to call before measuring, in milliseconds.
    pub warmup_ms: f64,
    /// How long to measure, in milliseconds.
    pub measure_ms: f64,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "lowercase")]
enum Operation {
    Gemm { m: u64, n: u64, k: u64, bias: bool },
    Transpose { batch: u64, rows: u64, columns: u64, scale: f32 },
}

impl Request {
    /// Reads a line.
    pub fn parse(line: &str) -> Result<Self, String> {
        serde_json::from_str(line).map_err(|error| format!("not a request: {error}"))
    }

    /// The work, on contiguous tensors.
    pub fn work(&self) -> Work {
        match self.operation {
            Operation::Gemm { m, n, k, bias } => Work::Gemm(Gemm { bias, ..Gemm::new(m, n, k) }),
            Operation::Transpose { batch, rows, columns, scale } => {
                Work::Transpose(Transpose::new(batch, rows, columns, scale))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_work() {
        let line =
            r#"{"op": "gemm", "m": 30, "n": 20, "k": 8, "bias": true, "warmup_ms": 1.5, "measure_ms": 2}"#;
        let request = Request::parse(line).unwrap();
        assert_eq!((request.warmup_ms, request.measure_ms), (1.5, 2.0));
        let gemm = Gemm { bias: true, ..Gemm::new(30, 20, 8) };
        assert!(matches!(request.work(), Work::Gemm(found) if found == gemm), "{request:?}");
        let line = line.replace(r#""gemm", "m": 30, "n": 20, "k": 8, "bias": true"#, "\"copy\"");
        let error = Request::parse(&line).unwrap_err();
        assert!(error.contains("`gemm` or `transpose`"), "{error}");
        let line =
            line.replace("\"copy\"", r#""transpose", "batch": 1, "rows": 2, "columns": 3, "scale": 0.5"#);
        let request = Request::parse(&line).unwrap();
        let transpose = Transpose::new(1, 2, 3, 0.5);
        assert!(matches!(request.work(), Work::Transpose(found) if found == transpose), "{request:?}");
    }
}
