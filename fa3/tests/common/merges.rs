//! Merges to be computed on any device, and what the reference makes of them.

use fa3::{DType, Device, Element, HostParts, MergeProblem, Merged, merge, reference};
use half::{bf16, f16};

const NONE: f32 = f32::NEG_INFINITY;

/// Partial results of random values, whose LSEs are what a function of the part and the row says.
pub struct Case {
    pub name: &'static str,
    pub parts: usize,
    /// `[batch, sq, heads, dv]`.
    pub shape: [usize; 4],
    pub lse: fn(usize, usize) -> f32,
    /// A sink a head, by number.
    pub sinks: Option<fn(usize) -> f32>,
}

/// Between −4 and 4, another one for each part and row.
fn usual(part: usize, row: usize) -> f32 {
    ((part * 53 + row * 29) % 64) as f32 / 8.0 - 4.0
}

pub const CASES: &[Case] = &[
    Case { name: "two parts", parts: 2, shape: [2, 5, 3, 64], lse: usual, sinks: None },
    Case { name: "one part is what comes out", parts: 1, shape: [1, 4, 2, 16], lse: usual, sinks: None },
    Case { name: "no part", parts: 0, shape: [1, 3, 2, 8], lse: usual, sinks: None },
    Case {
        name: "no part, but sinks",
        parts: 0,
        shape: [1, 3, 2, 8],
        lse: usual,
        sinks: Some(|head| head as f32),
    },
    Case {
        name: "more parts than a batch of loads",
        parts: 37,
        shape: [1, 1, 4, 128],
        lse: usual,
        sinks: None,
    },
    Case {
        name: "sinks, once",
        parts: 5,
        shape: [2, 3, 4, 40],
        lse: usual,
        sinks: Some(|head| [-8.0, 0.0, 6.0, NONE][head]),
    },
    Case { name: "every part empty", parts: 3, shape: [1, 4, 2, 24], lse: |_, _| NONE, sinks: None },
    Case {
        name: "only sinks",
        parts: 3,
        shape: [1, 4, 2, 24],
        lse: |_, _| NONE,
        sinks: Some(|head| head as f32 - 1.5),
    },
    Case {
        name: "sinks of no weight",
        parts: 2,
        shape: [1, 3, 2, 8],
        lse: |_, _| NONE,
        sinks: Some(|_| NONE),
    },
    Case {
        name: "some rows empty in some parts",
        parts: 4,
        shape: [2, 7, 2, 32],
        lse: |part, row| if (part + row) % 3 == 0 || row % 5 == 0 { NONE } else { usual(part, row) },
        sinks: None,
    },
    Case {
        name: "one huge",
        parts: 3,
        shape: [1, 2, 2, 16],
        lse: |part, _| [1e30, 5.0, -1e30][part],
        sinks: None,
    },
    Case {
        name: "the ends of f32",
        parts: 3,
        shape: [1, 2, 2, 16],
        lse: |part, _| [-f32::MAX, NONE, f32::MAX][part],
        sinks: Some(|_| -f32::MAX),
    },
    Case {
        name: "all far below zero",
        parts: 3,
        shape: [1, 2, 2, 16],
        lse: |part, _| -1e4 - part as f32,
        sinks: None,
    },
    Case { name: "a row for a thread", parts: 2, shape: [3, 100, 1, 8], lse: usual, sinks: None },
    Case { name: "threads that no row takes", parts: 2, shape: [1, 90, 2, 24], lse: usual, sinks: None },
    Case { name: "wider than a CTA", parts: 2, shape: [1, 1, 2, 2064], lse: usual, sinks: None },
    Case { name: "nothing", parts: 2, shape: [1, 0, 2, 8], lse: usual, sinks: None },
];

pub const TYPES: [(DType, DType); 9] = [
    (DType::F32, DType::F32),
    (DType::F32, DType::F16),
    (DType::F32, DType::Bf16),
    (DType::F16, DType::F32),
    (DType::F16, DType::F16),
    (DType::F16, DType::Bf16),
    (DType::Bf16, DType::F32),
    (DType::Bf16, DType::F16),
    (DType::Bf16, DType::Bf16),
];

