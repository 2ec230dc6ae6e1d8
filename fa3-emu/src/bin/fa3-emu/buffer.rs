//! Buffers in the device's memory: what they hold at first, and where they are.

use std::fs;
use std::path::PathBuf;
use std::str::FromStr;

use fa3_emu::Memory;
use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;
use rand_pcg::Pcg64Mcg;

use crate::element::Element;
use crate::error::{At, Error, Result};

/// A buffer as `--buffer` describes it: `NAME=CONTENTS`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Spec {
    pub(crate) name: String,
    element: Element,
    contents: Contents,
}

#[derive(Clone, Debug, PartialEq)]
enum Contents {
    /// As many elements, all their bytes the same.
    Bytes { count: usize, byte: u8 },
    /// As many elements from a generator.
    Random { count: usize, seed: u64 },
    /// Those of a file.
    File(PathBuf),
}

/// Whether a name can be told from a number.
pub(crate) fn is_name(text: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    text.starts_with(letter) && text.chars().all(|c| letter(c) || c.is_ascii_digit())
}

impl FromStr for Spec {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        const FORMS: &str = "NAME=zero:COUNTxTYPE, NAME=poison:COUNTxTYPE, NAME=random:COUNTxTYPE:SEED or \
                             NAME=file:TYPE:PATH";
        let (name, contents) = text.split_once('=').ok_or(FORMS)?;
        if !is_name(name) {
            return Err(format!("`{name}` is not a name: a letter, then letters, digits and _"));
        }
        let (kind, rest) = contents.split_once(':').ok_or(FORMS)?;
        let (element, contents) = match kind {
            "zero" => elements(rest).map(|(element, count)| (element, Contents::Bytes { count, byte: 0 }))?,
            "poison" => {
                elements(rest).map(|(element, count)| (element, Contents::Bytes { count, byte: 0xff }))?
            }
            "random" => {
                let (sizes, seed) = rest.split_once(':').ok_or(FORMS)?;
                let seed = seed.parse().map_err(|_| format!("the seed `{seed}` is no integer below 2^64"))?;
                elements(sizes).map(|(element, count)| (element, Contents::Random { count, seed }))?
            }
            "file" => {
                let (element, path) = rest.split_once(':').ok_or(FORMS)?;
                (element.parse()?, Contents::File(path.into()))
            }
            _ => return Err(FORMS.to_owned()),
        };
        Ok(Self { name: name.to_owned(), element, contents })
    }
}

/// `COUNTxTYPE`.
fn elements(text: &str) -> std::result::Result<(Element, usize), String> {
    let (count, element) =
        text.split_once('x').ok_or_else(|| format!("`{text}` is not COUNTxTYPE, such as 1024xbf16"))?;
    let element: Element = element.parse()?;
    let count: usize = count.parse().map_err(|_| format!("the count `{count}` is no integer"))?;
    match count.checked_mul(element.bytes()) {
        Some(bytes) if isize::try_from(bytes).is_ok() => Ok((element, count)),
        _ => Err(format!("{count} elements of {} bytes are more than the host can address", element.bytes())),
    }
}

/// A buffer that has its place.
#[derive(Debug)]
pub(crate) struct Buffer {
    pub(crate) name: String,
    pub(crate) element: Element,
    pub(crate) address: u64,
    /// What it held at first.
    pub(crate) initial: Vec<u8>,
}

impl Buffer {
    pub(crate) fn new(spec: &Spec, memory: &mut Memory) -> Result<Self> {
        let initial = spec.bytes()?;
        let address = memory.allocate(&initial)?;
        Ok(Self { name: spec.name.clone(), element: spec.element, address, initial })
    }

    /// The name, and the bytes of the device's memory that it takes.
    pub(crate) fn place(&self) -> String {
        format!("{}: {} bytes at {:#x}", self.name, self.initial.len(), self.address)
    }

