//! Parameter blocks: the Rust structures are the source, and the build step turns their layouts
//! into assertions that the device code compiles against.

/// The layout of a parameter block, for the device side's assertions.
#[derive(Clone, Copy, Debug)]
pub struct BlockLayout {
    /// The structure's name, the same in the device code's namespace `fa3`.
    pub name: &'static str,
    /// Its size in bytes.
    pub size: usize,
    /// Each field's name, offset and size in bytes.
    pub fields: &'static [(&'static str, usize, usize)],
}

macro_rules! parameter_block {
    (
        $(#[$meta:meta])*
        $name:ident { $( $(#[$field_meta:meta])* $field:ident: $type:ty, )* }
    ) => {
        $(#[$meta])*
        #[repr(C)]
        #[derive(Clone, Copy, Debug, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
        pub struct $name {
            $( $(#[$field_meta])* pub $field: $type, )*
        }

        impl $name {
            /// The layout that the device code is checked against.
            pub const LAYOUT: BlockLayout = BlockLayout {
                name: stringify!($name),
                size: size_of::<$name>(),
                fields: &[ $( (stringify!($field), core::mem::offset_of!($name, $field), size_of::<$type>()), )* ],
            };
        }
    };
}

parameter_block! {
    /// The forward kernels' last parameter. The four before it are the tensor maps of Q, K, V and
    /// O, 128 bytes each.
    ForwardParams {
        /// Device address of the log-sum-exp, f32 `[batch, heads_q, sq]`; zero when not wanted.
        lse: u64,
        /// The scale times log₂e, positive: exponentials are taken to base two.
        scale_log2: f32,
        /// Queries a sequence.
        sq: i32,
        /// Keys a sequence; may be zero.
        sk: i32,
        /// Query heads.
        heads_q: i32,
        /// Query heads a K/V head.
        group: i32,
        /// Query heads times batch.
        batch_heads: i32,
        /// Tiles of rows a head: `sq` over the kernel's `tile_m`, rounded up.
        m_tiles: i32,
        /// `m_tiles` times `batch_heads`.
        tiles: i32,
        /// Heads that are worked on together, so that their K and V stay in L2; at least one.
        section: i32,
        /// One when query `i` sees key `j` only for `j <= i + sk - sq`, else zero.
        causal: i32,
    }
}

/// Every parameter block of this crate.
pub const LAYOUTS: &[BlockLayout] = &[ForwardParams::LAYOUT];
