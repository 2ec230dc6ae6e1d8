//! A launcher of one's own: the table, and of each kernel in it the machine code and the PTX.

#[test]
fn the_package_carries_every_kernel() {
    assert_eq!(fa3_kernels::missing(), []);
    let entries = fa3_kernels::entries();
    for kernel in fa3_kernels::forward_kernels() {
        let symbol = kernel.symbol();
        let entry = entries.iter().find(|entry| entry.symbol == symbol);
        let entry = entry.unwrap_or_else(|| panic!("{symbol}"));
        // A fat binary's magic number.
        assert!(entry.image.starts_with(&0xba55_ed50_u32.to_le_bytes()), "{symbol}");
        let ptx = fa3_kernels::ptx(&symbol, entry.arch).unwrap_or_else(|error| panic!("{error}"));
        assert!(ptx.contains(&format!(".entry {symbol}(")), "{symbol}");
    }
}
