//! The element types that arguments and buffers name.

use std::fmt;
use std::str::FromStr;

use half::{bf16, f16};

/// The type of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    U64,
    I64,
    F16,
    Bf16,
    F32,
    F64,
}

impl Element {
    const ALL: [Self; 12] = [
        Self::U8,
        Self::I8,
        Self::U16,
        Self::I16,
        Self::U32,
        Self::I32,
        Self::U64,
        Self::I64,
        Self::F16,
        Self::Bf16,
        Self::F32,
        Self::F64,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::U8 => "u8",
            Self::I8 => "i8",
            Self::U16 => "u16",
            Self::I16 => "i16",
            Self::U32 => "u32",
            Self::I32 => "i32",
            Self::U64 => "u64",
            Self::I64 => "i64",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }

    /// Bytes of an element, which is also its alignment.
    pub(crate) const fn bytes(self) -> usize {
        match self {
            Self::U8 | Self::I8 => 1,
            Self::U16 | Self::I16 | Self::F16 | Self::Bf16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
        }
    }

    pub(crate) const fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::Bf16 | Self::F32 | Self::F64)
    }

    /// The least and the greatest integer of the type; none for floats.
    const fn range(self) -> Option<(i128, i128)> {
        Some(match self {
            Self::U8 => (0, u8::MAX as i128),
            Self::I8 => (i8::MIN as i128, i8::MAX as i128),
            Self::U16 => (0, u16::MAX as i128),
            Self::I16 => (i16::MIN as i128, i16::MAX as i128),
            Self::U32 => (0, u32::MAX as i128),
            Self::I32 => (i32::MIN as i128, i32::MAX as i128),
            Self::U64 => (0, u64::MAX as i128),
            Self::I64 => (i64::MIN as i128, i64::MAX as i128),
            Self::F16 | Self::Bf16 | Self::F32 | Self::F64 => return None,
        })
    }

    /// The bytes of the number that `text` writes: decimal, or `0x…` for an integer.
    pub(crate) fn parse(self, text: &str) -> Result<Vec<u8>, String> {
        let Some((least, greatest)) = self.range() else {
            let value: f64 = text.parse().map_err(|_| format!("`{text}` is no number"))?;
            return Ok(self.encode(value));
        };
        let (sign, digits) = text.strip_prefix('-').map_or((1, text), |digits| (-1, digits));
        let value = match digits.strip_prefix("0x") {
            Some(digits) => i128::from_str_radix(digits, 16),
            None => digits.parse(),
        };
        let value = value.map_err(|_| format!("`{text}` is no integer"))? * sign;
        if (least..=greatest).contains(&value) {
            Ok(value.to_le_bytes()[..self.bytes()].to_vec())
        } else {
            Err(format!("{value} is not within {least} to {greatest}, the values of {self}"))
        }
    }

    /// The bytes of the nearest value of a floating-point type; integers are cut off.
    pub(crate) fn encode(self, value: f64) -> Vec<u8> {
        match self {
            Self::F16 => f16::from_f64(value).to_le_bytes().to_vec(),
            Self::Bf16 => bf16::from_f64(value).to_le_bytes().to_vec(),
            Self::F32 => (value as f32).to_le_bytes().to_vec(),
            Self::F64 => value.to_le_bytes().to_vec(),
            _ => (value as i128).to_le_bytes()[..self.bytes()].to_vec(),
        }
    }

    /// The number that [`bytes`](Self::bytes) bytes are.
    pub(crate) fn decode(self, bytes: &[u8]) -> Number {
        let bits = bytes.iter().rev().fold(0_u64, |bits, &byte| bits << 8 | u64::from(byte));
        match self {
            Self::F16 => Number::Float(f16::from_bits(bits as u16).into()),
            Self::Bf16 => Number::Float(bf16::from_bits(bits as u16).into()),
            Self::F32 => Number::Float(f32::from_bits(bits as u32).into()),
            Self::F64 => Number::Float(f64::from_bits(bits)),
            Self::U8 | Self::U16 | Self::U32 | Self::U64 => Number::Integer(bits.into()),
            Self::I8 => Number::Integer((bits as i8).into()),
            Self::I16 => Number::Integer((bits as i16).into()),
            Self::I32 => Number::Integer((bits as i32).into()),
            Self::I64 => Number::Integer((bits as i64).into()),
        }
    }

    /// The names of all types, for messages.
    pub(crate) fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Element {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|element| element.name() == text);
        found.ok_or_else(|| format!("`{text}` is not a type; the types are {}", Self::names()))
    }
}

/// A number of any type, exact but for the order of integers and floats among each other.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(crate) enum Number {
    Integer(i128),
    Float(f64),
}

impl Number {
    pub(crate) const fn is_nan(self) -> bool {
        matches!(self, Self::Float(value) if value.is_nan())
    }
}

/// Six digits of a float, all of an integer.
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Integer(value) => write!(f, "{value}"),
            Self::Float(value) => {
                let rounded: f64 = format!("{value:.5e}").parse().unwrap_or(value);
                write!(f, "{rounded:?}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_from_their_bytes() {
        let cases = [
            (Element::U8, "255", "255"),
            (Element::I8, "-128", "-128"),
            (Element::U16, "0xffff", "65535"),
            (Element::I32, "-0x10", "-16"),
            (Element::U64, "18446744073709551615", "18446744073709551615"),
            (Element::F16, "0.1", "0.0999756"),
            (Element::Bf16, "-inf", "-inf"),
            (Element::F32, "1e-10", "1e-10"),
            (Element::F64, "nan", "NaN"),
        ];
        for (element, text, printed) in cases {
            let bytes = element.parse(text).unwrap();
            assert_eq!(bytes.len(), element.bytes(), "{element}");
            assert_eq!(element.decode(&bytes).to_string(), printed, "{element}");
            assert_eq!(element.to_string().parse(), Ok(element));
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert_eq!(Element::U8.parse("256").unwrap_err(), "256 is not within 0 to 255, the values of u8");
        assert!(Element::U32.parse("-1").is_err() && Element::I64.parse("1.5").is_err());
        assert!(Element::F32.parse("0x1").is_err() && Element::I8.parse("").is_err());
        assert!("f8".parse::<Element>().unwrap_err().contains("bf16"));
    }
}
