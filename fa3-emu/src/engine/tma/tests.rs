use fa3_sys::tensormap::{DataType, Fill, Interleave, Swizzle, TensorMapDesc};
use proptest::prelude::*;

use super::*;
use crate::ir::bulk::BulkReduce;

/// Bytes without a zero among them, so that zeros are never taken for data.
fn noise(bytes: usize, mut state: u64) -> Vec<u8> {
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8 | 1
    };
    std::iter::repeat_with(next).take(bytes).collect()
}

fn bf16_rows() -> TensorMapDesc {
    // 5 rows of 64 elements, 160 bytes apart, in tiles of 4.
    TensorMapDesc::tiled(DataType::Bf16, &[64, 5], &[160], &[64, 4]).unwrap().with_swizzle(Swizzle::Bytes128)
}

#[test]
fn a_load_swizzles_and_fills_with_zeros() {
    let global = noise(5 * 160, 1);
    let map = TileMap::new(&bf16_rows(), 0).unwrap();
    let mut shared = vec![0xa5; 2048];
    // The tile begins two rows before the tensor; in shared memory, in the pattern's fourth row.
    assert_eq!(map.load(&[0, -2], &global[..], 1024 + 3 * 128, &mut shared), Ok(512));
    assert!(shared[..1408].iter().chain(&shared[1920..]).all(|&byte| byte == 0xa5));
    assert_eq!(shared[1408..1664], [0; 256]);
    for (row, pattern) in [(0, 5), (1, 6)] {
        for chunk in 0..8 {
            let at = 1024 + 128 * pattern + 16 * (chunk ^ pattern);
            assert_eq!(shared[at..at + 16], global[160 * row + 16 * chunk..][..16]);
        }
    }
    // Wholly outside, on every side.
    for coordinates in [[0, 5], [0, -4], [64, 0], [-64, 0], [i32::MAX - 7, 0], [i32::MIN, i32::MIN]] {
        assert_eq!(map.load(&coordinates, &global[..], 0, &mut shared), Ok(512));
        assert_eq!(shared[..512], [0; 512], "{coordinates:?}");
    }
}

#[test]
fn a_load_cuts_the_row_at_the_element_and_a_store_at_sixteen_bytes() {
    // Rows of 10 words, 48 bytes apart, with 8 bytes of something else after each.
    let desc = TensorMapDesc::tiled(DataType::U32, &[10, 2], &[48], &[8, 2]).unwrap();
    let map = TileMap::new(&desc, 0).unwrap();
    let mut global = noise(96, 2);
    let before = global.clone();
    let mut shared = vec![0xa5; 128];
    map.load(&[8, 0], &global[..], 0, &mut shared).unwrap();
    assert_eq!((&shared[..8], &shared[8..32]), (&global[32..40], &[0; 24][..]));
    map.store(&[8, 0], &shared, 0, &mut global[..]).unwrap();
    let mut expected = before;
    expected[40..48].fill(0);
    expected[88..96].fill(0);
    assert_eq!(global, expected);
}

#[test]
fn element_strides_skip_all_but_the_contiguous_dimension() {
    let desc = TensorMapDesc::contiguous(DataType::U8, &[16, 9], &[16, 5]).unwrap();
    let map = TileMap::new(&desc.with_element_strides(&[2, 2]).unwrap(), 0).unwrap();
    let global = noise(16 * 9, 3);
    let mut shared = vec![0xa5; 128];
    assert_eq!(map.load(&[0, 4], &global[..], 0, &mut shared), Ok(3 * 16));
    let rows = [4, 6, 8].map(|row: usize| global[16 * row..][..16].to_vec()).concat();
    assert_eq!(shared[..48], rows);
    assert_eq!(shared[48], 0xa5);
}

