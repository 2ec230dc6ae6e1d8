//! Mutants of our kernels: what each is run on, and what becomes of it.

#[path = "../../../../fa3-tma/tests/gpu_stream/case.rs"]
#[allow(dead_code, reason = "the copying tests compare with the host's images")]
mod case;
mod check;
mod copies;
mod equivalent;
mod forward;
mod judge;
#[path = "../../forward/kernel.rs"]
#[allow(dead_code, reason = "the forward tests run what is prepared here")]
mod kernel;
#[path = "../../../../fa3-tma/tests/gpu_stream/list.rs"]
mod list;
#[path = "../../forward/problem.rs"]
#[allow(dead_code, reason = "the forward tests compare with attention in f64")]
mod problem;
mod sample;
mod subject;

pub use check::CHECKS;
pub use judge::{Outcome, Round, judge, rounds};
pub use sample::sample;
pub use subject::Subject;

pub use copies::subjects as copying;
pub use forward::subjects as attending;
