//! The forward kernel, broken in five ways: which finding each gives, and whom it names.

#![expect(clippy::unwrap_used, clippy::panic, reason = "what fails here fails the test")]

mod edit;
#[path = "../forward/kernel.rs"]
#[allow(dead_code, reason = "the tests of whole kernels compare what they compute")]
mod kernel;
#[path = "../forward/problem.rs"]
#[allow(dead_code, reason = "the tests of whole kernels compare with attention in f64")]
mod problem;

use edit::Text;
use fa3_emu::check::{Finding, Use};
use fa3_emu::ir::Program;
use fa3_emu::{FaultKind, Options, Order, RunError, ptx, run};
use fa3_kernels::{ForwardKernel, Operand, forward_kernels};
use fa3_sys::Arch;
use problem::Problem;

/// The mbarrier of the first stage of keys.
const FIRST_KEYS: &str = "mbarrier 0x30010 of CTA rank 0";
const FIRST_KEYS_SHORT: &str = "0x30010";
/// What the producer begins a load with: first of keys, then of queries.
const EXPECT: &str = "mbarrier.arrive.expect_tx";
const ORDERS: [Order; 4] = [Order::Eager, Order::Lazy, Order::Seeded(1), Order::Seeded(2)];

fn subject() -> &'static ForwardKernel {
    forward_kernels().find(|row| row.operand == Operand::Bf16 && row.head_dim == 128).unwrap()
}

fn text() -> Text {
    Text::new(fa3_kernels::ptx(&subject().symbol(), Arch::Sm90a).unwrap())
}

/// What a run of `text` ends with: four tiles of keys, two tiles of queries for one CTA.
fn error(text: &Text, order: Order) -> RunError {
    let kernel = subject();
    let problem = Problem {
        operand: kernel.operand,
        dim: 128,
        batch: 1,
        sq: 256,
        sk: 512,
        heads_q: 1,
        heads_k: 1,
        causal: false,
    };
    let ptx = text.to_string();
    let program = Program::compile(&ptx::parse(&ptx).unwrap(), &kernel.symbol()).unwrap();
    let mut launch = kernel::prepare(kernel, &problem, &problem.operands(), 1);
    let arguments: Vec<&[u8]> = launch.arguments.iter().map(Vec::as_slice).collect();
    let options = Options { order, ..Options::default() };
    let result = run(&program, &launch.launch, &arguments, &mut launch.memory, &options);
    result.unwrap_err()
}

/// That a message says all of this.
fn says(error: &RunError, words: &[&str]) {
    let message = error.to_string();
    for word in words {
        assert!(message.contains(word), "{word:?} is not in: {message}");
    }
}

/// `PTX line N` of a line of the text.
fn at(line: usize) -> String {
    format!("PTX line {line} ")
}

#[test]
fn a_missing_proxy_fence() {
    let mut text = text();
    let write = text.find(0, "stmatrix").unwrap();
    text.remove(text.find(0, "fence.proxy.async").unwrap());
    let store = text.find(0, "cp.async.bulk.tensor.4d.global.shared::cta").unwrap();
    for order in ORDERS {
        let error = error(&text, order);
        let RunError::Fault { site, kind: FaultKind::Check(finding) } = &error else { panic!("{error}") };
        let Finding::MissingProxyFence { access: Use::Store, other, .. } = &**finding else {
            panic!("{error}")
        };
        assert_eq!(site.ptx_line as usize, store);
        assert!(other.ptx_line as usize >= write, "{error}");
        says(
            &error,
            &[
                &format!("{} CTA (0, 0, 0) warp {} ", subject().symbol(), site.warp),
                &at(store),
                "store.cuh:",
                "missing proxy fence: a bulk store's read at shared addresses",
                "may miss the write by",
                &format!("warp {} ", other.warp),
                "math.cuh:",
                "fence.proxy.async would do",
            ],
        );
    }
}

