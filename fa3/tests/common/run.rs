//! A case, run on a device through the API.

use fa3::testing::{Case, Inputs, Outputs};
use fa3::{Buffer, Device, Operands, Pointer, StreamHandle, Workspace};

pub type Failed = Box<dyn std::error::Error>;

/// Runs the case into fresh memory, with a workspace of no particular contents between guards.
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
        lse: lse.as_ref().map(|lse| later(lse.pointer(), Outputs::LSE_FIRST * size_of::<f32>())),
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
    let bytes = plan.workspace_bytes();
    let mut scratch = vec![GUARD; bytes + 2 * AROUND];
    let workspace = upload(&scratch)?;
    let pointer = later(workspace.pointer(), AROUND);
    let binding = plan.bind(backend, &operands, Workspace::Caller { pointer, bytes })?;
    let stream = StreamHandle::DEFAULT;
    // SAFETY: the buffers are as large as the layouts span and live until the downloads below,
    // which wait for the stream; nothing else uses them.
    unsafe {
        binding.run(stream)?;
        backend.download(outputs.o.elements.bytes_mut(), o.pointer(), stream)?;
        if let (Some(host), Some(lse)) = (&mut outputs.lse, &lse) {
            backend.download(bytemuck::cast_slice_mut(host), lse.pointer(), stream)?;
        }
        backend.download(&mut scratch, workspace.pointer(), stream)?;
    }
    scratch.drain(AROUND..AROUND + bytes);
    if scratch.iter().any(|&byte| byte != GUARD) {
        return Err(format!("memory around the workspace was written; the case is: {case}").into());
    }
    Ok(outputs)
}

/// What a workspace and the bytes around it hold.
const GUARD: u8 = 0xa5;
/// Bytes before and after a workspace; a multiple of its alignment.
const AROUND: usize = 1024;

fn later(Pointer { address, place }: Pointer, bytes: usize) -> Pointer {
    Pointer { address: address + bytes as u64, place }
}
