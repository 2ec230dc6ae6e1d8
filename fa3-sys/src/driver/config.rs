//! How a kernel is launched, and the rules that this must keep.

use core::fmt;

/// How a kernel is launched.
///
/// ```
/// use fa3_sys::driver::LaunchConfig;
/// let config = LaunchConfig {
///     shared_bytes: 200 * 1024,
///     cluster: Some([2, 1, 1]),
///     ..LaunchConfig::new([132, 1, 1], [384, 1, 1])
/// };
/// assert_eq!(config.blocks(), 132);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LaunchConfig {
    /// Blocks along x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block along x, y and z.
    pub block: [u32; 3],
    /// Dynamic shared memory of a block, bytes.
    pub shared_bytes: u32,
    /// Blocks of a cluster along x, y and z. `None` for no cluster, or for the one that the kernel
    /// was compiled for (`.reqnctapercluster`).
    pub cluster: Option<[u32; 3]>,
    /// All blocks run at the same time, so that they can wait for one another
    /// (`CU_LAUNCH_ATTRIBUTE_COOPERATIVE`). The driver refuses a grid that does not fit.
    pub cooperative: bool,
    /// The kernel may start before the one ahead of it in the stream has ended, and waits for its
    /// results itself, with `griddepcontrol.wait`
    /// (`CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION`).
    pub programmatic: bool,
}

/// What a launch may ask for of a kernel on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchLimits {
    /// The most threads a block may have: the device's limit, or the kernel's, if registers or
    /// `.maxntid` make that smaller.
    pub max_threads_per_block: u32,
    /// The most dynamic shared memory a block may have, bytes: the device's limit for one block
    /// less the kernel's static shared memory.
    pub max_shared_bytes: u32,
    /// The cluster that the kernel was compiled for.
    pub required_cluster: Option<[u32; 3]>,
}

/// The rule that a launch broke. Sources: CUDA Programming Guide, "Compute Capabilities" (grid and
/// block) and "Thread Block Clusters"; PTX ISA, "Cluster Dimension Directives".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// A grid dimension is zero or too large.
    #[error("grid is {}: each must be at least 1, x at most 2147483647, y and z at most 65535", Dims(.grid))]
    Grid {
        /// The grid asked for.
        grid: [u32; 3],
    },
    /// A block dimension is zero or too large.
    #[error("block is {}: each must be at least 1, x and y at most 1024, z at most 64", Dims(.block))]
    Block {
        /// The block asked for.
        block: [u32; 3],
    },
    /// A block has too many threads.
    #[error("block is {}, {threads} threads: this kernel takes at most {max}", Dims(.block))]
    Threads {
        /// The block asked for.
        block: [u32; 3],
        /// Its threads.
        threads: u64,
        /// The most there may be.
        max: u32,
    },
    /// A block has too much shared memory.
    #[error("shared_bytes is {shared_bytes}: this kernel takes at most {max} bytes of it on this device")]
    SharedMemory {
        /// The bytes asked for.
        shared_bytes: u32,
        /// The most there may be.
        max: u32,
    },
    /// A cluster dimension is zero or the cluster too large.
    #[error("cluster is {}: each must be at least 1, and their product at most 8", Dims(.cluster))]
    Cluster {
        /// The cluster asked for.
        cluster: [u32; 3],
    },
    /// The grid is no whole number of clusters.
    #[error("grid is {}, cluster is {}: each grid dimension must be a multiple of the cluster's", Dims(.grid), Dims(.cluster))]
    PartialCluster {
        /// The grid asked for.
        grid: [u32; 3],
        /// The cluster, asked for or compiled in.
        cluster: [u32; 3],
    },
    /// The kernel was compiled for another cluster.
    #[error("cluster is {}: the kernel was compiled for {}; ask for that or for none", Dims(.cluster), Dims(.required))]
    OtherCluster {
        /// The cluster asked for.
        cluster: [u32; 3],
        /// The cluster compiled in.
        required: [u32; 3],
    },
    /// There are more parameters than a launch can carry.
    #[error("{given} parameters were given: a launch carries at most {max}; put them in a block")]
    TooManyParams {
        /// How many there are.
        given: usize,
        /// How many there may be.
        max: usize,
    },
    /// The number of parameters is not the kernel's.
    #[error("{given} parameters were given: the kernel declares {declared}")]
    ParamCount {
        /// How many there are.
        given: usize,
        /// How many the kernel declares.
        declared: usize,
    },
    /// The size of a parameter is not the kernel's.
    #[error("parameter {index} has {given} bytes: the kernel declares {declared}")]
    ParamSize {
        /// Which parameter, from 0.
        index: usize,
        /// The bytes given.
        given: usize,
        /// The bytes that the kernel declares.
        declared: usize,
    },
}

