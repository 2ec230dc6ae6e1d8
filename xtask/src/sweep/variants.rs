//! Which kernels and walks a sweep times.

use std::collections::HashSet;
use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::tables::fa3_kernels_table::{FORWARD_BF16, ForwardKernel, forward_kernels};

/// The values of what is swept; with none, those of the table, or what planning chooses.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Values {
    /// Consumer warpgroups, of 64 rows each.
    #[arg(long, value_delimiter = ',')]
    consumers: Vec<u32>,
    /// Keys a tile.
    #[arg(long, value_delimiter = ',')]
    tile_n: Vec<u32>,
    /// CTAs that share the loads of K and V.
    #[arg(long, value_delimiter = ',')]
    cluster: Vec<u32>,
    /// Whether O leaves through the shared memory of Q.
    #[arg(long, value_delimiter = ',')]
    output_over_query: Vec<bool>,
    /// Whether S takes Q from registers.
    #[arg(long, value_delimiter = ',')]
    query_in_registers: Vec<bool>,
    /// Whether the next tile's first scores are issued before a tile's last P·V.
    #[arg(long, value_delimiter = ',')]
    scores_ahead: Vec<bool>,
    /// Of eight pairs of exponentials, those that are taken by a polynomial.
    #[arg(long, value_delimiter = ',')]
    polynomials: Vec<u32>,
    /// How CTAs share the tiles.
    #[arg(long, value_delimiter = ',')]
    walk: Vec<Walk>,
    /// The part of L2 that K and V of heads which are worked on together may take.
    #[arg(long, value_delimiter = ',')]
    section_of_l2: Vec<f64>,
}

/// `fa3::Walk`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Walk {
    TileEach,
    Persistent,
    Pairs,
}

impl Walk {
    fn name(self) -> &'static str {
        match self {
            Self::TileEach => "tile-each",
            Self::Persistent => "persistent",
            Self::Pairs => "pairs",
        }
    }
}

/// One program of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Variant {
    pub(crate) name: String,
    pub(crate) kernel: ForwardKernel,
    walk: Option<Walk>,
    section_of_l2: Option<f64>,
}

/// Heads of Q and of V: "128" or "192x128".
pub(crate) fn heads(text: &str) -> Result<(u32, u32), String> {
    let (keys, values) = text.split_once('x').unwrap_or((text, text));
    match (keys.parse(), values.parse()) {
        (Ok(keys), Ok(values)) => Ok((keys, values)),
        _ => Err("a width such as 128, or two such as 192x128".to_owned()),
    }
}

/// Each value as the choice of one, and none where there are none.
fn choices<T: Copy>(values: &[T]) -> Vec<Option<T>> {
    if values.is_empty() { vec![None] } else { values.iter().copied().map(Some).collect() }
}

impl Values {
    /// Every combination, each once.
    pub(crate) fn variants(&self, (head_dim, value_dim): (u32, u32)) -> Result<Vec<Variant>> {
        let rows = FORWARD_BF16.iter().filter(|row| (row.head_dim, row.value_dim) == (head_dim, value_dim));
        let mut kernels: Vec<ForwardKernel> = rows.copied().collect();
        if kernels.is_empty() {
            let mut known: Vec<String> =
                FORWARD_BF16.iter().map(|row| format!("{}x{}", row.head_dim, row.value_dim)).collect();
            known.dedup();
            let known = known.join(", ");
            return Err(Error::Refusal(format!(
                "--heads {head_dim}x{value_dim}: the table has rows for {known}"
            )));
        }
        vary(&mut kernels, &self.consumers, |row, consumers| ForwardKernel { consumers, ..row });
        vary(&mut kernels, &self.tile_n, |row, tile_n| ForwardKernel { tile_n, ..row });
        vary(&mut kernels, &self.cluster, |row, cluster| ForwardKernel { cluster, ..row });
        vary(&mut kernels, &self.output_over_query, |row, output_over_query| ForwardKernel {
            output_over_query,
            ..row
        });
        vary(&mut kernels, &self.query_in_registers, |row, query_in_registers| ForwardKernel {
            query_in_registers,
            ..row
        });
        vary(&mut kernels, &self.scores_ahead, |row, scores_ahead| ForwardKernel { scores_ahead, ..row });
        vary(&mut kernels, &self.polynomials, |row, polynomials| ForwardKernel { polynomials, ..row });
        let mut seen = HashSet::new();
        kernels.retain(|kernel| seen.insert(*kernel));
        let mut variants = Vec::new();
        for kernel in kernels {
            for walk in choices(&self.walk) {
                for section_of_l2 in choices(&self.section_of_l2) {
                    variants.push(Variant::new(kernel, walk, section_of_l2));
                }
            }
        }
        Ok(variants)
    }
}

