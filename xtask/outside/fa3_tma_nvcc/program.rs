//! What the build script's nvcc made of a kernel that includes the headers.

const CUBIN: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/rows.cubin"));
const PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/rows.ptx"));

#[test]
fn the_cubin_is_machine_code_of_the_kernel() {
    assert!(CUBIN.starts_with(b"\x7fELF"));
    let name = b".text.rows\0";
    assert!(CUBIN.windows(name.len()).any(|window| window == name));
}

#[test]
fn the_ptx_has_the_kernel_and_its_ring() {
    assert!(PTX.contains(".visible .entry rows("));
    for instruction in ["mbarrier.try_wait", "cp.async.bulk.tensor.2d"] {
        assert!(PTX.contains(instruction), "{instruction}");
    }
}
