//! Attention on device tensors whose sequences are of unequal length, with sinks and ALiBi.

use crate::{
    Buffer, Device, DeviceOutput, DeviceTensor, Element, Error, Operands, Options, Result, Sequences,
};

/// How the sequences of a batch lie in tensors of a device.
///
/// Lengths stay on the device: no call waits for them. The CPU refuses lengths that break their
/// rules; a GPU cuts off what lies beyond the tensors.
#[derive(Clone, Copy, Debug, Default)]
pub enum DeviceSequences<'a> {
    /// Every sequence of full length.
    #[default]
    Dense,
    /// i32 `[batch]`: how many keys each sequence uses.
    UsedKeys(&'a Buffer),
    /// i32 `[count + 1]` each, rising from 0 to the totals: where each sequence begins and ends.
    Packed {
        /// In Q and O.
        cu_q: &'a Buffer,
        /// In K and V.
        cu_k: &'a Buffer,
        /// No sequence of Q is longer.
        max_q: usize,
        /// No sequence of K and V is longer.
        max_k: usize,
    },
}

impl DeviceSequences<'_> {
    fn describe(&self) -> Result<Sequences> {
        match *self {
            Self::Dense => Ok(Sequences::Dense),
            Self::UsedKeys(_) => Ok(Sequences::UsedKeys),
            Self::Packed { cu_q, cu_k, max_q, max_k } => {
                at_least("cu_k", cu_k, cu_q.bytes() / 4)?;
                let count = (cu_q.bytes() / 4).saturating_sub(1);
                Ok(Sequences::Packed { count, max_q, max_k })
            }
        }
    }
}

/// The inputs of [`Device::attention_with`].
#[derive(Debug)]
pub struct DeviceInputs<'a, T> {
    /// `[batch, sq, heads_q, d]`.
    pub q: &'a DeviceTensor<T>,
    /// `[batch, sk, heads_k, d]`.
    pub k: &'a DeviceTensor<T>,
    /// `[batch, sk, heads_k, dv]`.
    pub v: &'a DeviceTensor<T>,
    /// How the sequences lie in the tensors.
    pub sequences: DeviceSequences<'a>,
    /// f32 `[heads_q]`: one more logit a head, in the denominator only.
    pub sinks: Option<&'a Buffer>,
    /// f32 `[heads_q]`: ALiBi slopes.
    pub alibi: Option<&'a Buffer>,
}

impl<T> Clone for DeviceInputs<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for DeviceInputs<'_, T> {}

impl<'a, T> DeviceInputs<'a, T> {
    /// Three dense tensors.
    pub fn new(q: &'a DeviceTensor<T>, k: &'a DeviceTensor<T>, v: &'a DeviceTensor<T>) -> Self {
        Self { q, k, v, sequences: DeviceSequences::Dense, sinks: None, alibi: None }
    }
}

impl Device {
    /// [`attention`](Self::attention) with sequences of unequal length, sinks and ALiBi.
    ///
    /// ```
    /// # #[cfg(feature = "cpu")] {
    /// use fa3::{Buffer, Device, DeviceInputs, DeviceSequences, DeviceTensor, Options};
    /// let device = Device::cpu();
    /// // Sequences of one and of two tokens, of one head with one dimension.
    /// let q = DeviceTensor::upload(&device, [1, 3, 1, 1], &[0.0f32; 3])?;
    /// let v = DeviceTensor::upload(&device, [1, 3, 1, 1], &[5.0f32, 1.0, 3.0])?;
    /// let lengths: [i32; 3] = [0, 1, 3];
    /// let bytes: Vec<u8> = lengths.iter().flat_map(|end| end.to_ne_bytes()).collect();
    /// let cu = Buffer::from_bytes(device.backend(), &bytes)?;
    /// let sequences = DeviceSequences::Packed { cu_q: &cu, cu_k: &cu, max_q: 2, max_k: 2 };
    /// let inputs = DeviceInputs { sequences, ..DeviceInputs::new(&q, &q, &v) };
    /// let output = device.attention_with(&inputs, &Options::default())?;
    /// assert_eq!(output.o.to_vec()?, [5.0, 2.0, 2.0]);
    /// # }
    /// # Ok::<(), fa3::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`attention`](Self::attention); [`Error::Length`] for an array that is too short.
    pub fn attention_with<T: Element>(
        &self,
        inputs: &DeviceInputs<'_, T>,
        options: &Options,
    ) -> Result<DeviceOutput<T>> {
        let DeviceInputs { q, k, v, sequences, sinks, alibi } = *inputs;
        let [batch, _, heads, _] = q.shape();
        for (argument, array) in [("sinks", sinks), ("alibi", alibi)] {
            array.map_or(Ok(()), |array| at_least(argument, array, heads))?;
        }
        if let DeviceSequences::UsedKeys(used) = sequences {
            at_least("used_k", used, batch)?;
        }
        let pointer = |array: &Buffer| array.pointer();
        let (cu_q, cu_k, used_k) = match sequences {
            DeviceSequences::Dense => (None, None, None),
            DeviceSequences::UsedKeys(used) => (None, None, Some(pointer(used))),
            DeviceSequences::Packed { cu_q, cu_k, .. } => (Some(pointer(cu_q)), Some(pointer(cu_k)), None),
        };
        // O is allocated where the problem is known to be taken.
        let operands = Operands {
            sinks: sinks.map(pointer),
            alibi: alibi.map(pointer),
            used_k,
            cu_q,
            cu_k,
            ..Operands::new(q.tensor(), k.tensor(), v.tensor(), q.tensor())
        };
        self.attend(&operands, v.shape()[3], sequences.describe()?, options)
    }
}

/// Whether an array holds so many numbers of four bytes.
fn at_least(argument: &'static str, array: &Buffer, len: usize) -> Result<()> {
    let (given, needed) = (array.bytes(), len.saturating_mul(4));
    if given >= needed {
        return Ok(());
    }
    Err(Error::Length { argument, given, needed, unit: "bytes" })
}
