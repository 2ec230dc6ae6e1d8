//! Each crate alone. A workspace build unites the features of all members, which hides what a crate forgot
//! to ask for; so each one is tested by itself. (`package` has programs that use each, outside.)

use super::suites::test_command;
use crate::error::Result;
use crate::tally::Tally;
use crate::workspace::Workspace;

pub(crate) fn run(workspace: &Workspace) -> Result<Tally> {
    let mut tally = Tally::default();
    for package in workspace.packages.iter().filter(|package| package.name != env!("CARGO_PKG_NAME")) {
        tally += test_command(workspace.cargo(["test", "--no-fail-fast", "--package", &package.name]))?;
    }
    Ok(tally)
}
