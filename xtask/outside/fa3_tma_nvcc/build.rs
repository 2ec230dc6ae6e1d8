//! Compiles `rows.cu` with nvcc and the headers of `fa3-tma`, to machine code and to PTX.

use std::env::var;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=rows.cu");
    println!("cargo::rerun-if-env-changed=NVCC");
    let include = var("DEP_FA3_TMA_INCLUDE").expect("fa3-tma is a dependency");
    let out = var("OUT_DIR").unwrap();
    for (mode, code) in [("cubin", "sm_90a"), ("ptx", "compute_90a")] {
        let status = Command::new(var("NVCC").unwrap())
            .args(["-std=c++17", &format!("-gencode=arch=compute_90a,code={code}"), &format!("-{mode}")])
            .args(["-I", &include, "-o", &format!("{out}/rows.{mode}"), "rows.cu"])
            .status();
        assert!(status.unwrap().success(), "nvcc could not compile rows.cu to {mode}");
    }
}