/// Computes the case on a device, twice, and compares it with the reference.
pub fn check(device: &Device, case: &Case, (from, to): (DType, DType)) {
    match (from, to) {
        (DType::F32, DType::F32) => typed::<f32, f32>(device, case),
        (DType::F32, DType::F16) => typed::<f32, f16>(device, case),
        (DType::F32, _) => typed::<f32, bf16>(device, case),
        (DType::F16, DType::F32) => typed::<f16, f32>(device, case),
        (DType::F16, DType::F16) => typed::<f16, f16>(device, case),
        (DType::F16, _) => typed::<f16, bf16>(device, case),
        (_, DType::F32) => typed::<bf16, f32>(device, case),
        (_, DType::F16) => typed::<bf16, f16>(device, case),
        _ => typed::<bf16, bf16>(device, case),
    }
}

fn typed<T: Element, O: Element>(device: &Device, case: &Case) {
    let Case { name, parts, shape, lse, sinks } = case;
    let [batch, sq, heads, dv] = *shape;
    let rows = batch * heads * sq;
    let lse: Vec<f32> = (0..*parts).flat_map(|part| (0..rows).map(move |row| lse(part, row))).collect();
    let value = |index: usize| ((index * 7919 + 11) % 1009) as f32 / 128.0 - 4.0;
    let mut o: Vec<T> = (0..parts * rows * dv).map(|index| T::from_f32(value(index))).collect();
    // What a part without keys holds must not matter.
    for (index, row) in o.chunks_exact_mut(dv).enumerate() {
        let (part, batch, query, head) =
            (index / rows, index / heads / sq % batch, index / heads % sq, index % heads);
        if lse[part * rows + (batch * heads + head) * sq + query] == NONE {
            row.fill(T::from_f32(f32::NAN));
        }
    }
    let sinks: Option<Vec<f32>> = sinks.map(|sink| (0..heads).map(sink).collect());
    let inputs = HostParts::new([*parts, batch, sq, heads, dv], &o, &lse).unwrap();
    let inputs = sinks.as_ref().map_or(inputs, |sinks| inputs.with_sinks(sinks).unwrap());
    let found: Merged<O> = merge(device, &inputs).unwrap();
    let problem = MergeProblem {
        sinks: sinks.is_some(),
        ..MergeProblem::contiguous(*parts, T::DTYPE, O::DTYPE, *shape)
    };
    assert_eq!(found.plan.problem(), &problem);

    let expected = reference::merge(&problem, &o, &lse, sinks.as_deref()).unwrap();
    let name = format!("{name}, {} to {}", T::DTYPE, O::DTYPE);
    assert_eq!((found.o.len(), found.lse.len()), (expected.o.len(), expected.lse.len()), "{name}");
    // Half a unit in the last place of O's type, and eight roundings of values below four in f32.
    let rounding = f64::powi(
        2.0,
        match O::DTYPE {
            DType::Bf16 => -8,
            DType::F16 => -11,
            _ => -24,
        },
    );
    for (index, (found, expected)) in found.o.iter().zip(&expected.o).enumerate() {
        let off = (f64::from(found.to_f32()) - expected).abs();
        let bound = 1.01 * rounding * expected.abs() + 32.0 * f64::powi(2.0, -24);
        assert!(off <= bound, "{name}: O is {} at {index}, not {expected}", found.to_f32());
    }
    for (index, (&found, &expected)) in found.lse.iter().zip(&expected.lse).enumerate() {
        let off = (f64::from(found) - expected).abs();
        let same = f64::from(found) == expected;
        assert!(
            same || off <= 3e-6 + 2e-7 * expected.abs(),
            "{name}: LSE is {found} at {index}, not {expected}"
        );
    }
    let again: Merged<O> = merge(device, &inputs).unwrap();
    let bits = |o: &[O]| bytemuck::cast_slice::<O, u8>(o).to_vec();
    assert_eq!(bits(&found.o), bits(&again.o), "{name}: other bits the second time");
}
