//! Device memory that is owned.

use bytemuck::{NoUninit, Pod};

use super::context::Context;
use super::error::{DriverError, OUT_OF_MEMORY};
use super::memory::{DevicePtr, MemoryInfo};
use super::stream::Stream;
use super::{call, report_drop_error};

/// Device memory that is freed when dropped. Its address is a multiple of 256; what is in it at
/// first is arbitrary.
///
/// Offsets are in bytes, and every range is checked. Operations are ordered on the stream that
/// they name; work on other streams is ordered by events or by synchronising. Dropping a buffer
/// waits for the device to finish with it (`cuMemFree`).
#[derive(Debug)]
pub struct Buffer {
    context: Context,
    pointer: DevicePtr,
    bytes: usize,
}

impl Buffer {
    /// Allocates `bytes` bytes. Zero bytes are no allocation, at the null address.
    ///
    /// # Errors
    /// [`DriverError::OutOfMemory`]; otherwise what the driver says.
    pub fn new(context: &Context, bytes: usize) -> Result<Self, DriverError> {
        let mut address = 0;
        if bytes > 0 {
            context.bind()?;
            // SAFETY: a context is current, and `address` is valid for the write.
            match unsafe { call!(cuMemAlloc_v2(&raw mut address, bytes)) } {
                Err(DriverError::Api { code: OUT_OF_MEMORY, .. }) => {
                    let MemoryInfo { free, total } = context.memory()?;
                    return Err(DriverError::OutOfMemory { requested: bytes, free, total });
                }
                result => result?,
            }
        }
        tracing::trace!(bytes, address, "device memory allocated");
        Ok(Self { context: context.clone(), pointer: DevicePtr(address), bytes })
    }

    /// Allocates room for `data` and copies it there; waits for the copy.
    ///
    /// # Errors
    /// Those of [`Buffer::new`] and [`Buffer::write`].
    pub fn from_slice<T: NoUninit>(stream: &Stream, data: &[T]) -> Result<Self, DriverError> {
        let buffer = Self::new(stream.context(), size_of_val(data))?;
        buffer.write(stream, 0, data)?;
        Ok(buffer)
    }

    /// Allocates `bytes` bytes and sets them to zero, in the order of `stream`.
    ///
    /// # Errors
    /// Those of [`Buffer::new`]; otherwise what the driver says.
    pub fn zeroed(stream: &Stream, bytes: usize) -> Result<Self, DriverError> {
        let buffer = Self::new(stream.context(), bytes)?;
        buffer.fill_u8(stream, 0)?;
        Ok(buffer)
    }

    /// Gives up ownership: the address and the size, to free with [`Buffer::from_raw`].
    pub fn into_raw(self) -> (DevicePtr, usize) {
        let mut this = self;
        // A buffer of no bytes frees nothing when dropped, and the context is released as usual.
        (this.pointer, core::mem::take(&mut this.bytes))
    }

    /// Takes ownership of memory, which is freed when the buffer is dropped.
    ///
    /// # Safety
    /// `pointer` and `bytes` come from [`Buffer::into_raw`] of a buffer of the same context, or
    /// are what `cuMemAlloc` returned and was asked for, and nothing else frees the memory.
    pub unsafe fn from_raw(context: &Context, pointer: DevicePtr, bytes: usize) -> Self {
        Self { context: context.clone(), pointer, bytes }
    }

    /// The first byte's address.
    pub fn ptr(&self) -> DevicePtr {
        self.pointer
    }

    /// How many bytes it has.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The context that it belongs to.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Copies `data` to `offset`, and waits for the stream to have done it.
    ///
    /// # Errors
    /// [`DriverError::OutOfRange`], [`DriverError::WrongContext`], [`DriverError::Fault`];
    /// otherwise what the driver says.
    pub fn write<T: NoUninit>(&self, stream: &Stream, offset: usize, data: &[T]) -> Result<(), DriverError> {
        // SAFETY: `synchronize` returns after the copy, and `data` and `self` are borrowed until
        // then. Where it fails, the context is lost or the stream is being captured, and then
        // synchronising has invalidated the capture, so that the copy never runs.
        unsafe { self.write_async(stream, offset, data)? };
        stream.synchronize()
    }

    /// Copies from `offset` into `data`, and waits for the stream to have done it.
    ///
    /// # Errors
    /// [`DriverError::OutOfRange`], [`DriverError::WrongContext`], [`DriverError::Fault`];
    /// otherwise what the driver says.
    pub fn read<T: Pod>(&self, stream: &Stream, offset: usize, data: &mut [T]) -> Result<(), DriverError> {
        // SAFETY: as in `write`; `data` is borrowed mutably until the copy is done.
        unsafe { self.read_async(stream, offset, data)? };
        stream.synchronize()
    }

    /// The whole buffer as values on the host; waits for the stream.
    ///
    /// # Errors
    /// [`DriverError::PartialElement`] unless the buffer is a whole number of `T`; those of
    /// [`Buffer::read`].
    pub fn to_vec<T: Pod>(&self, stream: &Stream) -> Result<Vec<T>, DriverError> {
        let element = size_of::<T>();
        if element == 0 || !self.bytes.is_multiple_of(element) {
            return Err(DriverError::PartialElement { operation: "to_vec", size: self.bytes, element });
        }
        let mut data = vec![T::zeroed(); self.bytes / element];
        self.read(stream, 0, &mut data)?;
        Ok(data)
    }

