//! What warps and lanes must do together: `.aligned` instructions, operands that all agree on, registers.

use fa3_emu::engine::registers::RegisterError;
use fa3_emu::{FaultKind, Launch, RunError};

use super::small::{WARP, fault, options, output, output_with, program};

#[test]
fn lanes_that_wait_for_each_other_elsewhere_are_named() {
    // Lane 0 is in another branch than the rest, and both want the whole warp.
    for there in ["bar.warp.sync -1;", "bar.sync 0;", "vote.sync.any.pred %p2, %p0, -1;"] {
        let body = format!(
            "setp.eq.u32 %p0, %r0, 0;
             @%p0 bra $one;
             {there}
             ret;
             $one:
             bar.sync 1;
             ret;"
        );
        let (kind, text) = fault(&program("", "", &body), &WARP, 1);
        let FaultKind::Diverged { missing, other } = kind else { panic!("{text}") };
        assert_eq!(missing ^ other.lanes, 0, "{text}");
        assert!([1, 0xffff_fffe].contains(&missing), "{text}");
        assert!(text.contains("PTX line 16") && text.contains("PTX line 19"), "{text}");
    }
}

#[test]
fn lanes_that_come_later_are_waited_for() {
    // The other lanes wait at an aligned barrier until lane 0 has seen what another warp brings.
    let body = "mov.u32 %r1, bar;
         setp.ne.u32 %p0, %r0, 0;
         @%p0 bra $made;
         mbarrier.init.shared::cta.b64 [%r1], 1;
         $made:
         bar.sync 0;
         setp.eq.u32 %p1, %r0, 32;
         @%p1 mbarrier.arrive.shared::cta.b64 _, [%r1];
         @%p0 bra $together;
         $wait:
         mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r1], 0;
         @!%p2 bra $wait;
         $together:
         bar.sync 0;
         ret;";
    let program = program(".shared .align 8 .b8 bar[8];", "", body);
    assert!(output(&program, &Launch::new([1, 1, 1], [64, 1, 1]), 1).is_ok());
}

#[test]
fn operands_that_lanes_disagree_on_are_faults() {
    let cases = [
        ("bar.arrive %r0, 64;", "the named barrier", 1),
        ("add.u32 %r1, %r0, 32;\nbar.sync 3, %r1;", "the named barrier's threads", 1),
        ("shr.u32 %r1, %r0, 1;\nnot.b32 %r1, %r1;\nvote.sync.any.pred %p0, %p1, %r1;", "the member mask", 2),
    ];
    for (body, operand, at) in cases {
        let (kind, text) = fault(&program("", "", &format!("{body}\nret;")), &WARP, 1);
        let FaultKind::NotUniform(found) = kind else { panic!("{text}") };
        assert_eq!((found.operand, found.at), (operand, [0, at]), "{text}");
    }
}

#[test]
fn parts_of_a_warp_exchange_apart() {
    // Eight lanes each, by masks of their own at one instruction; then lanes 0 to 7 come late.
    let body = "and.b32 %r1, %r0, 24;
         mov.u32 %r2, 255;
         shl.b32 %r2, %r2, %r1;
         redux.sync.add.u32 %r3, %r0, %r2;
         setp.lt.u32 %p0, %r0, 8;
         @!%p0 bra $late;
         add.u32 %r3, %r3, 1000;
         $late:
         bar.warp.sync %r2;
         shfl.sync.bfly.b32 %r4, %r3, 7, 6175, %r2;
         st.global.u32 [%rd1], %r4;
         ret;";
    let (words, _) = output(&program("", "", body), &WARP, 32).unwrap();
    let sum = |lane: u32| (lane / 8 * 8..lane / 8 * 8 + 8).sum::<u32>();
    let expected: Vec<u32> = (0..32).map(|lane| sum(lane) + if lane < 8 { 1000 } else { 0 }).collect();
    assert_eq!(words, expected);
}

#[test]
fn parts_of_a_warp_wait_apart() {
    // Of each four lanes, two are elsewhere when the others come to the barrier of the four.
    let body = "and.b32 %r1, %r0, 28;
         mov.u32 %r2, 15;
         shl.b32 %r2, %r2, %r1;
         and.b32 %r3, %r0, 2;
         setp.ne.u32 %p0, %r3, 0;
         mov.u32 %r5, cells;
         shl.b32 %r6, %r0, 2;
         add.u32 %r5, %r5, %r6;
         @%p0 bra $others;
         bar.warp.sync %r2;
         ld.shared.u32 %r4, [%r5+8];
         bra $end;
         $others:
         st.shared.u32 [%r5], %r0;
         bar.warp.sync %r2;
         mov.u32 %r4, 77;
         $end:
         vote.sync.any.pred %p1, %p0, %r2;
         st.global.u32 [%rd1], %r4;
         ret;";
    let (words, _) = output(&program(".shared .align 4 .b8 cells[128];", "", body), &WARP, 32).unwrap();
    let expected: Vec<u32> = (0..32).map(|lane| if lane & 2 == 0 { lane + 2 } else { 77 }).collect();
    assert_eq!(words, expected);
}

