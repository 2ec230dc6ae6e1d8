//! What instructions act on: types, registers, immediates, addresses. PTX ISA, "State Spaces,
//! Types, and Variables" and "Instruction Operands".

/// The type that an instruction gives to its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ty {
    /// Untyped, 8 bits; in memory only.
    B8,
    /// Untyped, 16 bits.
    B16,
    /// Untyped, 32 bits.
    B32,
    /// Untyped, 64 bits.
    B64,
    /// Unsigned, 8 bits; in memory and conversions only.
    U8,
    /// Unsigned, 16 bits.
    U16,
    /// Unsigned, 32 bits.
    U32,
    /// Unsigned, 64 bits.
    U64,
    /// Two's complement, 8 bits; in memory and conversions only.
    S8,
    /// Two's complement, 16 bits.
    S16,
    /// Two's complement, 32 bits.
    S32,
    /// Two's complement, 64 bits.
    S64,
    /// IEEE binary16.
    F16,
    /// bfloat16.
    Bf16,
    /// IEEE binary32.
    F32,
    /// IEEE binary64; moved, loaded and stored only.
    F64,
}

impl Ty {
    /// Size in bits.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            Self::B8 | Self::U8 | Self::S8 => 8,
            Self::B16 | Self::U16 | Self::S16 | Self::F16 | Self::Bf16 => 16,
            Self::B32 | Self::U32 | Self::S32 | Self::F32 => 32,
            Self::B64 | Self::U64 | Self::S64 | Self::F64 => 64,
        }
    }

    /// Size in bytes.
    #[must_use]
    pub const fn bytes(self) -> u32 {
        self.bits() / 8
    }

    /// Whether it is a two's-complement integer.
    #[must_use]
    pub const fn is_signed(self) -> bool {
        matches!(self, Self::S8 | Self::S16 | Self::S32 | Self::S64)
    }

    /// Whether it is a floating-point number.
    #[must_use]
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::Bf16 | Self::F32 | Self::F64)
    }

    /// The registers that hold a value of this type; the narrowest have 16 bits.
    #[must_use]
    pub const fn class(self) -> Class {
        match self.bits() {
            64 => Class::B64,
            32 => Class::B32,
            _ => Class::B16,
        }
    }
}

/// The width of a register. The declared type (`.f32`, `.s32`, `.b32`) plays no part: an
/// instruction gives the type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// 16 bits.
    B16,
    /// 32 bits.
    B32,
    /// 64 bits.
    B64,
}

/// A register: its width, and its number among the registers of that width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reg {
    /// Its width.
    pub class: Class,
    /// Below the count that [`Registers`](super::Registers) gives for the class.
    pub index: u32,
}

/// A predicate register, by its number among the predicate registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PredReg(pub u32);

/// A source operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Src {
    /// A register.
    Reg(Reg),
    /// The bits of a constant, zero above the width of the operand: `-1` for a 32-bit operand is
    /// `0xffff_ffff`, a float is its bit pattern.
    Imm(u64),
}

/// An address operand, `[base + offset]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    /// The register, 32 or 64 bits wide and read as unsigned; `None` for a symbol or a constant,
    /// which the offset then holds.
    pub base: Option<Reg>,
    /// Added to it.
    pub offset: i64,
}

/// Where an address points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// An address that says by its value which space it is in.
    Generic,
    /// Device memory.
    Global,
    /// Shared memory of the executing CTA.
    SharedCta,
    /// Shared memory of any CTA of the cluster.
    SharedCluster,
    /// The kernel's parameters; addresses are offsets into [`Program::param_bytes`](super::Program::param_bytes).
    Param,
}

/// A special register. PTX ISA, "Special Registers".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Special {
    /// `%tid`; x, y, z are 0, 1, 2.
    Tid(u8),
    /// `%ntid`.
    Ntid(u8),
    /// `%ctaid`.
    Ctaid(u8),
    /// `%nctaid`.
    Nctaid(u8),
    /// `%clusterid`.
    Clusterid(u8),
    /// `%nclusterid`.
    Nclusterid(u8),
    /// `%cluster_ctaid`.
    ClusterCtaid(u8),
    /// `%cluster_nctaid`.
    ClusterNctaid(u8),
    /// `%cluster_ctarank`.
    ClusterCtarank,
    /// `%cluster_nctarank`.
    ClusterNctarank,
    /// `%laneid`.
    Laneid,
    /// `%warpid`.
    Warpid,
    /// `%lanemask_eq`.
    LanemaskEq,
    /// `%lanemask_lt`.
    LanemaskLt,
    /// `%lanemask_le`.
    LanemaskLe,
    /// `%lanemask_gt`.
    LanemaskGt,
    /// `%lanemask_ge`.
    LanemaskGe,
    /// `%smid`.
    Smid,
    /// `%nsmid`.
    Nsmid,
    /// `%dynamic_smem_size`: bytes of dynamic shared memory.
    DynamicSmemSize,
    /// `%total_smem_size`: bytes of static and dynamic shared memory.
    TotalSmemSize,
}
