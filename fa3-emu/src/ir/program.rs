//! A resolved kernel and what is known of it.

use fa3_sys::Arch;

use super::op::Instr;

/// A resolved kernel.
#[derive(Clone, Debug)]
pub struct Program {
    /// The name of the kernel.
    pub entry: String,
    /// The `.target` of its module.
    pub arch: Arch,
    /// The parameters, in order.
    pub params: Vec<Param>,
    /// The size of the parameter block in bytes.
    pub param_bytes: u32,
    /// How many registers it uses.
    pub registers: Registers,
    /// Its shared memory.
    pub shared: Shared,
    /// `.maxntid`: a CTA has at most this many threads, as their product.
    pub max_threads: Option<[u32; 3]>,
    /// `.reqntid`: a CTA has this shape and no other.
    pub required_threads: Option<[u32; 3]>,
    /// `.reqnctapercluster`: a cluster has this shape and no other.
    pub required_cluster: Option<[u32; 3]>,
    /// `.explicitcluster`: the launch has to have clusters.
    pub explicit_cluster: bool,
    /// The instructions. Execution begins at the first and cannot run past the last.
    pub instructions: Vec<Instr>,
    /// Where each instruction comes from; as many as there are instructions.
    pub lines: Vec<Line>,
    /// The source files that [`Location::file`] refers to.
    pub files: Vec<String>,
}

/// A kernel parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// Its name in the PTX.
    pub name: String,
    /// Where it begins in the parameter block.
    pub offset: u32,
    /// Bytes.
    pub size: u32,
    /// The offset is a multiple of this.
    pub align: u32,
}

/// How many registers of each width a thread has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    /// Of 16 bits.
    pub b16: u32,
    /// Of 32 bits.
    pub b32: u32,
    /// Of 64 bits.
    pub b64: u32,
    /// Predicates.
    pub pred: u32,
}

/// The layout of shared memory: static variables first, dynamic memory after them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shared {
    /// Bytes of the static variables.
    pub static_bytes: u32,
    /// The offset at which dynamic memory (`.extern .shared`) begins, aligned as declared;
    /// `None` if the module declares none.
    pub dynamic_offset: Option<u32>,
    /// All variables. An `.extern` one has size 0.
    pub symbols: Vec<Symbol>,
}

/// A variable in shared memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Its name in the PTX.
    pub name: String,
    /// Where it begins.
    pub offset: u32,
    /// Bytes.
    pub size: u32,
    /// The offset is a multiple of this.
    pub align: u32,
}

/// Where an instruction comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// The line of the PTX text, from 1.
    pub ptx: u32,
    /// The source line by the last `.loc`, if there was one.
    pub source: Option<Location>,
}

/// A line of a source file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// Its place in [`Program::files`].
    pub file: u32,
    /// From 1; 0 where the compiler has none.
    pub line: u32,
}
