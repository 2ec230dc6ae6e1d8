//! A kernel, and launches of it that together run everything it has.

use fa3_emu::ir::Program;
use fa3_emu::mutation::{Mutant, mutants};
use fa3_emu::{Launch, Memory, Options, RunError, ptx, run};

use super::judge::Round;

/// A launch, and the memory that the kernel leaves behind when nothing is wrong with it.
pub struct Problem {
    pub name: String,
    launch: Launch,
    arguments: Vec<Vec<u8>>,
    memory: Memory,
    /// Every allocation: its address and its bytes afterwards.
    expected: Vec<(u64, Vec<u8>)>,
    /// The warp instructions that it takes.
    pub steps: u64,
}

/// How a run of a mutant goes wrong.
pub enum Wrong {
    /// It ends with an error.
    Error(RunError),
    /// What it leaves behind is not what the kernel does.
    Output { address: u64, byte: usize },
}

impl Problem {
    /// Runs `program` as it is. `regions` are the allocations, addresses and bytes.
    pub fn new(
        name: String,
        program: &Program,
        (launch, arguments): (Launch, Vec<Vec<u8>>),
        memory: Memory,
        regions: &[(u64, usize)],
    ) -> Self {
        let mut problem = Self { name, launch, arguments, memory, expected: Vec::new(), steps: 0 };
        let mut after = problem.memory.clone();
        let options = Options::default();
        problem.steps = problem
            .launch(program, &mut after, &options)
            .unwrap_or_else(|error| panic!("{}, as it is: {error}", problem.name));
        let bytes = |&(address, bytes)| (address, after.read(address, bytes).unwrap().to_vec());
        problem.expected = regions.iter().map(bytes).collect();
        problem
    }

    fn launch(&self, program: &Program, memory: &mut Memory, options: &Options) -> Result<u64, RunError> {
        let arguments: Vec<&[u8]> = self.arguments.iter().map(Vec::as_slice).collect();
        run(program, &self.launch, &arguments, memory, options).map(|report| report.steps)
    }

    /// Runs `program`, which should do what the kernel does.
    pub fn run(&self, program: &Program, options: &Options) -> Result<(), Wrong> {
        let mut memory = self.memory.clone();
        self.launch(program, &mut memory, options).map_err(Wrong::Error)?;
        for (address, expected) in &self.expected {
            let found = memory.read(*address, expected.len()).unwrap();
            if let Some(byte) = found.iter().zip(expected).position(|(found, expected)| found != expected) {
                return Err(Wrong::Output { address: *address, byte });
            }
        }
        Ok(())
    }
}

/// A kernel and its problems, the cheapest first.
pub struct Subject {
    pub name: &'static str,
    pub ptx: &'static str,
    pub problems: Vec<Problem>,
}

impl Subject {
    pub fn mutants(&self) -> Vec<Mutant<'static>> {
        mutants(self.ptx, self.name).unwrap()
    }

    /// Runs a text of the kernel in a round.
    pub fn run(&self, ptx: &str, round: &Round) -> Result<(), Wrong> {
        self.problems[round.problem].run(&self.compile(ptx).unwrap(), &round.options)
    }

    /// The kernel in a text.
    pub fn compile(&self, ptx: &str) -> Result<Program, ptx::PtxError> {
        Program::compile(&ptx::parse(ptx)?, self.name)
    }
}
