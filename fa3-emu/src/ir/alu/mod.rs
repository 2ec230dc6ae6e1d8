//! Arithmetic in the registers of one lane. PTX ISA, "Integer Arithmetic", "Floating-Point",
//! "Comparison and Selection", "Logic and Shift" and "Data Movement and Conversion Instructions".

mod functions;

use super::operand::{PredReg, Reg, Special, Src, Ty};
pub use functions::{Compare, Convert, FloatBinary, FloatUnary, IntBinary, IntUnary, Logic, Part, Rounding};

/// Arithmetic of one lane. Where a variant has a `ty`, its operands have that type and the
/// register class of it.
#[derive(Clone, Debug, PartialEq)]
pub enum AluOp {
    /// `dst = a`, bit for bit.
    Mov {
        /// Destination; `a` has its width.
        dst: Reg,
        /// Source.
        a: Src,
    },
    /// `dst =` a special register, which has 32 bits.
    ReadSpecial {
        /// Destination, 32 or 64 bits wide.
        dst: Reg,
        /// What it gets, zero-extended.
        special: Special,
    },
    /// `mov` from a vector: the parts side by side, the first in the lowest bits.
    Pack {
        /// Destination, as wide as the parts together.
        dst: Reg,
        /// Two or four parts of one width.
        parts: Box<[Src]>,
    },
    /// `mov` to a vector: the parts of `a`, the first from the lowest bits.
    Unpack {
        /// Two or four destinations of one width, together as wide as `a`; `None` is `_`.
        parts: Box<[Option<Reg>]>,
        /// Source.
        a: Reg,
    },
    /// An integer or bit operation of one operand.
    Int1 {
        /// Which.
        f: IntUnary,
        /// 16, 32 or 64 bits.
        ty: Ty,
        /// Destination; 32 bits for [`IntUnary::Popc`] and [`IntUnary::Clz`].
        dst: Reg,
        /// Operand.
        a: Src,
    },
    /// An integer or bit operation of two operands.
    Int2 {
        /// Which.
        f: IntBinary,
        /// 16, 32 or 64 bits. Its sign counts in division, remainder, minimum, maximum, the high
        /// half of a product and the shift to the right.
        ty: Ty,
        /// Destination.
        dst: Reg,
        /// First operand.
        a: Src,
        /// Second operand; of shifts, 32 bits whatever `ty` is, and amounts above its width give
        /// what the width gives.
        b: Src,
    },
    /// `mul.wide`: the whole product.
    MulWide {
        /// Of the factors: 16 or 32 bits.
        ty: Ty,
        /// Twice as wide.
        dst: Reg,
        /// First factor.
        a: Src,
        /// Second factor.
        b: Src,
    },
    /// `mad`: a product and a sum, wrapping.
    Mad {
        /// Which part of the product.
        part: Part,
        /// Of the factors.
        ty: Ty,
        /// Destination; for [`Part::Wide`] it and `c` are twice as wide as `ty`.
        dst: Reg,
        /// First factor.
        a: Src,
        /// Second factor.
        b: Src,
        /// Summand.
        c: Src,
    },
    /// `bfe`: a field of bits, zero- or sign-extended by `ty`.
    BitFieldExtract {
        /// 32 or 64 bits.
        ty: Ty,
        /// Destination.
        dst: Reg,
        /// Holds the field.
        a: Src,
        /// Its lowest bit: the low 8 bits of 32.
        position: Src,
        /// Its length: the low 8 bits of 32.
        length: Src,
    },
    /// `bfi`: `b` with a field replaced by the low bits of `a`.
    BitFieldInsert {
        /// 32 or 64 bits.
        ty: Ty,
        /// Destination.
        dst: Reg,
        /// Holds the field in its low bits.
        a: Src,
        /// All other bits.
        b: Src,
        /// The field's lowest bit: the low 8 bits of 32.
        position: Src,
        /// Its length: the low 8 bits of 32.
        length: Src,
    },
    /// `shf`: 32 bits of the 64-bit value `high:low` shifted.
    FunnelShift {
        /// Left gives the high word, right the low word.
        left: bool,
        /// `.wrap` takes the amount modulo 32, `.clamp` at most 32.
        wrap: bool,
        /// Destination.
        dst: Reg,
        /// Low word.
        low: Src,
        /// High word.
        high: Src,
        /// The amount.
        amount: Src,
    },
    /// `prmt` without a mode: each byte of the result is one of the eight of `b:a`, chosen by four
    /// bits of the selector, of which the highest replicates the byte's sign.
    Permute {
        /// Destination.
        dst: Reg,
        /// Bytes 0 to 3.
        a: Src,
        /// Bytes 4 to 7.
        b: Src,
        /// The selector's low 16 bits count.
        selector: Src,
    },
    /// `lop3`: bit `4a + 2b + c` of the table, at each place.
    Lop3 {
        /// Destination.
        dst: Reg,
        /// First operand.
        a: Src,
        /// Second operand.
        b: Src,
        /// Third operand.
        c: Src,
        /// The table.
        table: u8,
    },
    /// A function of one `f32`.
    Float1 {
        /// Which.
        f: FloatUnary,
        /// Denormal operands and results count as zero.
        ftz: bool,
        /// Destination.
        dst: Reg,
        /// Operand.
        a: Src,
    },
    /// A function of two `f32`, rounded to nearest even.
    Float2 {
        /// Which.
        f: FloatBinary,
        /// Denormal operands and results count as zero.
        ftz: bool,
        /// Destination.
        dst: Reg,
        /// First operand.
        a: Src,
        /// Second operand.
        b: Src,
    },
    /// `fma.rn.f32`: rounded once.
    Fma {
        /// Denormal operands and results count as zero.
        ftz: bool,
        /// Destination.
        dst: Reg,
        /// First factor.
        a: Src,
        /// Second factor.
        b: Src,
        /// Summand.
        c: Src,
    },
    /// Compares into a predicate.
    Setp {
        /// How.
        cmp: Compare,
        /// Of the operands: an integer of 16, 32 or 64 bits, or `f32`.
        ty: Ty,
        /// Denormal operands count as zero.
        ftz: bool,
        /// Destination.
        dst: PredReg,
        /// First operand.
        a: Src,
        /// Second operand.
        b: Src,
    },
    /// `dst = if pred { a } else { b }`, bit for bit.
    Selp {
        /// Destination; `a` and `b` have its width.
        dst: Reg,
        /// Where the predicate is true.
        a: Src,
        /// Where it is false.
        b: Src,
        /// The predicate.
        pred: PredReg,
    },
    /// `dst = value` for a predicate, `mov.pred` of a constant.
    PredSet {
        /// Destination.
        dst: PredReg,
        /// In all lanes.
        value: bool,
    },
    /// `dst = a` for predicates, `mov.pred`.
    PredMov {
        /// Destination.
        dst: PredReg,
        /// Source.
        a: PredReg,
    },
    /// `dst = !a` for predicates.
    PredNot {
        /// Destination.
        dst: PredReg,
        /// Operand.
        a: PredReg,
    },
    /// Two predicates combined.
    Pred2 {
        /// How.
        f: Logic,
        /// Destination.
        dst: PredReg,
        /// First operand.
        a: PredReg,
        /// Second operand.
        b: PredReg,
    },
    /// `cvt` of one value.
    Cvt {
        /// Which conversion.
        kind: Convert,
        /// Destination; where it is wider than the result, sign- or zero-extended by the result's type.
        dst: Reg,
        /// Operand; where its register is wider than its type, the low bits count.
        a: Src,
    },
    /// `cvt.rn` of two `f32` to a pair of halves.
    CvtPack {
        /// [`Ty::F16`] or [`Ty::Bf16`].
        ty: Ty,
        /// `.relu`: negative results and NaN become zero.
        relu: bool,
        /// Destination, 32 bits.
        dst: Reg,
        /// Goes to the high half.
        high: Src,
        /// Goes to the low half.
        low: Src,
    },
    /// `createpolicy.fractional`: a cache policy, which has no effect on results.
    CreatePolicy {
        /// Destination, 64 bits.
        dst: Reg,
    },
}
