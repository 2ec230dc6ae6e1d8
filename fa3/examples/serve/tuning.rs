//! What a request may choose instead of the planner.

use std::path::PathBuf;

use fa3::{Tuning, Walk};
use fa3_kernels::{ForwardKernel, Operand};
use serde::Deserialize;

/// A tuning as JSON has it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    #[serde(default, with = "optional")]
    kernel: Option<ForwardKernel>,
    /// The machine code of a kernel that is not in the table.
    pub image: Option<PathBuf>,
    walk: Option<AskedWalk>,
    section_of_l2: Option<f64>,
}

/// [`Walk`].
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum AskedWalk {
    TileEach,
    Persistent,
    Pairs,
}

/// [`ForwardKernel`].
#[derive(Deserialize)]
#[serde(remote = "ForwardKernel", deny_unknown_fields)]
struct AskedKernel {
    #[serde(with = "AskedOperand")]
    operand: Operand,
    head_dim: u32,
    value_dim: u32,
    consumers: u32,
    tile_n: u32,
    cluster: u32,
    output_over_query: bool,
    query_in_registers: bool,
    scores_ahead: bool,
    polynomials: u32,
}

/// [`Operand`].
#[derive(Deserialize)]
#[serde(remote = "Operand")]
enum AskedOperand {
    #[serde(rename = "fp16")]
    F16,
    #[serde(rename = "bf16")]
    Bf16,
}

mod optional {
    use super::{AskedKernel, ForwardKernel};
    use serde::{Deserialize, Deserializer};

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<ForwardKernel>, D::Error> {
        #[derive(Deserialize)]
        struct Kernel(#[serde(with = "AskedKernel")] ForwardKernel);
        Option::<Kernel>::deserialize(from).map(|kernel| kernel.map(|Kernel(kernel)| kernel))
    }
}

impl Asked {
    /// What the planner is told.
    pub fn tuning(&self) -> Tuning {
        let walk = self.walk.map(|walk| match walk {
            AskedWalk::TileEach => Walk::TileEach,
            AskedWalk::Persistent => Walk::Persistent,
            AskedWalk::Pairs => Walk::Pairs,
        });
        Tuning { kernel: self.kernel, walk, section_of_l2: self.section_of_l2 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tuning_is_read() {
        let text = r#"{"kernel": {"operand": "bf16", "head_dim": 64, "value_dim": 64, "consumers": 2, "tile_n": 112, "cluster": 1,
            "output_over_query": false, "query_in_registers": true, "scores_ahead": true, "polynomials": 2}, "image": "a b.fatbin", "walk": "tile-each"}"#;
        let asked: Asked = serde_json::from_str(text).unwrap();
        let tuning = asked.tuning();
        assert_eq!((tuning.walk, tuning.section_of_l2), (Some(Walk::TileEach), None));
        let kernel = tuning.kernel.unwrap();
        assert_eq!((kernel.operand, kernel.tile_m(), kernel.tile_n), (Operand::Bf16, 128, 112));
        assert_eq!(asked.image, Some("a b.fatbin".into()));
        let nothing: Asked = serde_json::from_str("{}").unwrap();
        assert_eq!(nothing.tuning(), Tuning::default());
        assert!(serde_json::from_str::<Asked>(r#"{"tile": 1}"#).is_err());
    }
}
