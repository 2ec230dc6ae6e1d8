//! Checked access to a CTA's shared memory.

/// An access that reaches beyond the CTA's shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{bytes} bytes at shared address {address:#x} do not fit the {size} bytes of shared memory")]
pub struct SharedBounds {
    /// Where the access begins.
    pub address: usize,
    /// Its length.
    pub bytes: usize,
    /// The length of shared memory.
    pub size: usize,
}

/// The 16 bytes at `address`.
pub(crate) fn chunk(shared: &[u8], address: usize) -> Result<&[u8; 16], SharedBounds> {
    let found = shared.get(address..).and_then(<[u8]>::first_chunk);
    found.ok_or(SharedBounds { address, bytes: 16, size: shared.len() })
}

/// The 16 bytes at `address`, to be written.
pub(crate) fn chunk_mut(shared: &mut [u8], address: usize) -> Result<&mut [u8; 16], SharedBounds> {
    let size = shared.len();
    let found = shared.get_mut(address..).and_then(<[u8]>::first_chunk_mut);
    found.ok_or(SharedBounds { address, bytes: 16, size })
}

/// That `bytes` bytes at `address` are there.
pub(crate) fn check(shared: &[u8], address: usize, bytes: usize) -> Result<(), SharedBounds> {
    let size = shared.len();
    match address.checked_add(bytes) {
        Some(end) if end <= size => Ok(()),
        _ => Err(SharedBounds { address, bytes, size }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_chunk_is_in_bounds_and_the_next_byte_is_not() {
        let mut shared = [0; 64];
        assert!(chunk(&shared, 48).is_ok() && chunk_mut(&mut shared, 48).is_ok());
        let beyond = SharedBounds { address: 49, bytes: 16, size: 64 };
        assert_eq!(chunk(&shared, 49), Err(beyond));
        assert_eq!(chunk_mut(&mut shared, 49), Err(beyond));
        assert_eq!(check(&shared, 0, 64), Ok(()));
        assert_eq!(check(&shared, 1, 64), Err(SharedBounds { address: 1, bytes: 64, size: 64 }));
        assert!(check(&shared, usize::MAX, 1).is_err());
    }
}
