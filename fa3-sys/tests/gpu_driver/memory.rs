//! Allocation, copies, fills, and what they refuse.

use fa3_sys::driver::{Buffer, DevicePtr, DriverError, Stream};

use super::kernels::open;

#[test]
fn values_survive_the_way_there_and_back() {
    let (_turn, _, stream) = open();
    let data: Vec<u32> = (0..100_000).map(|i: u32| i.wrapping_mul(0x9e37_79b9)).collect();
    let buffer = Buffer::from_slice(&stream, &data).unwrap();
    assert!(buffer.ptr().0.is_multiple_of(256), "{}", buffer.ptr());
    assert_eq!(buffer.to_vec::<u32>(&stream).unwrap(), data);

    let mut part = [0u32; 3];
    buffer.read(&stream, 40, &mut part).unwrap();
    assert_eq!(part, data[10..13]);
    buffer.write(&stream, 44, &[7u32]).unwrap();
    buffer.read(&stream, 40, &mut part).unwrap();
    assert_eq!(part, [data[10], 7, data[12]]);
}

#[test]
fn copies_on_the_device_move_the_range_and_nothing_else() {
    let (_turn, context, stream) = open();
    let source = Buffer::from_slice(&stream, &(0..64u8).collect::<Vec<_>>()).unwrap();
    let target = Buffer::new(&context, 64).unwrap();
    target.fill_u8(&stream, 0xee).unwrap();
    target.copy_from(&stream, 5, &source, 10, 7).unwrap();
    let mut expected = [0xee; 64];
    expected[5..12].copy_from_slice(&[10, 11, 12, 13, 14, 15, 16]);
    assert_eq!(target.to_vec::<u8>(&stream).unwrap(), expected);
}

#[test]
fn fills_reach_every_byte() {
    let (_turn, context, stream) = open();
    let buffer = Buffer::new(&context, 4 * 1001).unwrap();
    buffer.fill_u32(&stream, 0xdead_beef).unwrap();
    assert_eq!(buffer.to_vec::<u32>(&stream).unwrap(), [0xdead_beef; 1001]);
    buffer.fill_u8(&stream, 0x5a).unwrap();
    assert_eq!(buffer.to_vec::<u8>(&stream).unwrap(), [0x5a; 4004]);
    assert_eq!(Buffer::zeroed(&stream, 77).unwrap().to_vec::<u8>(&stream).unwrap(), [0; 77]);
}

#[test]
fn nothing_is_a_size() {
    let (_turn, context, stream) = open();
    let empty = Buffer::from_slice::<f32>(&stream, &[]).unwrap();
    assert_eq!((empty.ptr(), empty.bytes()), (DevicePtr::NULL, 0));
    assert_eq!(empty.to_vec::<f32>(&stream).unwrap(), []);
    empty.fill_u32(&stream, 1).unwrap();
    let other = Buffer::new(&context, 16).unwrap();
    other.copy_from(&stream, 16, &empty, 0, 0).unwrap();
}

#[test]
fn what_leaves_the_buffer_is_refused() {
    let (_turn, context, stream) = open();
    let buffer = Buffer::new(&context, 16).unwrap();
    let error = buffer.write(&stream, 13, &[0u8; 4]).unwrap_err();
    assert_eq!(error, DriverError::OutOfRange { operation: "write", offset: 13, bytes: 4, size: 16 });
    assert!(buffer.read(&stream, 0, &mut [0u8; 17]).is_err());
    assert!(buffer.copy_from(&stream, 0, &buffer, 8, 9).is_err());
    assert!(Buffer::new(&context, 10).unwrap().to_vec::<u32>(&stream).is_err());
    assert!(Buffer::new(&context, 10).unwrap().fill_u32(&stream, 0).is_err());
    let odd = buffer.ptr().offset(2).unwrap();
    // SAFETY: refused before anything is written.
    let error = unsafe { stream.fill_u32(odd, 0, 1) }.unwrap_err();
    assert!(matches!(error, DriverError::Misaligned { alignment: 4, .. }), "{error}");
}

#[test]
fn more_than_there_is_names_the_bytes_asked_for() {
    let (_turn, context, stream) = open();
    let memory = context.memory().unwrap();
    assert!(0 < memory.free && memory.free <= memory.total, "{memory:?}");
    let error = Buffer::new(&context, memory.total + 1).unwrap_err();
    let DriverError::OutOfMemory { requested, total, .. } = error else { panic!("{error}") };
    assert_eq!((requested, total), (memory.total + 1, memory.total));
    // The context is as good as before.
    Buffer::zeroed(&stream, 16).unwrap();
}

#[test]
fn dropping_frees() {
    let (_turn, context, _) = open();
    // Far more in turn than the device has at once.
    let piece = context.memory().unwrap().free / 4;
    for round in 0..12 {
        Buffer::new(&context, piece).unwrap_or_else(|error| panic!("round {round}: {error}"));
    }
    let (pointer, bytes) = Buffer::new(&context, piece).unwrap().into_raw();
    for round in 0..3 {
        Buffer::new(&context, piece).unwrap_or_else(|error| panic!("round {round}: {error}"));
    }
    // SAFETY: both come from `into_raw` of this context.
    drop(unsafe { Buffer::from_raw(&context, pointer, bytes) });
}

#[test]
fn any_thread_may_use_what_another_made() {
    let (_turn, _, stream) = open();
    let buffer = Buffer::from_slice(&stream, &[1u32, 2, 3]).unwrap();
    let values = std::thread::spawn(move || {
        let other = Stream::new(buffer.context()).unwrap();
        buffer.to_vec::<u32>(&other).unwrap()
    });
    assert_eq!(values.join().unwrap(), [1, 2, 3]);
}
