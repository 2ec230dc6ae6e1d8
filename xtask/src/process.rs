//! Running other programs: with their output captured and their time and memory measured, or
//! passed through to the terminal.

use std::ffi::OsStr;
use std::io::{BufRead, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitCode, ExitStatus};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// A program that has ended.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) status: ExitStatus,
    /// Standard output and standard error, interleaved as written.
    pub(crate) output: String,
    pub(crate) elapsed: Duration,
    /// The largest resident size of the program or of one of its descendants.
    pub(crate) peak_bytes: u64,
}

/// Runs a program to its end, whatever its status.
pub(crate) fn measure(mut command: Command) -> Result<Finished> {
    let program = name(&command);
    let start = |source| Error::Start { program: program.clone(), source };
    let (mut reader, writer) = std::io::pipe().map_err(start)?;
    let begin = Instant::now();
    command.stdin(std::process::Stdio::null());
    command.stdout(writer.try_clone().map_err(start)?).stderr(writer);
    let child = command.spawn().map_err(start)?;
    // The command holds the writing ends; the reader sees the end once they and the child's close.
    drop(command);
    let mut output = Vec::new();
    reader.read_to_end(&mut output).map_err(start)?;

    let mut status = 0;
    // SAFETY: `rusage` is a structure of integers, for which all zeros is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to live locals of the types that wait4 writes; the process is our
    // child and nothing else waits for it.
    let waited = unsafe { libc::wait4(child.id().cast_signed(), &mut status, 0, &mut usage) };
    if waited < 0 {
        return Err(start(std::io::Error::last_os_error()));
    }
    Ok(Finished {
        status: ExitStatus::from_raw(status),
        output: String::from_utf8_lossy(&output).into_owned(),
        elapsed: begin.elapsed(),
        // Linux counts it in KiB (getrusage(2)).
        peak_bytes: u64::try_from(usage.ru_maxrss).unwrap_or(0).saturating_mul(1024),
    })
}

/// Runs a program that has to succeed, and returns its output.
pub(crate) fn output(command: Command) -> Result<String> {
    let program = line(&command);
    let finished = measure(command)?;
    if finished.status.success() {
        return Ok(finished.output);
    }
    let output = format!(":\n{}", finished.output.trim_end());
    Err(Error::Failed { program, status: finished.status.to_string(), output })
}

/// Runs a program whose standard output is data, and returns that; messages go to the terminal.
pub(crate) fn stdout(mut command: Command) -> Result<String> {
    let program = line(&command);
    command.stderr(std::process::Stdio::inherit());
    let output = command.output().map_err(|source| Error::Start { program: name(&command), source })?;
    if !output.status.success() {
        return Err(Error::Failed { program, status: output.status.to_string(), output: String::new() });
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs a program to its end; `show` gets each line of its output as it comes. Returns whether it
/// succeeded, and all of its output.
pub(crate) fn follow(mut command: Command, mut show: impl FnMut(&str)) -> Result<(bool, String)> {
    let program = name(&command);
    let start = |source| Error::Start { program: program.clone(), source };
    let (reader, writer) = std::io::pipe().map_err(start)?;
    command.stdin(std::process::Stdio::null());
    command.stdout(writer.try_clone().map_err(start)?).stderr(writer);
    let mut child = command.spawn().map_err(start)?;
    drop(command);
    let mut output = String::new();
    for line in std::io::BufReader::new(reader).split(b'\n') {
        let line = line.map_err(start)?;
        let line = String::from_utf8_lossy(&line);
        show(&line);
        output.push_str(&line);
        output.push('\n');
    }
    Ok((child.wait().map_err(start)?.success(), output))
}

/// Runs a program with the terminal as its input and output, and returns its exit code; what went
/// wrong it has said itself.
pub(crate) fn pass_through(mut command: Command) -> Result<ExitCode> {
    let status = command.status().map_err(|source| Error::Start { program: name(&command), source })?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

/// A `cargo` command: the one that runs xtask.
pub(crate) fn cargo<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // Set for xtask itself by cargo; a build script or a test must not see xtask's.
    command.env_remove("CARGO_MANIFEST_DIR").args(arguments);
    command
}

fn name(command: &Command) -> String {
    command.get_program().to_string_lossy().into_owned()
}

/// The command as one would type it.
pub(crate) fn line(command: &Command) -> String {
    let mut line = name(command);
    for argument in command.get_args() {
        line.push(' ');
        line.push_str(&argument.to_string_lossy());
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn output_status_and_memory_are_measured() {
        let finished = measure(shell("echo out; echo err >&2; exit 3")).unwrap();
        assert_eq!(finished.output, "out\nerr\n");
        assert_eq!(finished.status.code(), Some(3));
        assert!(finished.peak_bytes > 100_000, "{finished:?}");
    }

    #[test]
    fn a_failure_shows_the_output_and_the_command() {
        let error = output(shell("echo reason; false")).unwrap_err().to_string();
        assert!(error.contains("reason") && error.contains("sh -c"), "{error}");
        let error = output(Command::new("/no/such/program")).unwrap_err().to_string();
        assert!(error.contains("/no/such/program"), "{error}");
    }
}
