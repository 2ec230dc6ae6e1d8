//! A launcher of one's own: the table, and the machine code when it was built.

#[test]
fn every_kernel_of_the_table_is_embedded_or_says_why_not() {
    let (entries, missing) = (fa3_kernels::entries(), fa3_kernels::missing());
    assert!(!entries.is_empty() || !missing.is_empty());
    for kernel in fa3_kernels::forward_kernels() {
        let symbol = kernel.symbol();
        let embedded = entries.iter().any(|entry| entry.symbol == symbol && !entry.image.is_empty());
        let explained = missing.iter().any(|missing| missing.symbol == symbol);
        assert!(embedded != explained, "{symbol}");
    }
}
