//! The C API as C and Python see it: the library is built, and programs run on it. Needs a C and a
//! C++ compiler, binutils and Python 3.

#![allow(clippy::unwrap_used, clippy::panic, reason = "clippy sees no test in a test's helpers")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const CRATE: &str = env!("CARGO_MANIFEST_DIR");
const HEADER: &str = include_str!("../include/fa3.h");
const WARNINGS: [&str; 4] = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"];

/// Runs a command that has to succeed, and returns its standard output.
fn output(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{out}{err}", output.status);
    out.into_owned()
}

/// The library, with the features of this test, built once.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let features = [("cuda", cfg!(feature = "cuda")), ("emu", cfg!(feature = "emu"))];
        let features = features.into_iter().filter_map(|(name, on)| on.then_some(name));
        let features: Vec<&str> = ["capi", "cpu"].into_iter().chain(features).collect();
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.current_dir(CRATE).args(["rustc", "--lib", "--crate-type=cdylib", "--no-default-features"]);
        cargo.arg(format!("--features={}", features.join(",")));
        cargo.arg("--message-format=json-render-diagnostics");
        let messages = output(&mut cargo);
        let messages = messages.lines().filter_map(|line| serde_json::from_str(line).ok());
        let files = messages.filter(|message: &serde_json::Value| message["target"]["name"] == "fa3");
        let files = files.filter_map(|message| message["filenames"].as_array().cloned()).flatten();
        let files = files.filter_map(|file| file.as_str().map(PathBuf::from));
        let mut files = files.filter(|file| file.ends_with("libfa3.so"));
        files.next().unwrap_or_else(|| panic!("{cargo:?} names no library"))
    })
}

/// Compiles C to a program that is linked to the library.
fn compile(name: &str, source: &Path) -> PathBuf {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("capi-{name}"));
    let folder = library().parent().unwrap();
    let mut cc = Command::new("cc");
    cc.arg("-std=c11").args(WARNINGS).arg("-g").arg(format!("-I{CRATE}/include")).arg(source);
    cc.arg("-o").arg(&program).arg("-L").arg(folder).args(["-lfa3", "-lm", "-pthread"]);
    cc.arg(format!("-Wl,-rpath,{}", folder.display()));
    output(&mut cc);
    program
}

/// Compiles and runs a program of `tests/capi`.
fn run(name: &str, arguments: &[&str]) {
    // Tests run side by side: each has a program of its own.
    let program = format!("{name}{}", arguments.concat().replace(':', "-"));
    let program = compile(&program, &Path::new(CRATE).join(format!("tests/capi/{name}.c")));
    output(Command::new(program).args(arguments));
}

#[test]
fn values_on_the_cpu() {
    run("values", &["cpu", "14"]);
}

#[test]
fn every_refusal_has_its_code_and_names_the_argument() {
    run("errors", if cfg!(feature = "emu") { &["emu:sm_90a"] } else { &[] });
}

#[test]
fn many_threads_at_once() {
    run("threads", &[]);
}

#[test]
#[cfg(feature = "emu")]
fn values_on_the_emulator() {
    run("values", &["emu:sm_90a", "13"]);
}

/// The program in the README, whose output is what its last comment says.
#[test]
fn the_readme_s_program_runs() {
    let (_, rest) = include_str!("../README.md").split_once("```c\n").unwrap();
    let (program, _) = rest.split_once("```").unwrap();
    let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join("capi-readme.c");
    std::fs::write(&source, program).unwrap();
    let printed = output(&mut Command::new(compile("readme", &source)));
    assert_eq!(printed, "6\n");
}

#[test]
fn the_header_is_cpp_too() {
    let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join("capi-header.cpp");
    let program = "#include <fa3.h>\nfa3_tensor t = fa3_contiguous(nullptr, FA3_BF16, 1, 2, 3, 4);\n";
    std::fs::write(&source, program).unwrap();
    let mut compiler = Command::new("c++");
    compiler.arg("-std=c++11").args(WARNINGS).arg("-fsyntax-only").arg(format!("-I{CRATE}/include"));
    output(compiler.arg(source));
}

/// The functions that the header declares, sorted.
fn declared() -> Vec<&'static str> {
    let code = HEADER.lines().filter(|line| !line.starts_with([' ', '/']) && !line.starts_with("static"));
    let names = code.filter_map(|line| {
        let (before, _) = line.split_once('(')?;
        before.rsplit([' ', '*']).next()
    });
    let mut names: Vec<&str> = names.filter(|name| name.starts_with("fa3_")).collect();
    names.sort_unstable();
    names
}

#[test]
fn the_library_exports_what_the_header_declares() {
    let symbols =
        output(Command::new("nm").args(["--dynamic", "--defined-only", "--format=posix"]).arg(library()));
    let mut exported: Vec<&str> = symbols.lines().filter_map(|line| line.split(' ').next()).collect();
    exported.sort_unstable();
    assert_eq!(exported, declared());
}

#[test]
fn python_s_structures_are_the_header_s() {
    let example = format!("{CRATE}/examples/torch_ctypes.py");
    let mut python = Command::new("python3");
    python.arg("-B").arg(format!("{CRATE}/tests/capi/torch_ctypes.py")).arg(example).arg(library());
    let printed = output(&mut python);
    // The same list from C.
    let mut program = String::from("#include <fa3.h>\n#include <stdio.h>\nint main(void) {\n");
    for line in printed.lines() {
        let [structure, field, _, _] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let c = if structure == "Tensor" { "fa3_tensor" } else { "fa3_forward_args" };
        let (offset, size) = match field {
            "sizeof" => ("(size_t)0".to_owned(), format!("sizeof({c})")),
            _ => (format!("offsetof({c}, {field})"), format!("sizeof((({c} *)0)->{field})")),
        };
        program += &format!("    printf(\"{structure} {field} %zu %zu\\n\", {offset}, {size});\n");
    }
    program += "    return 0;\n}\n";
    let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join("capi-python.c");
    std::fs::write(&source, program).unwrap();
    assert_eq!(output(&mut Command::new(compile("python", &source))), printed);
}
