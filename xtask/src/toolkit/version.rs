//! The compiler's version.

use std::fmt;
use std::path::Path;
use std::process::Command;

use crate::error::{Error, Result};
use crate::process;

/// A release of the CUDA compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version {
    pub(crate) major: u32,
    pub(crate) minor: u32,
}

/// Older releases are reported to miscompile `wgmma` with A in registers.
pub(crate) const OLDEST: Version = Version { major: 13, minor: 3 };
/// [`OLDEST`], for messages.
pub(crate) const OLDEST_TEXT: &str = "13.3";

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Asks a compiler for its version.
pub(crate) fn of(nvcc: &Path) -> Result<Version> {
    let mut command = Command::new(nvcc);
    command.arg("--version");
    let output = process::output(command)?;
    parse(&output).ok_or_else(|| Error::Answer {
        program: format!("{} --version", nvcc.display()),
        why: format!("no `release N.M` in `{}`", output.trim()),
    })
}

/// Reads the line `Cuda compilation tools, release 13.5, V13.5.37`.
fn parse(output: &str) -> Option<Version> {
    let (_, rest) = output.split_once("release ")?;
    let (number, _) = rest.split_once(',')?;
    let (major, minor) = number.split_once('.')?;
    Some(Version { major: major.parse().ok()?, minor: minor.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_release_line_is_found() {
        let output =
            "nvcc: NVIDIA (R) Cuda compiler driver\nCuda compilation tools, release 13.5, V13.5.37\n";
        assert_eq!(parse(output), Some(Version { major: 13, minor: 5 }));
        assert_eq!(parse("gcc (Debian) 14.2.0"), None);
    }

    #[test]
    fn order_is_by_number_not_by_text() {
        assert!(Version { major: 13, minor: 10 } > OLDEST);
        assert!(Version { major: 12, minor: 9 } < OLDEST);
        assert_eq!(OLDEST.to_string(), OLDEST_TEXT);
    }
}
