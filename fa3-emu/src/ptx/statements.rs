//! The statements of a kernel's body. PTX ISA, "Instruction Statements".

use super::ast::{Guard, Instruction, Operand, RegisterTy, Statement};
use super::cursor::Cursor;
use super::directives;
use super::error::{Fault, PtxError};
use super::lexer::Token;
use crate::ir::Class;

/// All statements up to the brace that closes the body, which is left.
pub(super) fn body<'a>(cursor: &mut Cursor<'a>) -> Result<Vec<Statement<'a>>, PtxError> {
    let mut statements = Vec::new();
    let mut depth = 0_usize;
    loop {
        let line = cursor.line();
        match cursor.peek() {
            Token::Mark('{') => {
                depth = depth.saturating_add(1);
                statements.push(Statement::Open);
                cursor.advance();
            }
            Token::Mark('}') if depth == 0 => return Ok(statements),
            Token::Mark('}') => {
                depth -= 1;
                statements.push(Statement::Close);
                cursor.advance();
            }
            Token::Mark(';') => cursor.advance(),
            Token::Word(directive) if directive.starts_with('.') => {
                cursor.advance();
                match directive {
                    ".reg" => {
                        let ty = cursor.word("the type of a register")?;
                        registers(cursor, ty, line, &mut statements)?;
                    }
                    ".shared" => statements.push(Statement::Shared(directives::variable(cursor, false)?)),
                    ".loc" => statements.push(location(cursor)?),
                    ".pragma" => directives::pragma(cursor)?,
                    // The type needs no space before it.
                    other => match other.strip_prefix(".reg").filter(|ty| ty.starts_with('.')) {
                        Some(ty) => registers(cursor, ty, line, &mut statements)?,
                        None => return Err(Fault::Directive(other.to_owned()).at(line)),
                    },
                }
            }
            Token::Word(name) if cursor.ahead(1) == Token::Mark(':') => {
                statements.push(Statement::Label { name, line });
                cursor.advance();
                cursor.advance();
            }
            Token::Word(_) | Token::Mark('@') => statements.push(instruction(cursor)?),
            _ => return Err(cursor.expected("a statement")),
        }
    }
}

/// What follows `.reg`.
fn registers<'a>(
    cursor: &mut Cursor<'a>,
    ty: &str,
    line: u32,
    statements: &mut Vec<Statement<'a>>,
) -> Result<(), PtxError> {
    let ty = match ty {
        ".pred" => RegisterTy::Pred,
        ".b16" | ".u16" | ".s16" | ".f16" | ".bf16" => RegisterTy::Bits(Class::B16),
        ".b32" | ".u32" | ".s32" | ".f32" | ".f16x2" | ".bf16x2" => RegisterTy::Bits(Class::B32),
        ".b64" | ".u64" | ".s64" | ".f64" => RegisterTy::Bits(Class::B64),
        other => return Err(Fault::Directive(other.to_owned()).at(line)),
    };
    loop {
        let line = cursor.line();
        let name = cursor.name("the name of a register")?;
        let mut count = None;
        if cursor.take('<') {
            count = Some(cursor.integer("how many registers there are")?);
            cursor.mark('>', "`>`")?;
        }
        statements.push(Statement::Register { name, count, ty, line });
        if !cursor.take(',') {
            return cursor.mark(';', "`,` or `;` after a register");
        }
    }
}

/// What follows `.loc`. Where the line was inlined, the innermost place counts.
fn location<'a>(cursor: &mut Cursor<'a>) -> Result<Statement<'a>, PtxError> {
    let file = cursor.integer("the number of a file")?;
    let line = cursor.integer("a source line")?;
    cursor.integer("a source column")?;
    while cursor.take(',') {
        if cursor.take_word("function_name") {
            cursor.name("the label of a function's name")?;
            if cursor.take('+') {
                cursor.integer("an offset")?;
            }
        } else if cursor.take_word("inlined_at") {
            cursor.integer("the number of a file")?;
            cursor.integer("a source line")?;
            cursor.integer("a source column")?;
        } else {
            return Err(cursor.expected("`function_name` or `inlined_at`"));
        }
    }
    Ok(Statement::Location { file, line })
}

