//! With the driver: a machine without one is told so, and one with it lists its devices.

#[test]
fn the_devices_or_a_reason() {
    match fa3_sys::driver::devices() {
        Ok(devices) => assert!(!devices.is_empty()),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
