//! The resource table.

use std::fs;

use fa3_sys::Arch;
use fa3_sys::artefact::{Files, Resources};

use crate::compile::{Cost, Job};
use crate::error::{At, Result};

/// One kernel.
pub(crate) struct Row {
    symbol: String,
    arch: Arch,
    resources: Resources,
    /// None when the artefact was up to date.
    pub(crate) cost: Option<Cost>,
    cubin_bytes: u64,
    fatbin_bytes: u64,
}

impl Row {
    pub(crate) fn new(job: &Job, resources: Resources, cost: Option<Cost>, files: &Files) -> Result<Self> {
        let bytes = |path| fs::metadata(path).at(path).map(|data| data.len());
        let (cubin_bytes, fatbin_bytes) = (bytes(&files.cubin)?, bytes(&files.fatbin)?);
        Ok(Self {
            symbol: job.unit.symbol.clone(),
            arch: job.arch,
            resources,
            cost,
            cubin_bytes,
            fatbin_bytes,
        })
    }
}

/// The table as text. Time and memory are those of the compiler, and stand only in rows that were
/// built now.
pub(crate) fn render(rows: &[Row]) -> String {
    let width = rows.iter().map(|row| row.symbol.len()).max().unwrap_or(0).max("kernel".len());
    let mut text = format!(
        "{:width$}  {:7}  {:>9}  {:>11}  {:>7}  {:>7}  {:>7}  {:>8}  {:>9}  {:>10}\n",
        "kernel",
        "arch",
        "registers",
        "shared (B)",
        "stack",
        "spills",
        "seconds",
        "peak MiB",
        "cubin KiB",
        "packed KiB"
    );
    for row in rows {
        let Resources { registers, static_shared_bytes, stack_bytes, spill_bytes } = row.resources;
        let (seconds, peak) = row.cost.map_or(("-".to_owned(), "-".to_owned()), |cost| {
            (format!("{:.1}", cost.elapsed.as_secs_f64()), (cost.peak_bytes >> 20).to_string())
        });
        text.push_str(&format!(
            "{:width$}  {:7}  {registers:>9}  {static_shared_bytes:>11}  {stack_bytes:>7}  {spill_bytes:>7}  \
             {seconds:>7}  {peak:>8}  {:>9}  {:>10}\n",
            row.symbol,
            row.arch.target(),
            row.cubin_bytes.div_ceil(1024),
            row.fatbin_bytes.div_ceil(1024),
        ));
    }
    let total = |bytes: fn(&Row) -> u64| rows.iter().map(bytes).sum::<u64>().div_ceil(1024);
    let (cubins, packed) = (total(|row| row.cubin_bytes), total(|row| row.fatbin_bytes));
    text.push_str(&format!("{} kernels, {cubins} KiB of cubins, {packed} KiB packed", rows.len()));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_what_was_measured() {
        let row = |symbol: &str, cost| Row {
            symbol: symbol.into(),
            arch: Arch::Sm90a,
            resources: Resources { registers: 168, static_shared_bytes: 7, ..Resources::default() },
            cost,
            cubin_bytes: 2049,
            fatbin_bytes: 1024,
        };
        let cost = Cost { elapsed: std::time::Duration::from_millis(1500), peak_bytes: 64 << 20 };
        let text = render(&[row("built", Some(cost)), row("up_to_date", None)]);
        let words = |line: usize| text.lines().nth(line).unwrap().split_whitespace().collect::<Vec<_>>();
        assert_eq!(words(1), ["built", "sm_90a", "168", "7", "0", "0", "1.5", "64", "3", "1"]);
        assert_eq!(words(2), ["up_to_date", "sm_90a", "168", "7", "0", "0", "-", "-", "3", "1"]);
        assert!(text.ends_with("2 kernels, 5 KiB of cubins, 2 KiB packed"));
    }
}
