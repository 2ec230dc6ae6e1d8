//! Lists the CUDA devices, or says why there are none: `cargo run --example devices`.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

use std::process::ExitCode;

use fa3_sys::driver::{devices, probe};

fn main() -> ExitCode {
    match probe().and_then(|driver| Ok((driver, devices()?))) {
        Ok((driver, devices)) => {
            println!("The driver supports CUDA {}.", driver.version());
            for device in devices {
                match device.arch() {
                    Ok(arch) => println!("{device}: runs kernels for {arch}"),
                    Err(error) => println!("{device}: {error}"),
                }
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
