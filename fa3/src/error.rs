//! What can go wrong, each with the argument, its value, the rule, and what would do.

use core::fmt;

use crate::lengths::LengthsError;
use crate::{Operand, Place};

/// The result of every fallible call of this crate.
pub type Result<T, E = Error> = core::result::Result<T, E>;

/// Why a call was rejected or failed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A shape, a stride, an element type or an option breaks a rule that holds on every backend.
    #[error("{argument} is {value}, but {rule}; {remedy}")]
    Argument {
        /// The argument: `k.shape[2]`, `options.softcap`.
        argument: &'static str,
        /// What was given.
        value: String,
        /// The rule it breaks.
        rule: String,
        /// What would be accepted.
        remedy: String,
    },

    /// No kernel of the target takes this problem, although it is well-formed.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),

    /// A tensor that TMA reads or writes cannot be described by a tensor map.
    #[error("{operand} cannot be described by a tensor map: {source}")]
    TensorMap {
        /// The operand.
        operand: Operand,
        /// The rule of the driver's documentation that it breaks.
        source: fa3_sys::TensorMapError,
    },

    /// A pointer belongs to another backend's memory.
    #[error(
        "{operand} points into {found}, but the backend works on {expected}; copy it there, or bind on the backend it belongs to"
    )]
    WrongPlace {
        /// The operand.
        operand: Operand,
        /// The memory it points into.
        found: Place,
        /// The backend's memory.
        expected: Place,
    },

    /// A pointer is null although bytes must be read or written through it.
    #[error(
        "{operand} is a null pointer, but {bytes} bytes are accessed through it; pass the address of its first element"
    )]
    Null {
        /// The operand.
        operand: Operand,
        /// How many bytes are accessed.
        bytes: usize,
    },

    /// A pointer is not aligned as the plan needs it.
    #[error(
        "{operand} is at {address:#x}, but its address must be a multiple of {alignment}; allocations of the backend are"
    )]
    Misaligned {
        /// The operand.
        operand: Operand,
        /// Its address.
        address: u64,
        /// The alignment needed, in bytes.
        alignment: u64,
    },

    /// An operand that the call writes shares memory with another operand.
    #[error("{written} and {other} share memory, but {written} is written; give {written} memory of its own")]
    Overlap {
        /// The operand that is written.
        written: Operand,
        /// The other operand.
        other: Operand,
    },

    /// The problem needs an operand that was not given.
    #[error("{operand} is not given, but {why}; pass it")]
    OperandMissing {
        /// The operand.
        operand: Operand,
        /// What needs it.
        why: &'static str,
    },

    /// An operand was given that the problem does not use.
    #[error("{operand} is given, but {why}; leave it out, or plan a problem that uses it")]
    OperandUnexpected {
        /// The operand.
        operand: Operand,
        /// Why it would be ignored.
        why: &'static str,
    },

    /// The plan was made for something else than what it is bound to.
    #[error(
        "the plan was made for {planned}, but is bound to {given} ({what}); plan again for what is bound"
    )]
    PlanMismatch {
        /// What differs: `the layout of k`.
        what: &'static str,
        /// What the plan was made for.
        planned: String,
        /// What it is bound to.
        given: String,
    },

    /// A buffer or slice is too short, or a slice is not as long as its shape says.
    #[error("{argument} holds {given} {unit}, but {needed} are needed; give it exactly that")]
    Length {
        /// The buffer or slice.
        argument: &'static str,
        /// How many it holds.
        given: usize,
        /// How many are needed.
        needed: usize,
        /// `bytes` or `elements`.
        unit: &'static str,
    },

    /// Memory could not be had.
    #[error("{bytes} bytes of {place} could not be allocated: {why}; free some, or work on smaller tensors")]
    Allocation {
        /// How many bytes were asked for.
        bytes: usize,
        /// In which memory.
        place: Place,
        /// What the allocator said.
        why: String,
    },

    /// A backend was asked for something that it does not do.
    #[error("the {backend} backend was asked to {request}; {remedy}")]
    Backend {
        /// The backend.
        backend: &'static str,
        /// What was asked.
        request: String,
        /// What would do.
        remedy: &'static str,
    },

    /// The kernel is not embedded in this build, or not of its table.
    #[error(transparent)]
    Kernel(#[from] fa3_kernels::EntryError),

    /// The CUDA driver refused a call, or is not there.
    #[cfg(feature = "cuda")]
    #[error(transparent)]
    Driver(#[from] fa3_sys::driver::DriverError),

    /// Work launched earlier failed on the device. The context is lost: every later call fails.
    #[cfg(feature = "cuda")]
    #[error("work on cuda:{ordinal} failed: {source}; it ran:\n{ran}")]
    Fault {
        /// The device.
        ordinal: u32,
        /// The plans launched last, the newest first.
        ran: String,
        /// What the driver said.
        source: fa3_sys::driver::DriverError,
    },

    /// The PTX of an embedded kernel holds what the emulator does not execute.
    #[cfg(feature = "emu")]
    #[error("kernel `{kernel}` cannot be emulated: {source}; run it on a GPU")]
    NotEmulated {
        /// The kernel.
        kernel: String,
        /// What it holds, and in which line.
        source: fa3_emu::ptx::PtxError,
    },

    /// The emulator stopped a kernel that did what it must not, or that cannot be launched so.
    #[cfg(feature = "emu")]
    #[error("{source}\nin an emulated run of:\n{plan}")]
    Emulated {
        /// The plan that ran.
        plan: crate::AnyPlan,
        /// Who did what, and where; or what is wrong with the launch.
        source: Box<fa3_emu::RunError>,
    },
}

impl Error {
    /// An [`Error::Argument`] from displayable parts.
    pub(crate) fn argument(
        argument: &'static str,
        value: impl fmt::Display,
        rule: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self::Argument { argument, value: value.to_string(), rule: rule.into(), remedy: remedy.into() }
    }
}

impl From<LengthsError> for Error {
    fn from(LengthsError { argument, value, rule }: LengthsError) -> Self {
        let value = format!("{argument} = {value}");
        let remedy = "pass used lengths, or offsets, one more than there are sequences: [0, …, total]";
        Self::argument("one of the sequences' arrays", value, rule, remedy)
    }
}

/// A well-formed problem that a target's kernels do not take, with every reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not supported on {target}: {}", join(.reasons))]
pub struct Unsupported {
    /// The target, as a person would say it: `sm_90a`.
    pub target: String,
    /// Every reason; never empty.
    pub reasons: Vec<Reason>,
}

fn join(reasons: &[Reason]) -> String {
    reasons.iter().map(Reason::to_string).collect::<Vec<_>>().join("; also, ")
}

/// One reason why a target refuses a problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The argument: `dtype`, `head_dim`, `options.softcap`, `k.strides`.
    pub argument: &'static str,
    /// Its value.
    pub value: String,
    /// The target's rule.
    pub rule: String,
    /// What would be accepted.
    pub remedy: &'static str,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {}, but {} ({})", self.argument, self.value, self.rule, self.remedy)
    }
}
