//! Kernel parameters: borrowed values, in the order of the kernel's declaration.

use core::ffi::c_void;
use core::fmt;
use core::marker::PhantomData;

use bytemuck::NoUninit;

use super::config::LaunchError;

/// The parameters of one launch. Borrows the values and allocates nothing.
///
/// Each value is copied by the driver at the launch: a tensor map, a parameter block
/// (`#[repr(C)]` and `bytemuck::Pod`), a [`DevicePtr`](super::DevicePtr), a number. The launch
/// compares their number and sizes with the kernel's own.
///
/// ```
/// use fa3_sys::driver::{DevicePtr, Params};
/// let (pointer, count) = (DevicePtr(0x7000_0000), 42u32);
/// let params = Params::new().with(&pointer).with(&count);
/// assert_eq!(params.sizes(), [8, 4]);
/// ```
#[derive(Clone)]
pub struct Params<'a> {
    pointers: [*const c_void; Params::MAX],
    sizes: [usize; Params::MAX],
    count: usize,
    values: PhantomData<&'a [u8]>,
}

// SAFETY: the pointers stand for shared borrows of plain bytes, which may cross threads.
unsafe impl Send for Params<'_> {}
// SAFETY: as above.
unsafe impl Sync for Params<'_> {}

impl Default for Params<'_> {
    fn default() -> Self {
        Self {
            pointers: [core::ptr::null(); Self::MAX],
            sizes: [0; Self::MAX],
            count: 0,
            values: PhantomData,
        }
    }
}

impl<'a> Params<'a> {
    /// The most parameters that one launch takes. A kernel with more should take a block.
    pub const MAX: usize = 32;

    /// No parameters yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the next parameter. More than [`Params::MAX`] make the launch fail.
    #[must_use]
    pub fn with<T: NoUninit>(mut self, value: &'a T) -> Self {
        self.push(value);
        self
    }

    /// Adds the next parameter, in place.
    pub fn push<T: NoUninit>(&mut self, value: &'a T) {
        if let (Some(pointer), Some(size)) =
            (self.pointers.get_mut(self.count), self.sizes.get_mut(self.count))
        {
            *pointer = core::ptr::from_ref(value).cast();
            *size = size_of::<T>();
        }
        self.count = self.count.saturating_add(1);
    }

    /// The size of each parameter, in bytes.
    pub fn sizes(&self) -> &[usize] {
        self.sizes.get(..self.count).unwrap_or(&self.sizes)
    }

    pub(crate) fn as_ptr(&self) -> *const *const c_void {
        self.pointers.as_ptr()
    }

    /// Compares number and sizes with those that the kernel declares.
    pub(crate) fn check(&self, declared: &[usize]) -> Result<(), LaunchError> {
        if self.count > Self::MAX {
            return Err(LaunchError::TooManyParams { given: self.count, max: Self::MAX });
        }
        if self.count != declared.len() {
            return Err(LaunchError::ParamCount { given: self.count, declared: declared.len() });
        }
        match self.sizes().iter().zip(declared).position(|(given, declared)| given != declared) {
            None => Ok(()),
            Some(index) => Err(LaunchError::ParamSize {
                index,
                given: self.sizes().get(index).copied().unwrap_or_default(),
                declared: declared.get(index).copied().unwrap_or_default(),
            }),
        }
    }
}

impl fmt::Debug for Params<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Params").field("sizes", &self.sizes()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_and_sizes_must_be_the_kernels() {
        let (a, b, map) = (1u64, 2u32, [0u64; 16]);
        let params = Params::new().with(&map).with(&a).with(&b);
        assert_eq!(params.check(&[128, 8, 4]), Ok(()));
        assert_eq!(params.check(&[128, 8]), Err(LaunchError::ParamCount { given: 3, declared: 2 }));
        let error = LaunchError::ParamSize { index: 2, given: 4, declared: 8 };
        assert_eq!(params.check(&[128, 8, 8]), Err(error));
        assert_eq!(Params::new().check(&[]), Ok(()));
    }

    #[test]
    fn one_too_many_is_refused_and_not_dropped() {
        let value = 7u32;
        let mut params = Params::new();
        (0..Params::MAX).for_each(|_| params.push(&value));
        assert_eq!(params.check(&[4; Params::MAX]), Ok(()));
        params.push(&value);
        let error = LaunchError::TooManyParams { given: Params::MAX + 1, max: Params::MAX };
        assert_eq!(params.check(&[4; Params::MAX]), Err(error));
    }

    #[test]
    fn pointers_lead_to_the_values() {
        let (a, b) = (0x0123_4567u32, 0x89ab_cdefu32);
        let params = Params::new().with(&a).with(&b);
        // SAFETY: two pointers were pushed, each to a live `u32`.
        let second = unsafe { *params.as_ptr().add(1).read().cast::<u32>() };
        assert_eq!(second, b);
    }
}
