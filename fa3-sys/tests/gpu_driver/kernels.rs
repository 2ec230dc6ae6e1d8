//! What the tests share: the open device and the small kernels of `kernels.ptx`.

use std::sync::{Mutex, MutexGuard, PoisonError};

use fa3_sys::driver::{Buffer, Context, Function, LaunchConfig, Module, Params, Stream};

pub(crate) const PTX: &str = include_str!("kernels.ptx");

/// One test at a time has the device: a free or an unload in one thread waits for kernels of the
/// others, and would spoil what they say about time.
pub(crate) fn turn() -> MutexGuard<'static, ()> {
    static DEVICE: Mutex<()> = Mutex::new(());
    DEVICE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A turn, device 0, and a stream of the test's own.
pub(crate) fn open() -> (MutexGuard<'static, ()>, Context, Stream) {
    let turn = turn();
    let context = Context::open(0).unwrap_or_else(|error| panic!("these tests need a GPU: {error}"));
    let stream = Stream::new(&context).unwrap();
    (turn, context, stream)
}

pub(crate) fn kernel(context: &Context, name: &str) -> Function {
    let module = Module::load_image(context, PTX.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    module.function(name).unwrap_or_else(|error| panic!("{error}"))
}

/// One block of one thread.
pub(crate) const SINGLE: LaunchConfig = LaunchConfig::new([1, 1, 1], [1, 1, 1]);

/// Submits `wait_then_store`, which takes `milliseconds` and then stores `value` at the buffer's
/// start.
pub(crate) fn store_late(function: &Function, stream: &Stream, out: &Buffer, value: u32, milliseconds: u64) {
    let (pointer, nanoseconds) = (out.ptr(), milliseconds * 1_000_000);
    let params = Params::new().with(&pointer).with(&value).with(&nanoseconds);
    assert_eq!(function.name(), "wait_then_store");
    // SAFETY: the kernel stores one word at `out`, freed after the device is done; the callers keep
    // the function until they have waited.
    unsafe { function.launch(stream, &SINGLE, &params) }.unwrap();
}

/// Submits a kernel that adds `value` to each of the first `count` words of the buffer.
pub(crate) fn add_value(function: &Function, stream: &Stream, out: &Buffer, count: u32, value: u32) {
    let pointer = out.ptr();
    let params = Params::new().with(&pointer).with(&count).with(&value);
    let config = LaunchConfig::new([count.div_ceil(128), 1, 1], [128, 1, 1]);
    assert!(out.bytes() >= count as usize * 4);
    // SAFETY: the kernel stays within `count` words of `out`, freed after the device is done; the
    // callers keep the function until they have waited.
    unsafe { function.launch(stream, &config, &params) }.unwrap();
}
