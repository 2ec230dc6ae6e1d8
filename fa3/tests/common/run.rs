//! A case, run on a device through the API.

use fa3::testing::{Case, Inputs, Outputs};
use fa3::{Buffer, Device, Operands, Pointer, StreamHandle, Workspace};

pub type Failed = Box<dyn std::error::Error>;

/// Runs the case into fresh memory.
pub fn once(device: &Device, case: &Case, inputs: &Inputs) -> Result<Outputs, Failed> {
    let backend = device.backend();
    let mut outputs = case.outputs();
    let upload = |bytes: &[u8]| Buffer::from_bytes(backend, bytes);
    let (q, k, v) = (
        upload(inputs.q.elements.bytes())?,
        upload(inputs.k.elements.bytes())?,
        upload(inputs.v.elements.bytes())?,
    );
    // The outputs begin as they are on the host: NaN, guards included.
    let o = upload(outputs.o.elements.bytes())?;
    let lse = outputs.lse.as_deref().map(|lse| upload(bytemuck::cast_slice(lse))).transpose()?;
    let mut arrays = Vec::new();
    let mut array = |bytes: Option<&[u8]>| -> Result<Option<Pointer>, Failed> {
        let Some(bytes) = bytes else { return Ok(None) };
        let buffer = upload(bytes)?;
        let pointer = buffer.pointer();
        arrays.push(buffer);
        Ok(Some(pointer))
    };
    let operands = Operands {
        lse: lse.as_ref().map(|lse| {
            let Pointer { address, place } = lse.pointer();
            Pointer { address: address + (Outputs::LSE_FIRST * size_of::<f32>()) as u64, place }
        }),
        sinks: array(inputs.sinks.as_deref().map(bytemuck::cast_slice))?,
        alibi: array(inputs.alibi.as_deref().map(bytemuck::cast_slice))?,
        used_k: array(inputs.used_k.as_deref().map(bytemuck::cast_slice))?,
        cu_q: array(inputs.cu_q.as_deref().map(bytemuck::cast_slice))?,
        cu_k: array(inputs.cu_k.as_deref().map(bytemuck::cast_slice))?,
        ..Operands::new(
            inputs.q.tensor(q.pointer()),
            inputs.k.tensor(k.pointer()),
            inputs.v.tensor(v.pointer()),
            outputs.o.tensor(o.pointer()),
        )
    };
    let plan = device.plan(&case.problem())?;
    let binding = plan.bind(backend, &operands, Workspace::Own)?;
    let stream = StreamHandle::DEFAULT;
    // SAFETY: the buffers are as large as the layouts span and live until the downloads below,
    // which wait for the stream; nothing else uses them.
    unsafe {
        binding.run(stream)?;
        backend.download(outputs.o.elements.bytes_mut(), o.pointer(), stream)?;
        if let (Some(host), Some(lse)) = (&mut outputs.lse, &lse) {
            backend.download(bytemuck::cast_slice_mut(host), lse.pointer(), stream)?;
        }
    }
    Ok(outputs)
}
