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
use fa3_kernels::{ForwardKernel, Operand, STAGES, forward_kernels};
use fa3_sys::Arch;
use problem::Problem;

/// What the producer begins a load with.
const EXPECT: &str = "mbarrier.arrive.expect_tx";
const ORDERS: [Order; 4] = [Order::Eager, Order::Lazy, Order::Seeded(1), Order::Seeded(2)];

fn subject() -> &'static ForwardKernel {
    forward_kernels().find(|row| row.operand == Operand::Bf16 && row.head_dim == 128).unwrap()
}

/// The address of the full barrier of a ring's first stage: of queries, of keys, of values.
fn barrier(ring: usize) -> String {
    // Barriers are the last in shared memory: 16 bytes a stage.
    let stages = [subject().query_stages(), STAGES, STAGES];
    let queries = subject().shared_bytes() - 16 * stages.iter().sum::<u32>();
    format!("{:#x}", queries + 16 * stages[..ring].iter().sum::<u32>())
}

/// The same, as a load's barrier is named.
fn first_keys() -> String {
    format!("mbarrier {} of CTA rank 0", barrier(1))
}

/// Where the producer begins to load a tile's queries, which alone lie in five dimensions, and then its
/// first keys.
fn first_loads(text: &Text) -> [usize; 2] {
    let queries = text.find(0, "cp.async.bulk.tensor.5d").unwrap();
    let expects = text.all(EXPECT);
    let keys = expects.iter().position(|&line| line > queries).unwrap();
    [expects[keys - 1], expects[keys]]
}

fn text() -> Text {
    Text::new(fa3_kernels::ptx(&subject().symbol(), Arch::Sm90a).unwrap())
}

/// What a run of `text` ends with: four tiles of keys, two tiles of queries for one CTA.
fn error(text: &Text, order: Order) -> RunError {
    let kernel = subject();
    let problem =
        Problem { operand: kernel.operand, dim: 128, value_dim: 128, sq: 256, sk: 512, ..Problem::PLAIN };
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
    text.remove(text.find(write, "fence.proxy.async").unwrap());
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
                "matrix.cuh:",
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
                &first_keys(),
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
    let [_, expect] = first_loads(&text);
    text.replace_last_operand(expect, "16384");
    let first = text.find(expect, "cp.async.bulk.tensor").unwrap();
    let second = text.find(first + 1, "cp.async.bulk.tensor").unwrap();
    for order in ORDERS {
        let error = error(&text, order);
        let RunError::Fault { site, kind } = &error else { panic!("{error}") };
        match kind {
            // The first half completes the phase before the second is issued, in a phase that nobody
            // waits for.
            FaultKind::Check(_) => {
                let read = "between a wgmma's read here and a bulk load's write";
                says(&error, &["wgmma.cuh:", read, &at(second), &first_keys()]);
            }
            FaultKind::TransactionBytes(wrong) => {
                assert_eq!((wrong.expected, wrong.in_flight), (16384, 16384));
                let halves = [site.ptx_line as usize, wrong.issuer.ptx_line as usize];
                assert!(halves == [first, second] || halves == [second, first], "{error}");
                says(&error, &["CTA (0, 0, 0) warp 0 ", "load.cuh:", "wrong transaction bytes", &barrier(1)]);
            }
            _ => panic!("{error}"),
        }
    }
}

#[test]
fn a_phase_that_is_not_flipped() {
    let mut text = text();
    // The producer's second behind the first keys: of the keys in its loop, which it then loads into the
    // first stage again without waiting for its release.
    let [_, keys] = first_loads(&text);
    text.remove(text.flips().into_iter().filter(|&line| line > keys).nth(1).unwrap());
    let loads = text.all("cp.async.bulk.tensor");
    for order in ORDERS {
        let error = error(&text, order);
        says(&error, &["CTA (0, 0, 0) warp 0 lanes 0x00000001, PTX line "]);
        match &error {
            // With the load before it, or with who reads what that brought.
            RunError::Fault { site, kind: FaultKind::Check(finding) } => {
                let Finding::Race { access: Use::Load { .. }, .. } = &**finding else { panic!("{error}") };
                assert!(loads.contains(&(site.ptx_line as usize)), "{error}");
                says(&error, &["load.cuh:", "data race", &first_keys()]);
            }
            // With the load before still in flight, its phase is not complete.
            RunError::Fault { kind: FaultKind::Arrival(arrival), .. } => {
                assert!(text.all(EXPECT).contains(&(arrival.last.ptx_line as usize)), "{error}");
                says(&error, &["mbarrier.cuh:", &barrier(1), "has 0 pending", "the last to arrive was"]);
            }
            _ => panic!("{error}"),
        }
    }
}

#[test]
fn roles_that_disagree_on_the_number_of_tiles() {
    let mut text = text();
    // Where it hands over a tile, the producer says whether another follows: always, now.
    let [queries, _] = first_loads(&text);
    let flag = text.all("selp.u32").into_iter().rfind(|&line| line < queries).unwrap();
    text.replace(flag, "1, 0,", "1, 1,");
    for order in ORDERS {
        let error = error(&text, order);
        let RunError::Deadlock { waiting } = &error else { panic!("{error}") };
        let warps: Vec<u32> = waiting.iter().map(|one| one.site.warp).collect();
        assert_eq!(warps, (4..12).collect::<Vec<_>>(), "the consumers");
        says(
            &error,
            &[
                "CTA (0, 0, 0) warps 4 to 11 ",
                "mbarrier.cuh:",
                &format!("phase of parity 1 of the mbarrier at shared {}", barrier(0)),
                "waits for 1 of 1 arrivals",
                &format!("the last to arrive was {} CTA (0, 0, 0) warp 0 ", subject().symbol()),
                &at(queries),
            ],
        );
    }
}
