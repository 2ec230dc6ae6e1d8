//! What the GPU tests share: the open device, and memory that shows who wrote where.

use bytemuck::NoUninit;
use fa3_sys::driver::{Buffer, Context, DevicePtr, Stream};
use fa3_tma_examples::Plan;
use half::bf16;

/// What memory holds that nobody should write.
pub const UNTOUCHED: bf16 = bf16::from_bits(0xa5a5);

pub struct Gpu {
    pub context: Context,
    pub stream: Stream,
}

impl Gpu {
    pub fn open() -> Self {
        let context = Context::open(0).unwrap_or_else(|error| panic!("these tests need a GPU: {error}"));
        let stream = Stream::new(&context).unwrap();
        Self { context, stream }
    }

    pub fn upload<T: NoUninit>(&self, data: &[T]) -> Buffer {
        Buffer::from_slice(&self.stream, data).unwrap()
    }

    pub fn untouched(&self, elements: usize) -> Buffer {
        self.upload(&vec![UNTOUCHED.to_bits(); elements])
    }

    /// Runs a plan whose maps' tensors are these, and waits for it.
    pub fn run<P: NoUninit, const N: usize>(&self, plan: &Plan<P, N>, tensors: [&Buffer; N]) {
        let addresses: [DevicePtr; N] = tensors.map(Buffer::ptr);
        let binding = plan.bind(&self.context, addresses).unwrap();
        // SAFETY: the callers made the tensors for the plan, and keep them until after this.
        unsafe { binding.launch(&self.stream).unwrap() };
        self.stream.synchronize().unwrap();
    }

    pub fn download(&self, buffer: &Buffer) -> Vec<bf16> {
        buffer.to_vec::<u16>(&self.stream).unwrap().into_iter().map(bf16::from_bits).collect()
    }
}
