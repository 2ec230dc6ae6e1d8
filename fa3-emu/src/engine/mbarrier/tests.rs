use super::*;
use proptest::prelude::*;

#[test]
fn a_phase_completes_at_its_last_arrival() {
    let mut barrier = Mbarrier::new(3).unwrap();
    assert_eq!(barrier.arrive(1), Ok(false));
    assert!(!barrier.is_quiescent());
    assert_eq!(barrier.arrive(2), Ok(true));
    assert_eq!((barrier.phase(), barrier.pending_arrivals()), (1, 3));
    assert!(barrier.completed(0) && !barrier.completed(1) && barrier.is_quiescent());
}

#[test]
fn bytes_may_land_before_they_are_expected() {
    let mut barrier = Mbarrier::new(1).unwrap();
    assert_eq!(barrier.complete_tx(64), Ok(false));
    assert_eq!(barrier.pending_bytes(), -64);
    let state = "phase 0 waits for 1 of 1 arrivals and has 64 bytes more than it expected";
    assert_eq!(barrier.to_string(), state);
    assert_eq!(barrier.arrive_expect_tx(64), Ok(true));
    // An arrival without its bytes leaves the phase open.
    barrier.expect_tx(16).unwrap();
    assert_eq!(barrier.arrive(1), Ok(false));
    assert_eq!(barrier.to_string(), "phase 1 waits for 0 of 1 arrivals and 16 bytes");
    assert_eq!(barrier.complete_tx(16), Ok(true));
}

#[test]
fn what_the_counts_cannot_hold_is_refused_and_changes_nothing() {
    assert_eq!(Mbarrier::new(0), Err(MbarrierError::Count { count: 0 }));
    assert_eq!(Mbarrier::new(1 << 20), Err(MbarrierError::Count { count: 1 << 20 }));
    let mut barrier = Mbarrier::new(2).unwrap();
    let before = barrier.clone();
    assert_eq!(barrier.arrive(0), Err(MbarrierError::Count { count: 0 }));
    assert_eq!(barrier.arrive(3), Err(MbarrierError::OverArrival { phase: 0, arrivals: 3, pending: 2 }));
    let (phase, bytes) = (0, 1 << 20);
    let count = bytes;
    assert_eq!(barrier.expect_tx(1 << 20), Err(MbarrierError::Transactions { phase, bytes, count }));
    let (bytes, count) = (-bytes, -count);
    assert_eq!(barrier.complete_tx(1 << 20), Err(MbarrierError::Transactions { phase, bytes, count }));
    assert!(barrier.complete_tx(u32::MAX).is_err() && barrier.arrive_expect_tx(u32::MAX).is_err());
    assert_eq!(barrier, before);
    // All arrivals are in, the bytes are not: one arrival more is one too many.
    barrier.expect_tx(8).unwrap();
    barrier.arrive(2).unwrap();
    let over = MbarrierError::OverArrival { phase: 0, arrivals: 1, pending: 0 };
    assert_eq!(barrier.arrive_expect_tx(8), Err(over));
    assert_eq!(barrier.pending_bytes(), 8);
    assert_eq!(
        over.to_string(),
        "1 arrivals at an mbarrier whose phase 0 has 0 pending: at most that many would do"
    );
}

#[derive(Clone, Copy, Debug)]
enum Operation {
    Arrive(u32),
    Expect(u32),
    ArriveExpect(u32),
    Complete(u32),
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        (1_u32..4).prop_map(Operation::Arrive),
        (0_u32..4).prop_map(Operation::Expect),
        (0_u32..4).prop_map(Operation::ArriveExpect),
        (0_u32..4).prop_map(Operation::Complete),
    ]
}

/// The log of a phase, from which everything is counted anew.
#[derive(Default)]
struct Log {
    arrivals: Vec<u32>,
    expected: Vec<u32>,
    completed: Vec<u32>,
}

proptest! {
    #[test]
    fn it_agrees_with_a_log_of_what_happened(
        count in 1_u32..6,
        operations in prop::collection::vec(operation(), 0..60),
    ) {
        let mut barrier = Mbarrier::new(count).unwrap();
        let (mut log, mut phase) = (Log::default(), 0_u64);
        for operation in operations {
            let arrived: u32 = log.arrivals.iter().sum();
            let (arrivals, result) = match operation {
                Operation::Arrive(n) => (n, barrier.arrive(n)),
                Operation::Expect(bytes) => (0, barrier.expect_tx(bytes)),
                Operation::ArriveExpect(bytes) => (1, barrier.arrive_expect_tx(bytes)),
                Operation::Complete(bytes) => (0, barrier.complete_tx(bytes)),
            };
            prop_assert_eq!(result.is_err(), arrived + arrivals > count);
            let Ok(completed) = result else { continue };
            log.arrivals.push(arrivals);
            match operation {
                Operation::Expect(bytes) | Operation::ArriveExpect(bytes) => log.expected.push(bytes),
                Operation::Complete(bytes) => log.completed.push(bytes),
                Operation::Arrive(_) => {}
            }
            let even = log.expected.iter().sum::<u32>() == log.completed.iter().sum::<u32>();
            let full = log.arrivals.iter().sum::<u32>() == count;
            let done = full && even;
            prop_assert_eq!(completed, done);
            if done {
                (log, phase) = (Log::default(), phase + 1);
            }
            prop_assert_eq!(barrier.phase(), phase);
            prop_assert_eq!(barrier.completed_parity(0), phase % 2 == 1);
            prop_assert_eq!(barrier.completed_parity(1), phase % 2 == 0);
        }
    }
}
