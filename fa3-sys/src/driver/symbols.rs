//! The functions of the driver that must be there before any is called.

/// Every driver function that this crate calls, itself or through `cudarc`'s context. `cudarc`
/// resolves each at its first call and panics where it is missing, so the probe looks first.
pub(crate) const REQUIRED: &[&str] = &[
    "cuCtxGetCurrent",
    "cuCtxSetCurrent",
    "cuCtxSynchronize",
    "cuDeviceGet",
    "cuDeviceGetAttribute",
    "cuDeviceGetCount",
    "cuDeviceGetName",
    "cuDeviceGetUuid_v2",
    "cuDevicePrimaryCtxRelease_v2",
    "cuDevicePrimaryCtxRetain",
    "cuDeviceTotalMem_v2",
    "cuDriverGetVersion",
    "cuEventCreate",
    "cuEventDestroy_v2",
    "cuEventElapsedTime_v2",
    "cuEventQuery",
    "cuEventRecord",
    "cuEventSynchronize",
    "cuFuncGetAttribute",
    "cuFuncGetParamInfo",
    "cuFuncSetAttribute",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuGraphDestroy",
    "cuGraphExecDestroy",
    "cuGraphInstantiateWithFlags",
    "cuGraphLaunch",
    "cuInit",
    "cuLaunchKernelEx",
    "cuMemAlloc_v2",
    "cuMemFree_v2",
    "cuMemGetInfo_v2",
    "cuMemcpyDtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuMemcpyHtoDAsync_v2",
    "cuMemsetD32Async",
    "cuMemsetD8Async",
    "cuModuleGetFunction",
    "cuModuleLoadDataEx",
    "cuModuleUnload",
    "cuStreamBeginCapture_v2",
    "cuStreamCreate",
    "cuStreamDestroy_v2",
    "cuStreamEndCapture",
    "cuStreamQuery",
    "cuStreamSynchronize",
    "cuStreamWaitEvent",
    "cuTensorMapEncodeIm2col",
    "cuTensorMapEncodeTiled",
];

#[cfg(test)]
mod tests {
    use super::REQUIRED;
    use std::collections::BTreeSet;
    use std::path::Path;

    /// The identifiers in `text` that follow `prefix` and start with `cu` and a capital.
    fn calls_after<'a>(text: &'a str, prefix: &str) -> impl Iterator<Item = &'a str> {
        text.match_indices(prefix).filter_map(move |(at, _)| {
            let rest = text.get(at + prefix.len()..)?;
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            let name = rest.get(..end)?;
            (name.starts_with("cu") && name.chars().nth(2).is_some_and(|c| c.is_ascii_uppercase()))
                .then_some(name)
        })
    }

    #[test]
    fn every_function_that_the_sources_call_is_required() {
        let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src/driver")];
        let mut called = BTreeSet::new();
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let text = std::fs::read_to_string(path).unwrap();
                for prefix in ["call!(", "sys::"] {
                    called.extend(calls_after(&text, prefix).map(str::to_owned));
                }
            }
        }
        assert!(called.len() > 30, "the search itself found only {called:?}");
        let missing: Vec<_> = called.iter().filter(|name| !REQUIRED.contains(&name.as_str())).collect();
        assert!(missing.is_empty(), "add to REQUIRED: {missing:?}");
    }

    #[test]
    fn names_are_sorted_and_unique() {
        assert!(REQUIRED.is_sorted_by(|a, b| a < b));
    }
}
