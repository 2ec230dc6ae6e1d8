//! Parameter blocks: structures that host and device code share.

/// The layout of a parameter block, for the device side's assertions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockLayout {
    /// The structure's name, the same in the device code.
    pub name: &'static str,
    /// Its size in bytes.
    pub size: usize,
    /// Each field's name, offset and size in bytes.
    pub fields: &'static [(&'static str, usize, usize)],
}

/// Declares a kernel's parameter block: a public `#[repr(C)]` structure of public fields, and its
/// [`BlockLayout`](crate::BlockLayout) as the constant `LAYOUT`, which the structure of the same name in
/// device code can be checked against.
///
/// The structure is `Clone`, `Copy`, `Debug`, `Default`, `PartialEq`, `Pod` and `Zeroable`; attributes
/// before its name may add to that. The calling crate needs `bytemuck` with its feature `derive`, and no
/// feature of this crate.
///
/// ```
/// fa3_sys::parameter_block! {
///     /// What the kernel is launched with.
///     Params {
///         /// Device address of the values, f32.
///         values: u64,
///         /// How many there are.
///         count: u32,
///         /// What each is multiplied by.
///         factor: f32,
///     }
/// }
///
/// assert_eq!((Params::LAYOUT.name, Params::LAYOUT.size), ("Params", 16));
/// assert_eq!(Params::LAYOUT.fields, [("values", 0, 8), ("count", 8, 4), ("factor", 12, 4)]);
///
/// let params = Params { count: 3, ..Params::default() };
/// assert_eq!(bytemuck::bytes_of(&params)[8..], [3, 0, 0, 0, 0, 0, 0, 0]);
/// ```
///
/// Fields that would leave bytes unused between or behind them do not compile:
///
/// ```compile_fail
/// fa3_sys::parameter_block! {
///     Params { count: u32, values: u64 }
/// }
/// ```
#[macro_export]
macro_rules! parameter_block {
    (
        $(#[$meta:meta])*
        $name:ident { $( $(#[$field_meta:meta])* $field:ident: $type:ty ),* $(,)? }
    ) => {
        $(#[$meta])*
        #[repr(C)]
        #[derive(Clone, Copy, Debug, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
        pub struct $name {
            $( $(#[$field_meta])* pub $field: $type, )*
        }

        impl $name {
            /// The layout that the device code is checked against.
            pub const LAYOUT: $crate::BlockLayout = $crate::BlockLayout {
                name: stringify!($name),
                size: ::core::mem::size_of::<$name>(),
                fields: &[ $( (
                    stringify!($field),
                    ::core::mem::offset_of!($name, $field),
                    ::core::mem::size_of::<$type>(),
                ), )* ],
            };
        }
    };
}
