//! A module as written: names unresolved, instructions uninterpreted.

use std::ops::Range;

use fa3_sys::Arch;

use crate::ir::Class;

/// A module.
#[derive(Clone, Debug)]
pub struct Module<'a> {
    /// `.target`.
    pub arch: Arch,
    /// Variables in shared memory.
    pub shared: Vec<Variable<'a>>,
    /// Its kernels.
    pub kernels: Vec<Kernel<'a>>,
    /// `.file`: number and name.
    pub files: Vec<(u32, &'a str)>,
    /// Variables in `.global` and `.const`, which the emulator does not hold: name and directive. Only
    /// kernels that refer to none of them can be compiled.
    pub elsewhere: Vec<(&'a str, &'a str)>,
}

/// A variable in shared memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable<'a> {
    /// Its name.
    pub name: &'a str,
    /// `.extern`: dynamic memory, whose size the launch gives.
    pub external: bool,
    /// Bytes; 0 for an `.extern` one.
    pub size: u32,
    /// Alignment in bytes.
    pub align: u32,
    /// Where it is declared.
    pub line: u32,
}

/// A kernel.
#[derive(Clone, Debug)]
pub struct Kernel<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its parameters.
    pub params: Vec<Parameter<'a>>,
    /// `.maxntid`.
    pub max_threads: Option<[u32; 3]>,
    /// `.reqntid`.
    pub required_threads: Option<[u32; 3]>,
    /// `.reqnctapercluster`.
    pub required_cluster: Option<[u32; 3]>,
    /// `.explicitcluster`.
    pub explicit_cluster: bool,
    /// What is between the braces, scopes flat: each [`Statement::Open`] has its
    /// [`Statement::Close`].
    pub body: Vec<Statement<'a>>,
    /// The line of its name.
    pub line: u32,
    /// The line of the closing brace.
    pub end_line: u32,
}

/// A parameter of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter<'a> {
    /// Its name.
    pub name: &'a str,
    /// Bytes.
    pub size: u32,
    /// Alignment in bytes.
    pub align: u32,
    /// Where it is declared.
    pub line: u32,
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement<'a> {
    /// `{`.
    Open,
    /// `}`.
    Close,
    /// `.reg`.
    Register {
        /// The name, or the common part of the names.
        name: &'a str,
        /// `name<count>` declares `name0` to `name(count−1)`.
        count: Option<u32>,
        /// What it holds.
        ty: RegisterTy,
        /// Where.
        line: u32,
    },
    /// `.shared` within the kernel.
    Shared(Variable<'a>),
    /// `name:`.
    Label {
        /// The name.
        name: &'a str,
        /// Where.
        line: u32,
    },
    /// `.loc`: the source line of what follows.
    Location {
        /// By its number in `.file`.
        file: u32,
        /// From 1; 0 where the compiler has none.
        line: u32,
    },
    /// An instruction.
    Instruction(Instruction<'a>),
}

/// What a register holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegisterTy {
    /// A truth value.
    Pred,
    /// Bits.
    Bits(Class),
}

/// An instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction<'a> {
    /// Its guard.
    pub guard: Option<Guard<'a>>,
    /// The opcode with all that follows it: `add.s32`.
    pub opcode: &'a str,
    /// Its operands.
    pub operands: Vec<Operand<'a>>,
    /// Where.
    pub line: u32,
    /// The bytes of the text that it takes, from the guard to the semicolon.
    pub span: Range<usize>,
}

/// `@p` or `@!p`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard<'a> {
    /// The predicate.
    pub name: &'a str,
    /// Whether a `!` stands before it.
    pub negated: bool,
}

/// An operand.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand<'a> {
    /// A register, variable, parameter, label, or `_`.
    Name(&'a str),
    /// `!name`.
    Not(&'a str),
    /// `name+constant`.
    Sum(&'a str, i64),
    /// `first|second`.
    Pair(&'a str, &'a str),
    /// An integer, from −2⁶³ to 2⁶⁴−1.
    Integer(i128),
    /// `0f…`: the bits of a binary32.
    Single(u32),
    /// `0d…`: the bits of a binary64.
    Double(u64),
    /// A number with a decimal point.
    Decimal(&'a str),
    /// `{a, b, …}`; of operands that are no vectors.
    Vector(Vec<Operand<'a>>),
    /// `[base+offset]`, and `[base+offset, {coordinates}]`.
    Address {
        /// A register, variable or parameter; `None` for a bare constant.
        base: Option<&'a str>,
        /// A constant.
        offset: i64,
        /// The coordinates of a tile.
        coordinates: Option<Vec<Operand<'a>>>,
    },
}
