//! The GPUs of this machine, and the kernels they can use.

use fa3_sys::Arch;
use fa3_sys::driver::{DeviceInfo, devices};

use crate::cubins;
use crate::error::{Error, Result};
use crate::workspace::Workspace;

/// The devices that kernels exist for; the error says why there is none.
pub(crate) fn supported() -> Result<Vec<(DeviceInfo, Arch)>, String> {
    let devices = devices().map_err(|error| error.to_string())?;
    let mut reasons = Vec::new();
    let mut supported = Vec::new();
    for device in devices {
        match device.arch() {
            Ok(arch) => supported.push((device, arch)),
            Err(error) => reasons.push(format!("device {} ({}): {error}", device.ordinal, device.name)),
        }
    }
    if supported.is_empty() { Err(reasons.join("; ")) } else { Ok(supported) }
}

/// Builds the kernels for the devices of this machine. Says so when there is no device, and then
/// builds none: the CPU needs none.
pub(crate) fn prepare(workspace: &Workspace) -> Result<()> {
    match supported() {
        Err(reason) => {
            eprintln!("no GPU to use: {reason}");
            eprintln!(
                "no kernels are built: the CPU needs none (`cargo xtask cubins` builds them all the same)"
            );
            Ok(())
        }
        Ok(devices) => build_for(workspace, &devices),
    }
}

/// Builds the kernels for the devices of this machine, or says why there are none.
pub(crate) fn require(workspace: &Workspace) -> Result<()> {
    let why = |reason| {
        Error::Refusal(format!("this needs a GPU that the kernels support, and there is none: {reason}"))
    };
    build_for(workspace, &supported().map_err(why)?)
}

fn build_for(workspace: &Workspace, devices: &[(DeviceInfo, Arch)]) -> Result<()> {
    for (device, _) in devices {
        eprintln!("{device}");
    }
    for arch in Arch::ALL.into_iter().filter(|arch| devices.iter().any(|(_, found)| found == arch)) {
        let arguments = cubins::Arguments { arch: Some(arch), ..cubins::Arguments::default() };
        cubins::build(workspace, &arguments)?;
    }
    Ok(())
}
