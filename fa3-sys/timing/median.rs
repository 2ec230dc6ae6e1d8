//! The time of one call, for programs that time kernels for others.

use std::error::Error;
use std::time::Instant;

use fa3_sys::driver::{Event, Stream};

/// The median time of one call on `stream`, milliseconds: warmed up in batches of four calls between
/// synchronisations, then timed by events around each.
pub fn median_ms(
    stream: &Stream,
    warmup_ms: f64,
    measure_ms: f64,
    mut call: impl FnMut() -> Result<(), Box<dyn Error>>,
) -> Result<f64, Box<dyn Error>> {
    let start = Instant::now();
    let mut calls = 0u32;
    while milliseconds(start) < warmup_ms || calls < 3 {
        (0..4).try_for_each(|_| call())?;
        calls += 4;
        stream.synchronize()?;
    }
    let each = milliseconds(start) / f64::from(calls);
    let repetitions = (measure_ms / each).clamp(10.0, 2000.0) as usize;
    let event = || Event::with_timing(stream.context());
    let events = (0..repetitions).map(|_| Ok((event()?, event()?)));
    let events = events.collect::<Result<Vec<_>, Box<dyn Error>>>()?;
    for (start, end) in &events {
        start.record(stream)?;
        call()?;
        end.record(stream)?;
    }
    stream.synchronize()?;
    let times = events.iter().map(|(start, end)| Ok(end.elapsed_ms_since(start)?));
    let mut times = times.collect::<Result<Vec<f32>, Box<dyn Error>>>()?;
    times.sort_by(f32::total_cmp);
    Ok(f64::from(times[times.len() / 2]))
}

/// Milliseconds since then.
pub fn milliseconds(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}
