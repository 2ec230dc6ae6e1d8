//! Our verdict on 10,000 random tensor maps is the driver's.
//!
//! Where they differ, the failure's message is the whole of what the run can tell. With
//! `FA3_TEST_OUT` set to a folder, every verdict is written there too, as `tensor_maps.tsv`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "clippy sees no test in a test's helpers")]

mod common;

use std::path::Path;

use common::{Answer, Args, SEED, lines, report, suite};
use fa3_sys::driver::{Context, DevicePtr, DriverError, ask_driver};
use fa3_sys::tensormap::{DataType, TensorMapDesc};

/// The driver's code, 0 for success.
fn ask(context: &Context, args: &Args) -> u32 {
    let rank = u32::try_from(args.rank).unwrap();
    match ask_driver(context, &args.build_clamped(), rank, DevicePtr(args.address)) {
        Ok(_) => 0,
        Err(DriverError::Api { code, .. }) => code,
        Err(error) => panic!("{args}: {error}"),
    }
}

#[test]
fn our_verdict_is_the_drivers() {
    let context = Context::open(0).unwrap();
    let arch = context.arch();
    let answers: Vec<_> = suite(SEED)
        .into_iter()
        .map(|args| Answer { ours: args.verdict(arch), code: ask(&context, &args), args })
        .collect();
    let report = report(&answers, arch);
    println!("{}\n{report}", context.device());
    if let Some(folder) = std::env::var_os("FA3_TEST_OUT") {
        std::fs::write(Path::new(&folder).join("tensor_maps.tsv"), lines(&answers)).unwrap();
    }
    let differ = answers.iter().filter(|answer| !answer.agrees()).count();
    assert_eq!(differ, 0, "verdicts differ:\n{report}");
    assert!(answers.iter().all(|answer| answer.code <= 1), "codes that are no verdict:\n{report}");
}

#[test]
fn an_encoded_map_holds_its_address_alone() {
    let context = Context::open(0).unwrap();
    let desc = TensorMapDesc::contiguous(DataType::Bf16, &[64, 1000], &[64, 128]).unwrap();
    let encode = |address| desc.encode(&context, DevicePtr(address)).unwrap();
    let (map, other) = (encode(0x7f00_0000_0000), encode(0x7f00_1000_0000));
    assert_eq!(map, encode(0x7f00_0000_0000));
    assert_ne!(map, other);
    let changed = map.as_bytes().iter().zip(other.as_bytes()).filter(|(a, b)| a != b).count();
    assert!(changed <= 8, "{map:?}\n{other:?}");
}
