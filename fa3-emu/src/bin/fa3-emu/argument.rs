//! The kernel's arguments: what `--args` says, as bytes.

use std::fs;
use std::path::PathBuf;
use std::str::FromStr;

use fa3_emu::ir::Param;

use crate::buffer::{Buffer, is_name};
use crate::element::Element;
use crate::error::{At, Error, Result};
use crate::tensor_map;

/// An argument as written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Spec {
    text: String,
    value: Value,
}

#[derive(Clone, Debug, PartialEq)]
enum Value {
    /// Fields, each at its natural alignment, as in a C structure.
    Fields(Vec<Field>),
    /// A file's bytes.
    Bytes(PathBuf),
    /// The tensor map that a file describes.
    Map(PathBuf),
}

#[derive(Clone, Debug, PartialEq)]
enum Field {
    /// A number, or bytes without alignment.
    Bytes { bytes: Vec<u8>, align: usize },
    /// A buffer's address.
    Buffer(String),
}

impl FromStr for Spec {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        let value = match text.split_once(':') {
            Some(("bytes", path)) => Value::Bytes(path.into()),
            Some(("map", path)) => Value::Map(path.into()),
            _ => Value::Fields(fields(text)?),
        };
        Ok(Self { text: text.to_owned(), value })
    }
}

/// Fields separated by commas. One that is only a number has the type of the one before.
fn fields(text: &str) -> std::result::Result<Vec<Field>, String> {
    let mut last = None;
    let field = |part: &str| {
        let number = |element: Element, digits: &str| -> std::result::Result<Field, String> {
            Ok(Field::Bytes { bytes: element.parse(digits)?, align: element.bytes() })
        };
        match part.split_once(':') {
            Some(("hex", digits)) => Ok(Field::Bytes { bytes: hex(digits)?, align: 1 }),
            Some((element, digits)) => number(*last.insert(element.parse()?), digits),
            None if is_name(part) => Ok(Field::Buffer(part.to_owned())),
            None => match last {
                Some(element) => number(element, part),
                None => Err(format!("`{part}` has no type; TYPE:NUMBER gives it one, such as i32:{part}")),
            },
        }
    };
    text.split(',').map(field).collect()
}

fn hex(digits: &str) -> std::result::Result<Vec<u8>, String> {
    let pairs = digits.as_bytes().chunks(2).map(|pair| {
        let pair = std::str::from_utf8(pair).ok().filter(|pair| pair.len() == 2)?;
        u8::from_str_radix(pair, 16).ok().filter(|_| !pair.starts_with('+'))
    });
    let bytes: Option<Vec<u8>> = pairs.collect();
    bytes.ok_or_else(|| format!("`{digits}` are not bytes of two hexadecimal digits each"))
}

impl Spec {
    /// The argument's bytes.
    fn bytes(&self, buffers: &[Buffer]) -> Result<Vec<u8>> {
        match &self.value {
            Value::Bytes(path) => fs::read(path).at(path),
            Value::Map(path) => tensor_map::load(path, buffers),
            Value::Fields(fields) => {
                structure(fields, buffers).map_err(|rule| Error::option("args", &self.text, rule))
            }
        }
    }
}

/// The bytes of a C structure of these fields, the padding zero.
fn structure(fields: &[Field], buffers: &[Buffer]) -> std::result::Result<Vec<u8>, String> {
    let mut bytes: Vec<u8> = Vec::new();
    let mut widest = 1;
    for field in fields {
        let address;
        let (field, align) = match field {
            Field::Bytes { bytes, align } => (&bytes[..], *align),
            Field::Buffer(name) => {
                address = Buffer::named(buffers, name)?.address.to_le_bytes();
                (&address[..], address.len())
            }
        };
        bytes.resize(bytes.len().next_multiple_of(align), 0);
        bytes.extend(field);
        widest = widest.max(align);
    }
    bytes.resize(bytes.len().next_multiple_of(widest), 0);
    Ok(bytes)
}

/// The bytes of all arguments, one for each parameter.
pub(crate) fn bytes(specs: &[Spec], params: &[Param], buffers: &[Buffer]) -> Result<Vec<Vec<u8>>> {
    let given = || specs.iter().map(|spec| spec.text.as_str()).collect::<Vec<_>>().join(" ");
    if specs.len() != params.len() {
        let rule = format!("{} arguments for {}", specs.len(), described(params));
        return Err(Error::option("args", given(), rule));
    }
    let sized = specs.iter().zip(params).map(|(spec, param)| {
        let bytes = spec.bytes(buffers)?;
        if bytes.len() == param.size as usize {
            return Ok(bytes);
        }
        let Param { name, size, .. } = param;
        let rule = format!("{} bytes for parameter `{name}`, which has {size}", bytes.len());
        Err(Error::option("args", &spec.text, rule))
    });
    sized.collect()
}

/// How many parameters there are, and their sizes.
fn described(params: &[Param]) -> String {
    let list: Vec<_> = params.iter().map(|param| format!("{} ({} bytes)", param.name, param.size)).collect();
    match params.len() {
        0 => "a kernel without parameters".to_owned(),
        1 => format!("1 parameter: {}", list.join(", ")),
        count => format!("{count} parameters: {}", list.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer() -> Buffer {
        Buffer { name: "x".to_owned(), element: Element::F32, address: 0x1122, initial: Vec::new() }
    }

    fn param(size: u32) -> Param {
        Param { name: "p".to_owned(), offset: 0, size, align: 4 }
    }

    fn found(text: &str, size: u32) -> std::result::Result<Vec<u8>, String> {
        let spec = text.parse::<Spec>()?;
        let bytes = bytes(&[spec], &[param(size)], &[buffer()]).map_err(|error| error.to_string())?;
        Ok(bytes.concat())
    }

    #[test]
    fn fields_lie_as_in_a_structure() {
        assert_eq!(found("i32:-1", 4), Ok(vec![0xff; 4]));
        assert_eq!(found("x", 8), Ok(vec![0x22, 0x11, 0, 0, 0, 0, 0, 0]));
        assert_eq!(found("u8:1,u16:2,3", 6), Ok(vec![1, 0, 2, 0, 3, 0]));
        assert_eq!(found("u8:1,x,u8:5", 24).unwrap()[..10], [1, 0, 0, 0, 0, 0, 0, 0, 0x22, 0x11]);
        assert_eq!(found("hex:0aFF", 2), Ok(vec![10, 255]));
    }

    #[test]
    fn what_is_no_argument_is_named() {
        for (text, says) in [
            ("5", "such as i32:5"),
            ("i33:5", "`i33` is not a type"),
            ("i8:300", "not within"),
            ("hex:123", "two hexadecimal digits"),
            ("hex:+1", "two hexadecimal digits"),
            ("y", "there is no buffer `y`; there is x"),
            ("i32:1,2", "8 bytes for parameter `p`, which has 4"),
            ("bytes:/no/such/file", "/no/such/file: "),
        ] {
            let error = found(text, 4).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
        let error = bytes(&[], &[param(4)], &[]).unwrap_err().to_string();
        assert_eq!(error, "--args : 0 arguments for 1 parameter: p (4 bytes)");
    }
}
