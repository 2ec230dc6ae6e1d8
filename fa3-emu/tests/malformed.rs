//! What is wrong in a text is an error at its line, and no text makes the parser or the compiler
//! panic.

use fa3_emu::ir::Program;
use fa3_emu::ptx::{self, PtxError};
use proptest::prelude::*;

/// Parses a text and compiles its kernels.
fn load(text: &str) -> Result<(), PtxError> {
    let module = ptx::parse(text)?;
    for kernel in &module.kernels {
        Program::compile(&module, kernel.name)?;
    }
    Ok(())
}

const HEAD: &str = ".version 9.0\n.target sm_90a\n";

#[test]
fn modules_at_their_line() {
    for (text, line, says) in [
        ("", 1, "expected `.target`"),
        (".version nine", 1, "expected a version"),
        (".target sm_80", 1, "target `sm_80`"),
        (".target sm_90a, texmode_independent", 1, "target `texmode_independent`"),
        ("\n.address_size 32\n", 2, "`.address_size 32`"),
        ("\nadd.s32", 2, "directive `add.s32`"),
        ("\n7", 2, "expected a directive, found `7`"),
        ("\n.extern .global .b8 a[];", 2, "expected `.shared`"),
        ("\n.extern .shared .b8 a[4];", 2, "expected `[]`"),
        ("\n.shared .b8 a[];", 2, "the size of an array"),
        ("\n.shared .align 3 .b8 a[4];", 2, "a power of two"),
        ("\n.shared .v4 .b8 a[4];", 2, "directive `.v4`"),
        ("\n.shared .b64 a[65536]\n[65536];", 2, "an array takes more than"),
        ("\n.shared .b8 a[4]", 2, "expected `;`"),
        ("\n.section .debug_str {\n.b8 1", 2, "a section has no end"),
        ("\n.pragma \"unheard of\";", 2, "pragma \"unheard of\""),
        ("\n.file 1 2", 2, "expected the name of a file"),
        ("\n.func f() {}", 2, "directive `.func`"),
        ("\n.entry (", 2, "expected the name of a kernel"),
        ("\n.entry k(.reg .b32 a) {}", 2, "expected `.param`"),
        ("\n.entry k(.param .b8 a[]) {}", 2, "the size of an array"),
        ("\n.entry k(.param .b32 a .param .b32 b) {}", 2, "expected `,` or `)`"),
        ("\n.entry k()\n.maxntid 0\n{}", 3, "a positive number"),
        ("\n.entry k()\n.noreturn\n{}", 3, "directive `.noreturn`"),
        ("\n.entry k() {\n", 3, "expected a statement, found the end"),
        ("\n.global .align 4 .u32 g = {1, 2", 2, "expected `;` after a variable"),
        ("\n.const .align 4 .u32;", 2, "the name of a variable"),
        ("\n.entry k() {}\n.entry k() {}", 3, "`k` is declared twice"),
    ] {
        let error = ptx::parse(text).expect_err(text);
        assert_eq!(error.line(), Some(line), "{text}: {error}");
        assert!(error.to_string().contains(says), "{text}: {error}");
    }
}

#[test]
fn statements_at_their_line() {
    for (statement, line, says) in [
        (".local .b8 a[4];", 6, "directive `.local`"),
        (".reg .b128 r;", 6, "directive `.b128`"),
        (".reg.reg.b32 r;", 6, "directive `.reg.b32`"),
        (".regs .b32 r;", 6, "directive `.regs`"),
        (".reg .b32 %r<x>;", 6, "expected how many registers"),
        (".reg .b32 r s;", 6, "expected `,` or `;`"),
        (".reg .b32 r; .reg .f32 r;", 6, "`r` is declared twice"),
        (".shared .b8 a[4]; .shared .b8 a[8]; mov.u32 %r1, a;", 6, "`a` is declared twice"),
        ("L: L: trap;", 6, "`L` is declared twice"),
        (".loc 1 2;", 6, "expected a source column"),
        (".loc 1 2 3, nowhere", 6, "expected `function_name`"),
        ("trap", 7, "expected an operand, found `}`"),
        ("@ trap;", 6, "expected"),
        ("@7 trap;", 6, "expected a predicate"),
        ("@%p1 .loc 1 2 3", 6, "expected an instruction"),
        ("add.s32 %r1, , 3;", 6, "expected an operand"),
        ("add.s32 %r1, {%r2, {%r3}};", 6, "expected an operand"),
        ("add.s32 %r1, %r2, --3;", 6, "expected an integer"),
        ("add.s32 %r1, %r2, -9223372036854775809;", 6, "at least -2^63"),
        ("ld.shared.u32 %r1, [%r2;", 6, "expected `]`"),
        ("ld.shared.u32 %r1, [%r2+9223372036854775808];", 6, "below 2^63"),
        ("ld.shared.u32 %r1, [%r2, 3];", 6, "expected `{`"),
        ("ld.shared.u32 %r1, [%p1];", 6, "operand 2"),
        ("ld.shared.u32 %r1, [%r2, {%r3}];", 6, "must be an address"),
        ("{ .reg .b32 q; }\nmov.u32 %r1, q;", 7, "`q` is not declared here"),
        ("{ D: }\nbra D;", 7, "`D` is not declared here"),
        ("mov.u32 %r1, later; .reg .b32 later;", 6, "`later` is not declared here"),
        ("mov.u32 %r9, 1;", 6, "`%r9` is not declared here"),
        ("@%r1 trap;", 6, "expected a predicate"),
        ("tcgen05.fence::before_thread_sync;", 6, "instruction `tcgen05.fence::before_thread_sync`"),
        (";;; }", 7, "expected a directive"),
    ] {
        let body = format!("{HEAD}.entry k() {{\n.reg .pred %p<3>;\n.reg .b32 %r<9>;\n{statement}\n}}");
        let error = load(&body).expect_err(statement);
        assert_eq!(error.line().map(|line| line as usize), Some(line), "{statement}: {error}");
        assert!(error.to_string().contains(says), "{statement}: {error}");
    }
}

