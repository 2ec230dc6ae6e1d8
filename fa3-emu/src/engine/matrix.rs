//! 8×8 matrices of 16-bit elements between registers and shared memory (PTX ISA, "stmatrix",
//! "ldmatrix").
//!
//! Lane `8i + r` has the address of row `r` of matrix `i`. Of that row, lane `4r + p` has elements
//! `2p` and `2p + 1` in register `i`; transposed, of column `r`.

use super::shared::{SharedBounds, chunk, chunk_mut};

/// Why matrices are not moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MatrixError {
    /// A number of matrices that no instruction moves.
    #[error("{matrices} matrices: 1, 2 or 4 would do")]
    Matrices {
        /// How many.
        matrices: usize,
    },
    /// A row off 16 bytes.
    #[error("lane {lane} has the row at shared address {address:#x}: a multiple of 16 would do")]
    Alignment {
        /// The lane.
        lane: usize,
        /// Its address.
        address: u32,
    },
    /// A row that shared memory does not hold.
    #[error("lane {lane}: {source}")]
    Shared {
        /// The lane.
        lane: usize,
        /// What is not there.
        source: SharedBounds,
    },
}

/// Stores one matrix a register.
///
/// ```
/// use fa3_emu::engine::matrix;
/// // Lane l holds elements 2l and 2l + 1, row after row; the rows lie one after the other.
/// let pairs: [u32; 32] = std::array::from_fn(|l| 2 * l as u32 | (2 * l as u32 + 1) << 16);
/// let addresses = std::array::from_fn(|lane| 16 * (lane as u32 % 8));
/// let mut shared = [0; 128];
/// matrix::store(&addresses, &[&pairs], false, &mut shared)?;
/// assert_eq!(shared[126], 63);
/// matrix::store(&addresses, &[&pairs], true, &mut shared)?;
/// assert_eq!(shared[2], 8, "row 0, column 1 is row 1, column 0 of the registers");
/// # Ok::<(), matrix::MatrixError>(())
/// ```
///
/// # Errors
/// [`MatrixError`]; earlier rows may have been stored.
pub fn store(
    addresses: &[u32; 32],
    registers: &[&[u32; 32]],
    transpose: bool,
    shared: &mut [u8],
) -> Result<(), MatrixError> {
    check(registers.len())?;
    for (matrix, (register, addresses)) in registers.iter().zip(addresses.as_chunks::<8>().0).enumerate() {
        let elements = if transpose { transposed(&unpacked(register)) } else { unpacked(register) };
        for (row, (elements, &address)) in elements.iter().zip(addresses).enumerate() {
            let lane = 8 * matrix + row;
            let place = place(lane, address)?;
            let slot = chunk_mut(shared, place).map_err(|source| MatrixError::Shared { lane, source })?;
            for (bytes, element) in slot.as_chunks_mut().0.iter_mut().zip(elements) {
                *bytes = element.to_le_bytes();
            }
        }
    }
    Ok(())
}

/// Loads one matrix a register, the inverse of [`store`].
///
/// # Errors
/// [`MatrixError`].
pub fn load(
    addresses: &[u32; 32],
    registers: &mut [[u32; 32]],
    transpose: bool,
    shared: &[u8],
) -> Result<(), MatrixError> {
    check(registers.len())?;
    for (matrix, (register, addresses)) in registers.iter_mut().zip(addresses.as_chunks::<8>().0).enumerate()
    {
        let mut elements = [[0; 8]; 8];
        for (row, (elements, &address)) in elements.iter_mut().zip(addresses).enumerate() {
            let lane = 8 * matrix + row;
            let place = place(lane, address)?;
            let bytes = chunk(shared, place).map_err(|source| MatrixError::Shared { lane, source })?;
            for (element, bytes) in elements.iter_mut().zip(bytes.as_chunks().0) {
                *element = u16::from_le_bytes(*bytes);
            }
        }
        *register = packed(&if transpose { transposed(&elements) } else { elements });
    }
    Ok(())
}

fn check(matrices: usize) -> Result<(), MatrixError> {
    if matches!(matrices, 1 | 2 | 4) { Ok(()) } else { Err(MatrixError::Matrices { matrices }) }
}

fn place(lane: usize, address: u32) -> Result<usize, MatrixError> {
    if !address.is_multiple_of(16) {
        return Err(MatrixError::Alignment { lane, address });
    }
    Ok(usize::try_from(address).unwrap_or(usize::MAX))
}

fn unpacked(register: &[u32; 32]) -> [[u16; 8]; 8] {
    std::array::from_fn(|row| {
        std::array::from_fn(|column| (register[4 * row + column / 2] >> (16 * (column % 2))) as u16)
    })
}

fn packed(elements: &[[u16; 8]; 8]) -> [u32; 32] {
    std::array::from_fn(|lane| {
        let (row, column) = (&elements[lane / 4], lane % 4 * 2);
        u32::from(row[column]) | u32::from(row[column + 1]) << 16
    })
}

fn transposed(elements: &[[u16; 8]; 8]) -> [[u16; 8]; 8] {
    std::array::from_fn(|row| std::array::from_fn(|column| elements[column][row]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn misuse_is_refused() {
        let (register, mut shared) = ([0; 32], [0; 512]);
        let three = [&register; 3];
        let mut addresses = std::array::from_fn(|lane| 16 * lane as u32);
        assert_eq!(store(&addresses, &three, false, &mut shared), Err(MatrixError::Matrices { matrices: 3 }));
        assert_eq!(store(&addresses, &[&register; 4], false, &mut shared), Ok(()));
        assert!(store(&addresses, &[&register; 4], false, &mut shared[..511]).is_err());
        addresses[9] = 8;
        let refused = Err(MatrixError::Alignment { lane: 9, address: 8 });
        assert_eq!(store(&addresses, &[&register; 1], false, &mut shared), Ok(()), "lane 9 has no row");
        assert_eq!(store(&addresses, &[&register; 2], false, &mut shared), refused);
        assert_eq!(load(&addresses, &mut [[0; 32]; 2], false, &shared), refused);
    }

    proptest! {
        #[test]
        fn elements_lie_at_their_row_and_come_back(
            words in prop::collection::vec(any::<[u32; 32]>(), 4),
            count in prop::sample::select(vec![1_usize, 2, 4]),
            places in Just((0_u32..32).collect::<Vec<_>>()).prop_shuffle(),
            transpose: bool,
        ) {
            let addresses: [u32; 32] = std::array::from_fn(|lane| 16 * places[lane]);
            let registers: Vec<&[u32; 32]> = words.iter().take(count).collect();
            let mut shared = [0; 512];
            store(&addresses, &registers, transpose, &mut shared).unwrap();
            for (i, register) in registers.iter().enumerate() {
                for row in 0..8 {
                    for column in 0..8 {
                        let (r, c) = if transpose { (column, row) } else { (row, column) };
                        let at = addresses[8 * i + row] as usize + 2 * column;
                        let element = (register[4 * r + c / 2] >> (16 * (c % 2))) as u16;
                        prop_assert_eq!(shared[at..at + 2].to_vec(), element.to_le_bytes().to_vec());
                    }
                }
            }
            let mut back = vec![[0; 32]; count];
            load(&addresses, &mut back, transpose, &shared).unwrap();
            prop_assert_eq!(&back[..], &words[..count]);
        }
    }
}
