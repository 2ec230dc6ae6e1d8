//! The headers for a run-time compiler.

#[test]
fn the_headers_are_there() {
    assert!(fa3_tma::HEADERS.iter().any(|(name, _)| name.ends_with("ring.cuh")));
}
