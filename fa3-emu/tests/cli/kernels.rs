//! Compiled kernels, run by the command on files.

use std::fs;

use fa3_kernels::{ForwardKernel, Operand, forward_kernels};
use fa3_sys::Arch;

use crate::command::{fa3_emu, scratch};

/// Two boxes of 32 bytes from a tensor of 64, through a ring of two stages.
#[test]
fn a_kernel_of_fa3_tma_brings_what_the_tensor_map_says() {
    let text = fa3_tma::kernels::ptx("stream_1d_2", Arch::Sm90a).unwrap();
    let ptx = scratch("stream_1d_2.ptx", text);
    let contents: Vec<u8> = (1..=64).collect();
    let tensor = scratch("tensor.bin", &contents);
    let map =
        scratch("stream.json", r#"{"buffer": "tensor", "data_type": "u8", "extents": [64], "box": [32]}"#);
    let out = scratch("out.bin", "");
    // fa3_tma::kernels::Tiling: tiles, extent, first, count, tile_bytes, stage_bytes.
    let tiling = "u32:2,1,1,1,1,i32:32,1,1,1,1,i32:0,0,0,0,0,u32:2,32,1024";
    let timeline = scratch("timeline.json", "");
    let trace = format!("--trace {}", timeline.display());
    for options in [&trace, "--order eager", "--order lazy", "--order seed:7"] {
        let output = fa3_emu(&format!(
            "run {} --entry stream_1d_2 --grid 1 --block 128 --shared 4096 --buffer tensor=file:u8:{} \
             --buffer out=poison:64xu8 --args map:{} {tiling} out --write out={} {options}",
            ptx.display(),
            tensor.display(),
            map.display(),
            out.display()
        ))
        .success();
        assert!(
            output.contains("tensor: 64 u8, unchanged") && output.contains("out: 64 u8, changed"),
            "{output}"
        );
        assert_eq!(fs::read(&out).unwrap(), contents);
    }
    let timeline: serde_json::Value = serde_json::from_slice(&fs::read(timeline).unwrap()).unwrap();
    let events = timeline["traceEvents"].as_array().unwrap();
    assert_eq!(events.iter().filter(|event| event["name"] == "load 32 bytes").count(), 2);
}

/// Where every value is 1, so is the output, and the log-sum-exp of 64 equal scores is known.
#[test]
fn a_forward_kernel_runs_from_the_command_line() {
    let wanted = |row: &&ForwardKernel| row.head_dim == 64 && row.operand == Operand::F16;
    let kernel = forward_kernels().find(wanted).unwrap();
    let text = fa3_kernels::ptx(&kernel.symbol(), Arch::Sm90a).unwrap();
    let ptx = scratch("forward.ptx", text);
    let ones = scratch("ones.bin", half::f16::ONE.to_le_bytes().repeat(64 * 64));
    let boxes = kernel.boxes(1);
    let map = |buffer: &str, box_extents: &[u32]| {
        // Q's map has another dimension: the head among those that share a tile.
        let (extents, strides) = match box_extents.len() {
            5 => ("[64, 1, 64, 1, 1]", "[128, 128, 8192, 8192]"),
            _ => ("[64, 64, 1, 1]", "[128, 8192, 8192]"),
        };
        let json = format!(
            r#"{{"buffer": "{buffer}", "data_type": "f16", "extents": {extents}, "box": {box_extents:?},
                 "strides": {strides}, "swizzle": "128B"}}"#
        );
        format!("map:{}", scratch(&format!("{buffer}.json"), json).display())
    };
    let output = fa3_emu(&format!(
        "run {} --grid 1 --block {} --shared {} --buffer q=zero:4096xf16 --buffer k=zero:4096xf16 \
         --buffer v=file:f16:{} --buffer o=poison:4096xf16 --buffer lse=poison:64xf32 \
         --args {} {} {} {} lse,o,u64:0,0,0,i64:4096,64,64,f32:1,1,0,i32:0,64,64,64,1,65536,1,1,{},{},1,1,1,1,0",
        ptx.display(),
        kernel.threads(),
        kernel.shared_bytes(),
        ones.display(),
        map("q", &boxes.q),
        map("k", &boxes.k),
        map("v", &boxes.v),
        map("o", &boxes.o),
        i32::MAX,
        i32::MAX,
    ))
    .success();
    assert!(output.contains("o: 4096 f16, changed: 1.0 1.0"), "{output}");
    assert!(output.contains("min 1.0, max 1.0, 0 NaN"), "{output}");
    assert!(output.contains("lse: 64 f32, changed: 4.15888 4.15888"), "{output}");
}
