//! Exact softmax attention for Rust programs.
