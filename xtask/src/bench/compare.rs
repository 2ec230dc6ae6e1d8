//! The comparison with other programs: scripts in Python, which time them through torch and ours through the
//! timing server.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cubins;
use crate::error::{At, Error, Result};
use crate::process::{self, pass_through};
use crate::test_gpu::{bundle, programs};
use crate::workspace::Workspace;

const SERVER: &str = "serve";
const MAIN: &str = "compare.py";
const SCRIPTS: [(&str, &str); 4] = [
    (MAIN, include_str!("../../../fa3/benches/peers/compare.py")),
    ("cells.py", include_str!("../../../fa3/benches/peers/cells.py")),
    ("peers.py", include_str!("../../../fa3/benches/peers/peers.py")),
    ("timing.py", include_str!("../../../fa3/benches/peers/timing.py")),
];
/// What is timed, and how.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Timing {
    /// The cells to time: those of fwd, gqa, short or varlen, or these with -quick for a few of each.
    #[arg(long, value_delimiter = ',', default_value = "fwd")]
    grid: Vec<String>,
    /// Time in bursts after an idle pause, instead of under sustained load.
    #[arg(long)]
    burst: bool,
    /// Rounds, of which the median counts.
    #[arg(long, default_value_t = 3)]
    rounds: u32,
}

impl Timing {
    /// The arguments of the script.
    fn arguments(&self) -> Vec<String> {
        let mut arguments = self.grid.clone();
        arguments.extend(["--rounds".to_owned(), self.rounds.to_string()]);
        arguments.extend(self.burst.then(|| "--burst".to_owned()));
        arguments
    }
}

/// The folder of the scripts in a bundle.
const FOLDER: &str = "peers";

/// Whether python3 has torch for a GPU here; if not, why, and what to install.
pub(crate) fn torch() -> Result<()> {
    let mut command = Command::new("python3");
    command.args(["-c", "import torch, sys; sys.exit(not torch.cuda.is_available())"]);
    let missing = |what: &str| {
        Error::Refusal(format!(
            "{what}. Install a torch for this GPU (`python3 -m pip install torch`), which brings \
             FlashAttention-2 and cuDNN; for FlashAttention-4 the package flash-attn-4; for \
             FlashAttention-3 set FA3_SO to the file _vllm_fa3_C.abi3.so of the package vllm (docs/bench.md)"
        ))
    };
    match process::measure(command) {
        Err(Error::Start { .. }) => Err(missing("there is no python3")),
        Err(error) => Err(error),
        Ok(finished) if finished.status.success() => Ok(()),
        Ok(finished) if finished.output.contains("No module named 'torch'") => {
            Err(missing("python3 has no torch"))
        }
        Ok(finished) => {
            let why = finished.output.trim();
            Err(missing(if why.is_empty() { "python3's torch sees no CUDA device" } else { why }))
        }
    }
}

/// Runs it, and returns the file with the results.
pub(crate) fn run(workspace: &Workspace, timing: &Timing) -> Result<PathBuf> {
    let server = self::server(workspace)?;
    let folder = workspace.target.join("fa3-bench");
    fs::create_dir_all(&folder).at(&folder)?;
    let regime = if timing.burst { "burst" } else { "sustained" };
    let file = folder.join(format!("{}-{regime}.json", timing.grid.join("-")));
    // That of an earlier run must not be taken for this one's.
    if file.exists() {
        fs::remove_file(&file).at(&file)?;
    }
    let mut command = script(workspace, timing, &server);
    command.arg("--json").arg(&file);
    let line = process::line(&command);
    if pass_through(command)? != std::process::ExitCode::SUCCESS {
        let output = ": its messages are above".to_owned();
        return Err(Error::Failed { program: line, status: "exit status not 0".to_owned(), output });
    }
    Ok(file)
}

/// Builds the server.
pub(crate) fn server(workspace: &Workspace) -> Result<PathBuf> {
    Ok(programs::example(workspace, "fa3", SERVER)?.path)
}

/// The command that compares.
pub(crate) fn script(workspace: &Workspace, timing: &Timing, server: &Path) -> Command {
    let mut command = Command::new("python3");
    command.arg(workspace.root.join("fa3/benches/peers").join(MAIN)).args(timing.arguments());
    command.arg("--ours").arg(format!("'{}'", server.display()));
    command
}

/// Packs the server and the scripts, and returns how they are called.
pub(crate) fn pack(workspace: &Workspace, folder: &Path, timing: &Timing) -> Result<String> {
    cubins::build(workspace, &cubins::Arguments::default())?;
    bundle::clear(folder, SERVER)?;
    fs::create_dir_all(folder).at(folder)?;
    bundle::add(&programs::example(workspace, "fa3", SERVER)?, &folder.join(SERVER))?;
    pack_scripts(folder)?;
    Ok(format!("python3 {FOLDER}/{MAIN} {} --ours ./{SERVER}", timing.arguments().join(" ")))
}

