//! Modules, kernels and every kind of launch.

use std::process::Command;

use bytemuck::{Pod, Zeroable};
use fa3_sys::artefact::{KernelEntry, Resources};
use fa3_sys::driver::{
    Buffer, Context, DevicePtr, DriverError, Function, ImageError, LaunchConfig, LaunchError, Module, Params,
    Stream,
};
use fa3_sys::{Arch, TensorMap};

use super::kernels::{PTX, SINGLE, add_value, kernel, open, turn};

#[test]
fn a_kernel_adds_to_each_element_once() {
    let (_turn, context, stream) = open();
    let function = kernel(&context, "add_value");
    assert_eq!((function.name(), function.param_sizes()), ("add_value", &[8, 4, 4][..]));
    let buffer = Buffer::from_slice(&stream, &[100u32; 1001]).unwrap();
    add_value(&function, &stream, &buffer, 1000, 11);
    let values = buffer.to_vec::<u32>(&stream).unwrap();
    assert_eq!((&values[..1000], values[1000]), (&[111; 1000][..], 100));
}

#[test]
fn the_driver_describes_a_kernel() {
    let (_turn, context, _) = open();
    let function = kernel(&context, "add_value");
    let attributes = function.attributes();
    assert!((1..=255).contains(&attributes.registers), "{attributes:?}");
    assert_eq!((attributes.static_shared_bytes, attributes.local_bytes), (0, 0), "{attributes:?}");
    assert_eq!(attributes.max_threads_per_block, 1024, "{attributes:?}");
    assert_eq!(attributes.required_cluster, None, "{attributes:?}");
    assert_eq!(kernel(&context, "pair_place").attributes().required_cluster, Some([2, 1, 1]));
}

/// What each block of `name` saw: its cluster, its rank there, the cluster's size, the clusters.
fn places(stream: &Stream, name: &str, config: &LaunchConfig) -> Vec<[u32; 4]> {
    let out = Buffer::zeroed(stream, 16 * config.grid[0] as usize).unwrap();
    let pointer = out.ptr();
    let function = kernel(stream.context(), name);
    // SAFETY: each block of the one-dimensional grid stores 16 bytes of its own in `out`.
    unsafe { function.launch(stream, config, &Params::new().with(&pointer)) }.unwrap();
    out.to_vec(stream).unwrap()
}

#[test]
fn clusters_are_as_large_as_asked_for() {
    let (_turn, _, stream) = open();
    for size in [1, 2, 4, 8] {
        let config = LaunchConfig { cluster: Some([size, 1, 1]), ..LaunchConfig::new([16, 1, 1], [1, 1, 1]) };
        for (block, place) in (0..).zip(places(&stream, "cluster_place", &config)) {
            assert_eq!(
                place,
                [block / size, block % size, size, 16 / size],
                "cluster of {size}, block {block}"
            );
        }
    }
    let none = LaunchConfig::new([16, 1, 1], [1, 1, 1]);
    for [_, rank, size, _] in places(&stream, "cluster_place", &none) {
        assert_eq!((rank, size), (0, 1), "without a cluster, a block is its own");
    }
}

#[test]
fn a_cluster_that_is_compiled_in_holds_with_and_without_asking() {
    let (_turn, _, stream) = open();
    for cluster in [None, Some([2, 1, 1])] {
        let config = LaunchConfig { cluster, ..LaunchConfig::new([6, 1, 1], [1, 1, 1]) };
        for (block, place) in (0..).zip(places(&stream, "pair_place", &config)) {
            assert_eq!(place, [block / 2, block % 2, 2, 3], "{cluster:?}, block {block}");
        }
    }
}

#[test]
fn cooperative_blocks_all_run_at_once() {
    let (_turn, context, stream) = open();
    let function = kernel(&context, "meet");
    let blocks = context.device().sm_count;
    let counter = Buffer::zeroed(&stream, 4).unwrap();
    let out = Buffer::zeroed(&stream, 4 * blocks as usize).unwrap();
    let (counter_pointer, out_pointer) = (counter.ptr(), out.ptr());
    let params = Params::new().with(&counter_pointer).with(&out_pointer);
    let config = LaunchConfig { cooperative: true, ..LaunchConfig::new([blocks, 1, 1], [1, 1, 1]) };
    // SAFETY: the blocks share the one counter and store a word of their own each.
    unsafe { function.launch(&stream, &config, &params) }.unwrap();
    assert_eq!(out.to_vec::<u32>(&stream).unwrap(), vec![blocks; blocks as usize]);

    // The attribute reached the driver: a grid that cannot be there at once is refused.
    let config = LaunchConfig { cooperative: true, ..LaunchConfig::new([1 << 24, 1, 1], [1, 1, 1]) };
    // SAFETY: refused, so that nothing runs.
    let error = unsafe { function.launch(&stream, &config, &params) }.unwrap_err();
    let too_large = "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE";
    assert!(matches!(&error, DriverError::Api { name, .. } if name == too_large), "{error}");
}

