//! Tensor maps, described in JSON.

use std::fs;
use std::path::Path;

use fa3_sys::tensormap::{DataType, Fill, Interleave, L2Promotion, Swizzle, TensorMapDesc};
use serde::Deserialize;

use crate::buffer::Buffer;
use crate::error::{At, Error, Result};

/// A tiled tensor map over a buffer. Dimensions are innermost first.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    /// The buffer that holds the tensor.
    buffer: String,
    /// Bytes from the buffer's start to the tensor's first element.
    #[serde(default)]
    offset: u64,
    data_type: String,
    /// Elements in each dimension.
    extents: Vec<u64>,
    /// Bytes from one element to the next in each dimension but the first; those of a tensor
    /// without gaps where they are left out.
    strides: Option<Vec<u64>>,
    /// Elements of a box in each dimension.
    #[serde(rename = "box")]
    box_extents: Vec<u32>,
    element_strides: Option<Vec<u32>>,
    swizzle: Option<String>,
    interleave: Option<String>,
    l2_promotion: Option<String>,
    fill: Option<String>,
}

/// The 128 bytes of the map that a file describes.
pub(crate) fn load(path: &Path, buffers: &[Buffer]) -> Result<Vec<u8>> {
    let text = fs::read_to_string(path).at(path)?;
    encode(&text, buffers).map_err(|fault| Error::TensorMap { path: path.to_owned(), fault })
}

fn encode(text: &str, buffers: &[Buffer]) -> std::result::Result<Vec<u8>, String> {
    let description: Description = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let buffer = Buffer::named(buffers, &description.buffer)?;
    let address = buffer.address.checked_add(description.offset);
    let address = address.ok_or_else(|| format!("offset {} is beyond all memory", description.offset))?;
    let map = description.tensor_map()?.to_map_bytes(address).map_err(|error| error.to_string())?;
    Ok(map.as_bytes().to_vec())
}

impl Description {
    fn tensor_map(&self) -> std::result::Result<TensorMapDesc, String> {
        let data_type = named("data_type", &self.data_type, &DataType::ALL, DataType::name)?;
        let (extents, boxes) = (&self.extents, &self.box_extents);
        let desc = match &self.strides {
            Some(strides) => TensorMapDesc::tiled(data_type, extents, strides, boxes),
            None => TensorMapDesc::contiguous(data_type, extents, boxes),
        };
        let mut desc = desc.map_err(|error| error.to_string())?;
        if let Some(steps) = &self.element_strides {
            desc = desc.with_element_strides(steps).map_err(|error| error.to_string())?;
        }
        if let Some(name) = &self.swizzle {
            desc = desc.with_swizzle(named("swizzle", name, &Swizzle::ALL, Swizzle::name)?);
        }
        if let Some(name) = &self.interleave {
            desc = desc.with_interleave(named("interleave", name, &Interleave::ALL, Interleave::name)?);
        }
        if let Some(name) = &self.l2_promotion {
            desc = desc.with_l2_promotion(named("l2_promotion", name, &L2Promotion::ALL, L2Promotion::name)?);
        }
        if let Some(name) = &self.fill {
            desc = desc.with_fill(named("fill", name, &Fill::ALL, Fill::name)?);
        }
        Ok(desc)
    }
}

/// The value of this name.
fn named<T: Copy>(
    field: &str,
    name: &str,
    all: &[T],
    name_of: impl Fn(T) -> &'static str,
) -> std::result::Result<T, String> {
    let found = all.iter().copied().find(|&value| name_of(value) == name);
    found.ok_or_else(|| {
        let names: Vec<_> = all.iter().map(|&value| name_of(value)).collect();
        format!("{field} is `{name}`, but must be one of {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::Element;
    use fa3_sys::TensorMap;

    fn encoded(text: &str) -> std::result::Result<(TensorMapDesc, u64), String> {
        let buffer =
            Buffer { name: "x".to_owned(), element: Element::U8, address: 1 << 20, initial: Vec::new() };
        let bytes = encode(text, &[buffer])?;
        let map = TensorMap::from_bytes(bytes.try_into().unwrap());
        TensorMapDesc::from_map_bytes(&map).map_err(|error| error.to_string())
    }

    #[test]
    fn a_description_is_what_it_says() {
        let (desc, address) =
            encoded(r#"{"buffer": "x", "data_type": "bf16", "extents": [64, 10], "box": [64, 8]}"#).unwrap();
        assert_eq!(
            (desc.to_string().as_str(), address),
            ("tiled bf16 [64, 10] strides [128] box [64, 8]", 1 << 20)
        );
        let (desc, address) = encoded(
            r#"{"buffer": "x", "offset": 256, "data_type": "f32", "extents": [8, 10], "strides": [48],
                "box": [8, 8], "element_strides": [1, 2], "swizzle": "32B", "l2_promotion": "256B",
                "interleave": "none", "fill": "nan-request-zero-fma"}"#,
        )
        .unwrap();
        assert_eq!(address, (1 << 20) + 256);
        assert_eq!(
            desc.to_string(),
            "tiled f32 [8, 10] strides [48] box [8, 8] element strides [1, 2] swizzle 32B L2 256B \
             fill nan-request-zero-fma"
        );
    }

    #[test]
    fn a_fault_is_named() {
        let with =
            |field: &str| format!(r#"{{"buffer": "x", "data_type": "f16", "extents": [64, 8], {field}}}"#);
        for (text, says) in [
            ("{".to_owned(), "EOF"),
            (with(r#""boxes": [64, 8]"#), "unknown field `boxes`"),
            (with(r#""strides": [128]"#), "missing field `box`"),
            (with(r#""box": [64, -1]"#), "invalid value"),
            (with(r#""box": [64, 257]"#), "boxDim[1] = 257"),
            (with(r#""box": [64]"#), "boxDim"),
            (with(r#""box": [64, 8], "strides": [130]"#), "a multiple of 16 would do"),
            (with(r#""box": [64, 8], "swizzle": "128"#), "EOF"),
            (with(r#""box": [64, 8], "swizzle": "128""#), "must be one of none, 32B, 64B, 128B"),
            (with(r#""box": [64, 8], "offset": 8"#), "globalAddress"),
            (with(r#""box": [64, 8], "offset": 18446744073709551615"#), "beyond all memory"),
            (r#"{"buffer": "y", "data_type": "f16", "extents": [8], "box": [8]}"#.to_owned(), "there is x"),
        ] {
            let error = encoded(&text).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
