//! The repository's own rules.

mod rules;

use std::path::Path;

use crate::error::{At, Result};
use crate::process::output;
use crate::tables;
use crate::tally::Tally;
use crate::workspace::Workspace;
use rules::{File, RULES};

/// Files that have to be there, for the repository and for each package.
const REPOSITORY_FILES: [&str; 6] =
    ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT", ".ci/run"];
const PACKAGE_FILES: [&str; 1] = ["README.md"];
const LICENSE: &str = "MIT OR Apache-2.0";

pub(crate) fn run(workspace: &Workspace) -> Result<Tally> {
    let files = files(workspace)?;
    let mut tally = Tally::default();
    for rule in RULES {
        let violations: Vec<String> = files.iter().filter_map(|file| (rule.broken_by)(file)).collect();
        tally += report(rule.says, &violations);
    }
    tally += report("all test data together at most 8 MB", &rules::data_total(&files));
    tally += report("every needed file exists and says something", &absent(workspace, &files));
    tally += report("the README's programs are those that fa3's README has tested", &untested(&files));
    tally += report("every package has the licence of the project", &licences(workspace));
    tally += report("every kernel source is in its crate's table, and the other way round", &tables(&files));
    Ok(tally)
}

fn report(rule: &str, violations: &[String]) -> Tally {
    let verdict = if violations.is_empty() { "ok" } else { "FAILED" };
    println!("{verdict:7} {rule}");
    for violation in violations {
        println!("        {violation}");
    }
    Tally::of(violations.is_empty())
}

/// What git holds, and what it would hold if all were added.
fn files(workspace: &Workspace) -> Result<Vec<File>> {
    let mut command = std::process::Command::new("git");
    command.current_dir(&workspace.root);
    command.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let list = output(command)?;
    let mut files = Vec::new();
    for name in list.split('\0').filter(|name| !name.is_empty()) {
        let path = workspace.root.join(name);
        // A file that is deleted and not yet committed is listed too.
        if path.is_file() {
            files.push(File { path: name.to_owned(), contents: std::fs::read(&path).at(&path)? });
        }
    }
    Ok(files)
}

fn absent(workspace: &Workspace, files: &[File]) -> Vec<String> {
    let of_package = |package: &Path| {
        let folder = package.strip_prefix(&workspace.root).unwrap_or(package).to_path_buf();
        PACKAGE_FILES.map(|name| folder.join(name).to_string_lossy().into_owned())
    };
    let packages = workspace.packages.iter().flat_map(|package| of_package(package.root()));
    let needed = REPOSITORY_FILES.iter().map(|name| (*name).to_owned()).chain(packages);
    let exists = |path: &String| {
        files.iter().any(|file| file.path == *path && file.contents.split(|byte| *byte == b'\n').count() > 3)
    };
    needed.filter(|path| !exists(path)).collect()
}

/// Those of the root README's programs that do not stand in fa3's README, whose programs are run as tests.
fn untested(files: &[File]) -> Vec<String> {
    let text = |path| files.iter().find(|file| file.path == path).and_then(File::text).unwrap_or_default();
    let program = |language: &str| {
        let (_, rest) = text("README.md").split_once(&format!("```{language}\n")).unwrap_or_default();
        rest.split_once("```").map_or("", |(program, _)| program)
    };
    let differs = |language: &&str| {
        let program = program(language);
        program.is_empty() || !text("fa3/README.md").contains(program)
    };
    let differing = ["rust", "c"].into_iter().filter(differs);
    differing
        .map(|language| format!("README.md and fa3/README.md differ in their {language} program"))
        .collect()
}

fn licences(workspace: &Workspace) -> Vec<String> {
    let other = |license: &Option<String>| license.as_deref() != Some(LICENSE);
    let packages = workspace.packages.iter().filter(|package| other(&package.license));
    packages.map(|package| format!("{}: {:?}, not {LICENSE}", package.name, package.license)).collect()
}

fn tables(files: &[File]) -> Vec<String> {
    let crates = tables::crates();
    let listed: Vec<String> = crates
        .iter()
        .flat_map(|owner| owner.units.iter().map(|unit| format!("{}/{}", owner.folder, unit.source)))
        .collect();
    let is_kernel = |path: &str| path.ends_with(".cu") && path.contains("/kernels/");
    let unlisted = files.iter().filter(|file| is_kernel(&file.path) && !listed.contains(&file.path));
    let mut violations: Vec<String> = unlisted.map(|file| format!("{} is in no table", file.path)).collect();
    let lost = listed.iter().filter(|path| !files.iter().any(|file| file.path == **path));
    violations.extend(lost.map(|path| format!("{path} is in a table and does not exist")));
    violations.dedup();
    violations
}
