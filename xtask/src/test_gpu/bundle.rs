//! Packing the GPU programs for a machine that has neither Rust nor the sources.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use super::programs::{self, Program};
use crate::bench::compare;
use crate::capi;
use crate::error::{At, Error, Result};
use crate::process;
use crate::toolkit;
use crate::workspace::Workspace;

/// How compute-sanitizer is called, here and by the script. A filter may leave a program without a
/// test, and so without a CUDA call. Calls that the driver refuses are the business of the tests, which
/// expect some of them; and a test that needs a fault has a child process for it.
pub(super) const MEMCHECK: [&str; 10] = [
    "--tool",
    "memcheck",
    "--error-exitcode",
    "86",
    "--require-cuda-init",
    "no",
    "--report-api-errors",
    "no",
    "--target-processes",
    "application-only",
];

/// What is packed beside the tests: the main job and the programs that time kernels for others.
const EXAMPLES: [(&str, &str); 3] = [("fa3", "attention"), ("fa3", "serve"), ("fa3-tma-examples", "timing")];
/// Asks the last of them, and torch.
const BESIDE_TORCH: (&str, &str) = ("fa3-tma-examples", "beside_torch.py");
/// Attention on torch tensors through the C library.
const PYTHON: &str = "torch_ctypes.py";
const SCRIPT: &str = include_str!("run.sh");
/// Marks a folder that an earlier call filled, and that this one may replace.
const MARK: &str = "run";

pub(super) fn pack(workspace: &Workspace, folder: &Path, sanitize: bool) -> Result<()> {
    clear(folder, MARK)?;
    for (name, programs) in
        [("tests", programs::tests(workspace)?), ("benches", programs::benches(workspace)?)]
    {
        let to = folder.join(name);
        fs::create_dir_all(&to).at(&to)?;
        for program in programs {
            add(&program, &to.join(&program.name))?;
        }
    }
    for (package, name) in EXAMPLES {
        add(&programs::example(workspace, package, name)?, &folder.join(name))?;
    }
    let (package, name) = BESIDE_TORCH;
    let script = workspace.package(package)?.root().join(name);
    fs::copy(&script, folder.join(name)).at(&script)?;
    compare::pack_scripts(folder)?;
    pack_c(workspace, &folder.join("capi"))?;
    if sanitize {
        pack_sanitizer(workspace, &folder.join("sanitizer.tar.gz"))?;
    }
    let script = folder.join(MARK);
    fs::write(&script, SCRIPT).at(&script)?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).at(&script)?;
    println!(
        "{}: {:.1} MB; on the GPU machine: ./run [--sanitize] [FILTER]",
        folder.display(),
        size(folder)? as f64 / 1e6
    );
    Ok(())
}

/// Deletes a folder, if it is empty or an earlier bundle, which has `mark`.
pub(crate) fn clear(folder: &Path, mark: &str) -> Result<()> {
    if folder.exists() {
        let empty = fs::read_dir(folder).at(folder)?.next().is_none();
        if !empty && !folder.join(mark).is_file() {
            return Err(Error::Refusal(format!(
                "{} exists and is no bundle; name an empty or a new folder",
                folder.display()
            )));
        }
        fs::remove_dir_all(folder).at(folder)?;
    }
    Ok(())
}

/// Copies a program and strips its symbols.
pub(crate) fn add(program: &Program, to: &Path) -> Result<()> {
    fs::copy(&program.path, to).at(&program.path)?;
    let mut command = Command::new("strip");
    command.arg(to);
    process::output(command)?;
    eprintln!("{:8.1} MB  {}", fs::metadata(to).at(to)?.len() as f64 / 1e6, to.display());
    Ok(())
}

/// Packs the C library with a program of its tests and the example in Python.
fn pack_c(workspace: &Workspace, folder: &Path) -> Result<()> {
    capi::write(workspace, folder, capi::Build::RELEASE)?;
    let package = workspace.package("fa3")?.root();
    let example = folder.join(PYTHON);
    fs::copy(package.join("examples").join(PYTHON), &example).at(&example)?;
    let mut compiler = Command::new("cc");
    compiler.arg(package.join("tests/capi/values.c")).arg("-o").arg(folder.join("values"));
    compiler.args(["-O2", "-I"]).arg(folder).arg("-L").arg(folder).args([
        "-lfa3",
        "-lm",
        "-Wl,-rpath,$ORIGIN",
    ]);
    process::output(compiler).map(drop)
}

/// Packs the programs and libraries of compute-sanitizer, without its documentation and headers;
/// the script unpacks them.
fn pack_sanitizer(workspace: &Workspace, to: &Path) -> Result<()> {
    let program = toolkit::sanitizer(workspace)?;
    let from = program.parent().unwrap_or(Path::new("."));
    let mut command = Command::new("tar");
    command.arg("-czf").arg(to).arg("-C").arg(from);
    for entry in fs::read_dir(from).at(from)? {
        let path = entry.at(from)?.path();
        if let (true, Some(name)) = (path.is_file(), path.file_name()) {
            command.arg(name);
        }
    }
    process::output(command).map(drop)
}

