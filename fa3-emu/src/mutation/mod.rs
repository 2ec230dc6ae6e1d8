//! Small edits of a kernel's PTX, each of which should break it: a wait dropped, an arrival doubled,
//! a descriptor off by one. A kernel whose suite notices every one of them, or knows why it changes
//! nothing, is tested where asynchronous code goes wrong.
//!
//! [`mutants`] lists one mutant for every edit at every site of every [`Kind`]; [`Mutant::ptx`] is
//! the whole text with that edit. Operands are mostly registers: an edit of one wraps the
//! instruction in braces with a register of its own, so that nothing else changes. Lines keep their
//! numbers.

mod arrivals;
mod kind;
mod mutant;
mod products;
mod site;
mod tiles;
mod waits;

use std::collections::HashMap;

use crate::ptx::{self, Instruction, Operand, PtxError, Statement};
pub use kind::{Kind, UnknownKind};
pub use mutant::Mutant;
use site::{Edit, Site};

/// Every mutant of kernel `entry` of the module `text`, in the order of its lines.
///
/// ```
/// use fa3_emu::mutation::{Kind, mutants};
/// let text = "
///     .version 9.0
///     .target sm_90a
///     .address_size 64
///     .shared .align 8 .b8 full[8];
///     .visible .entry arrives() {
///         mbarrier.init.shared::cta.b64 [full], 1;
///         mbarrier.arrive.shared::cta.b64 _, [full];
///         ret;
///     }
/// ";
/// let mutants = mutants(text, "arrives")?;
/// assert_eq!(mutants.len(), 4);
/// assert!(mutants.iter().all(|mutant| mutant.kind == Kind::Arrive));
/// assert_eq!(
///     mutants[1].to_string(),
///     "arrive (count - 1), PTX line 7: mbarrier.init.shared::cta.b64 [full], 1; → \
///      mbarrier.init.shared::cta.b64 [full], 0;"
/// );
/// assert!(!mutants[2].ptx().contains("arrive.shared"), "the third drops the arrival");
/// # Ok::<(), fa3_emu::ptx::PtxError>(())
/// ```
///
/// # Errors
/// [`PtxError::Text`] with the line of what is no PTX; [`PtxError::NoKernel`] if there is no kernel
/// of that name.
pub fn mutants<'a>(text: &'a str, entry: &str) -> Result<Vec<Mutant<'a>>, PtxError> {
    let module = ptx::parse(text)?;
    let kernel = module.kernels.iter().find(|kernel| kernel.name == entry).ok_or_else(|| {
        let found = module.kernels.iter().map(|kernel| kernel.name.to_owned()).collect();
        PtxError::NoKernel { entry: entry.to_owned(), found }
    })?;
    let files: HashMap<u32, &str> = module.files.iter().copied().collect();
    let scratch = unused_name(text);
    let mut constants = HashMap::new();
    let (mut mutants, mut source) = (Vec::new(), None);
    for statement in &kernel.body {
        match statement {
            Statement::Location { file, line } => {
                source = files.get(file).map(|file| format!("{file}:{line}"));
            }
            Statement::Instruction(instruction) => {
                let site = Site { instruction, scratch: &scratch, constants: &constants };
                mutants.extend(edits(&site).into_iter().map(|edit| Mutant {
                    kind: edit.kind,
                    edit: edit.name,
                    line: instruction.line,
                    source: source.clone(),
                    after: edit.after,
                    text,
                    span: instruction.span.clone(),
                }));
                note_constant(&mut constants, instruction);
            }
            _ => {}
        }
    }
    Ok(mutants)
}

fn edits(site: &Site<'_, '_>) -> Vec<Edit> {
    let opcode = site.instruction.opcode;
    match opcode.split('.').next().unwrap_or(opcode) {
        "mbarrier" if opcode.contains("_wait") => waits::phase_wait(site),
        "mbarrier" => arrivals::mbarrier(site),
        "bar" | "barrier" if opcode.starts_with("barrier.cluster") => arrivals::cluster(site),
        "bar" | "barrier" if !opcode.starts_with("bar.warp") => arrivals::named(site),
        "setmaxnreg" => arrivals::registers(site),
        "fence" | "membar" => waits::fence(site),
        "wgmma" => products::wgmma(site),
        "stmatrix" | "ldmatrix" => tiles::matrices(site),
        "cp" if opcode.contains(".bulk") => tiles::bulk(site),
        _ => Vec::new(),
    }
}

/// A name that the text does not have.
fn unused_name(text: &str) -> String {
    let mut name = "mutated".to_owned();
    while text.contains(&name) {
        name.push('_');
    }
    name
}

/// Remembers the constant bits that an instruction puts into a register.
fn note_constant<'a>(constants: &mut HashMap<&'a str, u64>, instruction: &Instruction<'a>) {
    let [Operand::Name(to), from @ ..] = instruction.operands.as_slice() else { return };
    let constant = match (instruction.opcode, from) {
        ("or.b64", [_, Operand::Integer(bits)] | [Operand::Integer(bits), _]) => bits_of(*bits),
        _ => None,
    };
    match constant {
        Some(bits) => constants.insert(*to, bits),
        None => constants.remove(to),
    };
}

/// The bits of a 64-bit literal, which may be written as a negative number.
fn bits_of(value: i128) -> Option<u64> {
    u64::try_from(value).or_else(|_| i64::try_from(value).map(i64::cast_unsigned)).ok()
}

#[cfg(test)]
mod tests;
