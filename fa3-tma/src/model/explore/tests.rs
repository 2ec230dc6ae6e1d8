//! The ring holds, and each of its parts is needed.

use std::format;
use std::string::{String, ToString};

use super::*;
use crate::model::{Parity, Step, TILE_PIECES};

/// Two turns of the ring and two tiles more.
fn ring(stages: u8, consumers: u8) -> Protocol {
    Protocol::ring(stages, consumers, 2 * stages + 2)
}

/// Every ring of 1 to 4 stages and 1 to 3 consumers.
fn rings() -> impl Iterator<Item = Protocol> {
    (1..=MAX_STAGES).flat_map(|stages| (1..=MAX_CONSUMERS).map(move |consumers| ring(stages, consumers)))
}

#[test]
fn every_interleaving_of_the_ring_is_right() {
    for ring in rings() {
        let explored = ring.explore().unwrap_or_else(|error| panic!("{ring:?}: {error}"));
        assert!(explored.states > usize::from(ring.tiles) * ring.producer.len(), "{ring:?}: {explored:?}");
    }
}

#[test]
fn bytes_may_be_expected_after_the_load_is_issued() {
    for mut ring in rings() {
        replace(&mut ring.producer, &[Step::EXPECT, Step::Load], &[Step::Load, Step::EXPECT]);
        assert!(ring.explore().is_ok(), "{ring:?}");
    }
}

/// A defect, the ring it is put into, and the violation that it shows as.
struct Broken {
    name: &'static str,
    stages: u8,
    consumers: u8,
    breaks: fn(&mut Protocol),
    shows: fn(Violation) -> bool,
}

fn is_overwrite(violation: Violation) -> bool {
    matches!(violation, Violation::Overwrite { .. })
}

fn is_unfilled(violation: Violation) -> bool {
    matches!(violation, Violation::UnfilledRead { .. })
}

fn is_wrong_tile(violation: Violation) -> bool {
    matches!(violation, Violation::WrongTile { .. })
}

fn is_deadlock(violation: Violation) -> bool {
    violation == Violation::Deadlock
}

fn is_miscount(violation: Violation) -> bool {
    matches!(violation, Violation::Miscount { .. })
}

/// Replaces the one run of `from` in `steps`.
fn replace(steps: &mut Vec<Step>, from: &[Step], to: &[Step]) {
    let at = steps.windows(from.len()).position(|window| window == from).unwrap();
    steps.splice(at..at + from.len(), to.iter().copied());
}

const BROKEN: &[Broken] = &[
    Broken {
        name: "the producer does not wait for empty",
        stages: 2,
        consumers: 1,
        breaks: |ring| replace(&mut ring.producer, &[Step::ACQUIRE], &[]),
        shows: is_overwrite,
    },
    Broken {
        name: "a consumer releases before it has read",
        stages: 3,
        consumers: 2,
        breaks: |ring| {
            replace(&mut ring.consumer, &[Step::EndRead, Step::RELEASE], &[Step::RELEASE, Step::EndRead])
        },
        shows: is_overwrite,
    },
    Broken {
        name: "empty counts one consumer too few",
        stages: 2,
        consumers: 2,
        breaks: |ring| ring.empty_arrivals -= 1,
        shows: is_overwrite,
    },
    Broken {
        name: "the producer's phase does not flip",
        stages: 2,
        consumers: 1,
        breaks: |ring| replace(&mut ring.producer, &[Step::Advance], &[Step::AdvanceSamePhase]),
        shows: is_overwrite,
    },
    Broken {
        name: "a consumer does not wait for full",
        stages: 1,
        consumers: 1,
        breaks: |ring| replace(&mut ring.consumer, &[Step::WAIT_FULL], &[]),
        shows: is_unfilled,
    },
    Broken {
        name: "too few bytes are expected",
        stages: 2,
        consumers: 1,
        breaks: |ring| replace(&mut ring.producer, &[Step::EXPECT], &[Step::ArriveExpect(TILE_PIECES - 1)]),
        shows: is_unfilled,
    },
    Broken {
        name: "the producer arrives without expecting bytes",
        stages: 2,
        consumers: 1,
        breaks: |ring| replace(&mut ring.producer, &[Step::EXPECT], &[Step::Arrive(Barrier::Full)]),
        shows: is_unfilled,
    },
    Broken {
        name: "a consumer waits for the phase before",
        stages: 2,
        consumers: 1,
        breaks: |ring| {
            let previous = Step::Wait(Barrier::Full, Parity::Previous);
            replace(&mut ring.consumer, &[Step::WAIT_FULL], &[previous]);
        },
        shows: is_unfilled,
    },
    Broken {
        name: "the consumer's phase does not flip",
        stages: 2,
        consumers: 1,
        breaks: |ring| replace(&mut ring.consumer, &[Step::Advance], &[Step::AdvanceSamePhase]),
        shows: is_wrong_tile,
    },
    Broken {
        name: "a consumer does not advance",
        stages: 2,
        consumers: 1,
        breaks: |ring| replace(&mut ring.consumer, &[Step::Advance], &[]),
        shows: is_deadlock,
    },
    Broken {
        name: "too many bytes are expected",
        stages: 2,
        consumers: 1,
        breaks: |ring| replace(&mut ring.producer, &[Step::EXPECT], &[Step::ArriveExpect(TILE_PIECES + 1)]),
        shows: is_deadlock,
    },
    Broken {
        name: "empty counts one consumer too many",
        stages: 2,
        consumers: 2,
        breaks: |ring| ring.empty_arrivals += 1,
        shows: is_deadlock,
    },
    Broken {
        name: "full counts the consumers",
        stages: 2,
        consumers: 2,
        breaks: |ring| ring.full_arrivals = ring.consumers,
        shows: is_deadlock,
    },
    Broken {
        name: "a consumer never releases",
        stages: 4,
        consumers: 1,
        breaks: |ring| replace(&mut ring.consumer, &[Step::RELEASE], &[]),
        shows: is_deadlock,
    },
    Broken {
        name: "the producer waits for the current phase",
        stages: 2,
        consumers: 1,
        breaks: |ring| {
            let current = Step::Wait(Barrier::Empty, Parity::Current);
            replace(&mut ring.producer, &[Step::ACQUIRE], &[current]);
        },
        shows: is_deadlock,
    },
    Broken {
        name: "the producer arrives twice",
        stages: 2,
        consumers: 1,
        breaks: |ring| {
            replace(&mut ring.producer, &[Step::EXPECT], &[Step::EXPECT, Step::Arrive(Barrier::Full)])
        },
        shows: is_miscount,
    },
];