/// Replaces each kernel by one for each value.
fn vary<T: Copy>(
    kernels: &mut Vec<ForwardKernel>,
    values: &[T],
    with: impl Fn(ForwardKernel, T) -> ForwardKernel,
) {
    if !values.is_empty() {
        *kernels = kernels
            .iter()
            .flat_map(|&row| values.iter().map(move |&value| (row, value)))
            .map(|(row, value)| with(row, value))
            .collect();
    }
}

impl Variant {
    fn new(kernel: ForwardKernel, walk: Option<Walk>, section_of_l2: Option<f64>) -> Self {
        let mut name = kernel_name(&kernel);
        if let Some(walk) = walk {
            write!(name, " {}", walk.name()).ok();
        }
        if let Some(part) = section_of_l2 {
            write!(name, " l2 {part}").ok();
        }
        Self { name, kernel, walk, section_of_l2 }
    }

    /// The file of its machine code, unless the server has it as a row of the table.
    pub(crate) fn image(&self) -> Option<String> {
        let embedded = forward_kernels().any(|row| *row == self.kernel);
        (!embedded).then(|| format!("{}.fatbin", kernel_name(&self.kernel).replace(' ', "-")))
    }

    fn json(&self) -> Value {
        let kernel = &self.kernel;
        let kernel = json!({
            "operand": kernel.operand.name(),
            "head_dim": kernel.head_dim,
            "value_dim": kernel.value_dim,
            "consumers": kernel.consumers,
            "tile_n": kernel.tile_n,
            "cluster": kernel.cluster,
            "output_over_query": kernel.output_over_query,
            "query_in_registers": kernel.query_in_registers,
            "scores_ahead": kernel.scores_ahead,
            "polynomials": kernel.polynomials,
        });
        json!({
            "name": self.name,
            "tuning": {
                "kernel": kernel,
                "image": self.image(),
                "walk": self.walk.map(Walk::name),
                "section_of_l2": self.section_of_l2,
            },
        })
    }
}

/// What tells kernels of the same heads apart.
fn kernel_name(kernel: &ForwardKernel) -> String {
    let ForwardKernel { head_dim, value_dim, tile_n, .. } = kernel;
    let values = if value_dim == head_dim { String::new() } else { format!("v{value_dim}") };
    let mut name = format!("d{head_dim}{values} {}x{tile_n}", kernel.tile_m());
    for (chosen, word) in [
        (kernel.cluster > 1, "cluster"),
        (kernel.output_over_query, "over"),
        (kernel.query_in_registers, "regs"),
        (kernel.scores_ahead, "ahead"),
    ] {
        if chosen {
            write!(name, " {word}").ok();
        }
    }
    if kernel.polynomials > 0 {
        write!(name, " poly{}", kernel.polynomials).ok();
    }
    name
}

/// What the scripts read.
pub(crate) fn json(variants: &[&Variant]) -> String {
    Value::Array(variants.iter().map(|variant| variant.json()).collect()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_combination_comes_once() {
        let values = Values {
            consumers: vec![2, 3],
            tile_n: vec![112, 128],
            walk: vec![Walk::TileEach, Walk::Pairs],
            ..Values::default()
        };
        let variants = values.variants((64, 64)).unwrap();
        let names: HashSet<&str> = variants.iter().map(|variant| variant.name.as_str()).collect();
        assert_eq!((variants.len(), names.len()), (8, 8), "{names:?}");
        assert!(names.contains("d64 192x112 pairs"));
        let own: Vec<_> = variants.iter().filter_map(Variant::image).collect();
        assert_eq!(
            own,
            ["d64-128x112.fatbin", "d64-128x112.fatbin", "d64-192x112.fatbin", "d64-192x112.fatbin"]
        );
    }

    #[test]
    fn without_values_the_rows_are_those_of_the_table() {
        let variants = Values::default().variants((192, 128)).unwrap();
        assert_eq!(variants.len(), 1);
        let tuning = &serde_json::from_str::<Value>(&json(&[&variants[0]])).unwrap()[0]["tuning"];
        assert_eq!((&tuning["image"], &tuning["kernel"]["value_dim"]), (&Value::Null, &json!(128)));
    }

    #[test]
    fn heads_are_one_width_or_two() {
        assert_eq!(heads("128"), Ok((128, 128)));
        assert_eq!(heads("192x128"), Ok((192, 128)));
        assert!(heads("wide").is_err());
        let error = Values::default().variants((72, 72)).unwrap_err().to_string();
        assert!(error.contains("72x72") && error.contains("192x128"), "{error}");
    }
}
