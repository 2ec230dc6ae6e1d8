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
    write("pipeline/schedule.cuh", &header("pipeline/schedule.cuh"));
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
    let position = "query + (tile.k_len - tile.q_len)";
    let right = "position(tile, query) + 1 + p.window_right";
    for (name, from, to, says) in [
        ("late", right, "position(tile, query) + p.window_right", "masked tiles show the visible keys"),
        ("overflow", position, "query + tile.k_len - tile.q_len", "arithmetic"),
        ("left", "at - p.window_left", "at - p.window_left + 1", "masked tiles show the visible keys"),
        (
            "short",
            "max(begin + 1, ceil_div(",
            "max(begin + 1, -1 + ceil_div(",
            "every visible key is in a tile",
        ),
        (
            "begin",
            "tile.first_query) / TileN",
            "tile.first_query + 1) / TileN",
            "every visible key is in a tile",
        ),
        (
            "open",
            "key_end(p, tile, first) / TileN",
            "tile.k_len / TileN",
            "tiles below open.end are not cut above",
        ),
        (
            "below",
            "key_begin(p, tile, last), TileN",
            "key_begin(p, tile, first), TileN",
            "tiles from open.begin on are not cut below",
        ),
        ("own_end", "seen = ceil_div(", "seen = -1 + ceil_div(", "every visible key is in an own tile"),
        (
            "own_begin",
            "min(key_begin(p, tile, first) / TileN, all",
            "min(key_begin(p, tile, last) / TileN, all",
            "every visible key is in an own tile",
        ),
        ("none", "max(all.begin + 1, all.end - 1)", "all.end - 1", "at least one own key tile"),
        ("twice", "turn % together", "0 * (turn % together)", "every row once"),
        ("pairs", "short_one ? from_end", "short_one ? from_end + 1", "a pair is as long as any other"),
        ("apart", "number % 2 == 0 ? after_even", "number % 2 == 0 ? 3", "every row once"),
        ("group", "tile.head * p.pack / p.group", "tile.head * p.pack % p.group", "key head"),
        ("pack", "p.pack_reciprocal >> 16", "p.pack_reciprocal >> 15", "query head"),
        ("chunk", "sequence.first * p.heads", "sequence.first", "arithmetic"),
        ("store", "row + 64 <= tile.q_len", "row < tile.q_len", "a whole store has no other rows"),
        (
            "foreign",
            "tile.k_len < all.end * TileN",
            "tile.k_len > all.end * TileN",
            "keys of others are known",
        ),
    ] {
        let printed = count(name, from, to);
        assert!(printed.starts_with(says), "{name}: {printed}");
    }
}
