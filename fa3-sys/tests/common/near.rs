//! Whether a map lies within one step of a rule's limit.

use fa3_sys::Arch;
use fa3_sys::tensormap::{Check, DataType, Limit, Rule, Swizzle, Value};

use super::ARCH;
use super::aim::Side;
use super::args::Args;

/// Whether the value is the last allowed one, or within a step of that: the distance between values
/// that only this rule tells apart.
pub(crate) fn is_near(check: &Check) -> bool {
    let granule = check.granule.unsigned_abs();
    match (check.limit, check.value) {
        (Limit::Range { min, max }, Value::Number(n)) => {
            n.abs_diff(min) <= granule || n.abs_diff(max) <= granule
        }
        (Limit::AtMost(max), Value::Number(n)) => n.abs_diff(max) <= granule,
        // A multiple counts when it is no multiple of twice the divisor.
        (Limit::MultipleOf(of), Value::Number(n)) => match n.rem_euclid(of) {
            0 => n.rem_euclid(2 * of) != 0,
            rest => rest <= check.granule || of - rest <= check.granule,
        },
        // A check of a mode is only made where another mode has brought it up.
        (Limit::OneOf(_), Value::Name(_)) => true,
        (_, _) => false,
    }
}

/// Whether the rule is about types that Hopper lacks, so that on Hopper it shows only where the
/// driver looks at the types' rules as well.
pub(crate) fn needs_blackwell(rule: Rule) -> bool {
    matches!(
        rule,
        Rule::PaddedAddressAlignment
            | Rule::PackedExtent
            | Rule::PaddedStrideAlignment
            | Rule::PaddedBoxRow
            | Rule::PaddedInterleave
            | Rule::PaddedSwizzle
    )
}

/// The side of the rule's limit on which this map counts: it lies within a step of the limit, and
/// breaks no other rule, so that the driver's verdict is about this one.
pub(crate) fn side_counted(args: &Args, rule: Rule) -> Option<Side> {
    let mut verdict = args.verdict(ARCH);
    if needs_blackwell(rule) {
        verdict = verdict.without_architecture();
    }
    let near = match rule {
        Rule::Architecture => near_architecture(args),
        _ => args.checks(ARCH).iter().any(|check| check.rule == rule && is_near(check)),
    };
    match near && verdict.only(rule) {
        false => None,
        true if verdict.is_legal() => Some(Side::Legal),
        true => Some(Side::Illegal),
    }
}

/// Within one of the first type or swizzle that Hopper lacks, in the driver's numbering.
fn near_architecture(args: &Args) -> bool {
    let first_type = DataType::ALL.into_iter().find(|t| t.needs() > Arch::Sm90a).map(DataType::code);
    let first_swizzle = Swizzle::ALL.into_iter().find(|s| s.needs() > Arch::Sm90a).map(Swizzle::code);
    let near = |code: u32, first: Option<u32>| first.is_some_and(|first| code.abs_diff(first) <= 1);
    near(args.data_type.code(), first_type) || near(args.swizzle.code(), first_swizzle)
}
