//! The kinds of edits.

use std::fmt;
use std::str::FromStr;

/// What an edit breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A wait for an mbarrier's phase, a group of `wgmma` or of bulk copies, a named barrier or the
    /// cluster is dropped, leaves one group more pending, or is not repeated until it is over.
    Wait,
    /// A fence is dropped.
    Fence,
    /// A group of `wgmma` or of bulk copies is not committed.
    Commit,
    /// An arrival is dropped or doubled, or an mbarrier expects one more or one fewer.
    Arrive,
    /// The bytes that a phase expects: 16 more, 16 fewer, half, twice.
    Bytes,
    /// A wait asks for the other parity.
    Phase,
    /// A field of a matrix descriptor: the address, the swizzle, the leading or the stride offset.
    Descriptor,
    /// The place of a tile in shared memory: one row of 128 bytes, or eight, further on.
    Stride,
    /// A `wgmma` takes an operand one step further on, does not run, or adds where it should start
    /// anew, or the other way round.
    KStep,
    /// A coordinate of a tile: one element, or 64, further on or back.
    Coordinate,
    /// A named barrier: its number one more or less, a warp more or less that it takes.
    NamedBarrier,
    /// `setmaxnreg`: eight registers more, or the other direction.
    Registers,
    /// A matrix is transposed.
    Transpose,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::Wait,
        Self::Fence,
        Self::Commit,
        Self::Arrive,
        Self::Bytes,
        Self::Phase,
        Self::Descriptor,
        Self::Stride,
        Self::KStep,
        Self::Coordinate,
        Self::NamedBarrier,
        Self::Registers,
        Self::Transpose,
    ];

    /// Its name in lists, one word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wait => "wait",
            Self::Fence => "fence",
            Self::Commit => "commit",
            Self::Arrive => "arrive",
            Self::Bytes => "bytes",
            Self::Phase => "phase",
            Self::Descriptor => "descriptor",
            Self::Stride => "stride",
            Self::KStep => "k-step",
            Self::Coordinate => "coordinate",
            Self::NamedBarrier => "named-barrier",
            Self::Registers => "registers",
            Self::Transpose => "transpose",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// No kind has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no kind of mutation is called `{0}`; there are {kinds}", kinds = names())]
pub struct UnknownKind(String);

fn names() -> String {
    Kind::ALL.map(Kind::name).join(", ")
}

impl FromStr for Kind {
    type Err = UnknownKind;

    fn from_str(name: &str) -> Result<Self, UnknownKind> {
        let found = Self::ALL.into_iter().find(|kind| kind.name() == name);
        found.ok_or_else(|| UnknownKind(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_kinds_correspond() {
        for kind in Kind::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        let error = "typo".parse::<Kind>().expect_err("no such kind").to_string();
        assert!(error.contains("`typo`") && error.contains("wait, fence"), "{error}");
    }
}
