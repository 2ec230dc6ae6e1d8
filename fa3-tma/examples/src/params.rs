//! Parameter blocks: the Rust structures are the source, and the build step turns their layouts into
//! assertions that the device code compiles against.

use fa3_sys::{BlockLayout, parameter_block};

parameter_block! {
    /// The matrix product's last parameter, after the maps of A, B, the bias and C.
    GemmParams {
        /// Columns of A and of B.
        k: i32,
        /// Tiles that cover the rows of C.
        tiles_m: i32,
        /// Tiles that cover its columns.
        tiles_n: i32,
        /// Rows of tiles that are worked on together.
        band: i32,
        /// One if there is a bias, else zero.
        has_bias: i32,
    }
}

parameter_block! {
    /// The transpose's last parameter, after the maps of its input and output.
    TransposeParams {
        /// What each element is multiplied by.
        scale: f32,
        /// Tiles that cover the rows of an input matrix.
        tiles_rows: i32,
        /// Tiles that cover its columns.
        tiles_columns: i32,
    }
}

parameter_block! {
    /// The only parameter of the loops that measure the tensor cores.
    CeilingParams {
        /// Address of what shared memory and registers are filled with.
        source: u64,
        /// Address of the sums, an f32 a thread.
        sums: u64,
        /// Passes of the loop.
        passes: u64,
    }
}

/// Every parameter block of this crate.
pub const LAYOUTS: &[BlockLayout] = &[GemmParams::LAYOUT, TransposeParams::LAYOUT, CeilingParams::LAYOUT];
