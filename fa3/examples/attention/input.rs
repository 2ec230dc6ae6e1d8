//! What attention is computed on.

use std::path::PathBuf;
use std::str::FromStr;

use bytemuck::AnyBitPattern;
use fa3::{DType, Element};
use half::{bf16, f16};

use crate::random::normal;

/// A tensor as read: `[batch, sequence, heads, dim]`, row-major.
pub struct Array {
    /// The type of its elements.
    pub dtype: DType,
    /// Extents.
    pub shape: [usize; 4],
    /// The elements, in the machine's byte order.
    pub bytes: Vec<u8>,
}

impl Array {
    /// The elements as `T`, rounded where that is narrower.
    pub fn to<T: Element>(&self) -> Vec<T> {
        fn convert<S: Element, T: Element>(bytes: &[u8]) -> Vec<T> {
            collect::<S>(bytes).map(|value| T::from_f32(value.to_f32())).collect()
        }
        if self.dtype == T::DTYPE {
            return collect(&self.bytes).collect();
        }
        match self.dtype {
            DType::F16 => convert::<f16, T>(&self.bytes),
            DType::Bf16 => convert::<bf16, T>(&self.bytes),
            _ => convert::<f32, T>(&self.bytes),
        }
    }
}

/// The values that lie in `bytes`, which need not be aligned.
pub fn collect<T: AnyBitPattern>(bytes: &[u8]) -> impl Iterator<Item = T> {
    bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned)
}

/// How the sequences lie in the tensors.
pub enum Lengths {
    /// All of full length.
    Dense,
    /// Keys used by each batch entry.
    UsedKeys(Vec<i32>),
    /// Cumulative lengths.
    Packed {
        /// In Q.
        cu_q: Vec<i32>,
        /// In K and V.
        cu_k: Vec<i32>,
    },
}

/// Everything that is computed on, and what should come of it.
pub struct Input {
    /// Where it comes from, for a person.
    pub source: String,
    /// `[batch, sq, heads_q, d]`.
    pub q: Array,
    /// `[batch, sk, heads_k, d]`.
    pub k: Array,
    /// `[batch, sk, heads_k, dv]`.
    pub v: Array,
    /// The lengths of the sequences.
    pub lengths: Lengths,
    /// `[heads_q]`.
    pub sinks: Option<Vec<f32>>,
    /// `[heads_q]`.
    pub alibi: Option<Vec<f32>>,
    /// The file's own O.
    pub o: Option<Vec<f32>>,
    /// The file's own LSE.
    pub lse: Option<Vec<f32>>,
}

/// Why there is no input.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// The file cannot be read or written.
    #[error("{path}: {source}", path = .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is no safetensors file.
    #[error("{origin} is no safetensors file: {why}")]
    Format {
        /// The file.
        origin: String,
        /// What is wrong.
        why: String,
    },
    /// A tensor is missing.
    #[error("{origin} has no tensor `{name}`, which attention needs; it has {found}")]
    Missing {
        /// The file.
        origin: String,
        /// The tensor.
        name: String,
        /// What is there.
        found: String,
    },
    /// A tensor is not what it must be.
    #[error("{origin}: tensor `{name}` is {value}, but {rule}")]
    Tensor {
        /// The file.
        origin: String,
        /// The tensor.
        name: String,
        /// Its type and shape.
        value: String,
        /// What it must be.
        rule: String,
    },
    /// The output would replace the input.
    #[error("--out {path} is the input, which it would replace; name another file", path = .path.display())]
    Replaced {
        /// The file.
        path: PathBuf,
    },
    /// The tensors' types differ.
    #[error("{origin}: q, k and v are {types}; say which --dtype to compute in")]
    Types {
        /// The file.
        origin: String,
        /// Theirs.
        types: String,
    },
    /// An option that the device does not have.
    #[error("{option} is for {of}, but the device is {device}; leave it out, or add --device {remedy}")]
    Device {
        /// The option.
        option: String,
        /// What has it.
        of: &'static str,
        /// The device.
        device: String,
        /// A device that has it.
        remedy: &'static str,
    },
    /// The sizes asked for are not those of a tensor.
    #[error("--random {sizes}: {rule}")]
    Sizes {
        /// As given.
        sizes: String,
        /// What they must be.
        rule: &'static str,
    },
}

/// `batch,sq,sk,heads_q,heads_k,d[,dv]`.
#[derive(Clone, Debug)]
pub struct RandomSizes {
    q: [usize; 4],
    k: [usize; 4],
    v: [usize; 4],
    text: String,
}

impl FromStr for RandomSizes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers: Result<Vec<usize>, _> = text.split(',').map(str::parse).collect();
        let (b, sq, sk, hq, hk, d, dv) = match numbers.as_deref() {
            Ok(&[b, sq, sk, hq, hk, d]) => (b, sq, sk, hq, hk, d, d),
            Ok(&[b, sq, sk, hq, hk, d, dv]) => (b, sq, sk, hq, hk, d, dv),
            _ => return Err("batch,sq,sk,heads_q,heads_k,d or …,d,dv".to_owned()),
        };
        Ok(Self { q: [b, sq, hq, d], k: [b, sk, hk, d], v: [b, sk, hk, dv], text: text.to_owned() })
    }
}

impl Input {
    /// Standard normal numbers.
    pub fn random(sizes: &RandomSizes, dtype: DType, seed: u64) -> Result<Self, InputError> {
        let array = |shape: [usize; 4], seed: u64| {
            let len = shape.iter().try_fold(1usize, |product, &extent| product.checked_mul(extent));
            let len = len.filter(|&len| len <= 1 << 32).ok_or_else(|| InputError::Sizes {
                sizes: sizes.text.clone(),
                rule: "a tensor has at most 2^32 elements",
            })?;
            let bytes = match dtype {
                DType::F16 => bytemuck::cast_slice(&normal::<f16>(len, seed)).to_vec(),
                DType::Bf16 => bytemuck::cast_slice(&normal::<bf16>(len, seed)).to_vec(),
                _ => bytemuck::cast_slice(&normal::<f32>(len, seed)).to_vec(),
            };
            Ok(Array { dtype, shape, bytes })
        };
        // Far apart, so that the generators' streams are too.
        let seeds = [0, 1, 2].map(|n: u64| seed.wrapping_add(n << 40));
        Ok(Self {
            source: format!("standard normal, seed {seed}"),
            q: array(sizes.q, seeds[0])?,
            k: array(sizes.k, seeds[1])?,
            v: array(sizes.v, seeds[2])?,
            lengths: Lengths::Dense,
            sinks: None,
            alibi: None,
            o: None,
            lse: None,
        })
    }
}
