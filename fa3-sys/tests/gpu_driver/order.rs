//! Streams and events: what waits for what, and how long it took.

use fa3_sys::driver::{Buffer, DriverError, Event, Stream};

use super::kernels::{kernel, open, store_late};

#[test]
fn a_stream_waits_for_an_event_of_another() {
    let (_turn, context, first) = open();
    let late_store = kernel(&context, "wait_then_store");
    let second = Stream::new(&context).unwrap();
    let late = Buffer::zeroed(&first, 4).unwrap();
    let copy = Buffer::zeroed(&second, 4).unwrap();
    first.synchronize().unwrap();
    second.synchronize().unwrap();

    let stored = Event::new(&context).unwrap();
    store_late(&late_store, &first, &late, 7, 50);
    stored.record(&first).unwrap();
    second.wait(&stored).unwrap();
    copy.copy_from(&second, 0, &late, 0, 4).unwrap();
    assert_eq!(copy.to_vec::<u32>(&second).unwrap(), [7]);
}

#[test]
fn streams_run_beside_one_another_without_an_event() {
    let (_turn, context, first) = open();
    let late_store = kernel(&context, "wait_then_store");
    let second = Stream::new(&context).unwrap();
    let late = Buffer::zeroed(&first, 4).unwrap();
    first.synchronize().unwrap();
    let quick = Buffer::zeroed(&second, 4).unwrap();
    assert_eq!(quick.to_vec::<u32>(&second).unwrap(), [0]);
    // Long enough to be still running after the little that the second stream does.
    store_late(&late_store, &first, &late, 7, 500);
    quick.fill_u8(&second, 1).unwrap();
    assert_eq!(quick.to_vec::<u32>(&second).unwrap(), [0x0101_0101]);
    assert!(!first.is_complete().unwrap(), "the second stream waited for the first");
    first.synchronize().unwrap();
    assert!(first.is_complete().unwrap());
    assert_eq!(late.to_vec::<u32>(&first).unwrap(), [7]);
}

#[test]
fn an_event_is_complete_when_the_work_before_it_is() {
    let (_turn, context, stream) = open();
    let late_store = kernel(&context, "wait_then_store");
    let late = Buffer::zeroed(&stream, 4).unwrap();
    stream.synchronize().unwrap();
    let event = Event::new(&context).unwrap();
    assert!(event.is_complete().unwrap(), "an event that was never recorded");
    store_late(&late_store, &stream, &late, 1, 200);
    event.record(&stream).unwrap();
    assert!(!event.is_complete().unwrap());
    event.synchronize().unwrap();
    assert!(event.is_complete().unwrap());
}

#[test]
fn elapsed_time_is_the_devices() {
    let (_turn, context, stream) = open();
    let late_store = kernel(&context, "wait_then_store");
    let late = Buffer::zeroed(&stream, 4).unwrap();
    let (start, end) = (Event::with_timing(&context).unwrap(), Event::with_timing(&context).unwrap());
    start.record(&stream).unwrap();
    store_late(&late_store, &stream, &late, 1, 20);
    end.record(&stream).unwrap();
    end.synchronize().unwrap();
    let milliseconds = end.elapsed_ms_since(&start).unwrap();
    assert!((19.5..2000.0).contains(&milliseconds), "20 ms of work took {milliseconds} ms");

    let untimed = Event::new(&context).unwrap();
    untimed.record(&stream).unwrap();
    let error = untimed.elapsed_ms_since(&start).unwrap_err();
    assert_eq!(error, DriverError::EventWithoutTiming { which: "end" });
    let error = end.elapsed_ms_since(&untimed).unwrap_err();
    assert_eq!(error, DriverError::EventWithoutTiming { which: "start" });
}

#[test]
fn borrowed_and_default_streams_are_the_same_queues() {
    let (_turn, context, stream) = open();
    let late_store = kernel(&context, "wait_then_store");
    let late = Buffer::zeroed(&stream, 4).unwrap();
    stream.synchronize().unwrap();
    {
        // SAFETY: `stream` lives longer than this.
        let borrowed = unsafe { Stream::from_raw(&context, stream.raw()) };
        store_late(&late_store, &borrowed, &late, 3, 50);
    }
    // Dropping the borrowed value destroyed nothing, and the work is in the stream's own order.
    assert_eq!(late.to_vec::<u32>(&stream).unwrap(), [3]);

    let null = Stream::null(&context);
    assert_eq!(null.raw(), 0);
    late.fill_u32(&null, 9).unwrap();
    assert_eq!(late.to_vec::<u32>(&null).unwrap(), [9]);
}
