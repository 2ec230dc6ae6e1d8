//! A kernel resolved, and one refused with its line.

use fa3_emu::{ir, ptx};

#[test]
fn what_is_not_known_is_named_with_its_line() {
    let text = ".version 9.0\n.target sm_90a\n.entry k() {\n  exit;\n  unheard.of;\n}\n";
    let module = ptx::parse(text).expect("well-formed");
    let error = ir::Program::compile(&module, "k").expect_err("an unknown instruction");
    assert_eq!(error.line(), Some(5));
    assert!(error.to_string().contains("`unheard.of`"));

    let module = ptx::parse(".version 9.0\n.target sm_90a\n.entry k() { exit; }\n").expect("well-formed");
    assert!(ir::Program::compile(&module, "k").is_ok());
}
