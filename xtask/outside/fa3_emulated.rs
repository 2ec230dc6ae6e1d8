//! A kernel without a GPU: a query, two keys of equal score, the mean of the two values.

use fa3::{
    Buffer, DType, DeviceName, Error, Operands, Options, Problem, Sizes, StreamHandle, Tensor, Workspace,
};

#[test]
fn the_mean_of_two_values() -> Result<(), Error> {
    let device = "emu:sm_90a".parse::<DeviceName>()?.open()?;
    let sizes = Sizes { sk: 2, ..Sizes::new(1, 1, 1, 64) };
    let problem = Problem { lse: false, ..Problem::dense(DType::Bf16, sizes, Options::default()) };
    // 1, 2, 3 and 4 in bf16.
    let row = |bits: u16| bits.to_le_bytes().repeat(64);
    let (one, two, three, four) = (row(0x3f80), row(0x4000), row(0x4040), row(0x4080));
    let q = Buffer::from_bytes(device.backend(), &one)?;
    let k = Buffer::from_bytes(device.backend(), &[&one[..], &one].concat())?;
    let v = Buffer::from_bytes(device.backend(), &[&two[..], &four].concat())?;
    let o = Buffer::zeroed(device.backend(), 64 * 2)?;
    let tensor = |buffer: &Buffer, spec| Tensor { pointer: buffer.pointer(), spec };
    let operands = Operands::new(
        tensor(&q, problem.q),
        tensor(&k, problem.k),
        tensor(&v, problem.v),
        tensor(&o, problem.o),
    );
    let binding = device.plan(&problem)?.bind(device.backend(), &operands, Workspace::Own)?;
    let mut output = [0; 64 * 2];
    // SAFETY: the buffers live until the end and have the sizes of their layouts.
    unsafe {
        binding.run(StreamHandle::DEFAULT)?;
        device.backend().download(&mut output, o.pointer(), StreamHandle::DEFAULT)?;
    }
    assert_eq!(output[..], three[..]);
    Ok(())
}
