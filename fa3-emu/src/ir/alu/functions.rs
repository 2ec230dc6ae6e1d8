//! The functions that [`AluOp`](super::AluOp) computes.

use crate::ir::Ty;

/// An operation on one integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntUnary {
    /// `-a`, wrapping.
    Neg,
    /// `|a|`, wrapping.
    Abs,
    /// Every bit flipped.
    Not,
    /// The number of ones.
    Popc,
    /// The number of leading zeros.
    Clz,
    /// The bits in reverse order.
    Brev,
}

/// An operation on two integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntBinary {
    /// Sum, wrapping.
    Add,
    /// Difference, wrapping.
    Sub,
    /// The low half of the product.
    MulLo,
    /// The high half of the product.
    MulHi,
    /// Quotient, towards zero; all ones for a division by zero.
    Div,
    /// Remainder, with the sign of `a`.
    Rem,
    /// The smaller.
    Min,
    /// The larger.
    Max,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Shift to the left.
    Shl,
    /// Shift to the right, filling with the sign for signed types.
    Shr,
}

/// The part of a product that `mad` adds to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Its low half.
    Lo,
    /// Its high half.
    Hi,
    /// All of it.
    Wide,
}

/// A function of one `f32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FloatUnary {
    /// `-a`.
    Neg,
    /// `|a|`.
    Abs,
    /// `rcp.rn`: the reciprocal, rounded to nearest.
    Rcp,
    /// `rcp.approx`: within 1 ulp.
    RcpApprox,
    /// `sqrt.rn`: rounded to nearest.
    Sqrt,
    /// `sqrt.approx`.
    SqrtApprox,
    /// `rsqrt.approx`.
    RsqrtApprox,
    /// `ex2.approx`: 2 to the power of `a`, within 2 ulp.
    Ex2Approx,
    /// `lg2.approx`: the logarithm to base 2.
    Lg2Approx,
    /// `tanh.approx`.
    TanhApprox,
}

/// A function of two `f32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FloatBinary {
    /// Sum.
    Add,
    /// Difference.
    Sub,
    /// Product.
    Mul,
    /// `div.rn`: quotient rounded to nearest.
    Div,
    /// `div.approx` and `div.full`: within 2 ulp.
    DivApprox,
    /// The smaller; the other where one is NaN; −0 counts as smaller than +0.
    Min,
    /// The larger; the other where one is NaN; −0 counts as smaller than +0.
    Max,
    /// `min.NaN`: as `Min`, but NaN where one is NaN.
    MinNan,
    /// `max.NaN`: as `Max`, but NaN where one is NaN.
    MaxNan,
}

/// A comparison. For floats the plain ones are false where an operand is NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    /// Equal.
    Eq,
    /// Not equal.
    Ne,
    /// Less.
    Lt,
    /// Less or equal.
    Le,
    /// Greater.
    Gt,
    /// Greater or equal.
    Ge,
    /// Equal, or NaN.
    Equ,
    /// Not equal, or NaN.
    Neu,
    /// Less, or NaN.
    Ltu,
    /// Less or equal, or NaN.
    Leu,
    /// Greater, or NaN.
    Gtu,
    /// Greater or equal, or NaN.
    Geu,
    /// Neither is NaN.
    Num,
    /// One is NaN.
    Nan,
}

/// An operation on two predicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Logic {
    /// Both.
    And,
    /// Either.
    Or,
    /// One but not both.
    Xor,
}

/// A conversion of one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Convert {
    /// Between integers: the low bits, or extended by the sign of `from`.
    IntToInt {
        /// Result.
        to: Ty,
        /// Operand.
        from: Ty,
        /// Clamps to the range of `to` instead of dropping bits.
        saturate: bool,
    },
    /// An integer to the nearest `f32`.
    IntToFloat {
        /// Operand.
        from: Ty,
        /// Rounding of what has no exact `f32`.
        rounding: Rounding,
    },
    /// An `f32` to an integer, clamped to its range; NaN gives zero.
    FloatToInt {
        /// Result.
        to: Ty,
        /// Which integer.
        rounding: Rounding,
        /// Denormal operands count as zero.
        ftz: bool,
    },
    /// An `f16` or `bf16` to `f32`, exactly.
    HalfToFloat {
        /// [`Ty::F16`] or [`Ty::Bf16`].
        from: Ty,
    },
    /// An `f32` to the nearest `f16` or `bf16`.
    FloatToHalf {
        /// [`Ty::F16`] or [`Ty::Bf16`].
        to: Ty,
    },
}

/// A direction of rounding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// To nearest, ties to even.
    Nearest,
    /// Towards zero.
    Zero,
    /// Towards negative infinity.
    Down,
    /// Towards positive infinity.
    Up,
}
