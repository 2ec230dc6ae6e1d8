//! The device headers as strings.

macro_rules! headers {
    ($($name:literal),* $(,)?) => {
        &[$((concat!("fa3/tma/", $name), include_str!(concat!("../include/fa3/tma/", $name)))),*]
    };
}

/// Every device header: its name as an `#include` says it, and its text.
///
/// This is what a run-time compiler takes (`nvrtcCreateProgram`'s `includeNames` and `headers`).
/// A build script that calls nvcc takes the folder instead, from `DEP_FA3_TMA_INCLUDE`.
///
/// ```
/// let (_, ring) = fa3_tma::HEADERS.iter().find(|(name, _)| *name == "fa3/tma/ring.cuh").unwrap();
/// assert!(ring.contains("struct Ring"));
/// ```
pub const HEADERS: &[(&str, &str)] = headers!(
    "cluster.cuh",
    "convert.cuh",
    "elect.cuh",
    "fence.cuh",
    "load.cuh",
    "matrix.cuh",
    "mbarrier.cuh",
    "multicast.cuh",
    "named.cuh",
    "pdl.cuh",
    "reduce.cuh",
    "registers.cuh",
    "ring.cuh",
    "shared.cuh",
    "store.cuh",
    "tma.cuh",
    "types.cuh",
    "wgmma.cuh",
);

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::string::String;

    use super::HEADERS;

    #[test]
    fn every_file_of_the_folder_is_listed() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/include/fa3/tma");
        let found: BTreeSet<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| std::format!("fa3/tma/{}", entry.unwrap().file_name().to_str().unwrap()))
            .collect();
        let listed: BTreeSet<String> = HEADERS.iter().map(|(name, _)| String::from(*name)).collect();
        assert_eq!(found, listed);
    }

    #[test]
    fn they_include_nothing_but_each_other() {
        for (name, text) in HEADERS {
            assert!(text.contains("#pragma once"), "{name}");
            for line in text.lines().filter(|line| line.trim_start().starts_with("#include")) {
                let target = line.split('"').nth(1).unwrap_or_default();
                assert!(HEADERS.iter().any(|(other, _)| *other == target), "{name}: {line}");
            }
        }
    }

    #[test]
    fn readme_and_guide_show_what_is_compiled() {
        let (readme, guide) = (include_str!("../README.md"), include_str!("guide.md"));
        let kernel = include_str!("../tests/device/ring.cu");
        let lanes = include_str!("../tests/device/lanes.cu");
        let store = include_str!("../tests/device/store.cu");
        for (text, code) in [(readme, kernel), (guide, kernel), (guide, lanes), (guide, store)] {
            assert!(text.contains(&std::format!("```cuda\n{code}```\n")), "{code}");
        }
    }
}
