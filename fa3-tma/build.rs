//! Exports the folder of device headers to dependants' build scripts.

fn main() {
    let root = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    println!("cargo::metadata=include={root}/include");
    println!("cargo::rerun-if-changed=build.rs");
}
