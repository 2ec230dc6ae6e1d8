//! The kernels of this crate, which exercise the headers on a GPU.
//!
//! Read by the crate's build script and by the build of the artefacts, each of which has `Arch`
//! and `Unit` in the module above.

use super::{Arch, Unit};

/// Every kernel. The ranks take turns with the numbers of stages, so that each occurs.
pub(crate) fn units() -> Vec<Unit> {
    let stream = [(1, 2), (2, 4), (3, 1), (3, 3), (4, 3), (5, 2)];
    let accumulate = [(1, 3), (2, 1), (3, 2), (4, 2), (5, 2)];
    let broadcast = [(1, 1), (2, 2), (3, 3), (4, 2), (5, 2)];
    let kernels = [
        ("stream", "kernels/stream.cu", &stream[..], &["UTMALDG", "SYNCS"][..]),
        ("accumulate", "kernels/accumulate.cu", &accumulate[..], &["UTMALDG", "UTMASTG", "UTMAREDG"][..]),
        ("broadcast", "kernels/broadcast.cu", &broadcast[..], &["UTMALDG", "UCGABAR"][..]),
    ];
    kernels
        .into_iter()
        .flat_map(|(name, source, cases, expect_sass)| {
            cases.iter().map(move |(rank, stages)| Unit {
                symbol: format!("{name}_{rank}d_{stages}"),
                source,
                arches: &Arch::ALL,
                defines: vec![("FA3_RANK", rank.to_string()), ("FA3_STAGES", stages.to_string())],
                expect_sass,
            })
        })
        .collect()
}
