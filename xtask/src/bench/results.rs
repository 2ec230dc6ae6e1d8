//! What `compare.py` measured, as it writes it.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use super::paper;
use crate::error::{At, Error, Result};

/// The version of the format that is read here.
const FORMAT: u32 = 1;

/// One run on one card.
#[derive(Debug, Deserialize)]
pub(crate) struct Results {
    pub(crate) format: u32,
    pub(crate) card: String,
    pub(crate) driver: String,
    /// `sustained` or `burst`.
    pub(crate) regime: String,
    pub(crate) rounds: u32,
    /// Of the peers that were there.
    pub(crate) versions: BTreeMap<Program, String>,
    /// Programs and ceilings that were not, and why.
    pub(crate) left_out: BTreeMap<String, String>,
    /// Loops of matrix products alone by name, TFLOP/s.
    pub(crate) ceilings: BTreeMap<String, f64>,
    pub(crate) cells: Vec<Cell>,
}

/// A problem and how long each program took.
#[derive(Debug, Deserialize)]
pub(crate) struct Cell {
    pub(crate) grid: String,
    pub(crate) dtype: String,
    pub(crate) b: u64,
    pub(crate) sq: u64,
    pub(crate) sk: u64,
    pub(crate) hq: u64,
    pub(crate) hk: u64,
    pub(crate) d: u64,
    pub(crate) dv: u64,
    pub(crate) causal: bool,
    pub(crate) window: Option<[i64; 2]>,
    pub(crate) lens: Option<Vec<u64>>,
    flops: f64,
    /// Milliseconds of one call.
    ms: BTreeMap<Program, f64>,
    /// Programs that were not timed, and why.
    pub(crate) left_out: BTreeMap<Program, String>,
}

/// A program that is timed, in the order of tables and pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Program {
    Fa2,
    Fa3,
    Fa4,
    Cudnn,
    Ours,
}

impl Program {
    pub(crate) const ALL: [Self; 5] = [Self::Fa2, Self::Fa3, Self::Fa4, Self::Cudnn, Self::Ours];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Fa2 => "FA2",
            Self::Fa3 => "FA3",
            Self::Fa4 => "FA4",
            Self::Cudnn => "cuDNN",
            Self::Ours => "ours",
        }
    }
}

impl Results {
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).at(path)?;
        Self::parse(&text).map_err(|why| Error::Answer { program: path.display().to_string(), why })
    }

    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let results: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        match results.format {
            FORMAT => Ok(results),
            other => Err(format!("format {other}, and this xtask reads format {FORMAT}")),
        }
    }

    /// The dense bf16 peak of the card at its nominal clock, TFLOP/s: H100 and H200 with SXM or HGX boards
    /// (NVIDIA's data sheets: 1,979 with sparsity, twice the dense rate).
    pub(crate) fn peak(&self) -> Option<f64> {
        let hopper = ["H100", "H200"].iter().any(|name| self.card.contains(name));
        let slower = ["PCIe", "NVL"].iter().any(|name| self.card.contains(name));
        (hopper && !slower).then_some(989.4)
    }

    /// The widest products alone, from shared memory.
    pub(crate) fn bare(&self) -> Option<f64> {
        self.ceilings.get("shared").copied()
    }

    /// The products of attention alone, of a head dimension.
    pub(crate) fn products(&self, d: u64) -> Option<f64> {
        self.ceilings.get(&format!("d{d}")).copied()
    }

    pub(crate) fn grids(&self) -> Vec<&str> {
        let mut grids: Vec<&str> = self.cells.iter().map(|cell| cell.grid.as_str()).collect();
        grids.dedup();
        grids
    }
}

impl Cell {
    /// TFLOP/s of a program, causal counted as half of all pairs.
    pub(crate) fn speed(&self, program: Program) -> Option<f64> {
        self.ms.get(&program).map(|ms| self.flops / ms / 1e9)
    }

