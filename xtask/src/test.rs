//! `cargo xtask test`: everything that needs no GPU, part by part.

mod alone;
mod capi;
mod headers;
#[path = "../../fa3-tma/tests/gpu_nvrtc/nvrtc.rs"]
mod nvrtc;
mod suites;
mod tidy;

use std::process::ExitCode;
use std::time::Instant;

use crate::error::Result;
use crate::tally::Tally;
use crate::workspace::Workspace;
use crate::{cubins, package};
pub(crate) use suites::{command, test_command};

/// Runs everything that needs no GPU. The last line is `N passed, N failed`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Only these parts, separated by commas.
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Part>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    /// The repository's own rules.
    Tidy,
    /// `cargo fmt --check`, and clang-format on device code and C.
    Fmt,
    /// Every kernel, with the checks of `cargo xtask cubins`.
    Cubins,
    /// Each device header alone, with nvcc and NVRTC.
    Headers,
    /// `cargo clippy`, warnings denied.
    Clippy,
    /// Unit, property, integration and documentation tests of the workspace.
    Tests,
    /// The C library, used by a program.
    Capi,
    /// `cargo doc`, warnings denied.
    Docs,
    /// Each crate alone: its own tests, with its own features.
    Alone,
    /// Each crate packed with its kernels and used from the `.crate`, with the checks of `cargo xtask package`.
    Package,
}

impl Part {
    const ALL: [Self; 10] = [
        Self::Tidy,
        Self::Fmt,
        Self::Cubins,
        Self::Headers,
        Self::Clippy,
        Self::Tests,
        Self::Capi,
        Self::Docs,
        Self::Alone,
        Self::Package,
    ];

    fn run(self, workspace: &Workspace) -> Result<Tally> {
        match self {
            Self::Tidy => tidy::run(workspace),
            Self::Fmt => suites::format(workspace),
            Self::Cubins => cubins::main(workspace, &cubins::Arguments::default()).map(Tally::passed),
            Self::Headers => headers::run(workspace),
            Self::Clippy => suites::clippy(workspace),
            Self::Tests => suites::tests(workspace),
            Self::Capi => capi::run(workspace),
            Self::Docs => suites::docs(workspace),
            Self::Alone => alone::run(workspace),
            Self::Package => package::test(workspace),
        }
    }
}

pub(crate) fn main(workspace: &Workspace, arguments: &Arguments) -> Result<ExitCode> {
    let selected = |part: &Part| arguments.only.is_empty() || arguments.only.contains(part);
    let mut summary = String::new();
    let mut total = Tally::default();
    for part in Part::ALL.into_iter().filter(selected) {
        println!("\n==== {part:?}");
        let begin = Instant::now();
        let tally = part.run(workspace).unwrap_or_else(|error| {
            println!("error: {error}");
            Tally::failed(1)
        });
        let verdict = if tally.is_success() { "ok" } else { "FAILED" };
        summary.push_str(&format!(
            "{:9} {:>5} passed {:>4} failed {:>7.1} s  {verdict}\n",
            format!("{part:?}"),
            tally.passed,
            tally.failed,
            begin.elapsed().as_secs_f64()
        ));
        // A part that checked nothing has not shown anything.
        total += if tally == Tally::default() { Tally::failed(1) } else { tally };
    }
    println!("\n{summary}");
    println!("{} passed, {} failed", total.passed, total.failed);
    Ok(if total.is_success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