    /// Copies `data` to `offset` in the order of `stream`, without waiting.
    ///
    /// # Errors
    /// [`DriverError::OutOfRange`], [`DriverError::WrongContext`]; otherwise what the driver says.
    ///
    /// # Safety
    /// `data` lives, unchanged, until the stream has done the copy. (From pageable memory the
    /// driver usually copies before it returns; from page-locked memory it does not.)
    pub unsafe fn write_async<T: NoUninit>(
        &self,
        stream: &Stream,
        offset: usize,
        data: &[T],
    ) -> Result<(), DriverError> {
        let source: &[u8] = bytemuck::cast_slice(data);
        let to = self.range("write", stream, offset, source.len())?;
        // SAFETY: the range lies in `self`, which frees it only after the device is done with it;
        // the caller answers for `data`.
        unsafe { stream.copy_to_device(to, source) }
    }

    /// Copies from `offset` into `data` in the order of `stream`, without waiting.
    ///
    /// # Errors
    /// [`DriverError::OutOfRange`], [`DriverError::WrongContext`]; otherwise what the driver says.
    ///
    /// # Safety
    /// `data` lives until the stream has done the copy, and nothing reads or writes it before.
    pub unsafe fn read_async<T: Pod>(
        &self,
        stream: &Stream,
        offset: usize,
        data: &mut [T],
    ) -> Result<(), DriverError> {
        let target: &mut [u8] = bytemuck::cast_slice_mut(data);
        let from = self.range("read", stream, offset, target.len())?;
        // SAFETY: as in `write_async`.
        unsafe { stream.copy_to_host(target, from) }
    }

    /// Copies `bytes` bytes of `source` at `source_offset` to `offset`, in the order of `stream`.
    ///
    /// # Errors
    /// [`DriverError::OutOfRange`], [`DriverError::WrongContext`]; otherwise what the driver says.
    pub fn copy_from(
        &self,
        stream: &Stream,
        offset: usize,
        source: &Self,
        source_offset: usize,
        bytes: usize,
    ) -> Result<(), DriverError> {
        let to = self.range("copy (target)", stream, offset, bytes)?;
        let from = source.range("copy (source)", stream, source_offset, bytes)?;
        // SAFETY: both ranges lie in buffers, which free them only after the device is done; an
        // overlap within one buffer leaves its bytes arbitrary, as they may be at any time.
        unsafe { stream.copy_on_device(to, from, bytes) }
    }

    /// Sets every byte to `value`, in the order of `stream`.
    ///
    /// # Errors
    /// [`DriverError::WrongContext`]; otherwise what the driver says.
    pub fn fill_u8(&self, stream: &Stream, value: u8) -> Result<(), DriverError> {
        let to = self.range("fill", stream, 0, self.bytes)?;
        // SAFETY: the range is the whole buffer, which frees it only after the device is done.
        unsafe { stream.fill_u8(to, value, self.bytes) }
    }

    /// Sets every 32-bit word to `value`, in the order of `stream`.
    ///
    /// # Errors
    /// [`DriverError::PartialElement`] unless the size is a multiple of 4;
    /// [`DriverError::WrongContext`]; otherwise what the driver says.
    pub fn fill_u32(&self, stream: &Stream, value: u32) -> Result<(), DriverError> {
        if !self.bytes.is_multiple_of(4) {
            return Err(DriverError::PartialElement { operation: "fill_u32", size: self.bytes, element: 4 });
        }
        let to = self.range("fill", stream, 0, self.bytes)?;
        // SAFETY: the range is the whole buffer, which frees it only after the device is done.
        unsafe { stream.fill_u32(to, value, self.bytes / 4) }
    }

    fn range(
        &self,
        operation: &'static str,
        stream: &Stream,
        offset: usize,
        bytes: usize,
    ) -> Result<DevicePtr, DriverError> {
        self.context.expect_same("the buffer", stream.context(), "the stream")?;
        range(self.pointer, self.bytes, operation, offset, bytes)
    }
}

/// The address of `bytes` bytes at `offset` of `size` bytes at `pointer`.
fn range(
    pointer: DevicePtr,
    size: usize,
    operation: &'static str,
    offset: usize,
    bytes: usize,
) -> Result<DevicePtr, DriverError> {
    let fits = offset.checked_add(bytes).is_some_and(|end| end <= size);
    pointer.offset(offset).filter(|_| fits).ok_or(DriverError::OutOfRange { operation, offset, bytes, size })
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.bytes > 0 {
            let result = self.context.bind().and_then(|()| {
                // SAFETY: `self` owns the allocation, and nothing can name it after this.
                unsafe { call!(cuMemFree_v2(self.pointer.0)) }
            });
            report_drop_error("device memory", result);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_end_at_the_last_byte() {
        let at = |offset, bytes| range(DevicePtr(0x100), 16, "write", offset, bytes);
        assert_eq!(at(0, 16), Ok(DevicePtr(0x100)));
        assert_eq!(at(12, 4), Ok(DevicePtr(0x10c)));
        assert_eq!(at(16, 0), Ok(DevicePtr(0x110)));
        let error = DriverError::OutOfRange { operation: "write", offset: 13, bytes: 4, size: 16 };
        assert_eq!(at(13, 4), Err(error.clone()));
        assert!(error.to_string().contains("write of 4 bytes at offset 13"), "{error}");
        assert!(at(17, 0).is_err());
        assert!(at(usize::MAX, 2).is_err());
    }
}
