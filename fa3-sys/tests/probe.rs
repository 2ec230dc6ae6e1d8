//! The probe on whatever machine this is: a typed error or a working driver, never a panic.
#![cfg(feature = "driver")]

use fa3_sys::driver::{Context, DriverError, MIN_DRIVER_VERSION, devices, probe};

#[test]
fn a_missing_driver_is_an_error_and_a_present_one_works() {
    // SAFETY: the CUDA driver's initialisation routine asks nothing of the caller.
    let library = unsafe { libloading::Library::new("libcuda.so.1") };
    let result = probe();
    assert_eq!(probe(), result, "a second probe says the same");
    match result {
        Ok(driver) => {
            assert!(library.is_ok());
            assert!(driver.version() >= MIN_DRIVER_VERSION);
            let devices = devices().unwrap();
            assert_eq!(devices.len(), driver.device_count() as usize);
            assert!(devices.iter().all(|device| device.sm_count > 0), "{devices:?}");
        }
        Err(error) => {
            assert_eq!(matches!(error, DriverError::DriverNotFound { .. }), library.is_err(), "{error}");
            assert_eq!(devices(), Err(error.clone()));
            assert_eq!(Context::open(0), Err(error));
        }
    }
}