    /// The buffer of this name among several.
    pub(crate) fn named<'a>(buffers: &'a [Self], name: &str) -> std::result::Result<&'a Self, String> {
        let found = buffers.iter().find(|buffer| buffer.name == name);
        found.ok_or_else(|| {
            let names: Vec<_> = buffers.iter().map(|buffer| buffer.name.as_str()).collect();
            match names[..] {
                [] => format!("there is no buffer `{name}`; --buffer {name}=… makes one"),
                _ => format!("there is no buffer `{name}`; there is {}", names.join(", ")),
            }
        })
    }
}

impl Spec {
    fn bytes(&self) -> Result<Vec<u8>> {
        let element = self.element;
        match self.contents {
            Contents::Bytes { count, byte } => {
                let mut bytes = reserved(count * element.bytes())?;
                bytes.resize(count * element.bytes(), byte);
                Ok(bytes)
            }
            Contents::Random { count, seed } => {
                let mut bytes = reserved(count * element.bytes())?;
                let mut generator = Pcg64Mcg::seed_from_u64(seed);
                for _ in 0..count {
                    if element.is_float() {
                        let value: f64 = generator.sample(StandardNormal);
                        bytes.extend(element.encode(value));
                    } else {
                        let bits: u64 = generator.random();
                        bytes.extend(bits.to_le_bytes().iter().take(element.bytes()));
                    }
                }
                Ok(bytes)
            }
            Contents::File(ref path) => {
                let bytes = fs::read(path).at(path)?;
                if bytes.len().is_multiple_of(element.bytes()) {
                    return Ok(bytes);
                }
                let rule = format!("{} bytes are not a whole number of elements of {element}", bytes.len());
                Err(Error::option("buffer", path.display(), rule))
            }
        }
    }
}

fn reserved(bytes: usize) -> Result<Vec<u8>> {
    let mut vec = Vec::new();
    vec.try_reserve_exact(bytes).map_err(|_| fa3_emu::OutOfMemory { bytes })?;
    Ok(vec)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &str) -> Vec<u8> {
        text.parse::<Spec>().unwrap().bytes().unwrap()
    }

    #[test]
    fn contents_are_as_described() {
        assert_eq!(bytes("a=zero:3xu32"), [0; 12]);
        assert_eq!(bytes("a=poison:3xbf16"), [0xff; 6]);
        assert_eq!(bytes("a=random:5xi16:7").len(), 10);
        assert_eq!(bytes("a=random:5xf32:7"), bytes("b=random:5xf32:7"));
        assert_ne!(bytes("a=random:5xf32:7"), bytes("a=random:5xf32:8"));
        let values = bytes("a=random:10000xf32:1");
        let mean =
            values.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).sum::<f32>() / 1e4;
        assert!(mean.abs() < 0.05, "{mean}");
    }

    #[test]
    fn what_is_no_buffer_says_what_would_be() {
        for (text, says) in [
            ("a", "NAME=zero:COUNTxTYPE"),
            ("a=zero", "NAME=zero:COUNTxTYPE"),
            ("a=one:4xf32", "NAME=zero:COUNTxTYPE"),
            ("a=random:4xf32", "NAME=random:COUNTxTYPE:SEED"),
            ("a=file:f32", "NAME=file:TYPE:PATH"),
            ("a=zero:4", "`4` is not COUNTxTYPE"),
            ("a=zero:4xf8", "`f8` is not a type"),
            ("a=zero:-1xf32", "the count `-1`"),
            ("a=random:4xf32:-1", "the seed `-1`"),
            ("1=zero:4xf32", "`1` is not a name"),
            ("=zero:4xf32", "`` is not a name"),
        ] {
            let error = text.parse::<Spec>().unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
        let error = "a=zero:9223372036854775807xf64".parse::<Spec>().unwrap_err();
        assert!(error.contains("more than the host can address"), "{error}");
        let huge: Spec = "a=zero:9000000000000000000xu8".parse().unwrap();
        assert!(matches!(huge.bytes(), Err(Error::Memory(_))));
    }
}