/// Braces are counted, not followed by recursion.
#[test]
fn deep_braces_are_no_matter() {
    let (open, close) = ("{".repeat(200_000), "}".repeat(200_000));
    assert_eq!(load(&format!("{HEAD}.entry k() {{ {open} {close} }}")), Ok(()));
    assert!(load(&format!("{HEAD}.entry k() {{ {open} }}")).is_err());
}

#[test]
fn a_variable_that_a_kernel_does_not_use_is_no_matter() {
    let module = |operand| {
        format!(
            "{HEAD}.visible .global .align 4 .u32 g = 5;\n.const .align 4 .b8 table[8] = {{1, 0, 0xFF(g)}};\n\
             .entry k() {{ .reg .b64 r;\nmov.u64 r, {operand}; }}"
        )
    };
    assert_eq!(load(&module("5")), Ok(()));
    for (name, space) in [("g", ".global"), ("table", ".const")] {
        let error = load(&module(name)).expect_err(name);
        assert_eq!(error.line(), Some(6), "{error}");
        assert!(error.to_string().contains(&format!("`{name}` is a variable in `{space}`")), "{error}");
    }
}

#[test]
fn a_register_s_type_needs_no_space() {
    let kernel = |ty| format!("{HEAD}.entry k() {{ {{.reg{ty} r; mov.u32 r, 1;}} }}");
    assert_eq!(load(&kernel(".b32")), Ok(()));
    assert_eq!(load(&kernel(" .b32")), Ok(()));
}

const KERNEL: &str = include_str!("example.ptx");

#[test]
fn the_example_compiles() {
    assert_eq!(load(KERNEL), Ok(()));
}

/// Words of the language and of nonsense.
fn word() -> impl Strategy<Value = String> {
    let known: Vec<String> = KERNEL.split_whitespace().map(str::to_owned).collect();
    prop_oneof![
        8 => proptest::sample::select(known),
        1 => "[{}\\[\\](),;:@!|<>+-]",
        1 => "[a-z$%_.]{1,3}[0-9]{0,3}",
        1 => any::<u64>().prop_map(|value| value.to_string()),
        1 => "0[fFdDxXbB][0-9a-fA-F]{0,17}",
        1 => "\\PC{0,3}",
    ]
}

/// A fault is within the text.
fn check(text: &str) -> Result<(), TestCaseError> {
    if let Err(error) = load(text) {
        if let Some(line) = error.line() {
            prop_assert!(line >= 1 && line as usize <= text.matches('\n').count() + 1, "{error}");
        }
        prop_assert!(!error.to_string().is_empty());
    }
    Ok(())
}

proptest! {
    #[test]
    fn any_characters(text in any::<String>()) {
        check(&text)?;
    }

    #[test]
    fn any_words(words in proptest::collection::vec(word(), 0..60)) {
        let words = words.join(" ");
        check(&words)?;
        check(&format!("{HEAD}.entry k(.param .u64 p) {{\n.reg .b32 %r<9>;\n{words}\n}}"))?;
    }

    /// A kernel that is right but for a few words.
    #[test]
    fn any_damage(edits in proptest::collection::vec((any::<proptest::sample::Index>(), 0..3_u8, word()), 1..6)) {
        let mut words: Vec<String> = KERNEL.split_inclusive([' ', '\n']).map(str::to_owned).collect();
        for (at, kind, word) in edits {
            let at = at.index(words.len());
            match kind {
                0 => drop(words.remove(at)),
                1 => words.insert(at, format!("{word} ")),
                _ => words[at] = format!("{word} "),
            }
        }
        check(&words.concat())?;
    }
}
