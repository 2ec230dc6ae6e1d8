//! A kernel compiled at run time from the headers as strings, and what it computes on a GPU. Fails
//! where there is no GPU or no NVRTC (a library of the CUDA toolkit).

#![expect(clippy::panic, reason = "what fails here fails the test")]

mod nvrtc;

use std::path::PathBuf;

use fa3_sys::Arch;
use fa3_sys::driver::{Buffer, Context, LaunchConfig, Module, Params, Stream};
use fa3_sys::tensormap::{DataType, TensorMapDesc};
use fa3_tma::ring::{Alignment, Layout, Tile};
use nvrtc::Nvrtc;

/// The library where the loader finds it, or in the toolkit's folder.
fn load() -> Nvrtc {
    let homes = [std::env::var_os("CUDA_HOME"), Some("/usr/local/cuda".into())];
    let folders = homes.into_iter().flatten().map(|home| PathBuf::from(home).join("lib64"));
    let folders: Vec<PathBuf> = std::iter::once(PathBuf::new()).chain(folders).collect();
    let names = ["libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"];
    let tried = folders.iter().flat_map(|folder| names.map(|name| Nvrtc::load(&folder.join(name))));
    let mut errors = Vec::new();
    for nvrtc in tried {
        match nvrtc {
            Ok(nvrtc) => return nvrtc,
            Err(error) => errors.push(error),
        }
    }
    panic!("these tests need NVRTC; set CUDA_HOME to a CUDA toolkit. Tried:\n{}", errors.join("\n"))
}

fn compile(nvrtc: &Nvrtc, source: &str, arch: Arch) -> Vec<u8> {
    let architecture = format!("--gpu-architecture={}", arch.target());
    let options = [architecture.as_str(), "--std=c++17"];
    nvrtc.compile(source, fa3_tma::HEADERS, &options).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_header_compiles_from_its_string() {
    let nvrtc = load();
    for (name, _) in fa3_tma::HEADERS {
        let source = format!("#include <{name}>\nextern \"C\" __global__ void k() {{}}\n");
        let cubin = compile(&nvrtc, &source, Arch::Sm90a);
        assert!(cubin.starts_with(b"\x7fELF"), "{name}");
    }
}

#[test]
fn a_ring_compiled_at_run_time_sums_columns() {
    const ROWS: u16 = 1000;
    let context = Context::open(0).unwrap_or_else(|error| panic!("this test needs a GPU: {error}"));
    let stream = Stream::new(&context).unwrap();
    let cubin = compile(&load(), include_str!("sums.cu"), context.arch());
    let function = Module::load_image(&context, &cubin).unwrap().function("column_sums").unwrap();

    // Whole numbers, whose sums are exact. The last tile is ragged, and TMA fills it up with zeros.
    let value = |row: u16, column: u16| f32::from((row * 7 + column * 13) % 101);
    let matrix: Vec<f32> = (0..ROWS).flat_map(|row| (0..32).map(move |column| value(row, column))).collect();
    let input = Buffer::from_slice(&stream, &matrix).unwrap();
    let output = Buffer::zeroed(&stream, 32 * 4).unwrap();
    let desc = TensorMapDesc::contiguous(DataType::F32, &[32, ROWS.into()], &[32, 64]).unwrap();
    let map = desc.encode(&context, input.ptr()).unwrap();
    let tile = Tile { bytes: 64 * 32 * 4, alignment: Alignment::Unswizzled };
    let ring = Layout::new(tile, 3, 0, context.arch().max_shared_bytes()).unwrap();
    let (sums, tiles) = (output.ptr(), i32::from(ROWS.div_ceil(64)));
    let params = Params::new().with(&map).with(&sums).with(&tiles);
    let config = LaunchConfig { shared_bytes: ring.end(), ..LaunchConfig::new([1, 1, 1], [64, 1, 1]) };
    // SAFETY: the parameters are those of `sums.cu`; it reads `input` and writes 32 floats to `output`,
    // and both live, as the kernel does, until after `to_vec`.
    unsafe { function.launch(&stream, &config, &params).unwrap() };
    let exact: Vec<f32> = (0..32).map(|column| (0..ROWS).map(|row| value(row, column)).sum()).collect();
    assert_eq!(output.to_vec::<f32>(&stream).unwrap(), exact);
}
