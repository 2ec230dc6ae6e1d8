//! Everything that can be wrong ends with a message and a code, never with a panic.

use std::process::Stdio;

use crate::command::{command, fa3_emu, scratch};

const AXPY: &str = "run fa3-emu/examples/axpy.ptx --grid 1 --block 32 --buffer x=zero:32xf32";

#[track_caller]
fn refused(arguments: &str, code: i32, says: &[&str]) {
    let outcome = fa3_emu(arguments);
    let error = outcome.error.to_lowercase();
    assert_eq!((outcome.code, outcome.output.as_str()), (code, ""), "{arguments}: {error}");
    assert!(!error.contains("panicked"), "{arguments}: {error}");
    for says in says {
        assert!(error.contains(&says.to_lowercase()), "{arguments}: {error} does not say {says:?}");
    }
}

#[test]
fn files_that_cannot_be_read_or_written() {
    for command in ["list", "run --grid 1"] {
        refused(&format!("{command} no/such.ptx"), 2, &["no/such.ptx: "]);
        refused(&format!("{command} fa3-emu"), 2, &["fa3-emu: "]);
        let binary = scratch("binary.ptx", [0xff, 0xfe]);
        refused(&format!("{command} {}", binary.display()), 2, &["binary.ptx", "UTF-8"]);
    }
    refused(&format!("{AXPY} --args f32:1 x x u32:32 --write x=no/such/out.bin"), 2, &["no/such/out.bin: "]);
    refused(&format!("{AXPY} --buffer y=file:f32:no/such.bin"), 2, &["no/such.bin: "]);
    let odd = scratch("odd.bin", [0; 5]);
    refused(&format!("{AXPY} --buffer y=file:f32:{}", odd.display()), 2, &["5 bytes", "f32"]);
}

#[test]
fn ptx_that_cannot_be_loaded() {
    for (name, text, says) in [
        ("empty.ptx", "", "expected `.target`"),
        ("cut.ptx", ".version 8.0\n.target sm_90a\n.entry k() {", "PTX line 3"),
        ("unknown.ptx", ".version 8.0\n.target sm_90a\n.entry k() {\nfly.b32;\nret;\n}\n", "PTX line 4"),
        ("old.ptx", ".version 8.0\n.target sm_80\n", "sm_80"),
    ] {
        let path = scratch(name, text);
        for command in ["list", "run --grid 1 --block 1"] {
            refused(&format!("{command} {}", path.display()), 2, &[name, says]);
        }
    }
}

#[test]
fn a_kernel_that_cannot_be_run_leaves_the_others_listed() {
    let text = ".version 8.0\n.target sm_90a\n.entry one() { fly.b32; ret; }\n.entry two() { ret; }\n";
    let listed = fa3_emu(&format!("list {}", scratch("one.ptx", text).display())).success();
    assert!(listed.contains("one\n  cannot be run: PTX line 3"), "{listed}");
    assert!(listed.contains("two\n  block"), "{listed}");
}

#[test]
fn entries_that_are_not_there() {
    refused(&format!("{AXPY} --entry saxpy"), 2, &["no kernel `saxpy`", "it has axpy"]);
    let kernel = |name: &str| format!(".entry {name}() {{ ret; }}\n");
    let head = ".version 8.0\n.target sm_90a\n";
    let two = scratch("two.ptx", format!("{head}{}{}", kernel("one"), kernel("two")));
    refused(&format!("run {} --grid 1", two.display()), 2, &["--entry", "one, two"]);
    fa3_emu(&format!("run {} --grid 1 --block 1 --entry two", two.display())).success();
    let none = scratch("none.ptx", head);
    refused(&format!("run {} --grid 1", none.display()), 2, &["--entry", "no kernel"]);
}

#[test]
fn arguments_that_do_not_fit() {
    let sizes = "a (4 bytes), x (8 bytes), y (8 bytes), n (4 bytes)";
    refused(AXPY, 2, &["0 arguments for 4 parameters", sizes]);
    refused(&format!("{AXPY} --args f32:1 x x"), 2, &["3 arguments for 4 parameters", sizes]);
    refused(
        &format!("{AXPY} --args f64:1 x x u32:1"),
        2,
        &["f64:1", "8 bytes for parameter `a`, which has 4"],
    );
    refused(&format!("{AXPY} --args f32:1 x y u32:1"), 2, &["no buffer `y`", "there is x"]);
    refused(&format!("{AXPY} --args f32:1 x x 1"), 2, &["has no type", "i32:1"]);
    refused(&format!("{AXPY} --args f32:1 x x i8:-300"), 2, &["-300 is not within -128 to 127"]);
    refused(&format!("{AXPY} --buffer x=zero:1xf32"), 2, &["--buffer x", "already"]);
    refused(&format!("{AXPY} --buffer y=ones:1xf32"), 2, &["NAME=zero:COUNTxTYPE"]);
    refused(&format!("{AXPY} --buffer y=zero:9000000000000000000xu8"), 2, &["no room"]);
    refused(&format!("{AXPY} --args f32:1 x x u32:1 --write y=out.bin"), 2, &["no buffer `y`"]);
}

