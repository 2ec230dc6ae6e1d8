//! The speed of matrix products alone.

use fa3_sys::driver::{Buffer, Stream};
use fa3_tma_examples::{CEILINGS, Ceiling, CeilingKernel};
use half::bf16;

use crate::median::median_ms;
use crate::random::normal;
use crate::request::CeilingRequest;
use crate::session::Outcome;

/// About what attention takes at 16k tokens and a hidden size of 2048.
const FLOPS: u64 = 2 << 40;

/// The answer.
pub struct TimedCeiling {
    /// The median time of one call, milliseconds.
    pub ms: f64,
    /// The floating-point operations of one call.
    pub flops: u64,
}

/// Times a loop on standard normal operands.
pub fn time(stream: &Stream, request: &CeilingRequest, seed: u64) -> Outcome<TimedCeiling> {
    let kernel = named(&request.name)?;
    let context = stream.context();
    let sms = context.device().sm_count;
    let operands = normal::<bf16>(kernel.shared_bytes() as usize / 2, seed);
    let source = Buffer::from_slice(stream, &operands)?;
    let sums = Buffer::new(context, 4 * sms as usize * kernel.threads() as usize)?;
    let ceiling = Ceiling {
        kernel,
        passes: FLOPS / (kernel.flops() * u64::from(sms).max(1)),
        source: source.ptr().0,
        sums: sums.ptr().0,
    };
    let binding = ceiling.plan(sms).bind(context, [])?;
    let launch = || {
        // SAFETY: the kernel reads `shared_bytes` bytes of `source` and writes a float a thread to `sums`,
        // which live until the stream is synchronised, as freeing them does, too.
        unsafe { Ok(binding.launch(stream)?) }
    };
    let ms = median_ms(stream, request.warmup_ms, request.measure_ms, launch)?;
    Ok(TimedCeiling { ms, flops: ceiling.flops(sms) })
}

fn named(name: &str) -> Result<CeilingKernel, String> {
    CEILINGS.into_iter().find(|ceiling| ceiling.name == name).ok_or_else(|| {
        let names = CEILINGS.map(|ceiling| ceiling.name).join(", ");
        format!("name is {name:?}, and the ceilings are {names}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_is_answered_with_those_that_there_are() {
        assert_eq!(named("d256").unwrap().head_dim, 256);
        let error = named("d96").unwrap_err();
        assert_eq!(error, "name is \"d96\", and the ceilings are shared, registers, d64, d128, d256");
    }
}
