//! The arguments of a tensor map as loose values, of which any may be wrong.

use fa3_sys::Arch;
use fa3_sys::tensormap::{
    Check, DataType, Fill, Interleave, L2Promotion, MAX_RANK, Rule, Swizzle, TensorMapDesc, TensorMapError,
    Value,
};

/// One more than a tensor map has, so that a rank of 6 has its arrays too.
pub(crate) const SLOTS: usize = MAX_RANK + 1;

/// The arguments of an im2col map alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Columns {
    pub(crate) lower: [i32; SLOTS],
    pub(crate) upper: [i32; SLOTS],
    pub(crate) pixels: u32,
}

/// A map's arguments. Slots past the rank are filled, so that the rank alone can be wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Args {
    /// The rule whose limit it lies at, if it was aimed.
    pub(crate) target: Option<Rule>,
    pub(crate) data_type: DataType,
    pub(crate) rank: usize,
    pub(crate) extents: [u64; SLOTS],
    pub(crate) strides: [u64; SLOTS],
    /// The box; slot 0 is also the channels of an im2col map.
    pub(crate) box_extents: [u32; SLOTS],
    pub(crate) element_strides: [u32; SLOTS],
    pub(crate) columns: Option<Columns>,
    pub(crate) interleave: Interleave,
    pub(crate) swizzle: Swizzle,
    pub(crate) l2_promotion: L2Promotion,
    pub(crate) fill: Fill,
    pub(crate) address: u64,
}

/// What we say of a map.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Verdict {
    /// The checks that fail, in the order of validation.
    pub(crate) broken: Vec<Check>,
}

impl Verdict {
    pub(crate) fn is_legal(&self) -> bool {
        self.broken.is_empty()
    }

    /// The rule that validation names.
    pub(crate) fn rule(&self) -> Option<Rule> {
        self.broken.first().map(|check| check.rule)
    }

    /// Whether no other rule is broken.
    pub(crate) fn only(&self, rule: Rule) -> bool {
        self.broken.iter().all(|check| check.rule == rule)
    }

    /// The same without what the architecture lacks.
    pub(crate) fn without_architecture(&self) -> Self {
        let broken = self.broken.iter().filter(|check| check.rule != Rule::Architecture);
        Self { broken: broken.copied().collect() }
    }
}

impl Args {
    /// The description, with `rank` dimensions.
    fn build_with(&self, rank: usize) -> Result<TensorMapDesc, TensorMapError> {
        let extents = &self.extents[..rank];
        let strides = &self.strides[..rank.saturating_sub(1)];
        let desc = match &self.columns {
            None => TensorMapDesc::tiled(self.data_type, extents, strides, &self.box_extents[..rank])?,
            Some(columns) => {
                let offsets = ..rank.saturating_sub(2);
                let (lower, upper) = (&columns.lower[offsets], &columns.upper[offsets]);
                let channels = self.box_extents[0];
                TensorMapDesc::im2col(
                    self.data_type,
                    extents,
                    strides,
                    lower,
                    upper,
                    channels,
                    columns.pixels,
                )?
            }
        };
        Ok(desc
            .with_element_strides(&self.element_strides[..rank])?
            .with_interleave(self.interleave)
            .with_swizzle(self.swizzle)
            .with_l2_promotion(self.l2_promotion)
            .with_fill(self.fill))
    }

    /// The description, or why there is none: its rank.
    pub(crate) fn build(&self) -> Result<TensorMapDesc, TensorMapError> {
        self.build_with(self.rank)
    }

    /// The description with the nearest rank that can be described, for the driver to be asked
    /// about the real one.
    pub(crate) fn build_clamped(&self) -> TensorMapDesc {
        self.build_with(self.rank.clamp(1, MAX_RANK)).unwrap()
    }

    /// Elements of a row of 16 bytes.
    pub(crate) fn row_granule(&self) -> u32 {
        128 / u32::try_from(self.data_type.bits()).unwrap()
    }

    /// Which dimension the first offset of a corner belongs to.
    pub(crate) fn first_spatial(&self) -> usize {
        usize::from(self.interleave == Interleave::None)
    }

    /// The bytes that count against the limit of one copy.
    pub(crate) fn copy_bytes(&self) -> i128 {
        let checks = self.build_clamped().checks(0);
        let check = checks.iter().find(|check| check.rule == Rule::BoxSize).unwrap();
        match check.value {
            Value::Number(bytes) => bytes,
            Value::Name(name) => panic!("{name} is no number"),
        }
    }

    /// Every check, whether it holds or not, with those of `arch` last.
    pub(crate) fn checks(&self, arch: Arch) -> Vec<Check> {
        match self.build() {
            Err(error) => vec![*error.check()],
            Ok(desc) => {
                let mut checks = desc.checks(self.address);
                checks.extend(desc.architecture_checks(arch));
                checks
            }
        }
    }

    /// What we say of it on `arch`.
    pub(crate) fn verdict(&self, arch: Arch) -> Verdict {
        Verdict { broken: self.checks(arch).into_iter().filter(|check| !check.holds()).collect() }
    }
}

/// One line.
impl std::fmt::Display for Args {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.build() {
            Ok(desc) => write!(f, "{desc} at {:#x}", self.address),
            Err(_) => write!(f, "rank {}, else {} at {:#x}", self.rank, self.build_clamped(), self.address),
        }
    }
}
