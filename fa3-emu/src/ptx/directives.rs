//! The directives of a module and of a kernel's head. PTX ISA, "Directives".

use fa3_sys::Arch;

use super::ast::{Kernel, Module, Parameter, Variable};
use super::cursor::Cursor;
use super::error::{Fault, PtxError};
use super::lexer::Token;
use super::statements;

/// A whole module.
pub(super) fn module<'a>(cursor: &mut Cursor<'a>) -> Result<Module<'a>, PtxError> {
    let mut arch = None;
    let (mut shared, mut kernels, mut files) = (Vec::new(), Vec::new(), Vec::new());
    let mut elsewhere = Vec::new();
    while cursor.peek() != Token::End {
        let line = cursor.line();
        match cursor.word("a directive")? {
            ".version" => match cursor.peek() {
                Token::Decimal(_) => cursor.advance(),
                _ => return Err(cursor.expected("a version such as 9.0")),
            },
            ".target" => arch = Some(target(cursor)?),
            ".address_size" => {
                if cursor.integer("64")? != 64 {
                    return Err(Fault::Directive(".address_size 32".to_owned()).at(line));
                }
            }
            ".file" => {
                let number = cursor.integer("the number of a file")?;
                files.push((number, cursor.text("the name of a file")?));
                // A time stamp and a size may follow.
                while cursor.take(',') {
                    cursor.integer("an integer")?;
                }
            }
            ".section" => section(cursor)?,
            ".pragma" => pragma(cursor)?,
            ".visible" | ".weak" => {}
            ".entry" => {
                let kernel = kernel(cursor)?;
                if kernels.iter().any(|other: &Kernel<'_>| other.name == kernel.name) {
                    return Err(Fault::Redeclared(kernel.name.to_owned()).at(kernel.line));
                }
                kernels.push(kernel);
            }
            ".extern" => {
                if !cursor.take_word(".shared") {
                    return Err(cursor.expected("`.shared` after `.extern`"));
                }
                shared.push(variable(cursor, true)?);
            }
            ".shared" => shared.push(variable(cursor, false)?),
            space @ (".global" | ".const") => elsewhere.push((passed_over(cursor)?, space)),
            other => return Err(Fault::Directive(other.to_owned()).at(line)),
        }
    }
    let arch = arch.ok_or_else(|| cursor.expected("`.target`"))?;
    Ok(Module { arch, shared, kernels, files, elsewhere })
}

/// `sm_90a`, and `debug` behind it.
fn target(cursor: &mut Cursor<'_>) -> Result<Arch, PtxError> {
    let line = cursor.line();
    let name = cursor.word("a target")?;
    let arch = name.parse().map_err(|_| Fault::Target(name.to_owned()).at(line))?;
    while cursor.take(',') {
        let line = cursor.line();
        let option = cursor.word("a target option")?;
        if option != "debug" {
            return Err(Fault::Target(option.to_owned()).at(line));
        }
    }
    Ok(arch)
}

/// Data for a debugger, which an execution does not need.
fn section(cursor: &mut Cursor<'_>) -> Result<(), PtxError> {
    let line = cursor.line();
    cursor.word("the name of a section")?;
    cursor.mark('{', "`{` of a section")?;
    let mut depth = 1_usize;
    while depth > 0 {
        match cursor.peek() {
            Token::End => return Err(Fault::Unterminated("a section").at(line)),
            Token::Mark('{') => depth = depth.saturating_add(1),
            Token::Mark('}') => depth = depth.saturating_sub(1),
            _ => {}
        }
        cursor.advance();
    }
    Ok(())
}

/// `.pragma "…";` with advice to the assembler that does not change what a kernel computes.
pub(super) fn pragma(cursor: &mut Cursor<'_>) -> Result<(), PtxError> {
    loop {
        let line = cursor.line();
        let text = cursor.text("the text of a pragma")?;
        let word = text.split_whitespace().next().unwrap_or_default();
        if !matches!(word, "nounroll" | "used_bytes_mask") {
            return Err(Fault::Pragma(text.to_owned()).at(line));
        }
        if !cursor.take(',') {
            return cursor.mark(';', "`;` after a pragma");
        }
    }
}

/// What follows `.shared`.
pub(super) fn variable<'a>(cursor: &mut Cursor<'a>, external: bool) -> Result<Variable<'a>, PtxError> {
    let Declared { name, size, align, line } = declared(cursor)?;
    match (external, size) {
        (true, Some(_)) => Err(Fault::Expected {
            expected: "`[]` after the name of an external variable",
            found: format!("the size of `{name}`"),
        }
        .at(line)),
        (false, None) => {
            Err(Fault::Expected { expected: "the size of an array", found: format!("`{name}[]`") }.at(line))
        }
        _ => {
            cursor.mark(';', "`;` after a variable")?;
            Ok(Variable { name, external, size: size.unwrap_or(0), align, line })
        }
    }
}

