//! One primary context for this crate and `cudarc`, and the device's description.

use cudarc::driver::result::ctx;
use cudarc::driver::{CudaContext, DevicePtr as _};
use fa3_sys::driver::{Buffer, Context, CurrentContext, DevicePtr, DriverError, Stream, devices, probe};

use super::kernels::open;

#[test]
fn memory_and_streams_of_cudarc_are_used_as_they_are() {
    let (_turn, context, _) = open();
    let cuda = CudaContext::new(0).unwrap();
    assert_eq!(cuda.cu_ctx(), context.cudarc().cu_ctx());
    assert_eq!(Context::from_cudarc(cuda.clone()).unwrap(), context);

    let theirs = cuda.new_stream().unwrap();
    // SAFETY: `theirs` lives longer than this.
    let stream = unsafe { Stream::from_raw(&context, theirs.cu_stream() as usize as u64) };

    // Written by cudarc, read by us.
    let slice = theirs.clone_htod(&[1u32, 2, 3]).unwrap();
    let copy = Buffer::zeroed(&stream, 12).unwrap();
    {
        let (address, _guard) = slice.device_ptr(&theirs);
        // SAFETY: both are 12 bytes, and `slice` lives until `to_vec` has waited.
        unsafe { stream.copy_on_device(copy.ptr(), DevicePtr(address), 12) }.unwrap();
    }
    assert_eq!(copy.to_vec::<u32>(&stream).unwrap(), [1, 2, 3]);

    // Written by us, read by cudarc.
    copy.write(&stream, 0, &[4u32, 5, 6]).unwrap();
    // SAFETY: three words of memory of the same context; cudarc gives them back below.
    let view = unsafe { theirs.upgrade_device_ptr::<u32>(copy.ptr().0, 3) };
    assert_eq!(theirs.clone_dtoh(&view).unwrap(), [4, 5, 6]);
    assert_eq!(view.leak(), copy.ptr().0);
}

#[test]
fn memory_outlives_one_of_two_contexts() {
    let (_turn, first, _) = open();
    let second = Context::open(0).unwrap();
    let stream = Stream::new(&second).unwrap();
    let buffer = Buffer::from_slice(&stream, &[5u8; 8]).unwrap();
    drop(second);
    // Values made with either are of one context.
    let other = Stream::new(&first).unwrap();
    assert_eq!(buffer.to_vec::<u8>(&other).unwrap(), [5; 8]);
}

#[test]
fn a_kept_context_is_current_again() {
    let (_turn, context, _) = open();
    let is_current = || ctx::get_current().unwrap() == Some(context.cudarc().cu_ctx());
    // A thread without a context has none afterwards.
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let kept = CurrentContext::save().unwrap();
            context.bind().unwrap();
            assert!(is_current());
            drop(kept);
            assert_eq!(ctx::get_current().unwrap(), None);
        });
    });
    // One with a context has it.
    context.bind().unwrap();
    let kept = CurrentContext::save().unwrap();
    // SAFETY: null makes none current.
    unsafe { ctx::set_current(core::ptr::null_mut()).unwrap() };
    drop(kept);
    assert!(is_current());
}

#[test]
fn the_device_is_described() {
    let driver = probe().unwrap();
    let devices = devices().unwrap();
    assert_eq!(devices.len(), driver.device_count() as usize);
    let (_turn, context, _) = open();
    let device = context.device();
    assert_eq!(device, &devices[0]);
    assert_eq!(device.arch().unwrap(), context.arch());
    assert_eq!(device.max_shared_bytes, context.arch().max_shared_bytes(), "{device:?}");
    assert_eq!(device.max_threads_per_block, 1024, "{device:?}");
    assert!(device.sm_count > 0 && device.l2_bytes > 1 << 20 && device.memory_bytes > 1 << 30, "{device:?}");
    assert!(device.clock_khz > 100_000 && device.uuid != [0; 16] && !device.name.is_empty(), "{device:?}");
    assert!(context.memory().unwrap().total <= device.memory_bytes, "{device:?}");
}

#[test]
fn a_device_that_is_not_there_is_refused_with_the_count() {
    let count = probe().unwrap().device_count();
    for ordinal in [count, u32::MAX] {
        let error = Context::open(ordinal).unwrap_err();
        assert_eq!(error, DriverError::NoSuchDevice { ordinal, count });
    }
}
