//! The documentation of each packed crate, as docs.rs builds it: from the `.crate` alone, with the features
//! that its manifest names for it, without CUDA and without network.

use super::machine::Machine;
use crate::error::Result;
use crate::tally::Tally;
use crate::test::command;
use crate::workspace::Workspace;

pub(super) fn run(workspace: &Workspace, machine: &Machine) -> Result<Tally> {
    let mut tally = Tally::default();
    for package in workspace.libraries() {
        let features = format!(", features = {:?}", package.documented_features());
        println!("\n-- documentation of {}{features}", package.name);
        let name = format!("documentation-of-{}", package.name);
        let folder = machine.dependant(workspace, &name, (&package.name, &features), "")?;
        let mut document =
            machine.cargo(&folder, &["doc", "--quiet", "--no-deps", "--package", &package.name]);
        // What docs.rs sets (its "About" pages, "Builds").
        document.env("DOCS_RS", "1").env("RUSTDOCFLAGS", "-D warnings");
        tally += command(document)?;
    }
    Ok(tally)
}
