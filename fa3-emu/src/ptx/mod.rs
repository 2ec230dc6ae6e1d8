//! PTX text: its tokens, and the syntax of the statements that nvcc emits. What an instruction
//! means is decided by [`ir::Program::compile`](crate::ir::Program::compile).

mod ast;
mod cursor;
mod directives;
mod error;
mod lexer;
mod statements;

pub use ast::{Guard, Instruction, Kernel, Module, Operand, Parameter, RegisterTy, Statement, Variable};
pub use error::{Fault, PtxError};

/// Parses a module.
///
/// Debug sections and hints to the assembler (`.minnctapersm` and the like) have no meaning for an
/// execution and are passed over; any other directive that is not known is an error.
///
/// # Errors
/// [`PtxError::Text`] with the line of what is not understood.
///
/// ```
/// let module = fa3_emu::ptx::parse(
///     ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry nothing() {\n ret;\n}\n",
/// )?;
/// assert_eq!(module.kernels[0].name, "nothing");
///
/// let error = fa3_emu::ptx::parse(".version 9.0\n.target sm_90a\n.texref t;\n").unwrap_err();
/// assert_eq!(error.line(), Some(3));
/// # Ok::<(), fa3_emu::ptx::PtxError>(())
/// ```
pub fn parse(text: &str) -> Result<Module<'_>, PtxError> {
    directives::module(&mut cursor::Cursor::new(lexer::tokens(text)?))
}
