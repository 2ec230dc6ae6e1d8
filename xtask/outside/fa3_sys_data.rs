//! Without the driver: architectures and artefacts are plain data.

use fa3_sys::Arch;
use fa3_sys::artefact::{Missing, MissingReason};

#[test]
fn an_architecture_and_a_missing_kernel() {
    assert_eq!(Arch::from_compute_capability(9, 0), Ok(Arch::Sm90a));
    let missing = Missing { symbol: "k", arch: Arch::Sm90a, why: MissingReason::NotBuilt };
    assert!(missing.to_string().contains("cargo xtask cubins"));
}
