//! `cargo xtask bench`: the benches of every package, the comparison with other programs, and the timing server.

mod chart;
pub(crate) mod compare;
mod paper;
mod results;
mod table;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::devices;
use crate::error::{Error, Result};
use crate::process::pass_through;
use crate::workspace::Workspace;
use results::Results;

/// Runs the criterion benches, and then times our attention beside FlashAttention-2, 3 and 4 and cuDNN where
/// python3 has torch for this GPU: a table of TFLOP/s, ratios, shares of the peak and of what matrix products
/// alone get, and what the FlashAttention-3 paper prints.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Only the comparison; fails where there is no torch.
    #[arg(long)]
    peers: bool,
    #[command(flatten)]
    timing: compare::Timing,
    /// Run nothing; print the tables of these results of earlier comparisons.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    from: Vec<PathBuf>,
    /// Draw the comparison into this folder, an SVG for each head dimension.
    #[arg(long, value_name = "DIR")]
    draw: Option<PathBuf>,
    /// Run nothing; pack the timing server and the scripts of the comparison into this folder, for a GPU
    /// machine without Rust.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["from", "peers", "serve"])]
    bundle: Option<PathBuf>,
    /// Run the timing server instead, which reads one JSON request a line from standard input and answers
    /// each on standard output.
    #[arg(long, conflicts_with_all = ["from", "peers"])]
    serve: bool,
    /// Passed on to the benches or the server; without a comparison, then.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

pub(crate) fn main(workspace: &Workspace, arguments: &Arguments) -> Result<ExitCode> {
    let draw = arguments.draw.as_deref();
    if !arguments.from.is_empty() {
        let results = arguments.from.iter().map(|path| Results::read(path));
        return show(&results.collect::<Result<Vec<_>>>()?, draw).map(|()| ExitCode::SUCCESS);
    }
    if let Some(folder) = &arguments.bundle {
        let call = compare::pack(workspace, folder, &arguments.timing)?;
        println!(
            "{}; on the GPU machine: {call} --json results.json; here: cargo xtask bench --from results.json",
            folder.display()
        );
        return Ok(ExitCode::SUCCESS);
    }
    if arguments.peers {
        devices::require(workspace)?;
        compare::torch()?;
        return compared(workspace, arguments, draw);
    }
    devices::prepare(workspace)?;
    if arguments.serve {
        let mut command = workspace.example("fa3", "serve")?;
        command.arg("--").args(&arguments.arguments);
        return pass_through(command);
    }
    let mut command = benches(workspace);
    command.arg("--").args(&arguments.arguments);
    let code = pass_through(command)?;
    if code != ExitCode::SUCCESS || !arguments.arguments.is_empty() {
        return Ok(code);
    }
    match compare::torch() {
        Ok(()) => compared(workspace, arguments, draw),
        Err(why) if draw.is_some() => Err(why),
        Err(why) => {
            eprintln!("not compared with other programs: {why}");
            Ok(code)
        }
    }
}

/// Every bench of every package.
fn benches(workspace: &Workspace) -> Command {
    let mut command = workspace.cargo(["bench"]);
    for package in &workspace.packages {
        for bench in package.targets_of("bench") {
            command.args(["--package", &package.name, "--bench", &bench.name]);
            command.args(
                bench.required_features.iter().map(|name| format!("--features={}/{name}", package.name)),
            );
        }
    }
    command
}

fn compared(workspace: &Workspace, arguments: &Arguments, draw: Option<&Path>) -> Result<ExitCode> {
    let file = compare::run(workspace, &arguments.timing)?;
    println!("{}\n", file.display());
    show(&[Results::read(&file)?], draw)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints tables, and draws them.
fn show(all: &[Results], draw: Option<&Path>) -> Result<()> {
    for results in all {
        println!("{}", table::render(results));
    }
    let Some(folder) = draw else { return Ok(()) };
    let mut regimes: Vec<&str> = all.iter().map(|results| results.regime.as_str()).collect();
    regimes.sort_unstable();
    if let Some([regime, _]) = regimes.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(Error::Refusal(format!("more than one of the files is {regime}: draw one of them")));
    }
    for results in all {
        for path in chart::write(results, folder)? {
            println!("{}", path.display());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_results_of_one_regime_are_not_drawn_over_each_other() {
        let sample = || Results::parse(results::tests::SAMPLE).unwrap();
        let folder = std::env::temp_dir().join(format!("xtask-{}-regimes", std::process::id()));
        let error = show(&[sample(), sample()], Some(&folder)).unwrap_err().to_string();
        assert_eq!(error, "more than one of the files is sustained: draw one of them");
        assert!(!folder.exists());
    }
}
