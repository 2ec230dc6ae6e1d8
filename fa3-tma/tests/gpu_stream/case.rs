//! A tensor, how it is cut, and what TMA makes of it, worked out on the host.

use fa3_sys::tensormap::{DataType, Swizzle, TensorMapDesc};
use fa3_tma::kernels::Tiling;

/// A tensor and the tiles that a kernel moves. Arrays have the contiguous dimension first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Case {
    pub kernel: &'static str,
    pub stages: u32,
    pub data_type: DataType,
    pub extents: &'static [u64],
    /// Bytes between the end of a row, rounded up to 16, and the next row.
    pub gap: u64,
    pub tile: &'static [u32],
    /// The coordinates of tile 0.
    pub first: &'static [i32],
    pub swizzle: Swizzle,
    pub ctas: u32,
}

impl Case {
    pub fn element_bytes(&self) -> usize {
        usize::try_from(self.data_type.bits() / 8).unwrap()
    }

    fn strides(&self) -> Vec<u64> {
        let row = (self.extents[0] * self.data_type.bits() / 8).next_multiple_of(16) + self.gap;
        let strides = self.extents[1..].iter().scan(row, |next, extent| {
            let stride = *next;
            *next *= extent;
            Some(stride)
        });
        strides.collect()
    }

    pub fn desc(&self) -> TensorMapDesc {
        TensorMapDesc::tiled(self.data_type, self.extents, &self.strides(), self.tile)
            .unwrap()
            .with_swizzle(self.swizzle)
    }

    /// Bytes from the tensor's first element to the end of its last row, gaps included.
    pub fn tensor_bytes(&self) -> usize {
        let row = self.extents[0] * self.data_type.bits() / 8;
        let bytes = match (self.strides().last(), self.extents.last()) {
            (Some(stride), Some(extent)) => stride * extent,
            _ => row.next_multiple_of(16),
        };
        usize::try_from(bytes).unwrap()
    }

    pub fn tile_bytes(&self) -> usize {
        self.tile.iter().product::<u32>() as usize * self.element_bytes()
    }

    /// Tiles that cover the tensor and, along the last dimension, at least one tile beyond it. The
    /// number of tiles is a multiple of `multiple`.
    pub fn tiling(&self, multiple: u32) -> Tiling {
        let mut tiling = Tiling {
            tiles: [1; 5],
            extent: [1; 5],
            tile_bytes: u32::try_from(self.tile_bytes()).unwrap(),
            ..Tiling::default()
        };
        tiling.stage_bytes = tiling.tile_bytes.next_multiple_of(1024);
        for (d, &extent) in self.extents.iter().enumerate() {
            let covered = i64::try_from(extent).unwrap() - i64::from(self.first[d]);
            let tiles = covered.unsigned_abs().div_ceil(self.tile[d].into());
            tiling.tiles[d] = u32::try_from(tiles).unwrap();
            tiling.extent[d] = i32::try_from(self.tile[d]).unwrap();
            tiling.first[d] = self.first[d];
        }
        let last = self.extents.len() - 1;
        tiling.tiles[last] += 1;
        while !tiling.tiles.iter().product::<u32>().is_multiple_of(multiple) {
            tiling.tiles[last] += 1;
        }
        tiling.count = tiling.tiles.iter().product();
        tiling
    }

    /// The byte offset in the tensor of the element at `coordinates`; `None` outside.
    fn offset(&self, coordinates: &[i64]) -> Option<usize> {
        let element = i64::try_from(self.element_bytes()).unwrap();
        let strides = self.strides();
        let mut offset = 0;
        for (d, &coordinate) in coordinates.iter().enumerate() {
            if !(0..i64::try_from(self.extents[d]).unwrap()).contains(&coordinate) {
                return None;
            }
            let stride = if d == 0 { element } else { i64::try_from(strides[d - 1]).unwrap() };
            offset += coordinate * stride;
        }
        Some(usize::try_from(offset).unwrap())
    }

    /// What a load of tile `index` leaves in shared memory: zeros outside the tensor, and the
    /// 16-byte chunks of each row moved as the swizzle says.
    pub fn image(&self, tiling: &Tiling, index: u32, tensor: &[u8]) -> Vec<u8> {
        let element = self.element_bytes();
        let mut image = vec![0; self.tile_bytes()];
        let mut rest = index;
        let origin: Vec<i64> = (0..self.extents.len())
            .map(|d| {
                let tile = rest % tiling.tiles[d];
                rest /= tiling.tiles[d];
                i64::from(tiling.first[d]) + i64::from(tile) * i64::from(tiling.extent[d])
            })
            .collect();
        let mut coordinates = origin.clone();
        for at in (0..image.len()).step_by(element) {
            if let Some(offset) = self.offset(&coordinates) {
                let to = self.swizzled(at);
                image[to..to + element].copy_from_slice(&tensor[offset..offset + element]);
            }
            for (d, coordinate) in coordinates.iter_mut().enumerate() {
                *coordinate += 1;
                if *coordinate < origin[d] + i64::from(self.tile[d]) {
                    break;
                }
                *coordinate = origin[d];
            }
        }
        image
    }

    /// Where the byte at `offset` of a plain tile goes. Bits 4 and up of the offset are combined
    /// with bits 7 and up, as many as the swizzle has chunks to choose from (PTX ISA, "Tensor:
    /// Swizzling modes").
    fn swizzled(&self, offset: usize) -> usize {
        let chunks = self.swizzle.span_bytes().unwrap_or(16) / 16;
        let mask = usize::try_from(chunks).unwrap() - 1;
        offset ^ (((offset >> 7) & mask) << 4)
    }

    /// The offset of every element of the tensor.
    pub fn offsets(&self) -> Vec<usize> {
        let mut offsets = Vec::new();
        let mut coordinates = vec![0_i64; self.extents.len()];
        for _ in 0..self.extents.iter().product::<u64>() {
            offsets.extend(self.offset(&coordinates));
            for (coordinate, &extent) in coordinates.iter_mut().zip(self.extents) {
                *coordinate += 1;
                if u64::try_from(*coordinate).unwrap() < extent {
                    break;
                }
                *coordinate = 0;
            }
        }
        offsets
    }
}

/// Bytes without a zero among them, so that zeros are never taken for data.
pub fn noise(bytes: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8 | 1
    };
    std::iter::repeat_with(next).take(bytes).collect()
}
