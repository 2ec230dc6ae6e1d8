//! Runs of the command.

use std::path::PathBuf;
use std::process::Command;

/// The command, started at the root of the repository.
pub fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fa3-emu"));
    command.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    command
}

/// What a run said, and the code that it ended with.
#[derive(Debug)]
pub struct Outcome {
    pub code: i32,
    pub output: String,
    pub error: String,
}

/// Runs with arguments separated by blanks.
pub fn fa3_emu(arguments: &str) -> Outcome {
    let output = command().args(arguments.split_whitespace()).output().unwrap();
    Outcome {
        code: output.status.code().unwrap(),
        output: String::from_utf8(output.stdout).unwrap(),
        error: String::from_utf8(output.stderr).unwrap(),
    }
}

impl Outcome {
    /// The output of a run that succeeded.
    pub fn success(self) -> String {
        assert_eq!((self.code, self.error.as_str()), (0, ""), "{}", self.output);
        self.output
    }
}

/// A file of this test program's own.
pub fn scratch(name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, contents).unwrap();
    path
}
