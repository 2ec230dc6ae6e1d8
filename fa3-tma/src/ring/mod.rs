//! The ring on the host: where its stages and barriers lie in shared memory, and the arithmetic
//! of stages and phases that the device side does.
//!
//! A launcher needs the same numbers as the kernel: the bytes of dynamic shared memory, whether
//! they fit, and how many stages would.
//!
//! ```
//! use fa3_tma::ring::{Alignment, Layout, Tile};
//! // K tiles of 128 rows of 128 bf16 values, swizzled by 128 bytes, after 32 KiB of queries.
//! let tile = Tile { bytes: 128 * 128 * 2, alignment: Alignment::Swizzle128 };
//! let most = Layout::most_stages(tile, 32 * 1024, 227 * 1024);
//! assert_eq!(most, 6);
//! let ring = Layout::new(tile, most, 32 * 1024, 227 * 1024)?;
//! assert_eq!(ring.stage(1), Some(64 * 1024));
//! assert_eq!(ring.end(), 32 * 1024 + 6 * 32 * 1024 + 6 * 16);
//! # Ok::<(), fa3_tma::ring::LayoutError>(())
//! ```

mod cursor;
mod layout;

pub use cursor::{Cursor, Phase};
pub use layout::{Alignment, BARRIER_BYTES, Layout, LayoutError, MAX_TILE_BYTES, Tile};