/// Writes the scripts into a folder of a bundle.
pub(crate) fn pack_scripts(bundle: &Path) -> Result<()> {
    let folder = bundle.join(FOLDER);
    fs::create_dir_all(&folder).at(&folder)?;
    for (name, text) in SCRIPTS {
        let path = folder.join(name);
        fs::write(&path, text).at(&path)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::results::{Program, Results};
    use super::*;

    /// Answers like the timing server, in fixed times; not for every problem.
    const SERVER: &str = r#"
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    assert asked["warmup_ms"] == 0 and asked["measure_ms"] == 15, asked
    if asked["op"] == "ceiling":
        answer = {"ms": 2.0, "flops": 16 * 10**11} if asked["name"] != "d64" else {"error": "no d64"}
    elif asked["op"] == "varlen":
        answer = {"ms": 1.0, "err": 0.001 if asked["causal"] else 7.0}
    else:
        answer = {"ms": 0.5, "err": 0.001}
    print(json.dumps(answer), flush=True)
"#;

    #[test]
    fn the_scripts_write_what_is_read_here() {
        let folder = std::env::temp_dir().join(format!("xtask-{}-compare", std::process::id()));
        pack_scripts(&folder).unwrap();
        let (server, file) = (folder.join("server.py"), folder.join("results.json"));
        fs::write(&server, SERVER).unwrap();
        let mut command = Command::new("python3");
        command.arg(folder.join(FOLDER).join(MAIN)).args(["short-quick", "varlen-quick", "--burst"]);
        command.args(["--peers", "none", "--rounds", "1", "--json"]).arg(&file);
        command.arg("--ours").arg(format!("python3 '{}'", server.display()));
        let output = process::output(command).unwrap();
        let results = Results::read(&file).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!((results.regime.as_str(), results.rounds), ("burst", 1));
        assert_eq!(results.grids(), ["short", "varlen"]);
        assert_eq!((results.bare(), results.products(64)), (Some(800.0), None));
        assert!(results.left_out["ceiling d64"].contains("no d64"), "{results:?}");
        let labels: Vec<String> = results.cells.iter().map(|cell| cell.label()).collect();
        let even = "4096+4096+4096+4096";
        let packed = [format!("d128, {even}"), format!("d128 causal, {even}")];
        let short = ["d128, 1×128", "d128 causal, 1×512", "d128, 32×128", "d128 causal, 64×256"];
        assert_eq!(labels, [&short.map(str::to_owned)[..], &packed].concat());
        // 4·16·128² times 128, in half a millisecond.
        assert_eq!(results.cells[0].speed(Program::Ours), Some(4.0 * 16.0 * 16384.0 * 128.0 / 0.5 / 1e9));
        let wrong = &results.cells[4];
        assert_eq!(wrong.speed(Program::Ours), None);
        assert!(wrong.left_out[&Program::Ours].contains("the output is off by 7.0"), "{wrong:?}\n{output}");
        assert!(results.cells[5].speed(Program::Ours).is_some());
    }

    /// Answers in a time that the tuning decides.
    const TUNED: &str = r#"
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    assert asked["op"] == "fwd", asked
    tuning = asked["tuning"] or {}
    assert "image" not in tuning or tuning["image"].startswith("/"), tuning
    print(json.dumps({"ms": {"tile-each": 1.0, "pairs": 0.25}.get(tuning.get("walk"), 0.5), "err": 0.001}), flush=True)
"#;

    #[test]
    fn variants_and_other_builds_are_timed_in_turns_with_ours() {
        let folder = std::env::temp_dir().join(format!("xtask-{}-variants", std::process::id()));
        pack_scripts(&folder).unwrap();
        let (server, file) = (folder.join("server.py"), folder.join("variants.json"));
        fs::write(&server, TUNED).unwrap();
        let kernel = r#"{"operand": "bf16", "head_dim": 64, "value_dim": 64}"#;
        let variants = format!(
            r#"[{{"name": "each", "tuning": {{"kernel": {kernel}, "image": "a.fatbin", "walk": "tile-each"}}}},
                {{"name": "two", "tuning": {{"kernel": {kernel}, "walk": "pairs"}}}}]"#
        );
        fs::write(&file, variants).unwrap();
        let mut command = Command::new("python3");
        command
            .arg(folder.join(FOLDER).join(MAIN))
            .args(["fwd", "--burst", "--peers", "none", "--rounds", "1"]);
        command.arg("--ours").arg(format!("python3 '{}'", server.display()));
        command.arg("--ours").arg(format!("old=python3 '{}'", server.display()));
        command.arg("--variants").arg(&file);
        let output = process::output(command).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        // The twelve cells with heads of 64, and no others; the last, 16k tokens causal, is 1.1 TFLOP.
        let rows: Vec<Vec<&str>> =
            output.lines().rev().take(4).map(|line| line.split_whitespace().collect()).collect();
        let names: Vec<&str> = rows.iter().rev().map(|row| row[0]).collect();
        assert_eq!(names, ["ours", "old", "each", "two"], "{output}");
        assert!(rows.iter().all(|row| row.len() == 13), "{output}");
        assert_eq!((rows[0][12], rows[1][12], rows[3][12]), ("4398", "1100", "2199"), "{output}");
    }

    #[test]
    fn names_that_do_not_exist_are_refused() {
        let folder = std::env::temp_dir().join(format!("xtask-{}-names", std::process::id()));
        pack_scripts(&folder).unwrap();
        for (arguments, says) in [
            (["fwd", "--peers", "fa5"], "fa5: there are fa3, fa4, cudnn, fa2"),
            (["bwd", "--rounds", "1"], "bwd"),
        ] {
            let mut command = Command::new("python3");
            command.arg(folder.join(FOLDER).join(MAIN)).args(arguments);
            let error = process::output(command).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}
