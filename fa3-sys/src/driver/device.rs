//! What there is to know of a device before work is planned for it.

use core::ffi::{CStr, c_char, c_int};
use core::fmt;

use cudarc::driver::sys::{self, CUdevice_attribute_enum as Attribute};

use super::call;
use super::error::DriverError;
use super::probe::{Driver, probe};
use crate::{Arch, UnsupportedArch};

/// A device as the driver describes it. A plain value, which holds nothing open.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// The driver's number for it, from 0, among those that `CUDA_VISIBLE_DEVICES` leaves.
    pub ordinal: u32,
    /// Its name: `NVIDIA H200`.
    pub name: String,
    /// Its identity, which survives a change of ordinals.
    pub uuid: [u8; 16],
    /// Its compute capability, major and minor.
    pub compute_capability: (u32, u32),
    /// Streaming multiprocessors.
    pub sm_count: u32,
    /// Global memory, bytes.
    pub memory_bytes: usize,
    /// L2 cache, bytes.
    pub l2_bytes: usize,
    /// The most shared memory one block may have, static and dynamic together, bytes.
    pub max_shared_bytes: u32,
    /// The most threads one block may have.
    pub max_threads_per_block: u32,
    /// The peak clock of the multiprocessors, kHz.
    pub clock_khz: u32,
}

impl DeviceInfo {
    /// The architecture whose kernels run on it.
    ///
    /// # Errors
    /// [`UnsupportedArch`] for every compute capability but 9.0 and 10.0.
    pub fn arch(&self) -> Result<Arch, UnsupportedArch> {
        let (major, minor) = self.compute_capability;
        Arch::from_compute_capability(major, minor)
    }

    /// Asks the driver about `device`, which has number `ordinal`.
    pub(crate) fn read(device: sys::CUdevice, ordinal: u32) -> Result<Self, DriverError> {
        let attribute = |attribute: Attribute| -> Result<u32, DriverError> {
            let mut value: c_int = 0;
            // SAFETY: `value` is valid for the write; a device that is none makes the call fail.
            unsafe { call!(cuDeviceGetAttribute(&raw mut value, attribute, device)) }?;
            Ok(u32::try_from(value).unwrap_or(0))
        };
        let mut name: [c_char; 256] = [0; 256];
        let mut uuid = sys::CUuuid { bytes: [0; 16] };
        let mut memory_bytes = 0;
        // SAFETY: each pointer is valid for the write, the name's length is passed with it, and a
        // device that is none makes the calls fail.
        unsafe {
            call!(cuDeviceGetName(name.as_mut_ptr(), 255, device))?;
            call!(cuDeviceGetUuid_v2(&raw mut uuid, device))?;
            call!(cuDeviceTotalMem_v2(&raw mut memory_bytes, device))?;
        }
        // SAFETY: the driver wrote at most 255 bytes of 256 zeros, so a NUL follows.
        let name = unsafe { CStr::from_ptr(name.as_ptr()) };
        Ok(Self {
            ordinal,
            name: name.to_string_lossy().into_owned(),
            uuid: uuid.bytes.map(|byte| byte as u8),
            compute_capability: (
                attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
                attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
            ),
            sm_count: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
            memory_bytes,
            l2_bytes: attribute(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)? as usize,
            max_shared_bytes: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
            max_threads_per_block: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
            clock_khz: attribute(Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE)?,
        })
    }
}

impl fmt::Display for DeviceInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor) = self.compute_capability;
        write!(
            f,
            "cuda:{} {}, compute capability {major}.{minor}, {} SMs, {:.1} GiB, {:.0} MiB L2, \
             {} KiB shared memory a block",
            self.ordinal,
            self.name,
            self.sm_count,
            self.memory_bytes as f64 / f64::from(1 << 30),
            self.l2_bytes as f64 / f64::from(1 << 20),
            self.max_shared_bytes / 1024,
        )
    }
}

/// The driver's handle of device `ordinal`.
pub(crate) fn handle(driver: Driver, ordinal: u32) -> Result<sys::CUdevice, DriverError> {
    let count = driver.device_count();
    let number = match c_int::try_from(ordinal) {
        Ok(number) if ordinal < count => number,
        _ => return Err(DriverError::NoSuchDevice { ordinal, count }),
    };
    let mut device = 0;
    // SAFETY: `driver` proves that the driver is initialised; `device` is valid for the write.
    unsafe { call!(cuDeviceGet(&raw mut device, number)) }?;
    Ok(device)
}

impl Driver {
    /// What there is to know of device `ordinal`. Opens no context.
    ///
    /// # Errors
    /// [`DriverError::NoSuchDevice`], or what the driver says.
    pub fn device(self, ordinal: u32) -> Result<DeviceInfo, DriverError> {
        DeviceInfo::read(handle(self, ordinal)?, ordinal)
    }
}

/// Every device that the driver sees, supported or not, in its order.
///
/// # Errors
/// Those of [`probe`].
///
/// ```
/// match fa3_sys::driver::devices() {
///     Ok(devices) => devices.iter().for_each(|device| println!("{device}")),
///     Err(error) => println!("{error}"),
/// }
/// ```
pub fn devices() -> Result<Vec<DeviceInfo>, DriverError> {
    let driver = probe()?;
    (0..driver.device_count()).map(|ordinal| driver.device(ordinal)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_prints_in_one_line_and_knows_its_architecture() {
        let mut device = DeviceInfo {
            ordinal: 2,
            name: "NVIDIA H200".to_owned(),
            uuid: [0; 16],
            compute_capability: (9, 0),
            sm_count: 132,
            memory_bytes: 141 << 30,
            l2_bytes: 60 << 20,
            max_shared_bytes: 227 * 1024,
            max_threads_per_block: 1024,
            clock_khz: 1_980_000,
        };
        let expected = "cuda:2 NVIDIA H200, compute capability 9.0, 132 SMs, 141.0 GiB, 60 MiB L2, \
                        227 KiB shared memory a block";
        assert_eq!(device.to_string(), expected);
        assert_eq!(device.arch(), Ok(Arch::Sm90a));
        device.compute_capability = (12, 0);
        assert!(device.arch().unwrap_err().to_string().contains("12.0"));
    }
}