    /// The fastest peer's.
    pub(crate) fn best_peer(&self) -> Option<f64> {
        let peers = Program::ALL.into_iter().filter(|&program| program != Program::Ours);
        peers.filter_map(|peer| self.speed(peer)).max_by(f64::total_cmp)
    }

    /// Ours over the fastest peer.
    pub(crate) fn ratio(&self) -> Option<f64> {
        Some(self.speed(Program::Ours)? / self.best_peer()?)
    }

    /// Whether it is of the FlashAttention-3 paper's grid: 16k tokens in all, hidden size 2048.
    pub(crate) fn is_of_paper(&self) -> bool {
        let plain = self.window.is_none() && self.lens.is_none() && self.sq == self.sk;
        let sizes = self.d == self.dv && self.hq == self.hk;
        let totals = self.b * self.sq == 16384 && self.hq * self.d == 2048;
        plain && sizes && totals && paper::forward(self.d, self.causal, self.sq).is_some()
    }

    /// What FlashAttention-3's paper prints for it.
    pub(crate) fn paper(&self) -> Option<f64> {
        if self.is_of_paper() { paper::forward(self.d, self.causal, self.sq) } else { None }
    }

    pub(crate) fn label(&self) -> String {
        let mut label = format!("d{}", self.d);
        if self.dv != self.d {
            label += &format!("/{}", self.dv);
        }
        if self.dtype != "bf16" {
            label += &format!(" {}", self.dtype);
        }
        if self.causal {
            label += " causal";
        }
        if let Some([left, _]) = self.window {
            label += &format!(" window {}", left + 1);
        }
        match &self.lens {
            Some(lens) => {
                let lens: Vec<String> = lens.iter().map(u64::to_string).collect();
                label + ", " + &lens.join("+")
            }
            None if self.is_of_paper() => label + ", " + &tokens(self.sq),
            None if self.hq != self.hk => {
                label + &format!(", {}/{} heads, {}×{}", self.hq, self.hk, self.b, tokens(self.sq))
            }
            None => label + &format!(", {}×{}", self.b, tokens(self.sq)),
        }
    }
}

/// `16k`, as papers write lengths.
pub(crate) fn tokens(count: u64) -> String {
    if count >= 1024 && count.is_multiple_of(1024) { format!("{}k", count / 1024) } else { count.to_string() }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Numbers that nobody measured.
    pub(crate) const SAMPLE: &str = include_str!("sample.json");

    #[test]
    fn speeds_ratios_and_ceilings_are_read() {
        let results = Results::parse(SAMPLE).unwrap();
        assert_eq!(
            (results.bare(), results.products(128), results.products(96)),
            (Some(800.0), Some(750.0), None)
        );
        assert_eq!((results.peak(), results.grids()), (Some(989.4), vec!["fwd", "gqa", "varlen"]));
        let cell = &results.cells[0];
        assert_eq!(cell.speed(Program::Ours), Some(600.0));
        assert_eq!((cell.best_peer(), cell.ratio()), (Some(500.0), Some(1.2)));
        assert_eq!(cell.paper(), Some(565.0));
        let labels: Vec<String> = results.cells.iter().map(Cell::label).collect();
        let of_others = ["d128 causal window 1024, 32/8 heads, 1×8k", "d128, 100+28"];
        assert_eq!(labels, [&["d128, 1k", "d128 causal, 1k"][..], &of_others].concat());
        assert_eq!(results.cells[2].paper(), None);
    }

    #[test]
    fn another_format_and_other_cards_are_told_apart() {
        let error = Results::parse(&SAMPLE.replace("\"format\": 1", "\"format\": 2")).unwrap_err();
        assert_eq!(error, "format 2, and this xtask reads format 1");
        assert!(Results::parse("[]").is_err());
        for card in ["NVIDIA H100 PCIe", "NVIDIA H200 NVL", "NVIDIA A100-SXM4-80GB"] {
            let results = Results::parse(&SAMPLE.replace("NVIDIA H200", card)).unwrap();
            assert_eq!(results.peak(), None, "{card}");
        }
    }
}