#[test]
fn a_reduction_adds_within_the_tensor() {
    let desc = TensorMapDesc::contiguous(DataType::F32, &[4, 3], &[4, 2]).unwrap();
    let map = TileMap::new(&desc, 0).unwrap();
    let bytes = |values: &[f32]| -> Vec<u8> { values.iter().flat_map(|value| value.to_le_bytes()).collect() };
    let mut global = bytes(&[1.0; 16]);
    let shared = bytes(&[0.5; 32]);
    map.reduce(BulkReduce::Add, &[0, 2], &shared, 0, &mut global[..]).unwrap();
    assert_eq!(global, bytes(&[[1.0; 8], [1.5, 1.5, 1.5, 1.5, 1.0, 1.0, 1.0, 1.0]].concat()));
    assert!(matches!(
        map.reduce(BulkReduce::Max, &[0, 0], &shared, 0, &mut global[..]),
        Err(TmaError::Reduction { reduction: BulkReduce::Max, .. })
    ));
    let bits = TensorMapDesc::contiguous(DataType::I32, &[4, 1], &[4, 1]).unwrap();
    TileMap::new(&bits, 0).unwrap().reduce(BulkReduce::Xor, &[0, 0], &shared, 0, &mut global[..]).unwrap();
    assert_eq!(global[..4], (1.0_f32.to_bits() ^ 0.5_f32.to_bits()).to_le_bytes());
    let double = TensorMapDesc::contiguous(DataType::F64, &[2, 1], &[2, 1]).unwrap();
    let refused =
        TileMap::new(&double, 0).unwrap().reduce(BulkReduce::Add, &[0, 0], &shared, 0, &mut global[..]);
    assert_eq!(refused, Err(TmaError::Elements { data_type: DataType::F64 }));
}

#[test]
fn what_an_h200_refuses_is_refused() {
    let (mut global, mut shared) = (noise(5 * 160, 5), vec![0; 1024]);
    let map = TileMap::new(&bf16_rows(), 0).unwrap();
    for (coordinate, bytes) in [(4, 8), (-4, -8), (1, 2)] {
        let refused = Err(TmaError::ContiguousCoordinate { coordinate, bytes });
        assert_eq!(map.load(&[coordinate, 0], &global[..], 0, &mut shared), refused);
        assert_eq!(map.store(&[coordinate, 0], &shared, 0, &mut global[..]), refused.map(|_: u32| ()));
    }
    for (coordinates, dimension) in [([-8, 0], 0), ([0, -1], 1)] {
        let coordinate = coordinates[dimension];
        let refused = Err(TmaError::NegativeCoordinate { dimension, coordinate });
        assert_eq!(map.store(&coordinates, &shared, 0, &mut global[..]), refused);
        assert!(map.load(&coordinates, &global[..], 0, &mut shared).is_ok(), "a load may");
    }
    let refused = Err(TmaError::SharedAlignment { address: 64 });
    assert_eq!(map.load(&[0, 0], &global[..], 64, &mut shared), refused);
    assert_eq!(
        map.store(&[0, 0], &shared, 64, &mut global[..]),
        Err(TmaError::SharedAlignment { address: 64 })
    );
}

#[test]
fn what_memory_does_not_hold_is_refused() {
    let (global, mut shared) = (noise(700, 6), vec![0; 1024]);
    let map = TileMap::new(&bf16_rows(), 0).unwrap();
    assert_eq!(map.load(&[0], &global[..], 0, &mut shared), Err(TmaError::Rank { found: 1, rank: 2 }));
    assert!(matches!(map.load(&[0, 0], &global[..], 640, &mut shared), Err(TmaError::Shared(_))));
    assert!(matches!(map.load(&[0, 0], &global[..], u32::MAX - 127, &mut shared), Err(TmaError::Shared(_))));
    let unmapped = Unmapped { address: 640, bytes: 128 };
    assert_eq!(map.load(&[0, 3], &global[..], 0, &mut shared), Err(TmaError::Global(unmapped)));
    let far = TensorMapDesc::tiled(DataType::U8, &[16, 1 << 32], &[(1 << 40) - 16], &[16, 1]).unwrap();
    let far = TileMap::new(&far, 0).unwrap();
    assert_eq!(far.load(&[0, i32::MAX], &global[..], 0, &mut shared), Err(TmaError::AddressOverflow));
}

