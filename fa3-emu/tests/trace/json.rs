//! The JSON.

use std::collections::HashMap;

use fa3_emu::ir::{Line, Location};
use fa3_emu::trace::{Activity, Actor, Awaited, Span, Trace, Track};
use serde_json::Value;

use crate::{PROBLEM, traced};

fn events(trace: &Trace) -> Vec<Value> {
    let json: Value = serde_json::from_str(&trace.to_json()).unwrap();
    assert_eq!(json["displayTimeUnit"], "ns");
    json["traceEvents"].as_array().unwrap().clone()
}

/// In cycles.
fn time(event: &Value, field: &str) -> u64 {
    (event[field].as_f64().unwrap() * 1000.0).round() as u64
}

#[test]
fn there_is_an_event_for_each_span_and_an_arrow_for_each_operation() {
    let trace = traced(&PROBLEM);
    let events = events(&trace);
    let of = |phase: &str| events.iter().filter(|event| event["ph"] == phase).collect::<Vec<_>>();
    let spans = || trace.tracks.iter().flat_map(|track| &track.spans);
    assert_eq!(of("X").len(), spans().count());
    let arrows = spans().filter(|span| span.issued.is_some()).count();
    assert_eq!((of("s").len(), of("f").len()), (arrows, arrows));
    let names = of("M").into_iter().filter(|event| event["name"] == "thread_name");
    let names: Vec<_> = names.map(|event| event["args"]["name"].as_str().unwrap()).collect();
    assert_eq!(names[..4], ["TMA loads", "tensor cores", "bulk stores", "warp 0"]);
    assert_eq!(names.len(), 15);
}

/// Both ends of an arrow lie within a span of their tracks.
#[test]
fn arrows_begin_and_end_at_spans() {
    let events = events(&traced(&PROBLEM));
    let mut tracks: HashMap<u64, Vec<(u64, u64)>> = HashMap::new();
    for event in events.iter().filter(|event| event["ph"] == "X") {
        let (start, duration) = (time(event, "ts"), time(event, "dur"));
        tracks.entry(event["tid"].as_u64().unwrap()).or_default().push((start, start + duration));
    }
    for event in events.iter().filter(|event| event["ph"] == "s" || event["ph"] == "f") {
        let at = time(event, "ts");
        let spans = &tracks[&event["tid"].as_u64().unwrap()];
        assert!(spans.iter().any(|&(start, end)| (start..end).contains(&at)), "{event}");
    }
}

#[test]
fn every_text_is_escaped() {
    let line = Line { ptx: 7, source: Some(Location { file: 0, line: 3 }) };
    let awaited = Awaited::Mbarrier { cta: 1, offset: 24 };
    let span = Span { start: 1, end: 2001, activity: Activity::Wait(awaited), line, issued: None };
    let trace = Trace {
        kernel: "a \"kernel\"\n".to_owned(),
        tracks: vec![Track { cta: [1, 2, 3], actor: Actor::Warp(0), spans: vec![span] }],
        files: vec!["C:\\kernels\\a.cu".to_owned()],
        symbols: vec![fa3_emu::ir::Symbol { name: "full".to_owned(), offset: 16, size: 16, align: 8 }],
    };
    let events = events(&trace);
    assert_eq!(events[0]["args"]["name"], "a \"kernel\"\n CTA (1, 2, 3)");
    let wait = &events[3];
    assert_eq!(wait["name"], "wait for mbarrier full+0x8 of rank 1");
    assert_eq!(wait["args"]["source"], "C:\\kernels\\a.cu:3");
    assert_eq!((time(wait, "ts"), time(wait, "dur")), (1, 2000));
}
