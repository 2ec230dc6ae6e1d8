//! The header's structures and constants are those of this module: a C program prints the header's.

use core::mem::{offset_of, size_of};
use std::fmt::Write as _;
use std::process::Command;

use super::types::{self, RawForward, RawTensor, Status};

/// An expression of C, and what it has to be.
type Expected = (String, u64);

fn expect(expression: impl Into<String>, value: impl TryInto<u64>) -> Expected {
    (expression.into(), value.try_into().unwrap_or(u64::MAX))
}

/// Size and alignment of a structure, and where each field lies and how large it is. The list of
/// fields is complete, or the pattern does not compile.
macro_rules! structure {
    ($list:expr, $rust:ident = $c:literal: $($field:ident),* $(,)?) => {{
        let _complete = |value: &$rust| { let $rust { $($field: _),* } = *value; };
        $list.push(expect(concat!("sizeof(", $c, ")"), size_of::<$rust>()));
        $list.push(expect(concat!("_Alignof(", $c, ")"), align_of::<$rust>()));
        let zero: $rust = bytemuck::Zeroable::zeroed();
        $(
            let (name, c) = (stringify!($field), $c);
            $list.push(expect(format!("offsetof({c}, {name})"), offset_of!($rust, $field)));
            $list.push(expect(format!("sizeof((({c} *)0)->{name})"), size_of_val(&zero.$field)));
        )*
    }};
}

fn expected() -> Vec<Expected> {
    let mut list = Vec::new();
    structure!(list, RawTensor = "fa3_tensor": data, dtype, reserved, shape, strides);
    structure!(list, RawForward = "fa3_forward_args":
        struct_size, flags, sequences, q, k, v, o, lse, sinks, alibi_slopes, used_k, cu_q, cu_k, count, max_q,
        max_k, window_left, window_right, scale, softcap, workspace, workspace_bytes);
    let constants = [
        ("FA3_F16", types::F16 as u64),
        ("FA3_BF16", types::BF16 as u64),
        ("FA3_F32", types::F32 as u64),
        ("FA3_DENSE", types::DENSE as u64),
        ("FA3_USED_KEYS", types::USED_KEYS as u64),
        ("FA3_PACKED", types::PACKED as u64),
        ("FA3_CAUSAL", types::CAUSAL.into()),
        ("FA3_WINDOW", types::WINDOW.into()),
        ("FA3_SCALE", types::SCALE.into()),
        ("FA3_SOFTCAP", types::SOFTCAP.into()),
        ("FA3_BATCH_INVARIANT", types::BATCH_INVARIANT.into()),
        ("FA3_VERSION", super::VERSION.into()),
        ("sizeof(fa3_status)", size_of::<Status>() as u64),
    ];
    list.extend(constants.map(|(name, value)| (name.to_owned(), value)));
    list.extend(Status::ALL.map(|(status, name)| (name.to_str().unwrap().to_owned(), status as u64)));
    list
}

#[test]
fn the_header_has_the_structures_and_constants_of_rust() {
    let expected = expected();
    let mut program = String::from("#include <fa3.h>\n#include <stdio.h>\nint main(void) {\n");
    for (expression, _) in &expected {
        writeln!(program, "    printf(\"%llu\\n\", (unsigned long long)({expression}));").unwrap();
    }
    program.push_str("    return 0;\n}\n");
    let folder = std::env::temp_dir().join(format!("fa3-header-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (source, executable) = (folder.join("layout.c"), folder.join("layout"));
    std::fs::write(&source, program).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-I"]);
    compiler.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/include")).arg(&source).arg("-o").arg(&executable);
    assert!(compiler.status().expect("a C compiler, `cc`").success());
    let output = Command::new(&executable).output().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let printed: Vec<u64> = printed.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(printed.len(), expected.len());
    for ((expression, rust), c) in expected.iter().zip(printed) {
        assert_eq!(c, *rust, "{expression}: {c} in C, {rust} in Rust");
    }
    // No field of the header is missing here, which the sizes alone do not show.
    let fields: usize = [size_of::<RawTensor>(), size_of::<RawForward>()].iter().sum();
    let printed: u64 =
        expected.iter().filter(|(e, _)| e.starts_with("sizeof(((")).map(|(_, size)| size).sum();
    assert_eq!(printed, fields as u64, "padding, or a field that is not listed");
}

#[test]
fn every_constant_of_the_header_is_compared() {
    let header = include_str!("../../include/fa3.h");
    let expected = expected();
    let constants = header.lines().filter_map(|line| line.strip_prefix("    FA3_")).filter_map(|line| {
        let (name, value) = line.split_once(" = ")?;
        value.starts_with(|c: char| c.is_ascii_digit()).then(|| format!("FA3_{name}"))
    });
    let constants: Vec<String> = constants.collect();
    assert!(constants.len() >= 23, "{constants:?}");
    for name in &constants {
        assert!(expected.iter().any(|(known, _)| known == name), "{name}");
    }
}