#[test]
fn maps_that_are_not_emulated_are_refused_by_name() {
    let refused = |desc: TensorMapDesc| match TileMap::new(&desc, 0) {
        Err(TmaError::Unsupported { what, .. }) => what,
        other => panic!("{other:?}"),
    };
    let plain = |data_type| TensorMapDesc::contiguous(data_type, &[16, 8, 8], &[16, 8, 8]).unwrap();
    assert_eq!(refused(plain(DataType::Tf32)), "elements of tf32");
    assert_eq!(refused(plain(DataType::F16).with_fill(Fill::NanRequestZeroFma)), "fill nan-request-zero-fma");
    let narrow = plain(DataType::F16).with_swizzle(Swizzle::Bytes128);
    assert_eq!(refused(narrow), "rows of 32 bytes in swizzle 128B");
    assert_eq!(refused(narrow.with_swizzle(Swizzle::Bytes128Atom32)), "swizzle 128B-atom32B");
    assert_eq!(
        refused(plain(DataType::F16).with_interleave(Interleave::Bytes32)),
        "an im2col or interleaved layout"
    );
    let columns = TensorMapDesc::im2col(DataType::F16, &[8, 8, 8], &[16, 128], &[0], &[0], 8, 8).unwrap();
    assert_eq!(refused(columns), "an im2col or interleaved layout");
    assert!(matches!(TileMap::new(&plain(DataType::F16), 8), Err(TmaError::Map(_))));
    assert!(matches!(TileMap::decode(&[0; 128]), Err(TmaError::Map(_))));
}

/// A tensor, a tile and its place, all within what the engine takes.
#[derive(Clone, Debug)]
struct Case {
    desc: TensorMapDesc,
    coordinates: Vec<i32>,
    destination: u32,
    seed: u64,
}

fn case() -> impl Strategy<Value = Case> {
    let types = [DataType::U8, DataType::Bf16, DataType::F32, DataType::I64];
    let swizzles = [Swizzle::None, Swizzle::Bytes32, Swizzle::Bytes64, Swizzle::Bytes128];
    (prop::sample::select(types.to_vec()), prop::sample::select(swizzles.to_vec()), 1_usize..=5)
        .prop_flat_map(|(data_type, swizzle, rank)| {
            let element = data_type.bits() / 8;
            let chunks = match swizzle.span_bytes() {
                Some(span) => span / 16..=span / 16,
                None => 1..=5,
            };
            let outer = prop::collection::vec((1_u64..=6, 1_u32..=4, -5_i32..=7, 1_u32..=3), rank - 1);
            let place = (1_u64..=40, -3_i64..=6, chunks, 0_u32..12);
            (place, outer, 0_u64..3, any::<u64>()).prop_map(
                move |((extent, from, chunks, line), outer, gap, seed)| {
                    let mut extents = vec![extent];
                    let mut sizes = vec![u32::try_from(chunks * 16 / element).unwrap()];
                    let mut coordinates = vec![i32::try_from(from * 16 / element as i64).unwrap()];
                    let (mut steps, mut strides) = (vec![1], Vec::new());
                    let mut stride = (extent * element).next_multiple_of(16) + 16 * gap;
                    for (extent, size, from, step) in outer {
                        strides.push(stride);
                        stride *= extent;
                        extents.push(extent);
                        sizes.push(size);
                        coordinates.push(from);
                        steps.push(step);
                    }
                    let desc = TensorMapDesc::tiled(data_type, &extents, &strides, &sizes)
                        .unwrap()
                        .with_element_strides(&steps)
                        .unwrap()
                        .with_swizzle(swizzle);
                    Case { desc, coordinates, destination: 128 * line, seed }
                },
            )
        })
}