struct Dims<'a>(&'a [u32; 3]);

impl fmt::Display for Dims<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.0;
        write!(f, "{x}×{y}×{z}")
    }
}

fn product(dims: [u32; 3]) -> u64 {
    dims.iter().fold(1, |product: u64, &dim| product.saturating_mul(u64::from(dim)))
}

impl LaunchConfig {
    /// The largest cluster that every device with clusters runs.
    pub const MAX_CLUSTER: u32 = 8;

    /// A plain launch: no dynamic shared memory, no cluster, no attribute.
    pub const fn new(grid: [u32; 3], block: [u32; 3]) -> Self {
        Self { grid, block, shared_bytes: 0, cluster: None, cooperative: false, programmatic: false }
    }

    /// How many blocks it launches.
    pub fn blocks(&self) -> u64 {
        product(self.grid)
    }

    /// Whether a kernel with these limits can be launched so.
    ///
    /// # Errors
    /// The first rule that is broken.
    ///
    /// ```
    /// use fa3_sys::driver::{LaunchConfig, LaunchError, LaunchLimits};
    /// let limits = LaunchLimits {
    ///     max_threads_per_block: 1024, max_shared_bytes: 227 * 1024, required_cluster: None,
    /// };
    /// let config = LaunchConfig { cluster: Some([2, 1, 1]), ..LaunchConfig::new([3, 1, 1], [128, 1, 1]) };
    /// let error = config.check(&limits).unwrap_err();
    /// assert_eq!(error, LaunchError::PartialCluster { grid: [3, 1, 1], cluster: [2, 1, 1] });
    /// ```
    pub fn check(&self, limits: &LaunchLimits) -> Result<(), LaunchError> {
        let Self { grid, block, shared_bytes, cluster, .. } = *self;
        let within = |dims: [u32; 3], most: [u32; 3]| {
            dims.iter().zip(most).all(|(&dim, most)| (1..=most).contains(&dim))
        };
        if !within(grid, [i32::MAX as u32, 65_535, 65_535]) {
            return Err(LaunchError::Grid { grid });
        }
        if !within(block, [1024, 1024, 64]) {
            return Err(LaunchError::Block { block });
        }
        let (threads, max) = (product(block), limits.max_threads_per_block);
        if threads > u64::from(max) {
            return Err(LaunchError::Threads { block, threads, max });
        }
        if shared_bytes > limits.max_shared_bytes {
            return Err(LaunchError::SharedMemory { shared_bytes, max: limits.max_shared_bytes });
        }
        if let Some(cluster) = cluster {
            if !within(cluster, [Self::MAX_CLUSTER; 3]) || product(cluster) > u64::from(Self::MAX_CLUSTER) {
                return Err(LaunchError::Cluster { cluster });
            }
            if let Some(required) = limits.required_cluster.filter(|&required| required != cluster) {
                return Err(LaunchError::OtherCluster { cluster, required });
            }
        }
        if let Some(cluster) = cluster.or(limits.required_cluster)
            && grid.iter().zip(cluster).any(|(grid, cluster)| !grid.is_multiple_of(cluster.max(1)))
        {
            return Err(LaunchError::PartialCluster { grid, cluster });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: LaunchLimits =
        LaunchLimits { max_threads_per_block: 1024, max_shared_bytes: 1000, required_cluster: None };

    fn config(grid: [u32; 3], block: [u32; 3]) -> LaunchConfig {
        LaunchConfig::new(grid, block)
    }

    #[test]
    fn grid_and_block_limits_are_exact() {
        assert_eq!(config([i32::MAX as u32, 65_535, 65_535], [1024, 1, 1]).check(&LIMITS), Ok(()));
        for grid in [[0, 1, 1], [1 << 31, 1, 1], [1, 65_536, 1], [1, 1, 65_536], [1, 0, 1]] {
            assert_eq!(config(grid, [1; 3]).check(&LIMITS), Err(LaunchError::Grid { grid }));
        }
        assert_eq!(config([1; 3], [16, 1, 64]).check(&LIMITS), Ok(()));
        for block in [[0, 1, 1], [1025, 1, 1], [1, 1025, 1], [1, 1, 65]] {
            assert_eq!(config([1; 3], block).check(&LIMITS), Err(LaunchError::Block { block }));
        }
        let error = LaunchError::Threads { block: [32, 33, 1], threads: 1056, max: 1024 };
        assert_eq!(config([1; 3], [32, 33, 1]).check(&LIMITS), Err(error));
        let few = LaunchLimits { max_threads_per_block: 384, ..LIMITS };
        assert!(config([1; 3], [384, 1, 1]).check(&few).is_ok());
        assert!(config([1; 3], [385, 1, 1]).check(&few).is_err());
    }

    #[test]
    fn shared_memory_ends_at_the_limit() {
        let with = |shared_bytes| LaunchConfig { shared_bytes, ..config([1; 3], [1; 3]) };
        assert_eq!(with(1000).check(&LIMITS), Ok(()));
        let error = LaunchError::SharedMemory { shared_bytes: 1001, max: 1000 };
        assert_eq!(with(1001).check(&LIMITS), Err(error));
    }

    #[test]
    fn clusters_are_portable_whole_and_the_kernels() {
        let with = |grid, cluster| LaunchConfig { cluster: Some(cluster), ..config(grid, [1; 3]) };
        assert_eq!(with([16, 2, 1], [4, 2, 1]).check(&LIMITS), Ok(()));
        for cluster in [[0, 1, 1], [9, 1, 1], [4, 4, 1], [3, 3, 1], [u32::MAX; 3]] {
            assert_eq!(with([144, 16, 1], cluster).check(&LIMITS), Err(LaunchError::Cluster { cluster }));
        }
        let error = LaunchError::PartialCluster { grid: [16, 3, 1], cluster: [4, 2, 1] };
        assert_eq!(with([16, 3, 1], [4, 2, 1]).check(&LIMITS), Err(error));

        let compiled = LaunchLimits { required_cluster: Some([2, 1, 1]), ..LIMITS };
        assert_eq!(with([4, 1, 1], [2, 1, 1]).check(&compiled), Ok(()));
        assert_eq!(config([4, 1, 1], [1; 3]).check(&compiled), Ok(()));
        let error = LaunchError::OtherCluster { cluster: [4, 1, 1], required: [2, 1, 1] };
        assert_eq!(with([4, 1, 1], [4, 1, 1]).check(&compiled), Err(error));
        assert!(config([3, 1, 1], [1; 3]).check(&compiled).is_err());
    }

    #[test]
    fn errors_print_the_values_and_the_rule() {
        let text = LaunchError::PartialCluster { grid: [3, 1, 1], cluster: [2, 1, 1] }.to_string();
        assert!(text.contains("3×1×1") && text.contains("2×1×1") && text.contains("multiple"), "{text}");
    }
}