/// Runs a kernel of 20 ms and one after it that waits for its result; when the second started and
/// the first ended, by the device's clock in nanoseconds.
fn overlap(stream: &Stream, first: &Function, second: &Function, programmatic: bool) -> (u64, u64) {
    let out = Buffer::zeroed(stream, 8).unwrap();
    let times = Buffer::zeroed(stream, 16).unwrap();
    let (pointer, time_pointer, value, nanoseconds) = (out.ptr(), times.ptr(), 41u32, 20_000_000u64);
    let params = Params::new().with(&pointer).with(&value).with(&nanoseconds).with(&time_pointer);
    // SAFETY: the kernel stores the first word of `out` and the first time.
    unsafe { first.launch(stream, &SINGLE, &params) }.unwrap();
    let params = Params::new().with(&pointer).with(&time_pointer);
    // SAFETY: the kernel waits for the one before, reads its word, and stores what is beside it.
    unsafe { second.launch(stream, &LaunchConfig { programmatic, ..SINGLE }, &params) }.unwrap();
    assert_eq!(out.to_vec::<u32>(stream).unwrap(), [41, 42], "programmatic: {programmatic}");
    let times = times.to_vec::<u64>(stream).unwrap();
    (times[1], times[0])
}

#[test]
fn a_programmatic_launch_starts_early_and_sees_the_result() {
    let (_turn, context, stream) = open();
    let (first, second) = (kernel(&context, "first_of_two"), kernel(&context, "second_of_two"));
    let (start, end) = overlap(&stream, &first, &second, false);
    assert!(start >= end, "a plain launch started {} ns early", end - start);
    // Starting early is allowed, not promised: other tests may hold the device for a moment.
    let tries: Vec<_> = (0..5).map(|_| overlap(&stream, &first, &second, true)).collect();
    // Memcheck runs one kernel at a time, and says so by this variable's being set for it.
    let serialised = std::env::var_os("FA3_SERIALISED").is_some();
    assert!(serialised || tries.iter().any(|(start, end)| start < end), "never started early: {tries:?}");
}

#[test]
fn dynamic_shared_memory_reaches_the_devices_limit_and_no_further() {
    let (_turn, context, stream) = open();
    let function = kernel(&context, "last_shared_word");
    let limit = function.limits().max_shared_bytes;
    assert_eq!(limit, context.device().max_shared_bytes);
    assert_eq!(limit, context.arch().max_shared_bytes());
    let out = Buffer::zeroed(&stream, 4).unwrap();
    let (pointer, value) = (out.ptr(), 0x1234_5678u32);
    let params = Params::new().with(&pointer).with(&limit).with(&value);
    let config = LaunchConfig { shared_bytes: limit, ..SINGLE };
    // SAFETY: the kernel touches the last word of the shared memory that it gets, and `out`.
    unsafe { function.launch(&stream, &config, &params) }.unwrap();
    assert_eq!(out.to_vec::<u32>(&stream).unwrap(), [value]);

    let config = LaunchConfig { shared_bytes: limit + 1, ..SINGLE };
    // SAFETY: refused, so that nothing runs.
    let error = unsafe { function.launch(&stream, &config, &params) }.unwrap_err();
    let source = LaunchError::SharedMemory { shared_bytes: limit + 1, max: limit };
    assert_eq!(error, DriverError::Launch { kernel: "last_shared_word".to_owned(), source });
}

/// The small block of `copy_params`.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Block {
    out: DevicePtr,
    first: u32,
    last: u32,
}

