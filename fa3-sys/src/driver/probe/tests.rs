use super::*;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder that is removed when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("fa3-sys-probe-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Builds a library of functions that return zero, but for those that `source` defines.
    fn library(&self, source: &str, symbols: impl IntoIterator<Item = &'static str>) -> PathBuf {
        let mut text = source.to_owned();
        for symbol in symbols {
            if !source.contains(&format!("{symbol}(")) {
                text.push_str(&format!("int {symbol}(void) {{ return 0; }}\n"));
            }
        }
        let (file, library) = (self.0.join("stub.c"), self.0.join("libstub.so"));
        std::fs::write(&file, text).unwrap();
        let built = Command::new("cc")
            .args(["-shared", "-fPIC", "-o"])
            .args([&library, &file])
            .status()
            .expect("the linker that rustc uses is `cc`");
        assert!(built.success());
        library
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn run(library: &Path) -> Result<Driver, DriverError> {
    Entry::load(library.as_os_str())?.examine()
}

fn stub(version: i32, init: u32, devices: i32) -> String {
    format!(
        "int cuDriverGetVersion(int *v) {{ *v = {version}; return 0; }}\n\
         int cuInit(unsigned f) {{ return f ? 1 : {init}; }}\n\
         int cuDeviceGetCount(int *n) {{ *n = {devices}; return 0; }}\n\
         int cuGetErrorName(unsigned e, const char **s) \
         {{ if (e != 803) return 1; *s = \"CUDA_ERROR_SYSTEM_DRIVER_MISMATCH\"; return 0; }}\n\
         int cuGetErrorString(unsigned e, const char **s) {{ *s = \"display driver\"; return e != 803; }}\n"
    )
}

#[test]
fn a_missing_library_is_named_with_what_the_loader_said() {
    let error = run(Path::new("libcuda-of-no-machine.so.1")).unwrap_err();
    let DriverError::DriverNotFound { library, reason, needed } = &error else { panic!("{error}") };
    assert_eq!((library.as_str(), *needed), ("libcuda-of-no-machine.so.1", MIN_DRIVER_VERSION));
    assert!(reason.contains("libcuda-of-no-machine.so.1"), "{reason}");
    assert!(error.to_string().contains("install an NVIDIA driver for CUDA 13.0"), "{error}");
}

#[test]
fn a_file_that_is_no_library_is_not_found() {
    let folder = Folder::new("text");
    let path = folder.0.join("libcuda.so.1");
    std::fs::write(&path, "not a library").unwrap();
    let error = run(&path).unwrap_err();
    assert!(matches!(error, DriverError::DriverNotFound { .. }), "{error}");
}

#[test]
fn an_incomplete_library_is_told_by_the_first_missing_function() {
    let folder = Folder::new("empty");
    let error = run(&folder.library("", [])).unwrap_err();
    assert!(matches!(error, DriverError::DriverIncomplete { symbol: "cuDriverGetVersion", .. }), "{error}");

    let folder = Folder::new("incomplete");
    let symbols = REQUIRED.iter().copied().filter(|&symbol| symbol != "cuLaunchKernelEx");
    let error = run(&folder.library(&stub(13_000, 0, 1), symbols)).unwrap_err();
    assert!(matches!(error, DriverError::DriverIncomplete { symbol: "cuLaunchKernelEx", .. }), "{error}");
}

#[test]
fn an_old_driver_is_old_even_where_functions_are_missing() {
    let folder = Folder::new("old");
    let error = run(&folder.library(&stub(12_090, 0, 1), ["cuInit"])).unwrap_err();
    let found = DriverVersion { major: 12, minor: 9 };
    assert_eq!(error, DriverError::DriverTooOld { found, needed: MIN_DRIVER_VERSION });
    assert!(error.to_string().contains("12.9"), "{error}");
}

#[test]
fn a_whole_driver_is_accepted() {
    let folder = Folder::new("whole");
    let driver = run(&folder.library(&stub(13_020, 0, 4), REQUIRED.iter().copied())).unwrap();
    assert_eq!((driver.version().to_string().as_str(), driver.device_count()), ("13.2", 4));
}

#[test]
fn no_device_is_said_by_either_call() {
    for (name, init, devices) in [("init", NO_DEVICE, 1), ("count", 0, 0), ("negative", 0, -1)] {
        let folder = Folder::new(name);
        let error = run(&folder.library(&stub(13_000, init, devices), REQUIRED.iter().copied())).unwrap_err();
        assert!(matches!(error, DriverError::NoDevice { .. }), "{name}: {error}");
    }
}

#[test]
fn other_codes_are_named_by_the_driver() {
    let folder = Folder::new("code");
    let error = run(&folder.library(&stub(13_000, 803, 1), REQUIRED.iter().copied())).unwrap_err();
    let DriverError::Api { call: "cuInit", code: 803, name, text } = &error else { panic!("{error}") };
    assert_eq!((name.as_str(), text.as_str()), ("CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "display driver"));

    let folder = Folder::new("unknown-code");
    let error = run(&folder.library(&stub(13_000, 5555, 1), REQUIRED.iter().copied())).unwrap_err();
    assert!(matches!(error, DriverError::Api { code: 5555, .. }), "{error}");
    assert!(error.to_string().contains("CUresult 5555"), "{error}");
}

#[test]
fn the_toolkits_stub_is_told_apart() {
    let folder = Folder::new("stub-library");
    let source = "int cuDriverGetVersion(int *v) { return 34; }\n";
    let error = run(&folder.library(source, REQUIRED.iter().copied())).unwrap_err();
    assert!(error.to_string().contains("stub for linking"), "{error}");
}

#[test]
fn versions_are_read_from_the_drivers_number() {
    for (number, major, minor) in [(13_000, 13, 0), (12_080, 12, 8), (13_040, 13, 4), (-1, 0, 0)] {
        assert_eq!(DriverVersion::from_number(number), DriverVersion { major, minor });
    }
    assert!(accept_version(3, 13_000).is_err());
    assert_eq!(accept_version(0, 13_000), Ok(MIN_DRIVER_VERSION));
}
