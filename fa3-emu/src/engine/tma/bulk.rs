//! Copies of contiguous bytes, without a tensor map (PTX ISA, "cp.async.bulk",
//! "cp.reduce.async.bulk").

use crate::engine::shared;
use crate::ir::bulk::{BulkReduce, ElementTy};

use super::combine::combination;
use super::{Global, TmaError};

/// Addresses and sizes of bulk copies are multiples of this.
const GRANULE: u64 = 16;

/// Copies `bytes` bytes from global address `source` to shared address `destination`.
///
/// ```
/// use fa3_emu::engine::tma;
/// let (global, mut shared) = ([7; 64], [0; 32]);
/// tma::bulk_load(&global[..], 48, &mut shared, 16, 16)?;
/// assert_eq!(shared[15..18], [0, 7, 7]);
/// # Ok::<(), tma::TmaError>(())
/// ```
///
/// # Errors
/// [`TmaError::BulkGranule`] off multiples of 16, and where either memory does not hold the bytes.
pub fn bulk_load<G: Global + ?Sized>(
    global: &G,
    source: u64,
    shared: &mut [u8],
    destination: u32,
    bytes: u32,
) -> Result<(), TmaError> {
    let range = checked(shared, destination, source, bytes)?;
    Ok(global.read(source, shared.get_mut(range).unwrap_or_default())?)
}

/// Copies `bytes` bytes from shared address `source` to global address `destination`.
///
/// # Errors
/// Those of [`bulk_load`].
pub fn bulk_store<G: Global + ?Sized>(
    shared: &[u8],
    source: u32,
    global: &mut G,
    destination: u64,
    bytes: u32,
) -> Result<(), TmaError> {
    let range = checked(shared, source, destination, bytes)?;
    Ok(global.write(destination, shared.get(range).unwrap_or_default())?)
}

/// Combines `bytes` bytes of elements at shared address `source` with those at global address
/// `destination`, in the arithmetic of [`TileMap::reduce`](super::TileMap::reduce).
///
/// # Errors
/// Those of [`bulk_load`], and [`TmaError::Reduction`] for an operation that the type does not have.
pub fn bulk_reduce<G: Global + ?Sized>(
    reduction: BulkReduce,
    element: ElementTy,
    shared: &[u8],
    source: u32,
    global: &mut G,
    destination: u64,
    bytes: u32,
) -> Result<(), TmaError> {
    let combine = combination(reduction, element)?;
    let range = checked(shared, source, destination, bytes)?;
    let from = shared.get(range).unwrap_or_default();
    Ok(global.update(destination, from.len(), &mut |to| combine(to, from))?)
}

/// The range of shared memory.
fn checked(
    shared: &[u8],
    address: u32,
    global: u64,
    bytes: u32,
) -> Result<core::ops::Range<usize>, TmaError> {
    let operands =
        [("shared address", u64::from(address)), ("global address", global), ("size", bytes.into())];
    if let Some((operand, value)) = operands.into_iter().find(|(_, value)| value % GRANULE != 0) {
        return Err(TmaError::BulkGranule { operand, value });
    }
    let [start, length] = [address, bytes].map(|value| usize::try_from(value).unwrap_or(usize::MAX));
    shared::check(shared, start, length)?;
    Ok(start..start.saturating_add(length))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::tma::Unmapped;

    #[test]
    fn bytes_go_there_and_back() {
        let mut global: Vec<u8> = (0..64).collect();
        let mut shared = [0; 48];
        bulk_load(&global[..], 16, &mut shared, 16, 32).unwrap();
        assert_eq!((shared[15], &shared[16..]), (0, &global[16..48]));
        bulk_store(&shared, 16, &mut global[..], 32, 32).unwrap();
        assert_eq!(global[32..], shared[16..]);
        bulk_reduce(BulkReduce::Add, ElementTy::U32, &shared, 16, &mut global[..], 32, 32).unwrap();
        assert_eq!(global[32], 32, "16 + 16");
    }

    #[test]
    fn operands_off_sixteen_and_out_of_bounds_are_refused() {
        let (mut global, mut shared) = ([0; 64], [0; 64]);
        let granule = |operand, value| Err(TmaError::BulkGranule { operand, value });
        assert_eq!(bulk_load(&global[..], 8, &mut shared, 0, 16), granule("global address", 8));
        assert_eq!(bulk_load(&global[..], 0, &mut shared, 4, 16), granule("shared address", 4));
        assert_eq!(bulk_store(&shared, 0, &mut global[..], 0, 17), granule("size", 17));
        let unmapped = Unmapped { address: 48, bytes: 32 };
        assert_eq!(bulk_load(&global[..], 48, &mut shared, 0, 32), Err(TmaError::Global(unmapped)));
        assert_eq!(bulk_store(&shared, 0, &mut global[..], 48, 32), Err(TmaError::Global(unmapped)));
        assert!(matches!(bulk_load(&global[..], 0, &mut shared, 48, 32), Err(TmaError::Shared(_))));
        let refused = bulk_reduce(BulkReduce::Inc, ElementTy::F32, &shared, 0, &mut global[..], 0, 16);
        assert!(matches!(refused, Err(TmaError::Reduction { .. })));
    }
}
