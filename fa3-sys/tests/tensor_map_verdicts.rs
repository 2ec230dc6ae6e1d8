//! Our verdict on tensor maps is the one that a driver gave, without a GPU: the file of recorded
//! verdicts says how they were recorded.
#![allow(clippy::unwrap_used, clippy::panic, reason = "clippy sees no test in a test's helpers")]

mod common;

use std::collections::BTreeMap;

use common::{ARCH, Args, needs_blackwell, parse, rules};

/// Each recorded map and whether the driver accepted it.
fn recorded() -> Vec<(Args, bool)> {
    let lines = include_str!("data/tensor_map_verdicts.tsv").lines();
    lines
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let (code, map) = line.split_once('\t').unwrap();
            let args = parse(map).unwrap_or_else(|| panic!("{map}"));
            assert_eq!(args.to_string(), map);
            assert!(["0", "1"].contains(&code), "{line}");
            (args, code == "0")
        })
        .collect()
}

#[test]
fn our_verdict_is_the_recorded_one() {
    for (args, accepted) in recorded() {
        let ours = args.verdict(ARCH);
        assert_eq!(ours.is_legal(), accepted, "{args}: {:?}", ours.broken);
    }
}

#[test]
fn each_rule_is_the_only_reason_for_some_verdicts() {
    let mut alone = BTreeMap::new();
    for (args, accepted) in recorded() {
        let ours = args.verdict(ARCH);
        if let Some(rule) = ours.rule().filter(|&rule| !accepted && ours.only(rule)) {
            *alone.entry(rule).or_insert(0) += 1;
        }
    }
    // Hopper has none of the types whose rules need Blackwell.
    for rule in rules().filter(|&rule| !needs_blackwell(rule)) {
        assert!(alone.get(&rule).is_some_and(|&count| count >= 5), "{rule:?}: {alone:?}");
    }
    assert!(recorded().iter().filter(|(_, accepted)| *accepted).count() >= 200);
}

#[test]
fn what_is_no_line_is_no_map() {
    let line = "tiled bf16 [64, 100] strides [128] box [64, 16] swizzle 128B at 0x1000";
    assert!(parse(line).is_some_and(|args| args.verdict(ARCH).is_legal()));
    for (from, to) in [
        ("bf16", "bf17"),
        ("tiled", "tile"),
        ("box [64, 16]", ""),
        ("[128]", "[128"),
        ("swizzle 128B", "swizzle 256B"),
        ("swizzle", "twist"),
        ("0x1000", "4096"),
        ("0x1000", "0x1000, or so"),
        ("64, 100", "1, 2, 3, 4, 5, 6, 7"),
    ] {
        assert!(parse(&line.replace(from, to)).is_none(), "{to} for {from}");
    }
}
