//! What is not a number, and what is nearly none: a row is NaN exactly where it has to be.

use fa3::{Device, HostInputs, HostTensor, Options, attention_with};
use half::bf16;

/// One row: the first elements of its query, of its keys and of their values; the rest are zeros.
struct Row {
    name: &'static str,
    q: f32,
    k: &'static [f32],
    scale: f32,
    sink: f32,
    expected: Expected,
}

#[derive(Clone, Copy, Debug)]
enum Expected {
    /// O and the LSE.
    NotANumber,
    /// O, zero, and the LSE, between these.
    Zero(f32, f32),
}

use Expected::{NotANumber, Zero};

const NONE: f32 = f32::NEG_INFINITY;
const PLAIN: Row = Row { name: "", q: 0.0, k: &[0.0], scale: 1.0, sink: NONE, expected: NotANumber };

const ROWS: [Row; 11] = [
    Row { name: "a score that overflows", q: 2e19, k: &[0.0, 2e19], scale: 2.0, ..PLAIN },
    Row { name: "a scale that overflows", q: 4.0, k: &[1.0, 0.0], scale: 1e38, ..PLAIN },
    Row { name: "a query that is none", q: f32::NAN, k: &[1.0, 2.0], ..PLAIN },
    Row { name: "an infinite query", q: f32::INFINITY, k: &[1.0, 0.0], ..PLAIN },
    Row { name: "a key that is none", q: 1.0, k: &[0.0, f32::NAN], ..PLAIN },
    Row { name: "a sink that is none", sink: f32::NAN, ..PLAIN },
    Row { name: "a sink that is none, without keys", k: &[], sink: f32::NAN, ..PLAIN },
    Row { name: "an infinite sink", sink: f32::INFINITY, ..PLAIN },
    Row { name: "neither key nor sink", q: f32::NAN, k: &[], expected: Zero(NONE, NONE), ..PLAIN },
    Row { name: "the lowest sink", k: &[], sink: f32::MIN, expected: Zero(f32::MIN, -2.3e38), ..PLAIN },
    Row { name: "a sink above all", sink: 2.5e38, expected: Zero(2.3e38, f32::MAX), ..PLAIN },
];

/// The element first in each row of `width`.
fn rows(first: &[f32], width: usize) -> Vec<bf16> {
    let row = |&value: &f32| (0..width).map(move |i| bf16::from_f32(if i == 0 { value } else { 0.0 }));
    first.iter().flat_map(row).collect()
}

pub fn rows_are_numbers_exactly_where_they_should_be(device: &Device) {
    for (row, d) in ROWS.iter().flat_map(|row| [64, 256].map(|d| (row, d))) {
        // Another row behind it, which is empty where the first is.
        let (q, k) = (rows(&[row.q, 0.0], d), rows(row.k, d));
        let v = rows(&vec![1.0; row.k.len()], d);
        let tensor = |sequence, data| HostTensor::new([1, sequence, 1, d], data).unwrap();
        let keys = row.k.len();
        let inputs = HostInputs {
            sinks: Some(&[row.sink]),
            ..HostInputs::new(tensor(2, &q), tensor(keys, &k), tensor(keys, &v))
        };
        let options = Options { scale: Some(row.scale), ..Options::default() };
        let output = attention_with(device, &inputs, &options).unwrap();
        let name = format!("{} of {d} on {device}", row.name);
        let (o, lse) = (output.o[0].to_f32(), output.lse[0]);
        match row.expected {
            NotANumber => assert!(o.is_nan() && lse.is_nan(), "{name}: {o}, {lse}"),
            Zero(least, most) => {
                assert!(output.o.iter().all(|&o| o == bf16::ZERO), "{name}: {:?}", output.o);
                assert!((least..=most).contains(&lse) && lse == output.lse[1], "{name}: {:?}", output.lse);
            }
        }
    }
}