impl Case {
    /// For each element of the tile, in order, its byte offset in the tensor, if it lies in it.
    fn offsets(&self) -> Vec<Option<usize>> {
        let desc = &self.desc;
        let (sizes, steps) = (desc.box_extents().unwrap(), desc.element_strides());
        let mut tile = vec![Some(0)];
        for dim in (0..desc.rank()).rev() {
            let stride = if dim == 0 { desc.data_type().bits() / 8 } else { desc.strides()[dim - 1] };
            let along = |at: u32| {
                let place = i64::from(self.coordinates[dim]) + i64::from(at * steps[dim]);
                let inside = (0..desc.extents()[dim] as i64).contains(&place);
                inside.then(|| place as usize * stride as usize)
            };
            let count = sizes[dim].div_ceil(steps[dim]);
            let add = |outer: Option<usize>| (0..count).map(move |at| Some(outer? + along(at)?));
            tile = tile.into_iter().flat_map(add).collect();
        }
        tile
    }

    fn element(&self) -> usize {
        self.desc.data_type().bits() as usize / 8
    }

    /// Bytes that the tensor takes, and some more.
    fn span(&self) -> usize {
        let outermost = self.desc.strides().iter().zip(&self.desc.extents()[1..]).map(|(s, e)| s * e).max();
        outermost.unwrap_or(0).max(1 << 17) as usize
    }

    /// Where the element lies that has this number in the tile.
    fn in_shared(&self, number: usize) -> usize {
        let address = self.destination as usize + number * self.element();
        crate::engine::swizzle::Swizzle::of_map(self.desc.swizzle()).unwrap().apply(address)
    }
}

proptest! {
    #[test]
    fn a_load_puts_every_element_at_its_place(case in case()) {
        let global = noise(case.span(), case.seed);
        let bytes = case.desc.to_map_bytes(0).unwrap();
        let map = TileMap::decode(bytes.as_bytes()).unwrap();
        let mut shared = vec![0; 64 << 10];
        let counted = map.load(&case.coordinates, &global[..], case.destination, &mut shared).unwrap();
        let (offsets, element) = (case.offsets(), case.element());
        prop_assert_eq!(counted as usize, offsets.len() * element);
        let mut expected = vec![0; shared.len()];
        for (number, offset) in offsets.into_iter().enumerate() {
            let at = case.in_shared(number);
            let value = offset.map(|offset| &global[offset..offset + element]);
            if let Some(value) = value {
                expected[at..at + element].copy_from_slice(value);
            }
        }
        prop_assert!(shared == expected, "{}", case.desc);
    }

    #[test]
    fn a_store_puts_back_what_a_load_brought(case in case()) {
        let case = Case { coordinates: case.coordinates.iter().map(|at| (*at).max(0)).collect(), ..case };
        let global = noise(case.span(), case.seed);
        let map = TileMap::new(&case.desc, 0).unwrap();
        let mut shared = vec![0; 64 << 10];
        map.load(&case.coordinates, &global[..], case.destination, &mut shared).unwrap();
        let mut back = vec![0xa5; global.len()];
        map.store(&case.coordinates, &shared, case.destination, &mut back[..]).unwrap();
        let mut expected = vec![0xa5; global.len()];
        for offset in case.offsets().into_iter().flatten() {
            let element = offset..offset + case.element();
            expected[element.clone()].copy_from_slice(&global[element]);
        }
        // Zeros follow each row to the next multiple of 16 bytes.
        let row = case.desc.extents()[0] as usize * case.element();
        let strides = case.desc.strides().first().map_or(usize::MAX, |stride| *stride as usize);
        let padding = row..row.next_multiple_of(16);
        for (offset, (found, expected)) in back.iter().zip(&expected).enumerate() {
            let is_padding = padding.contains(&(offset % strides));
            prop_assert!(found == expected || is_padding && *found == 0, "byte {} of {}", offset, case.desc);
        }
    }
}
