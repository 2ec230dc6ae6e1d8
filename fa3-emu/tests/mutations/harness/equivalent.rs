//! The mutants that change nothing, and why. Each rule is a pattern of instructions, none knows a
//! kernel; a mutant that one of them matches and a check notices nevertheless is an error.

use fa3_emu::mutation::{Kind, Mutant};
use fa3_emu::ptx::{self, Instruction, Operand, Statement};

/// A pattern of mutants that change nothing.
struct Rule {
    kind: Kind,
    edits: &'static [&'static str],
    /// Whether the mutant of instruction `at` of the kernel is one.
    matches: fn(kernel: &[Instruction<'_>], at: usize) -> bool,
    why: &'static str,
}

const RULES: &[Rule] = &[
    Rule {
        kind: Kind::Commit,
        edits: &["dropped"],
        matches: awaited_with_the_next_group,
        why: "its products join those of the next commit, and a wait for all follows that one (PTX ISA, \
              \"wgmma.commit_group\")",
    },
    Rule {
        kind: Kind::Descriptor,
        edits: &["B leading offset + 1"],
        matches: |kernel, at| one_pattern_wide(&kernel[at]),
        why: "the leading offset of an MN-major operand is the distance from one repeating pattern along N \
              to the next, and 64 elements of 16 bits in a 128-byte swizzle are one pattern (PTX ISA, \
              \"Strides\", \"Leading Dimension Byte Offset\")",
    },
    Rule {
        kind: Kind::Fence,
        edits: &["dropped"],
        matches: registers_untouched_since_fence,
        why: "wgmma.fence orders accesses to a wgmma's registers before it, and since the fence before \
              this one nothing has accessed them (PTX ISA, \"wgmma.fence\")",
    },
    Rule {
        kind: Kind::NamedBarrier,
        edits: &["number + 1", "number - 1"],
        matches: alone_on_its_barrier,
        why: "the number only tells barriers apart: all who use this one use the other instead, which \
              nobody uses meanwhile; a completed barrier can be used again at once (PTX ISA, \"bar, \
              barrier\")",
    },
    Rule {
        kind: Kind::Wait,
        edits: &["dropped", "one more pending"],
        matches: reads_awaited_already,
        why: "every group's reads are awaited where it is committed, so none is pending; its writes are \
              performed when the grid completes (PTX ISA, \"cp.async.bulk.wait_group\"; CUDA programming \
              guide, \"Streams\")",
    },
    Rule {
        kind: Kind::Wait,
        edits: &["dropped"],
        matches: after_a_wait_for_nothing,
        why: "it hands on that bulk stores have read their source, which none still does; what else read \
              the matrices stored next are products of the whole warpgroup that each warp has waited for \
              (PTX ISA, \"wgmma.mma_async\", \"wgmma.wait_group\")",
    },
];

/// Why a mutant of a kernel in `text` does what the kernel does, if it is known to.
pub fn equivalence(text: &str, mutant: &Mutant<'_>) -> Option<&'static str> {
    let mut rules = RULES
        .iter()
        .filter(|rule| rule.kind == mutant.kind && rule.edits.contains(&mutant.edit.as_str()))
        .peekable();
    rules.peek()?;
    let module = ptx::parse(text).unwrap();
    let instructions = module.kernels.into_iter().flat_map(|kernel| kernel.body).filter_map(|statement| {
        let Statement::Instruction(instruction) = statement else { return None };
        Some(instruction)
    });
    let instructions: Vec<Instruction<'_>> = instructions.collect();
    let at = instructions
        .iter()
        .position(|one| text.get(one.span.clone()) == Some(mutant.before()) && one.line == mutant.line)?;
    rules.find(|rule| (rule.matches)(&instructions, at)).map(|rule| rule.why)
}

/// The next two commits and waits are a commit and a wait for all.
fn awaited_with_the_next_group(kernel: &[Instruction<'_>], at: usize) -> bool {
    let mut groups = kernel[at + 1..].iter().filter(|one| {
        one.opcode.starts_with("wgmma.commit_group") || one.opcode.starts_with("wgmma.wait_group")
    });
    kernel[at].opcode.starts_with("wgmma.commit_group")
        && groups.next().is_some_and(|next| next.opcode.starts_with("wgmma.commit_group"))
        && groups.next().is_some_and(|wait| wait.operands == [Operand::Integer(0)])
}

/// B lies MN-major, and N is at most the 64 elements of a pattern.
fn one_pattern_wide(wgmma: &Instruction<'_>) -> bool {
    let n = wgmma.opcode.split(['n', 'k']).find_map(|part| part.parse::<u32>().ok());
    wgmma.operands.last() == Some(&Operand::Integer(1)) && n.is_some_and(|n| n <= 64)
}

/// Of the products between this `wgmma.fence` and their commit, no register occurs between the fence
/// before and this one.
fn registers_untouched_since_fence(kernel: &[Instruction<'_>], at: usize) -> bool {
    const FENCE: &str = "wgmma.fence.sync.aligned";
    if kernel[at].opcode != FENCE {
        return false;
    }
    let Some(before) = kernel[..at].iter().rposition(|one| one.opcode == FENCE) else { return false };
    let products = kernel[at + 1..].iter().take_while(|one| !one.opcode.starts_with("wgmma.commit_group"));
    let registers: Vec<&Operand<'_>> = products
        .filter(|one| one.opcode.starts_with("wgmma.mma_async"))
        .flat_map(|one| &one.operands)
        .filter_map(|operand| if let Operand::Vector(registers) = operand { Some(registers) } else { None })
        .flatten()
        .collect();
    let between = kernel[before..at].iter().flat_map(|one| &one.operands);
    let mut scalars = between.flat_map(|operand| match operand {
        Operand::Vector(elements) => elements.as_slice(),
        scalar => std::slice::from_ref(scalar),
    });
    !registers.is_empty() && scalars.all(|operand| !registers.contains(&operand))
}

/// The first `bar.sync` of a kernel, which all threads execute once; or the only other one there is.
fn alone_on_its_barrier(kernel: &[Instruction<'_>], at: usize) -> bool {
    let named: Vec<usize> = (0..kernel.len())
        .filter(|&index| matches!(kernel[index].opcode, "bar.sync" | "bar.arrive"))
        .collect();
    let of_all = |index: usize| kernel[index].operands == [Operand::Integer(0)];
    named.first().is_some_and(|&first| of_all(first) && (at == first || named == [first, at]))
}

/// Each `cp.async.bulk.commit_group` of the kernel is followed at once by a wait for its reads, which
/// is not this one.
fn reads_awaited_already(kernel: &[Instruction<'_>], at: usize) -> bool {
    let commits: Vec<usize> =
        (0..kernel.len()).filter(|&index| kernel[index].opcode == "cp.async.bulk.commit_group").collect();
    let awaited = |&commit: &usize| {
        kernel.get(commit + 1).is_some_and(|next| {
            next.opcode == "cp.async.bulk.wait_group.read" && next.operands == [Operand::Integer(0)]
        })
    };
    kernel[at].opcode.starts_with("cp.async.bulk.wait_group")
        && !commits.is_empty()
        && commits.iter().all(awaited)
        && !commits.iter().any(|&commit| commit + 1 == at)
}

/// A `bar.sync` behind a wait for reads that are awaited already, before the warpgroup stores matrices.
fn after_a_wait_for_nothing(kernel: &[Instruction<'_>], at: usize) -> bool {
    let root = |one: &Instruction<'_>| one.opcode.split('.').next().unwrap_or_default().to_owned();
    let matters = |one: &Instruction<'_>| {
        matches!(root(one).as_str(), "bar" | "cp" | "ld" | "mbarrier" | "st" | "stmatrix" | "wgmma")
    };
    let before = kernel[..at].iter().rposition(matters);
    let after = kernel[at + 1..].iter().find(|one| matters(one));
    kernel[at].opcode == "bar.sync"
        && before.is_some_and(|wait| reads_awaited_already(kernel, wait))
        && after.is_some_and(|next| next.opcode.starts_with("stmatrix"))
}