#[test]
fn every_defect_is_found() {
    for broken in BROKEN {
        let mut ring = ring(broken.stages, broken.consumers);
        assert!(ring.explore().is_ok(), "{}: before it is broken", broken.name);
        (broken.breaks)(&mut ring);
        assert!(ring.find(broken.shows).unwrap().is_some(), "{}: {:?}", broken.name, ring.explore());
    }
}

#[test]
fn every_property_fails_on_some_defect() {
    for shows in [is_overwrite, is_unfilled, is_wrong_tile, is_deadlock, is_miscount] {
        let examples = [
            Violation::Overwrite { stage: 0, lost: 0, by: 1 },
            Violation::UnfilledRead { stage: 0, tile: 0 },
            Violation::WrongTile { stage: 0, expected: 1, found: 0 },
            Violation::Deadlock,
            Violation::Miscount { barrier: Barrier::Full, stage: 0 },
        ];
        let example = examples.into_iter().find(|violation| shows(*violation)).unwrap();
        assert!(BROKEN.iter().any(|broken| (broken.shows)(example)), "{example}");
    }
}

#[test]
fn a_counterexample_reads_as_a_run() {
    let mut early = Protocol::ring(1, 1, 2);
    replace(&mut early.consumer, &[Step::EndRead, Step::RELEASE], &[Step::RELEASE, Step::EndRead]);
    let error = early.explore().unwrap_err();
    let text = error.to_string();
    let lines: Vec<String> = text.lines().map(|line| line.trim().to_string()).collect();
    assert_eq!(lines[0], "tile 1 lands in stage 0 on tile 0, which a consumer has not read, after:");
    assert_eq!(lines[1], format!("producer, tile 0, stage 0: {:?}", Step::ACQUIRE));
    assert_eq!(lines[lines.len() - 1], "half of tile 1 lands in stage 0");
}

#[test]
fn what_the_model_does_not_hold_is_refused() {
    let refused = |protocol: Protocol, field: &str| {
        let error = protocol.explore().unwrap_err();
        assert!(matches!(error, ExploreError::OutOfRange { name, .. } if name == field), "{error}");
    };
    refused(Protocol::ring(0, 1, 2), "stages");
    refused(Protocol::ring(MAX_STAGES + 1, 1, 2), "stages");
    refused(Protocol::ring(1, 0, 2), "consumers");
    refused(Protocol::ring(1, MAX_CONSUMERS + 1, 2), "consumers");
    refused(Protocol::ring(1, 1, MAX_TILES + 1), "tiles");
    refused(Protocol { full_arrivals: 0, ..Protocol::ring(1, 1, 2) }, "full_arrivals");
    refused(Protocol { producer: Vec::new(), ..Protocol::ring(1, 1, 2) }, "producer");
}
