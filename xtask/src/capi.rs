//! `cargo xtask capi`: the C library, its header, and how a build finds them.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::cubins;
use crate::error::{At, Error, Result};
use crate::process::stdout;
use crate::workspace::Workspace;

/// Builds the C library, `libfa3.so`, optimised and with the kernels inside, and puts it into a folder
/// with `fa3.h` and `fa3.pc`, for pkg-config.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Arguments {
    /// The folder; `target/capi` if none is given.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// With the emulated GPU, `emu:sm_90a`, in the library.
    #[arg(long)]
    emu: bool,
}

/// The package whose library it is, and its features beside the default ones.
const PACKAGE: &str = "fa3";
const FEATURE: &str = "capi";
const LIBRARY: &str = "libfa3.so";

pub(crate) fn main(workspace: &Workspace, arguments: &Arguments) -> Result<()> {
    cubins::build(workspace, &cubins::Arguments::default())?;
    let folder = arguments.out.clone().unwrap_or_else(|| workspace.target.join(FEATURE));
    for path in write(workspace, &folder, Build { emu: arguments.emu, ..Build::RELEASE })? {
        println!("{:8.1} MB  {}", fs::metadata(&path).at(&path)?.len() as f64 / 1e6, path.display());
    }
    let folder = folder.canonicalize().at(&folder)?;
    println!("PKG_CONFIG_PATH={} pkg-config --cflags --libs fa3", folder.display());
    Ok(())
}

/// How the library is built.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Build {
    release: bool,
    /// With the emulated GPU.
    emu: bool,
}

impl Build {
    pub(crate) const RELEASE: Self = Self { release: true, emu: false };
    /// For tests, from what other tests have compiled.
    pub(crate) const QUICK: Self = Self { release: false, emu: true };
}

/// Builds the library and writes it, its header and its description for pkg-config. Returns the paths.
pub(crate) fn write(workspace: &Workspace, folder: &Path, build: Build) -> Result<[PathBuf; 3]> {
    let library = library(workspace, build)?;
    fs::create_dir_all(folder).at(folder)?;
    let package = workspace.package(PACKAGE)?;
    let files = [LIBRARY, "fa3.h", "fa3.pc"].map(|name| folder.join(name));
    let header = package.root().join("include/fa3.h");
    for (from, to) in [(&library, &files[0]), (&header, &files[1])] {
        fs::copy(from, to).at(to)?;
    }
    fs::write(&files[2], description(&package.version)).at(&files[2])?;
    Ok(files)
}

/// Builds the library and returns where cargo put it.
fn library(workspace: &Workspace, build: Build) -> Result<PathBuf> {
    eprintln!("building {LIBRARY} ...");
    let mut command = workspace.cargo(["rustc", "--package", PACKAGE, "--lib"]);
    if build.release {
        command.arg("--release");
    }
    // A crate's type cannot hang on a feature, so it is the command's.
    command.args(["--crate-type=cdylib", "--message-format=json-render-diagnostics"]);
    command.arg(format!("--features={FEATURE}{}", if build.emu { ",emu" } else { "" }));
    // The name is what programs ask the loader for, wherever they were linked.
    command.args(["--", "-Cstrip=symbols", &format!("-Clink-arg=-Wl,-soname,{LIBRARY}")]);
    let built = file(&stdout(command)?, LIBRARY);
    built
        .ok_or_else(|| Error::Answer { program: "cargo rustc".into(), why: format!("it built no {LIBRARY}") })
}

/// The path of a file of this name in cargo's JSON messages.
fn file(messages: &str, name: &str) -> Option<PathBuf> {
    #[derive(Deserialize)]
    struct Message {
        #[serde(default)]
        filenames: Vec<PathBuf>,
    }
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Message>(line).ok());
    messages.flat_map(|message| message.filenames).find(|path| path.ends_with(name))
}

/// `fa3.pc`: everything lies in its own folder.
fn description(version: &str) -> String {
    format!(
        "prefix=${{pcfiledir}}\n\nName: fa3\nDescription: Exact softmax attention on GPUs and CPUs\n\
         Version: {version}\nCflags: -I${{prefix}}\nLibs: -L${{prefix}} -lfa3\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_is_found_among_other_messages() {
        let messages = r#"
{"reason":"compiler-artifact","target":{"name":"fa3_sys"},"filenames":["/t/libfa3_sys.rlib","/t/libfa3_sys.rmeta"]}
{"reason":"compiler-artifact","target":{"name":"fa3"},"filenames":["/t/libfa3.so"]}
{"reason":"build-finished","success":true}
"#;
        assert_eq!(file(messages, LIBRARY), Some(PathBuf::from("/t/libfa3.so")));
        assert_eq!(file(messages, "libfa3.a"), None);
    }
}
