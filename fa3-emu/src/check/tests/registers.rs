//! The registers of `wgmma`, on programs whose instructions are executed one after the other.

use super::*;
use crate::ir::{MmaOp, Op, Program};
use crate::ptx::parse;

/// Runs straight-line code on a warpgroup, and returns what is found and at which line of `body`.
fn run(body: &str) -> Result<(), (u32, Finding<Actor>)> {
    let text = format!(
        ".version 9.0\n.target sm_90a\n.entry k() {{ .reg .pred %p<2>; .reg .b32 %r<99>; .reg .b64 %d<4>;\n{body}\n}}"
    );
    let program = Program::compile(&parse(&text).expect("parses"), "k").expect("compiles");
    let table = FragmentTable::new(&program);
    let shape = Shape { ctas: 1, warps: 4, shared_bytes: 1024 };
    let mut checker = Checker::new(shape, Rules::ALL, Some(&table));
    for (pc, instr) in program.instructions.iter().enumerate() {
        let actor = |warp| Actor { warp, pc: pc as u32, lanes: u32::MAX };
        let at = |found: Finding<Actor>| (program.lines[pc].ptx - 3, found);
        for warp in 0..4 {
            checker.instruction(actor(warp)).map_err(at)?;
            match instr.op {
                Op::Mma(MmaOp::Fence) => checker.product_fence(warp),
                Op::Mma(MmaOp::Commit) => checker.product_commit(warp),
                Op::Mma(MmaOp::Wait { pending }) => checker.product_wait(warp, pending),
                _ => {}
            }
        }
        if let Op::Mma(MmaOp::Wgmma(_)) = instr.op {
            checker.product(actor(0), std::iter::empty()).map_err(at)?;
        }
    }
    Ok(())
}

const FENCE: &str = "wgmma.fence.sync.aligned;";
const COMMIT: &str = "wgmma.commit_group.sync.aligned;";
const WAIT: &str = "wgmma.wait_group.sync.aligned 0;";
/// D in registers 1 to 4, A in shared memory.
const PRODUCT: &str =
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r1, %r2, %r3, %r4}, %d1, %d2, %p1, 1, 1, 0, 0;";
/// D in registers 11 to 14, A in registers 21 to 24.
const FROM_REGISTERS: &str = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r11, %r12, %r13, %r14}, \
     {%r21, %r22, %r23, %r24}, %d2, %p1, 1, 1, 0;";
/// D in registers 1 to 8.
const WIDER: &str = "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 \
     {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, %d1, %d2, %p1, 1, 1, 0, 0;";

fn lines(lines: &[&str]) -> Result<(), (u32, Finding<Actor>)> {
    run(&lines.join("\n"))
}

#[test]
fn right_programs_are_silent() {
    let read = "add.f32 %r50, %r2, %r11;";
    let write = "mov.b32 %r21, %r51;";
    let elsewhere = "add.s32 %r60, %r61, 1;";
    let programs: [&[&str]; 5] = [
        &[FENCE, PRODUCT, elsewhere, PRODUCT, COMMIT, WAIT, read],
        // Two groups; the first's registers after the first wait, the second's after the second.
        &[
            FENCE,
            PRODUCT,
            COMMIT,
            FENCE,
            FROM_REGISTERS,
            COMMIT,
            "wgmma.wait_group.sync.aligned 1;",
            "mov.b32 %r50, %r2;",
            WAIT,
            write,
            read,
        ],
        // Registers that are written before a fence.
        &[write, "mov.b32 %r1, 0;", FENCE, PRODUCT, FROM_REGISTERS, COMMIT, WAIT],
        // Another shape after a fence.
        &[FENCE, PRODUCT, FENCE, WIDER, COMMIT, WAIT],
        // The A operand may be read while it is used.
        &[FENCE, FROM_REGISTERS, "mov.b32 %r50, %r22;", COMMIT, WAIT],
    ];
    for program in programs {
        assert_eq!(lines(program), Ok(()), "{program:?}");
    }
}

#[test]
fn accumulators_before_the_wait() {
    for (access, written, index) in [("add.f32 %r50, %r3, %r51;", false, 2), ("mov.b32 %r4, 0;", true, 3)] {
        let (line, found) = lines(&[FENCE, PRODUCT, COMMIT, access, WAIT]).unwrap_err();
        assert_eq!(line, 4);
        let register = Fragment { role: Role::D, index };
        let other = Actor { warp: 0, pc: 1, lanes: u32::MAX };
        assert_eq!(found, Finding::PendingRegister { register, written, committed: true, other });
    }
    let (_, found) = lines(&[FENCE, PRODUCT, WAIT, "mov.b32 %r50, %r1;"]).unwrap_err();
    assert!(matches!(found, Finding::PendingRegister { committed: false, .. }), "{found}");
    assert_eq!(
        found.to_string(),
        "reads register 0 of the accumulator of wgmma by instruction 1 of warp 0, which may still be \
         executing: wgmma.commit_group and wgmma.wait_group would do first"
    );
    // A wait that leaves the group executing.
    let found = lines(&[FENCE, PRODUCT, COMMIT, "wgmma.wait_group.sync.aligned 1;", "mov.b32 %r50, %r1;"]);
    assert!(matches!(found, Err((5, Finding::PendingRegister { .. }))), "{found:?}");
}

#[test]
fn operands_before_the_wait() {
    let (line, found) = lines(&[FENCE, FROM_REGISTERS, COMMIT, "mov.b32 %r23, 0;", WAIT]).unwrap_err();
    let Finding::PendingRegister { register, written: true, .. } = found else { panic!("{found}") };
    assert_eq!((line, register), (4, Fragment { role: Role::A, index: 2 }));
}

#[test]
fn products_on_each_others_registers() {
    // D of one as A of the next.
    let chained = FROM_REGISTERS.replace("%r21", "%r1");
    let found = lines(&[FENCE, PRODUCT, &chained, COMMIT, WAIT]);
    assert!(matches!(found, Err((3, Finding::PendingRegister { written: false, .. }))), "{found:?}");
    // A of one as D of the next.
    let over = PRODUCT.replace("%r4", "%r24");
    let found = lines(&[FENCE, FROM_REGISTERS, &over, COMMIT, WAIT]);
    assert!(matches!(found, Err((3, Finding::PendingRegister { written: true, .. }))), "{found:?}");
    // Another shape, without a fence.
    let found = lines(&[FENCE, PRODUCT, WIDER, COMMIT, WAIT]);
    assert!(matches!(found, Err((3, Finding::PendingRegister { .. }))), "{found:?}");
}

#[test]
fn fences_before_products() {
    assert_eq!(lines(&[PRODUCT, COMMIT, WAIT]), Err((1, Finding::NoFence)));
    for (access, product, register) in [
        ("mov.b32 %r2, 0;", PRODUCT, Fragment { role: Role::D, index: 1 }),
        ("mov.b32 %r24, 0;", FROM_REGISTERS, Fragment { role: Role::A, index: 3 }),
        ("mov.b32 %r50, %r12;", FROM_REGISTERS, Fragment { role: Role::D, index: 1 }),
    ] {
        let other = Actor { warp: 0, pc: 1, lanes: u32::MAX };
        let found = lines(&[FENCE, access, product, COMMIT, WAIT]);
        assert_eq!(found, Err((3, Finding::MissingFence { register, other })), "{access}");
    }
    // Between two products, after a wait.
    let found = lines(&[FENCE, PRODUCT, COMMIT, WAIT, "mul.f32 %r1, %r1, %r9;", PRODUCT]);
    assert!(matches!(found, Err((6, Finding::MissingFence { .. }))), "{found:?}");
}