/// A product whose descriptors are `%rd2` and `%rd3`, and whose scale is `%p0`; all 0, but for `change`.
fn product(change: &str) -> String {
    format!(
        "mov.u32 %r2, tile;
         mov.b64 %rd2, 0;
         mov.b64 %rd3, 0;
         setp.ne.u32 %p0, %r0, %r0;
         {change}
         .reg .b32 %d<4>;
         wgmma.fence.sync.aligned;
         wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {{%d0, %d1, %d2, %d3}}, %rd2, %rd3, %p0, 1, 1, 0, 0;
         wgmma.commit_group.sync.aligned;
         wgmma.wait_group.sync.aligned 0;
         ret;"
    )
}

const TILE: &str = ".shared .align 1024 .b8 tile[2048];";
const WARPGROUP: Launch = Launch::new([1, 1, 1], [128, 1, 1]);

#[test]
fn descriptors_and_scales_that_a_warpgroup_disagrees_on_are_faults() {
    let cases = [
        ("cvt.u64.u32 %rd2, %r0;", "the descriptor of A", "lanes"),
        ("cvt.u64.u32 %rd3, %r0;", "the descriptor of B", "lanes"),
        ("setp.gt.u32 %p0, %r0, 1;", "scale-d", "lanes"),
        ("shr.u32 %r1, %r0, 6;\ncvt.u64.u32 %rd2, %r1;", "the descriptor of A", "warps"),
        ("shr.u32 %r1, %r0, 6;\ncvt.u64.u32 %rd3, %r1;", "the descriptor of B", "warps"),
        ("setp.gt.u32 %p0, %r0, 31;", "scale-d", "warps"),
    ];
    for (change, operand, who) in cases {
        let (kind, text) = fault(&program(TILE, "", &product(change)), &WARPGROUP, 1);
        let FaultKind::NotUniform(found) = kind else { panic!("{text}") };
        assert_eq!((found.operand, found.who), (operand, who), "{text}");
    }
    output(&program(TILE, "", &product("")), &WARPGROUP, 1).unwrap();
}

#[test]
fn a_product_takes_a_whole_warpgroup() {
    let program = program(TILE, "", &product(""));
    let (kind, text) = fault(&program, &Launch::new([1, 1, 1], [96, 1, 1]), 1);
    assert_eq!(kind, FaultKind::Warpgroup { warps: 3 }, "{text}");
}

#[test]
fn a_product_takes_whole_warps() {
    // Half of each warp goes past the product and exits; or the last warp has never been whole.
    let (kind, text) = fault(
        &program(TILE, "", &product("and.b32 %r3, %r0, 16;\nsetp.ne.u32 %p1, %r3, 0;\n@%p1 ret;")),
        &WARPGROUP,
        1,
    );
    assert_eq!(kind, FaultKind::PartOfWarp { missing: 0xffff_0000 }, "{text}");
    let few = Launch::new([1, 1, 1], [100, 1, 1]);
    let (kind, text) = fault(&program(TILE, "", &product("setp.lt.u32 %p1, %r0, 96;\n@%p1 ret;")), &few, 1);
    assert_eq!(kind, FaultKind::PartOfWarp { missing: 0xffff_fff0 }, "{text}");
}

/// Two warpgroups, of which the first executes `first` and the second `second`.
fn registers(first: &str, second: &str) -> Result<(), RunError> {
    let body = format!(
        "setp.ge.u32 %p0, %r0, 128;
         @%p0 bra $second;
         {first}
         ret;
         $second:
         {second}
         ret;"
    );
    let launch = Launch::new([1, 1, 1], [256, 1, 1]);
    output_with(&program("", "", &body), &launch, 1, &options()).map(|_| ())
}

#[test]
fn an_increase_of_registers_waits_for_a_decrease() {
    let (dec, inc) = ("setmaxnreg.dec.sync.aligned.u32 232;", "setmaxnreg.inc.sync.aligned.u32 256;");
    assert_eq!(registers(inc, dec), Ok(()), "whoever comes first");
    assert_eq!(registers(dec, inc), Ok(()));
    let error = registers(inc, "").unwrap_err();
    assert!(matches!(error, RunError::Deadlock { .. }), "{error}");
    let error = error.to_string();
    assert!(error.contains("waits for registers: 256 for each thread, which has 248, while 0"), "{error}");
}

#[test]
fn changes_of_registers_that_break_a_rule_are_faults() {
    let of = |first: &str| match registers(first, "").unwrap_err() {
        RunError::Fault { kind: FaultKind::Registers(error), .. } => error,
        other => panic!("{other}"),
    };
    let dec = |count: u32| format!("setmaxnreg.dec.sync.aligned.u32 {count};");
    assert_eq!(of(&dec(256)), RegisterError::Decrease { count: 256, held: 248 });
    assert_eq!(of("setmaxnreg.inc.sync.aligned.u32 240;"), RegisterError::Increase { count: 240, held: 248 });
    let apart = |last: &str| {
        format!("setp.lt.u32 %p1, %r0, 32;\n@%p1 bra $apart;\n{}\nret;\n$apart:\n{last}", dec(40))
    };
    assert!(matches!(of(&apart(&dec(48))), RegisterError::Disagreement { .. }));
    assert_eq!(of(&apart("")), RegisterError::Missing { warpgroup: 0, count: 40 });
    assert_eq!(registers(&apart(&dec(40)), ""), Ok(()));
}
