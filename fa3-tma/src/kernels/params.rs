//! The kernels' parameter block: the Rust structure is the source, and the build step turns its
//! layout into assertions that the device code compiles against.

fa3_sys::parameter_block! {
    /// How a tensor is cut into tiles: a parameter of every kernel here.
    #[derive(Eq)]
    Tiling {
        /// Tiles along each dimension, the contiguous one first; 1 beyond the rank.
        tiles: [u32; 5],
        /// Elements of a tile along each dimension.
        extent: [i32; 5],
        /// The coordinates of tile 0, in elements. They may lie outside the tensor.
        first: [i32; 5],
        /// Tiles in all: the product of `tiles`.
        count: u32,
        /// Bytes that one load brings, out-of-bounds elements included: a multiple of 16.
        tile_bytes: u32,
        /// Bytes that a tile takes of shared memory: a multiple of 1024.
        stage_bytes: u32,
    }
}
