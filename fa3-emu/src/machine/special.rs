//! Special registers. PTX ISA, "Special Registers".

use super::cluster::Cluster;
use super::lanes::Lanes;
use super::warp::Warp;
use crate::ir::Special;

/// The emulated device runs a launch as if it had one multiprocessor.
const MULTIPROCESSORS: u32 = 1;

/// The component of a vector that a special register names.
fn component(vector: [u32; 3], index: u8) -> u32 {
    vector.get(usize::from(index)).copied().unwrap_or(0)
}

/// A number in mixed radix: the coordinates of an index, x fastest.
pub(super) fn coordinates(index: u32, extents: [u32; 3]) -> [u32; 3] {
    let [x, y, _] = extents.map(|extent| extent.max(1));
    [index % x, index / x % y, index / x / y]
}

impl Cluster<'_> {
    /// The value of a special register in each lane.
    pub(super) fn special(&self, special: Special, warp: &Warp) -> Lanes<u32> {
        let geometry = self.geometry;
        let cta = self.ctas[warp.cta].index;
        let pairs = |f: fn(u32, u32) -> u32, a: [u32; 3], b: [u32; 3]| {
            std::array::from_fn(|axis| f(a[axis], b[axis].max(1)))
        };
        let quotient = |a, b| pairs(|a, b| a / b, a, b);
        let value = match special {
            Special::Tid(axis) => {
                return std::array::from_fn(|lane| {
                    component(coordinates(32 * warp.index + lane as u32, geometry.block), axis)
                });
            }
            Special::Laneid => return std::array::from_fn(|lane| lane as u32),
            Special::LanemaskEq => return std::array::from_fn(|lane| 1 << lane),
            Special::LanemaskLt => return std::array::from_fn(|lane| (1 << lane) - 1),
            Special::LanemaskLe => return std::array::from_fn(|lane| (1 << lane) | ((1 << lane) - 1)),
            Special::LanemaskGt => return std::array::from_fn(|lane| !((1 << lane) | ((1 << lane) - 1))),
            Special::LanemaskGe => return std::array::from_fn(|lane| !((1_u32 << lane) - 1)),
            Special::Ntid(axis) => component(geometry.block, axis),
            Special::Ctaid(axis) => component(cta, axis),
            Special::Nctaid(axis) => component(geometry.grid, axis),
            Special::Clusterid(axis) => component(quotient(cta, geometry.cluster), axis),
            Special::Nclusterid(axis) => component(quotient(geometry.grid, geometry.cluster), axis),
            Special::ClusterCtaid(axis) => component(pairs(|a, b| a % b, cta, geometry.cluster), axis),
            Special::ClusterNctaid(axis) => component(geometry.cluster, axis),
            Special::ClusterCtarank => warp.cta as u32,
            Special::ClusterNctarank => self.ctas.len() as u32,
            Special::Warpid => warp.index,
            Special::Smid => 0,
            Special::Nsmid => MULTIPROCESSORS,
            Special::DynamicSmemSize => geometry.dynamic_shared,
            Special::TotalSmemSize => geometry.shared_bytes,
        };
        [value; 32]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_count_x_first() {
        let all: Vec<_> = (0..12).map(|index| coordinates(index, [2, 3, 2])).collect();
        assert_eq!(all[..3], [[0, 0, 0], [1, 0, 0], [0, 1, 0]]);
        assert_eq!(all[6..8], [[0, 0, 1], [1, 0, 1]]);
        assert_eq!(all[11], [1, 2, 1]);
    }
}