#[test]
fn a_stage_that_is_released_before_it_has_been_read() {
    let mut text = text();
    // The release is in a branch that ends at a label: the wait moves behind that.
    let wait = text.find(0, "wgmma.wait_group").unwrap();
    let product = text.find(0, "{.reg .pred p; setp").unwrap();
    let release = text.find(wait, "mbarrier.arrive.shared").unwrap();
    text.move_behind(wait, text.find(release, "$L").unwrap());
    let load = text.find(0, "cp.async.bulk.tensor").unwrap();
    for order in ORDERS {
        let error = error(&text, order);
        let RunError::Fault { site, kind: FaultKind::Check(finding) } = &error else { panic!("{error}") };
        let Finding::Race { access: Use::Load { .. }, other_access: Use::Product, other, .. } = &**finding
        else {
            panic!("{error}")
        };
        assert!(site.ptx_line as usize > load && site.warp == 0, "{error}");
        assert!((product..release).contains(&(other.ptx_line as usize)), "{error}");
        says(
            &error,
            &[
                "CTA (0, 0, 0) warp 0 ",
                "load.cuh:",
                "data race",
                FIRST_KEYS,
                "and a wgmma's read by",
                "wgmma.cuh:",
                "wgmma.wait_group would do in that warp, before it arrives",
            ],
        );
    }
}

#[test]
fn a_stage_that_expects_too_few_bytes() {
    let mut text = text();
    let expect = text.find(0, "mbarrier.arrive.expect_tx").unwrap();
    text.replace_last_operand(expect, "16384");
    let first = text.find(expect, "cp.async.bulk.tensor").unwrap();
    let second = text.find(first + 1, "cp.async.bulk.tensor").unwrap();
    // Eagerly, the first half completes the phase before the second is issued, in a phase that nobody
    // waits for.
    let eager = error(&text, Order::Eager);
    says(
        &eager,
        &["wgmma.cuh:", "between a wgmma's read here and a bulk load's write", &at(second), FIRST_KEYS],
    );
    for order in &ORDERS[1..] {
        let error = error(&text, *order);
        let RunError::Fault { site, kind: FaultKind::TransactionBytes(wrong) } = &error else {
            panic!("{error}")
        };
        assert_eq!((wrong.expected, wrong.in_flight), (16384, 16384));
        let halves = [site.ptx_line as usize, wrong.issuer.ptx_line as usize];
        assert!(halves == [first, second] || halves == [second, first], "{error}");
        says(&error, &["CTA (0, 0, 0) warp 0 ", "load.cuh:", "wrong transaction bytes", FIRST_KEYS_SHORT]);
    }
}

#[test]
fn a_phase_that_is_not_flipped() {
    let mut text = text();
    // In the producer: for the first keys, the queries, and then the keys of its loop, which it loads
    // into the first stage again without waiting for its release.
    text.remove(text.flips()[2]);
    let loads = text.all("cp.async.bulk.tensor");
    for order in ORDERS {
        let error = error(&text, order);
        says(&error, &["CTA (0, 0, 0) warp 0 lanes 0x00000001, PTX line "]);
        match &error {
            // With the load before it, or with who reads what that brought.
            RunError::Fault { site, kind: FaultKind::Check(finding) } => {
                let Finding::Race { access: Use::Load { .. }, .. } = &**finding else { panic!("{error}") };
                assert!(loads.contains(&(site.ptx_line as usize)), "{error}");
                says(&error, &["load.cuh:", "data race", FIRST_KEYS]);
            }
            // With the load before still in flight, its phase is not complete.
            RunError::Fault { kind: FaultKind::Arrival(arrival), .. } => {
                assert!(text.all(EXPECT).contains(&(arrival.last.ptx_line as usize)), "{error}");
                says(&error, &["mbarrier.cuh:", FIRST_KEYS_SHORT, "has 0 pending", "the last to arrive was"]);
            }
            _ => panic!("{error}"),
        }
    }
}

#[test]
fn roles_that_disagree_on_the_number_of_tiles() {
    let mut text = text();
    // The first compares the thread with the producer's, the second the next tile with their number.
    text.replace_last_operand(text.all("setp.lt.u32")[1], "0");
    for order in ORDERS {
        let error = error(&text, order);
        let RunError::Deadlock { waiting } = &error else { panic!("{error}") };
        let warps: Vec<u32> = waiting.iter().map(|one| one.site.warp).collect();
        assert_eq!(warps, (4..12).collect::<Vec<_>>(), "the consumers");
        let expect = text.all(EXPECT)[1];
        says(
            &error,
            &[
                "CTA (0, 0, 0) warps 4 to 11 ",
                "mbarrier.cuh:",
                "phase of parity 1 of the mbarrier at shared 0x30000",
                "waits for 1 of 1 arrivals",
                &format!("the last to arrive was {} CTA (0, 0, 0) warp 0 ", subject().symbol()),
                &at(expect),
            ],
        );
    }
}
