//! Ragged batches on a device: what holds of them beyond each case of the list.

use fa3::Device;
use fa3::testing::{Case, Distribution, Lengths, Outputs};

use crate::run::{Failed, once};

/// 14 heads of Q, 2 of K and V, d = 64, one query: a long sequence beside one of 9 keys, beside one of 10,
/// and alone, where it is a dense batch. Its bits are the same with batch invariance; beside others of the
/// same extents, without it too.
pub fn neighbours_do_not_change_a_row(device: &Device, keys: usize) -> Result<(), Failed> {
    let run = |invariant, neighbour: Option<i32>| -> Result<(Vec<u8>, Vec<u32>), Failed> {
        let mut case = Case { sq: 1, sk: keys, heads_q: 14, heads_k: 2, seed: 77, ..Case::default() };
        case.options.batch_invariant = invariant;
        if let Some(neighbour) = neighbour {
            case.batch = 2;
            case.lengths = Lengths::UsedKeys(vec![i32::try_from(keys)?, neighbour]);
        }
        let inputs = case.inputs();
        let outputs = once(device, &case, &inputs)?;
        case.check(&inputs, &outputs)?;
        first_row(&outputs, 14, 64).ok_or_else(|| "there is no row".into())
    };
    for invariant in [false, true] {
        let alone = if invariant { Some(run(true, None)?) } else { None };
        let (nine, ten) = (run(invariant, Some(9))?, run(invariant, Some(10))?);
        if nine != ten || alone.is_some_and(|alone| alone != nine) {
            return Err(format!("the neighbour changes the row; invariant: {invariant}").into());
        }
    }
    Ok(())
}

/// The bits of the first row of O and of the LSE, of all heads.
fn first_row(outputs: &Outputs, heads: usize, dv: usize) -> Option<(Vec<u8>, Vec<u32>)> {
    let size = outputs.o.elements.dtype().size();
    let first = outputs.o.first * size;
    let o = outputs.o.elements.bytes().get(first..first + heads * dv * size)?;
    let lse = outputs.lse.as_ref()?.get(Outputs::LSE_FIRST..Outputs::LSE_FIRST + heads)?;
    Some((o.to_vec(), lse.iter().map(|value| value.to_bits()).collect()))
}

/// Packed sequences whose lengths end before the tensors do: the rows after them belong to no sequence, and
/// stay as they were, although the tile of the last sequence reaches beyond it.
pub fn rows_of_no_sequence_stay_as_they_were(device: &Device) -> Result<(), Failed> {
    for (d, heads_q, heads_k, cu) in
        [(64, 2, 1, [0, 65, 130]), (128, 2, 2, [0, 1, 3]), (256, 8, 1, [0, 5, 9]), (96, 3, 3, [0, 130, 190])]
    {
        let lengths = |cu: &[i32]| Lengths::Packed { cu_q: cu.to_vec(), cu_k: cu.to_vec() };
        let case = Case {
            sq: 200,
            sk: 200,
            heads_q,
            heads_k,
            d,
            dv: d,
            lengths: lengths(&[0, cu[1], 200]),
            ..Case::default()
        };
        let mut inputs = case.inputs();
        (inputs.cu_q, inputs.cu_k) = (Some(cu.to_vec()), Some(cu.to_vec()));
        let outputs = once(device, &case, &inputs)?;
        let rows = cu[2] as usize;
        let (o, fresh) = (outputs.o.values(), case.outputs());
        let row = heads_q * d;
        let nan = |values: &[f64]| values.iter().all(|value| value.is_nan());
        if !nan(&o[rows * row..]) || o[..rows * row].iter().any(|value| value.is_nan()) {
            return Err(
                format!("O of {cu:?}: rows from {rows} on are written, or not all before; {case}").into()
            );
        }
        let (Some(lse), Some(fresh)) = (&outputs.lse, &fresh.lse) else { return Err("no LSE".into()) };
        for (n, (value, before)) in lse.iter().zip(fresh).enumerate() {
            let index = n.checked_sub(Outputs::LSE_FIRST).filter(|index| index / 200 < heads_q);
            let written = value.to_bits() != before.to_bits();
            if written != index.is_some_and(|index| index % 200 < rows) {
                return Err(format!("the LSE of {cu:?} at {n} is {value}; {case}").into());
            }
        }
    }
    Ok(())
}

/// Lengths that no caller may give, on a device that cannot ask for them before it computes: nothing
/// outside O, the LSE and the workspace is written, nothing hangs, and afterwards the device computes what
/// it is asked to. What lies in O is not said.
pub fn any_lengths_stay_within_the_tensors(device: &Device) -> Result<(), Failed> {
    const EXTREMES: [i32; 10] = [0, -1, i32::MIN, i32::MAX, 1, 200, 201, 100, -200, 1 << 30];
    let packed = Lengths::Packed { cu_q: vec![0, 50, 70, 200], cu_k: vec![0, 80, 90, 200] };
    let plain = Case { sq: 200, sk: 200, heads_q: 4, heads_k: 2, d: 128, dv: 128, ..Case::default() };
    let packed = Case { lengths: packed, ..plain.clone() };
    let decode = Lengths::Packed { cu_q: vec![0, 1, 2, 3], cu_k: vec![0, 80, 90, 200] };
    let decode = Case { sq: 3, d: 64, dv: 64, lengths: decode, ..plain.clone() };
    let used = Case { batch: 4, sq: 40, lengths: Lengths::UsedKeys(vec![0, 10, 200, 199]), ..plain };
    for mut case in [packed, decode, used] {
        for n in 0..EXTREMES.len() {
            case.options.causal = n % 2 == 1;
            case.distribution = [Distribution::Normal, Distribution::Constant][n % 2];
            let mut inputs = case.inputs();
            // Of the same length as before; each array is out of step with the other.
            for (shift, array) in
                [&mut inputs.cu_q, &mut inputs.cu_k, &mut inputs.used_k].into_iter().enumerate()
            {
                let values = EXTREMES.iter().cycle().skip(n + 3 * shift);
                array.iter_mut().flatten().zip(values).for_each(|(entry, &value)| *entry = value);
            }
            let outputs = once(device, &case, &inputs)?;
            let lengths = (&inputs.cu_q, &inputs.cu_k, &inputs.used_k);
            outputs.check_outside().map_err(|error| format!("{error}; the lengths are {lengths:?}"))?;
        }
        let inputs = case.inputs();
        case.check(&inputs, &once(device, &case, &inputs)?)?;
    }
    Ok(())
}
