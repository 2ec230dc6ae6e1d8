//! The kernels' own tile arithmetic, compiled for the host by g++, which building them needs too.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::Path;
use std::process::Command;

/// The longest sequence that planning lets through.
const LONGEST: i32 = i32::MAX - 1024;

/// Runs `tests/tiles.cpp` on the header of the kernels with `from` replaced by `to`. Returns what
/// it prints: nothing, or the case that failed.
fn count(name: &str, from: &str, to: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let write = |relative: &str, text: &str| {
        let path = folder.join(relative);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    for (name, text) in fa3_tma::HEADERS {
        write(name, text);
    }
    let header = |name: &str| std::fs::read_to_string(root.join("kernels").join(name)).unwrap();
    write("params.cuh", &header("params.cuh"));
    let tiles = header("pipeline/tiles.cuh");
    assert!(tiles.contains(from), "{from}");
    write("pipeline/tiles.cuh", &tiles.replace(from, to));
    let program = folder.join("tiles");
    let built = Command::new("g++")
        .args(["-std=c++17", "-O1", "-Wall", "-Werror", "-Wno-attributes"])
        .args(["-fsanitize=signed-integer-overflow", "-fsanitize-undefined-trap-on-error"])
        .arg(format!("-I{}", folder.display()))
        .arg("-o")
        .arg(&program)
        .arg(root.join("tests/tiles.cpp"))
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let run = Command::new(program).arg(LONGEST.to_string()).output().unwrap();
    let printed = String::from_utf8(run.stdout).unwrap();
    assert_eq!(run.status.success(), printed.is_empty(), "{printed}");
    printed
}

#[test]
fn every_visible_key_of_every_row_is_visited_once_and_nothing_overflows() {
    assert_eq!(count("tiles", "", ""), "");
}

#[test]
fn a_wrong_header_is_found_out() {
    for (name, from, to, says) in [
        ("late", "row + 1 + (p.sk - p.sq)", "row + (p.sk - p.sq)", "masked tiles show the visible keys"),
        ("overflow", "row + 1 + (p.sk - p.sq)", "row + 1 + p.sk - p.sq", "overflow"),
        ("short", "max(1, ceil_div(", "max(1, -1 + ceil_div(", "every visible key is in a tile"),
        ("open", "max(0, key_limit(p, first_row)) / TileN", "p.sk / TileN", "open tiles need no mask"),
        ("twice", "within % heads", "0 * (within % heads)", "every tile once"),
        ("group", "tile.head_q / p.group", "tile.head_q % p.group", "key head"),
    ] {
        let printed = count(name, from, to);
        assert!(printed.starts_with(says), "{name}: {printed}");
    }
}
