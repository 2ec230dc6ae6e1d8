//! The structures and constants of `fa3.h`, as C has them.

use core::ffi::c_void;

use bytemuck::Zeroable;

/// `fa3_status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Status {
    Ok = 0,
    Argument = 1,
    StructSize = 2,
    NullPointer = 3,
    Address = 4,
    Workspace = 5,
    Unsupported = 6,
    OutOfMemory = 7,
    Unavailable = 8,
    Device = 9,
    Fault = 10,
    Internal = 11,
}

impl Status {
    pub(super) const ALL: [(Self, &core::ffi::CStr); 12] = [
        (Self::Ok, c"FA3_OK"),
        (Self::Argument, c"FA3_ERROR_ARGUMENT"),
        (Self::StructSize, c"FA3_ERROR_STRUCT_SIZE"),
        (Self::NullPointer, c"FA3_ERROR_NULL_POINTER"),
        (Self::Address, c"FA3_ERROR_ADDRESS"),
        (Self::Workspace, c"FA3_ERROR_WORKSPACE"),
        (Self::Unsupported, c"FA3_ERROR_UNSUPPORTED"),
        (Self::OutOfMemory, c"FA3_ERROR_OUT_OF_MEMORY"),
        (Self::Unavailable, c"FA3_ERROR_UNAVAILABLE"),
        (Self::Device, c"FA3_ERROR_DEVICE"),
        (Self::Fault, c"FA3_ERROR_FAULT"),
        (Self::Internal, c"FA3_ERROR_INTERNAL"),
    ];
}

/// The values of `dtype`.
pub(super) const F16: i32 = 1;
pub(super) const BF16: i32 = 2;
pub(super) const F32: i32 = 3;

/// The values of `sequences`.
pub(super) const DENSE: i32 = 0;
pub(super) const USED_KEYS: i32 = 1;
pub(super) const PACKED: i32 = 2;

/// The bits of `flags`.
pub(super) const CAUSAL: u32 = 1 << 0;
pub(super) const WINDOW: u32 = 1 << 1;
pub(super) const SCALE: u32 = 1 << 2;
pub(super) const SOFTCAP: u32 = 1 << 3;
pub(super) const BATCH_INVARIANT: u32 = 1 << 4;

/// `fa3_tensor`.
#[derive(Clone, Copy, Zeroable)]
#[repr(C)]
pub struct RawTensor {
    pub(super) data: *mut c_void,
    pub(super) dtype: i32,
    pub(super) reserved: i32,
    pub(super) shape: [i64; 4],
    pub(super) strides: [i64; 4],
}

/// `fa3_forward_args`. It grows at its end, by fields that mean nothing when they are zero.
#[derive(Clone, Copy, Zeroable)]
#[repr(C)]
pub struct RawForward {
    pub(super) struct_size: usize,
    pub(super) flags: u32,
    pub(super) sequences: i32,
    pub(super) q: RawTensor,
    pub(super) k: RawTensor,
    pub(super) v: RawTensor,
    pub(super) o: RawTensor,
    pub(super) lse: *mut f32,
    pub(super) sinks: *const f32,
    pub(super) alibi_slopes: *const f32,
    pub(super) used_k: *const i32,
    pub(super) cu_q: *const i32,
    pub(super) cu_k: *const i32,
    pub(super) count: i64,
    pub(super) max_q: i64,
    pub(super) max_k: i64,
    pub(super) window_left: i64,
    pub(super) window_right: i64,
    pub(super) scale: f32,
    pub(super) softcap: f32,
    pub(super) workspace: *mut c_void,
    pub(super) workspace_bytes: usize,
}

/// The size of `fa3_forward_args` in the first version of the header.
pub(super) const FIRST_FORWARD_SIZE: usize =
    core::mem::offset_of!(RawForward, workspace_bytes) + size_of::<usize>();
