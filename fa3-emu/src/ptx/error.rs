//! What can be wrong with PTX text.

/// Why a module or a kernel of it cannot be loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PtxError {
    /// Something in the text.
    #[error("PTX line {line}: {fault}")]
    Text {
        /// Its line, from 1.
        line: u32,
        /// What it is.
        fault: Fault,
    },
    /// The module has no such kernel.
    #[error("the module has no kernel `{entry}`; it has {}", list(.found))]
    NoKernel {
        /// The name asked for.
        entry: String,
        /// The names there are.
        found: Vec<String>,
    },
}

impl PtxError {
    /// The line at fault, if the fault is at one.
    #[must_use]
    pub const fn line(&self) -> Option<u32> {
        match self {
            Self::Text { line, .. } => Some(*line),
            Self::NoKernel { .. } => None,
        }
    }
}

/// What is wrong at a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A character that begins nothing.
    #[error("`{0}` begins no token")]
    Character(char),
    /// The text ends within something.
    #[error("{0} has no end")]
    Unterminated(&'static str),
    /// Not a number that PTX has.
    #[error("`{text}` is not {rule}")]
    Number {
        /// As written.
        text: String,
        /// What would do.
        rule: &'static str,
    },
    /// Something else should be here.
    #[error("expected {expected}, found {found}")]
    Expected {
        /// What.
        expected: &'static str,
        /// What there is.
        found: String,
    },
    /// A directive that the emulator does not know.
    #[error("directive `{0}` is not known to the emulator")]
    Directive(String),
    /// A pragma that the emulator does not know.
    #[error("pragma \"{0}\" is not known to the emulator")]
    Pragma(String),
    /// A target that the emulator does not execute.
    #[error("target `{0}` is not one that the emulator executes (sm_90a, sm_100a)")]
    Target(String),
    /// An instruction, or a form of one, that the emulator does not know.
    #[error("instruction `{0}` is not known to the emulator")]
    Instruction(String),
    /// Too few or too many operands.
    #[error("`{opcode}` has {found} operands, which are too {}", if *.few { "few" } else { "many" })]
    OperandCount {
        /// The instruction.
        opcode: String,
        /// What there is.
        found: usize,
        /// Whether more are needed.
        few: bool,
    },
    /// An operand of the wrong kind.
    #[error("operand {number} of `{opcode}` must be {expected}")]
    Operand {
        /// The instruction.
        opcode: String,
        /// Which, from 1; for a vector, of the vector.
        number: usize,
        /// What would do.
        expected: &'static str,
    },
    /// A constant that does not fit.
    #[error("operand {number} of `{opcode}`: {value} does not fit in {bits} bits")]
    Constant {
        /// The instruction.
        opcode: String,
        /// Which operand, from 1.
        number: usize,
        /// As a number.
        value: i128,
        /// Of the operand.
        bits: u32,
    },
    /// A name that nothing declares here.
    #[error("`{0}` is not declared here")]
    Undeclared(String),
    /// A variable in a state space that the emulator does not hold.
    #[error("`{name}` is a variable in `{space}`, which is not known to the emulator")]
    Elsewhere {
        /// Its name.
        name: String,
        /// The directive that declares it.
        space: String,
    },
    /// A name that is declared twice in one scope.
    #[error("`{0}` is declared twice in one scope")]
    Redeclared(String),
    /// A size that exceeds what the device has.
    #[error("{what} takes more than {limit} bytes")]
    TooLarge {
        /// What.
        what: &'static str,
        /// The most that it may take.
        limit: u32,
    },
}

impl Fault {
    /// At a line.
    pub(crate) fn at(self, line: u32) -> PtxError {
        PtxError::Text { line, fault: self }
    }
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