fn size(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder).at(folder)? {
        let path = entry.at(folder)?.path();
        bytes += if path.is_dir() { size(&path)? } else { fs::metadata(&path).at(&path)?.len() };
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the script over programs that behave in the given ways.
    /// Names begin with the folder, where it is not that of the tests.
    fn run(name: &str, programs: &[(&str, &str)], arguments: &[&str]) -> (Option<i32>, String) {
        let folder = std::env::temp_dir().join(format!("xtask-{}-{name}", std::process::id()));
        for folder in ["tests", "capi", "bin"].map(|name| folder.join(name)) {
            fs::create_dir_all(folder).unwrap();
        }
        let executable = |path: &Path, text: &str| {
            fs::write(path, text).unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        };
        executable(&folder.join("run"), SCRIPT);
        for (name, body) in programs {
            let folder = if name.contains('/') { folder.clone() } else { folder.join("tests") };
            executable(&folder.join(name), &format!("#!/bin/sh\n{body}\n"));
        }
        let path = std::env::var("PATH").unwrap();
        let mut command = Command::new(folder.join("run"));
        command.args(arguments).env("LIMIT", "1");
        command.env("PATH", format!("{}:{path}", folder.join("bin").display()));
        let finished = process::measure(command).unwrap();
        fs::remove_dir_all(folder).unwrap();
        (finished.status.code(), finished.output)
    }

    const PASSES: &str = "echo 'test result: ok. 3 passed; 0 failed; 0 ignored'";
    const NONE: &str = "echo 'test result: ok. 0 passed; 0 failed; 0 ignored'";

    #[test]
    fn the_script_sums_and_passes() {
        let (code, output) = run("passes", &[("a", PASSES), ("b", PASSES)], &[]);
        assert_eq!((code, output.lines().last()), (Some(0), Some("6 passed, 0 failed")), "{output}");
    }

    #[test]
    fn the_script_fails_with_its_programs() {
        let fails = "echo 'test result: FAILED. 1 passed; 2 failed; 0 ignored'; exit 101";
        let (code, output) = run("fails", &[("a", PASSES), ("b", fails)], &[]);
        assert_eq!((code, output.lines().last()), (Some(1), Some("4 passed, 2 failed")), "{output}");
    }

    #[test]
    fn a_crash_a_hang_and_an_empty_run_are_failures() {
        let (code, output) = run("crash", &[("a", "kill -SEGV $$"), ("b", "sleep 9"), ("c", PASSES)], &[]);
        assert_eq!((code, output.lines().last()), (Some(1), Some("3 passed, 2 failed")), "{output}");
        assert!(output.contains("timed out"), "{output}");
        let (code, output) = run("none", &[("a", NONE)], &["x"]);
        assert_eq!((code, output.lines().last()), (Some(1), Some("0 passed, 0 failed")), "{output}");
    }

    #[test]
    fn the_c_program_counts_as_one_and_so_does_the_example_where_torch_is() {
        let without = ("bin/python3", "exit 1");
        let with = ("bin/python3", "test \"$1\" = -c || test \"$1\" = capi/torch_ctypes.py");
        let fails = ("bin/python3", "test \"$1\" = -c");
        let (test, c) = (("a", PASSES), ("capi/values", "test \"$1\" = cuda:0"));
        for (python, code, last) in [
            (without, 0, "4 passed, 0 failed"),
            (with, 0, "5 passed, 0 failed"),
            (fails, 1, "4 passed, 1 failed"),
        ] {
            let (found, output) = run("c", &[test, c, python], &[]);
            assert_eq!((found, output.lines().last()), (Some(code), Some(last)), "{output}");
            assert_eq!(output.contains("no torch"), python == without, "{output}");
        }
        let (code, output) = run("c-fails", &[test, ("capi/values", "exit 1"), without], &[]);
        assert_eq!((code, output.lines().last()), (Some(1), Some("3 passed, 1 failed")), "{output}");
        // A filter is for names, theirs too.
        let (code, output) = run("c-filtered", &[("a", NONE), c, with], &["values"]);
        assert_eq!((code, output.lines().last()), (Some(0), Some("1 passed, 0 failed")), "{output}");
    }

    #[test]
    fn the_filter_reaches_the_programs() {
        let counts = "test \"$1\" = causal && echo 'test result: ok. 1 passed; 0 failed; 0 ignored'";
        let (code, output) = run("filter", &[("a", counts)], &["causal"]);
        assert_eq!((code, output.lines().last()), (Some(0), Some("1 passed, 0 failed")), "{output}");
        assert_eq!(run("unknown", &[("a", PASSES)], &["--unknown"]).0, Some(2));
    }
}