#[test]
fn launches_that_do_not_fit() {
    let axpy = "run fa3-emu/examples/axpy.ptx --buffer x=zero:32xf32 --args f32:1 x x u32:1";
    refused(axpy, 2, &["--grid"]);
    refused(&format!("{axpy} --grid 1"), 2, &["--block"]);
    refused(&format!("{axpy} --grid 1,1,1,1"), 2, &["at most three"]);
    refused(&format!("{axpy} --grid 1,x"), 2, &["`x` is no number"]);
    refused(&format!("{axpy} --grid 0 --block 32"), 2, &["grid"]);
    for grid in ["2147483648", "1,65536", "4294967295,4294967295,4294967295"] {
        refused(
            &format!("{axpy} --grid {grid} --block 32"),
            2,
            &["grid", "at most [2147483647, 65535, 65535]"],
        );
    }
    refused(
        &format!("{axpy} --grid 1 --block 32 --order late"),
        2,
        &["--order", "`eager`, `lazy` or `seed:N`"],
    );
    refused(&format!("{axpy} --grid 1 --block 32 --threads 0"), 2, &["threads", "1 to 1024"]);
    let untraced = format!("{axpy} --grid 1 --block 32 --order lazy --trace no.json");
    refused(&untraced, 2, &["order", "eager"]);
    refused(&format!("{axpy} --grid 1 --block 32 --trace no/such/t.json"), 2, &["no/such/t.json: "]);
    refused(&format!("{axpy} --grid 1 --block 1025"), 2, &["block", "1 to 1024 threads"]);
    refused(&format!("{axpy} --grid 3 --block 32 --cluster 2"), 2, &["multiple of the cluster's"]);
    refused(&format!("{axpy} --grid 1 --block 32 --shared 300000"), 2, &["dynamic_shared", "room for"]);
    let tile = "run fa3-emu/examples/tile.ptx --buffer o=zero:128xf32 --args hex:00 o i32:0 i32:0";
    refused(&format!("{tile} --grid 1"), 2, &["1 bytes for parameter `map`, which has 128"]);
}

#[test]
fn tensor_maps_that_no_driver_would_take() {
    let tile = |json: &str| {
        let map = scratch("refused.json", json);
        format!(
            "run fa3-emu/examples/tile.ptx --grid 1 --buffer t=zero:5000xf32 --buffer o=zero:128xf32 \
             --args map:{} o i32:0 i32:0",
            map.display()
        )
    };
    let with = |strides: &str| {
        tile(&format!(
            r#"{{"buffer": "t", "data_type": "f32", "extents": [100, 50], "box": [16, 8], "strides": {strides}}}"#
        ))
    };
    refused(&with("[404]"), 2, &["refused.json", "globalStrides[0] = 404", "a multiple of 16 would do"]);
    refused(&with("[400, 400]"), 2, &["globalStrides"]);
    refused(&with("400"), 2, &["invalid type", "line 1"]);
    refused(&tile("{}"), 2, &["missing field `buffer`"]);
    let missing = "run fa3-emu/examples/tile.ptx --grid 1 --args map:no.json i32:0 i32:0 i32:0";
    refused(missing, 2, &["no.json: "]);
}

#[test]
fn kernels_that_go_wrong() {
    refused(
        "run fa3-emu/examples/axpy.ptx --grid 1 --block 64 --buffer x=zero:32xf32 --args f32:1 x x u32:33",
        1,
        &["axpy CTA (0, 0, 0) warp 1 lanes 0x00000001", "out of bounds", "x: 128 bytes at 0x"],
    );
    let endless = scratch("endless.ptx", ".version 8.0\n.target sm_90a\n.entry k() {\nL: bra L;\n}\n");
    let endless = endless.display();
    refused(&format!("run {endless} --grid 1 --block 32 --step-limit 1000"), 1, &["1000", "step limit"]);
    let deadlock = ".version 8.0\n.target sm_90a\n.entry k() {\nbar.sync 0, 64;\nret;\n}\n";
    let deadlock = scratch("deadlock.ptx", deadlock);
    refused(&format!("run {} --grid 1 --block 32", deadlock.display()), 1, &["deadlock", "32 of 64"]);
}

#[test]
fn checks_can_be_chosen() {
    let left = ".version 8.0\n.target sm_90a\n.entry k() {\nbar.arrive 1, 64;\nret;\n}\n";
    let left = format!("run {} --grid 1 --block 32", scratch("left.ptx", left).display());
    refused(&left, 1, &["named barrier 1"]);
    refused(&format!("{left} --check exit"), 1, &["named barrier 1"]);
    refused(&format!("{left} --check speed"), 2, &["--check", "`all`, `none`", "`exit`"]);
    fa3_emu(&format!("{left} --check none")).success();
}

/// A reader that has read enough closes the pipe.
#[test]
fn a_closed_pipe_is_no_failure() {
    let mut child = command();
    child.args(["list", "fa3-emu/examples/axpy.ptx"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = child.stdout(writer).output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap().as_str()), (Some(0), ""));
}