fn instruction<'a>(cursor: &mut Cursor<'a>) -> Result<Statement<'a>, PtxError> {
    let start = cursor.offset();
    let mut guard = None;
    if cursor.take('@') {
        let negated = cursor.take('!');
        guard = Some(Guard { negated, name: cursor.name("a predicate")? });
    }
    let line = cursor.line();
    let opcode = cursor.name("an instruction")?;
    let mut operands = Vec::new();
    if !cursor.take(';') {
        loop {
            operands.push(operand(cursor)?);
            if !cursor.take(',') {
                cursor.mark(';', "`,` or `;` after an operand")?;
                break;
            }
        }
    }
    let span = start..cursor.behind_mark();
    Ok(Statement::Instruction(Instruction { guard, opcode, operands, line, span }))
}

fn operand<'a>(cursor: &mut Cursor<'a>) -> Result<Operand<'a>, PtxError> {
    if cursor.take('{') {
        return Ok(Operand::Vector(vector(cursor)?));
    }
    if cursor.take('[') {
        return address(cursor);
    }
    scalar(cursor)
}

/// What follows `{`.
fn vector<'a>(cursor: &mut Cursor<'a>) -> Result<Vec<Operand<'a>>, PtxError> {
    let mut elements = Vec::new();
    loop {
        elements.push(scalar(cursor)?);
        if !cursor.take(',') {
            cursor.mark('}', "`,` or `}` after an element of a vector")?;
            return Ok(elements);
        }
    }
}

fn scalar<'a>(cursor: &mut Cursor<'a>) -> Result<Operand<'a>, PtxError> {
    if cursor.take('!') {
        return Ok(Operand::Not(cursor.name("a predicate")?));
    }
    match cursor.peek() {
        Token::Single(bits) => {
            cursor.advance();
            Ok(Operand::Single(bits))
        }
        Token::Double(bits) => {
            cursor.advance();
            Ok(Operand::Double(bits))
        }
        Token::Decimal(text) => {
            cursor.advance();
            Ok(Operand::Decimal(text))
        }
        Token::Integer(_) | Token::Mark('-') => Ok(Operand::Integer(integer(cursor)?)),
        Token::Word(_) => {
            let name = cursor.name("an operand")?;
            if cursor.take('|') {
                return Ok(Operand::Pair(name, cursor.name("a predicate")?));
            }
            if cursor.take('+') {
                return Ok(Operand::Sum(name, offset(cursor)?));
            }
            Ok(Operand::Name(name))
        }
        _ => Err(cursor.expected("an operand")),
    }
}

/// An integer with its sign.
fn integer(cursor: &mut Cursor<'_>) -> Result<i128, PtxError> {
    let negative = cursor.take('-');
    let Token::Integer(value) = cursor.peek() else {
        return Err(cursor.expected("an integer"));
    };
    let value = i128::from(value);
    let signed = if negative { -value } else { value };
    if signed < i128::from(i64::MIN) {
        return Err(Fault::Number { text: signed.to_string(), rule: "at least -2^63" }.at(cursor.line()));
    }
    cursor.advance();
    Ok(signed)
}

fn offset(cursor: &mut Cursor<'_>) -> Result<i64, PtxError> {
    let line = cursor.line();
    let value = integer(cursor)?;
    let wrong = |_| Fault::Number { text: value.to_string(), rule: "below 2^63" }.at(line);
    i64::try_from(value).map_err(wrong)
}

/// What follows `[`.
fn address<'a>(cursor: &mut Cursor<'a>) -> Result<Operand<'a>, PtxError> {
    let (mut base, mut constant) = (None, 0);
    if let Token::Word(_) = cursor.peek() {
        base = Some(cursor.name("an address")?);
        if cursor.take('+') || cursor.peek() == Token::Mark('-') {
            constant = offset(cursor)?;
        }
    } else {
        constant = offset(cursor)?;
    }
    let mut coordinates = None;
    if cursor.take(',') {
        cursor.mark('{', "`{` of the coordinates")?;
        coordinates = Some(vector(cursor)?);
    }
    cursor.mark(']', "`]` after an address")?;
    Ok(Operand::Address { base, offset: constant, coordinates })
}
