//! Capture and replay.

use fa3_sys::driver::{Buffer, DriverError, Stream};

use super::kernels::{add_value, kernel, open};

#[test]
fn fills_and_copies_replay_with_the_contents_of_the_day() {
    let (_turn, context, stream) = open();
    let source = Buffer::from_slice(&stream, &[1u32, 2, 3, 4]).unwrap();
    let target = Buffer::zeroed(&stream, 16).unwrap();
    let graph = stream
        .capture(|stream| {
            target.fill_u8(stream, 0xff)?;
            target.copy_from(stream, 4, &source, 0, 8)
        })
        .unwrap_or_else(|error: DriverError| panic!("{error}"));
    assert_eq!(target.to_vec::<u32>(&stream).unwrap(), [0; 4], "capturing ran the work");

    let mut replay = graph.instantiate().unwrap();
    drop(graph);
    // SAFETY: both buffers live until the stream is synchronised, by `to_vec`.
    unsafe { replay.launch(&stream) }.unwrap();
    assert_eq!(target.to_vec::<u32>(&stream).unwrap(), [u32::MAX, 1, 2, u32::MAX]);

    source.write(&stream, 0, &[8u32, 9]).unwrap();
    let other = Stream::new(&context).unwrap();
    // SAFETY: as above, on another stream.
    unsafe { replay.launch(&other) }.unwrap();
    assert_eq!(target.to_vec::<u32>(&other).unwrap(), [u32::MAX, 8, 9, u32::MAX]);
}

#[test]
fn a_kernel_runs_once_a_replay() {
    let (_turn, context, stream) = open();
    let function = kernel(&context, "add_value");
    let buffer = Buffer::zeroed(&stream, 4 * 1000).unwrap();
    let graph = stream
        .capture(|stream| {
            add_value(&function, stream, &buffer, 1000, 3);
            add_value(&function, stream, &buffer, 500, 100);
            Ok::<(), DriverError>(())
        })
        .unwrap();
    let mut replay = graph.instantiate().unwrap();
    for _ in 0..10 {
        // SAFETY: buffer and module live until the stream is synchronised, by `to_vec`.
        unsafe { replay.launch(&stream) }.unwrap();
    }
    let values = buffer.to_vec::<u32>(&stream).unwrap();
    assert_eq!((&values[..500], &values[500..]), (&[1030; 500][..], &[30; 500][..]));
}

#[test]
fn a_recording_that_fails_gives_its_error_and_ends_the_capture() {
    #[derive(Debug, PartialEq)]
    enum Failure {
        Own(&'static str),
        Driver(DriverError),
    }
    impl From<DriverError> for Failure {
        fn from(error: DriverError) -> Self {
            Self::Driver(error)
        }
    }
    let (_turn, context, stream) = open();
    let buffer = Buffer::zeroed(&stream, 16).unwrap();
    let result = stream.capture(|stream| {
        buffer.fill_u8(stream, 1)?;
        Err(Failure::Own("changed my mind"))
    });
    assert_eq!(result.unwrap_err(), Failure::Own("changed my mind"));
    assert_eq!(buffer.to_vec::<u8>(&stream).unwrap(), [0; 16], "the stream is usable and nothing ran");

    // Waiting is what a capture cannot record.
    let result = stream.capture(|stream| {
        buffer.fill_u8(stream, 1)?;
        stream.synchronize()
    });
    let error = result.unwrap_err();
    assert!(matches!(error, DriverError::Api { call: "cuStreamSynchronize", .. }), "{error}");
    assert_eq!(buffer.to_vec::<u8>(&stream).unwrap(), [0; 16]);

    let null = Stream::null(&context);
    let result = null.capture(|_| Ok::<(), DriverError>(()));
    assert!(matches!(result, Err(DriverError::Api { call: "cuStreamBeginCapture_v2", .. })), "{result:?}");
}

#[test]
fn a_recording_that_panics_ends_the_capture() {
    let (_turn, _, stream) = open();
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        stream.capture(|_| -> Result<(), DriverError> { panic!("on purpose") })
    }));
    assert!(result.is_err());
    stream.synchronize().unwrap();
}