#[test]
fn tensor_maps_and_blocks_arrive_by_value() {
    let (_turn, context, stream) = open();
    let function = kernel(&context, "copy_params");
    assert_eq!(function.param_sizes(), [128, 16]);
    let out = Buffer::zeroed(&stream, 8).unwrap();
    let mut bytes = [0; 128];
    bytes[124..].copy_from_slice(&0xabcd_ef01u32.to_le_bytes());
    let map = TensorMap::from_bytes(bytes);
    let block = Block { out: out.ptr(), first: 1, last: 2 };
    // SAFETY: the kernel stores two words at the block's address and takes the map as plain bytes.
    unsafe { function.launch(&stream, &SINGLE, &Params::new().with(&map).with(&block)) }.unwrap();
    assert_eq!(out.to_vec::<u32>(&stream).unwrap(), [0xabcd_ef01, 2]);
}

#[test]
fn parameters_that_are_not_the_kernels_are_refused() {
    let (_turn, context, stream) = open();
    let function = kernel(&context, "add_value");
    let (pointer, count, value) = (DevicePtr::NULL, 1u32, 1u64);
    // SAFETY: refused, so that nothing runs.
    let error = unsafe { function.launch(&stream, &SINGLE, &Params::new().with(&pointer).with(&count)) };
    let source = LaunchError::ParamCount { given: 2, declared: 3 };
    assert_eq!(error, Err(DriverError::Launch { kernel: "add_value".to_owned(), source }));
    let params = Params::new().with(&pointer).with(&count).with(&value);
    // SAFETY: refused, so that nothing runs.
    let error = unsafe { function.launch(&stream, &SINGLE, &params) };
    let source = LaunchError::ParamSize { index: 2, given: 8, declared: 4 };
    assert_eq!(error, Err(DriverError::Launch { kernel: "add_value".to_owned(), source }));
}

#[test]
fn a_kernel_for_another_architecture_is_refused() {
    let (_turn, context, _) = open();
    let other = Arch::ALL.into_iter().find(|&arch| arch != context.arch()).unwrap();
    let entry = KernelEntry {
        symbol: "add_value",
        arch: other,
        image: PTX.as_bytes(),
        resources: Resources::default(),
        source_hash: "",
    };
    let error = Module::load(&context, &entry).unwrap_err();
    assert!(matches!(&error, DriverError::WrongArch { built_for, .. } if *built_for == other), "{error}");
    let entry = KernelEntry { arch: context.arch(), ..entry };
    Module::load(&context, &entry).unwrap().function("add_value").unwrap();
}

#[test]
fn bad_images_and_names_are_refused_with_what_is_wrong() {
    let (_turn, context, _) = open();
    let error = Module::load_image(&context, b"").unwrap_err();
    assert_eq!(error, DriverError::Image(ImageError::Empty));
    let text =
        b".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { no_such_instruction; }\n";
    let error = Module::load_image(&context, text).unwrap_err();
    let DriverError::ImageRefused { log, .. } = &error else { panic!("{error}") };
    assert!(log.contains("line 4"), "the log does not say where: {error}");
    let module = Module::load_image(&context, PTX.as_bytes()).unwrap();
    for name in ["no_such_kernel", "inner\0nul"] {
        let error = module.function(name).unwrap_err();
        assert_eq!(error, DriverError::NoSuchKernel { symbol: name.to_owned() });
    }
}

/// Faults lose the whole process's context, so that this test runs itself again in a child.
#[test]
fn a_fault_surfaces_at_synchronize_and_stays() {
    const CHILD: &str = "FA3_SYS_TEST_FAULT";
    if std::env::var_os(CHILD).is_none() {
        let _turn = turn();
        let name = "launches::a_fault_surfaces_at_synchronize_and_stays";
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name, "--nocapture"])
            .env(CHILD, "1")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && text.contains("1 passed"), "{text}");
        return;
    }
    let (_turn, context, stream) = open();
    let function = kernel(&context, "fault");
    let buffer = Buffer::zeroed(&stream, 16).unwrap();
    stream.synchronize().unwrap();
    // SAFETY: the kernel stores to an unmapped address, which is what this process is for.
    unsafe { function.launch(&stream, &SINGLE, &Params::new()) }.unwrap();
    let error = stream.synchronize().unwrap_err();
    assert!(matches!(error, DriverError::Fault { call: "cuStreamSynchronize", .. }), "{error}");
    assert!(error.to_string().contains("submitted earlier"), "{error}");
    let again = Context::synchronize(&context).unwrap_err();
    assert!(again.is_fault(), "{again}");
    // Everything is dropped now, in a context that is lost, without a panic.
    drop((buffer, function, stream, context));
}