/// A variable up to its `;`, whatever its type and its initialiser are: its name.
fn passed_over<'a>(cursor: &mut Cursor<'a>) -> Result<&'a str, PtxError> {
    let mut name = None;
    while !cursor.take(';') {
        match cursor.peek() {
            Token::End => return Err(cursor.expected("`;` after a variable")),
            Token::Word(word) if !word.starts_with('.') => name = name.or(Some(word)),
            _ => {}
        }
        cursor.advance();
    }
    name.ok_or_else(|| cursor.expected("the name of a variable before its `;`"))
}

/// A variable or parameter as declared.
struct Declared<'a> {
    name: &'a str,
    /// `None` for `[]`.
    size: Option<u32>,
    align: u32,
    line: u32,
}

/// `[.align n] .type name [dimensions]`.
fn declared<'a>(cursor: &mut Cursor<'a>) -> Result<Declared<'a>, PtxError> {
    let mut align = None;
    if cursor.take_word(".align") {
        align = Some(alignment(cursor)?);
    }
    let line = cursor.line();
    let ty = cursor.word("a type")?;
    let bytes = match ty {
        ".b8" | ".u8" | ".s8" => 1,
        ".b16" | ".u16" | ".s16" | ".f16" => 2,
        ".b32" | ".u32" | ".s32" | ".f32" => 4,
        ".b64" | ".u64" | ".s64" | ".f64" => 8,
        other => return Err(Fault::Directive(other.to_owned()).at(line)),
    };
    // `.ptr .space .align n` says what a pointer points to.
    if cursor.take_word(".ptr") {
        for space in [".global", ".shared", ".const", ".local"] {
            cursor.take_word(space);
        }
        if cursor.take_word(".align") {
            alignment(cursor)?;
        }
    }
    let line = cursor.line();
    let name = cursor.name("a name")?;
    let mut size = Some(bytes);
    while cursor.take('[') {
        if cursor.take(']') {
            size = None;
            continue;
        }
        let count = cursor.integer("the size of an array")?;
        size = size.and_then(|size: u32| size.checked_mul(count));
        if size.is_none() {
            return Err(Fault::TooLarge { what: "an array", limit: u32::MAX }.at(line));
        }
        cursor.mark(']', "`]`")?;
    }
    Ok(Declared { name, size, align: align.unwrap_or(bytes), line })
}

fn alignment(cursor: &mut Cursor<'_>) -> Result<u32, PtxError> {
    let (line, align) = (cursor.line(), cursor.integer("an alignment")?);
    if align.is_power_of_two() && align <= 1024 * 1024 {
        return Ok(align);
    }
    Err(Fault::Number { text: align.to_string(), rule: "a power of two up to 2^20" }.at(line))
}

/// What follows `.entry`.
fn kernel<'a>(cursor: &mut Cursor<'a>) -> Result<Kernel<'a>, PtxError> {
    let line = cursor.line();
    let name = cursor.name("the name of a kernel")?;
    let mut params = Vec::new();
    if cursor.take('(') && !cursor.take(')') {
        loop {
            params.push(parameter(cursor)?);
            if !cursor.take(',') {
                cursor.mark(')', "`,` or `)` after a parameter")?;
                break;
            }
        }
    }
    let mut kernel = Kernel {
        name,
        params,
        max_threads: None,
        required_threads: None,
        required_cluster: None,
        explicit_cluster: false,
        body: Vec::new(),
        line,
        end_line: line,
    };
    while !cursor.take('{') {
        let line = cursor.line();
        match cursor.word("a directive or `{`")? {
            ".maxntid" => kernel.max_threads = Some(dimensions(cursor)?),
            ".reqntid" => kernel.required_threads = Some(dimensions(cursor)?),
            ".reqnctapercluster" => kernel.required_cluster = Some(dimensions(cursor)?),
            ".explicitcluster" => kernel.explicit_cluster = true,
            // Advice to the assembler.
            ".minnctapersm" | ".maxnctapersm" | ".maxnreg" => {
                cursor.integer("a number")?;
            }
            ".pragma" => pragma(cursor)?,
            other => return Err(Fault::Directive(other.to_owned()).at(line)),
        }
    }
    kernel.body = statements::body(cursor)?;
    kernel.end_line = cursor.line();
    cursor.mark('}', "`}` of a kernel")?;
    Ok(kernel)
}

fn parameter<'a>(cursor: &mut Cursor<'a>) -> Result<Parameter<'a>, PtxError> {
    if !cursor.take_word(".param") {
        return Err(cursor.expected("`.param`"));
    }
    let Declared { name, size, align, line } = declared(cursor)?;
    let unsized_array =
        || Fault::Expected { expected: "the size of an array", found: format!("`{name}[]`") }.at(line);
    Ok(Parameter { name, size: size.ok_or_else(unsized_array)?, align, line })
}

/// One to three positive numbers; the others are 1.
fn dimensions(cursor: &mut Cursor<'_>) -> Result<[u32; 3], PtxError> {
    let mut dimensions = [1; 3];
    for (index, dimension) in dimensions.iter_mut().enumerate() {
        if index > 0 && !cursor.take(',') {
            break;
        }
        let (line, value) = (cursor.line(), cursor.integer("a number")?);
        if value == 0 {
            return Err(Fault::Number { text: "0".to_owned(), rule: "a positive number" }.at(line));
        }
        *dimension = value;
    }
    Ok(dimensions)
}
