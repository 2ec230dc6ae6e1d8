//! Options and types without a GPU.

#[test]
fn an_option() {
    assert!(!fa3::Options::default().causal);
}
