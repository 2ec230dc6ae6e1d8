//! Traces as JSON, in the Trace Event Format that Perfetto and Chrome's tracing page read.

use std::collections::HashMap;
use std::fmt::{self, Write as _};

use super::{Activity, Actor, Span, Trace, Track};

/// Text within a JSON string.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}")?,
                c if c < ' ' => write!(f, "\\u{:04x}", c as u32)?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// A cycle as a time stamp. Those are in microseconds; a cycle is shown as a nanosecond.
struct Cycles(u64);

impl fmt::Display for Cycles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}

impl Trace {
    /// The trace as JSON, to be opened in [Perfetto](https://ui.perfetto.dev) or `chrome://tracing`:
    /// a process for each CTA, a thread for each track, arrows from the instructions that issue
    /// operations to the operations. A nanosecond there is a cycle here.
    ///
    /// ```
    /// # use fa3_emu::trace::Trace;
    /// let trace = Trace { kernel: "k".into(), tracks: vec![], files: vec![], symbols: vec![] };
    /// assert_eq!(trace.to_json(), "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n]}\n");
    /// ```
    pub fn to_json(&self) -> String {
        let mut events = Events { text: String::new(), flows: 0 };
        let processes = self.processes();
        for (index, track) in self.tracks.iter().enumerate() {
            // The tracks of a CTA are numbered from 0, engines and warps alike.
            let place = processes.get(&track.cta).copied().unwrap_or_default();
            events.names(self, place, index.saturating_sub(place.first), track);
        }
        for (index, track) in self.tracks.iter().enumerate() {
            let place = processes.get(&track.cta).copied().unwrap_or_default();
            for span in &track.spans {
                events.span(self, place.pid, index.saturating_sub(place.first), span);
                if let Some(issued) = span.issued {
                    let from = processes.get(&issued.cta).copied().unwrap_or_default();
                    let thread = from.first_warp - from.first + issued.warp as usize;
                    events.arrow((from.pid, thread, issued.at), (place.pid, index - place.first, span.start));
                }
            }
        }
        format!("{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n{}]}}\n", events.text)
    }

    fn processes(&self) -> HashMap<[u32; 3], Process> {
        let mut processes: HashMap<[u32; 3], Process> = HashMap::new();
        for (index, track) in self.tracks.iter().enumerate() {
            let pid = processes.len();
            let process =
                processes.entry(track.cta).or_insert(Process { pid, first: index, first_warp: index });
            if track.actor == Actor::Warp(0) {
                process.first_warp = index;
            }
        }
        processes
    }
}

/// A CTA: its number, the first of its tracks, and the first of them that is a warp's.
#[derive(Clone, Copy, Default)]
struct Process {
    pid: usize,
    first: usize,
    first_warp: usize,
}

/// The events so far.
struct Events {
    text: String,
    flows: usize,
}

impl Events {
    // Writing to a string does not fail.
    fn push(&mut self, event: fmt::Arguments<'_>) {
        let separator = if self.text.is_empty() { "" } else { "," };
        let _ = writeln!(self.text, "{separator}{{{event}}}");
    }

    fn names(&mut self, trace: &Trace, process: Process, thread: usize, track: &Track) {
        let pid = process.pid;
        if thread == 0 {
            let [x, y, z] = track.cta;
            let kernel = Escaped(&trace.kernel);
            self.push(format_args!(
                r#""ph":"M","name":"process_name","pid":{pid},"args":{{"name":"{kernel} CTA ({x}, {y}, {z})"}}"#
            ));
        }
        let name = match track.actor {
            Actor::Loads => "TMA loads".to_owned(),
            Actor::Stores => "bulk stores".to_owned(),
            Actor::Tensor => "tensor cores".to_owned(),
            Actor::Warp(number) => format!("warp {number}"),
        };
        self.push(format_args!(
            r#""ph":"M","name":"thread_name","pid":{pid},"tid":{thread},"args":{{"name":"{name}"}}"#
        ));
        self.push(format_args!(
            r#""ph":"M","name":"thread_sort_index","pid":{pid},"tid":{thread},"args":{{"sort_index":{thread}}}"#
        ));
    }

    fn span(&mut self, trace: &Trace, pid: usize, thread: usize, span: &Span) {
        let (start, duration) = (Cycles(span.start), Cycles(span.end.saturating_sub(span.start)));
        let (label, ptx) = (trace.label(span), span.line.ptx);
        let category = match span.activity {
            Activity::Run { .. } => "run",
            Activity::Wait(_) => "wait",
            Activity::Load { .. } => "load",
            Activity::Store { .. } => "store",
            Activity::Product { .. } => "product",
        };
        let mut more = String::new();
        if let Some(source) = trace.source(span) {
            more.push_str(&format!(r#","source":"{}""#, Escaped(&source)));
        }
        more.push_str(&match span.activity {
            Activity::Run { instructions, special } => {
                format!(r#","instructions":{instructions},"special":{special}"#)
            }
            Activity::Load { complete, .. } | Activity::Store { complete, .. } => {
                format!(r#","complete at cycle":{complete}"#)
            }
            Activity::Product { a_in_registers, .. } => format!(r#","A in registers":{a_in_registers}"#),
            Activity::Wait(_) => String::new(),
        });
        self.push(format_args!(
            r#""ph":"X","name":"{}","cat":"{category}","pid":{pid},"tid":{thread},"ts":{start},"dur":{duration},"args":{{"PTX line":{ptx}{more}}}"#,
            Escaped(&label)
        ));
    }

    /// An arrow between two places, each a process, a thread and a cycle.
    fn arrow(&mut self, from: (usize, usize, u64), to: (usize, usize, u64)) {
        let id = self.flows;
        self.flows += 1;
        for (phase, more, (pid, thread, at)) in [("s", "", from), ("f", r#","bp":"e""#, to)] {
            let at = Cycles(at);
            self.push(format_args!(
                r#""ph":"{phase}","name":"issue","cat":"issue","id":{id},"pid":{pid},"tid":{thread},"ts":{at}{more}"#
            ));
        }
    }
}
