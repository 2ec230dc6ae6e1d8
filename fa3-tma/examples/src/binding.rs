//! From a plan to a launch.

use bytemuck::NoUninit;
use fa3_sys::TensorMap;
use fa3_sys::driver::{
    Context, DevicePtr, DriverError, EncodeError, Function, LaunchConfig, Module, Params as Arguments, Stream,
};

use crate::{Plan, kernel};

/// A plan and the tensors that it works on, ready to be launched any number of times.
///
/// ```no_run
/// use fa3_sys::driver::{Buffer, Context, Stream};
/// use fa3_tma_examples::Transpose;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let context = Context::open(0)?;
/// let stream = Stream::new(&context)?;
/// let plan = Transpose::new(8, 1000, 2000, 1.0).plan()?;
///
/// let input = Buffer::zeroed(&stream, 8 * 1000 * 2000 * 2)?;
/// let output = Buffer::new(&context, 8 * 2000 * 1000 * 2)?;
/// let transpose = plan.bind(&context, [input.ptr(), output.ptr()])?;
/// // SAFETY: both buffers have the bytes that the plan names, and live until after `synchronize`.
/// unsafe { transpose.launch(&stream)? };
/// stream.synchronize()?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Binding<Params, const MAPS: usize> {
    function: Function,
    maps: [TensorMap; MAPS],
    params: Params,
    config: LaunchConfig,
}

/// Why a plan was not bound.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// The kernel is not embedded for this device.
    #[error(transparent)]
    Missing(#[from] fa3_sys::artefact::Missing),
    /// The driver did not load the kernel.
    #[error(transparent)]
    Load(#[from] DriverError),
    /// A tensor at an address that no tensor map takes.
    #[error("map {index}: {source}")]
    Map {
        /// Which of the plan's maps.
        index: usize,
        /// The rule.
        source: EncodeError,
    },
}

impl<Params: NoUninit, const MAPS: usize> Plan<Params, MAPS> {
    /// Loads the kernel and encodes the maps, of tensors at these addresses, multiples of 16.
    ///
    /// # Errors
    /// [`BindError`]: there is no kernel for the device, or the driver refuses it or a map.
    pub fn bind(
        &self,
        context: &Context,
        addresses: [DevicePtr; MAPS],
    ) -> Result<Binding<Params, MAPS>, BindError> {
        let entry = kernel(self.symbol, context.arch())?;
        let function = Module::load(context, entry)?.function(self.symbol)?;
        let mut maps = [TensorMap::from_bytes([0; 128]); MAPS];
        for (index, ((map, desc), address)) in maps.iter_mut().zip(&self.maps).zip(addresses).enumerate() {
            *map = desc.encode(context, address).map_err(|source| BindError::Map { index, source })?;
        }
        let config = LaunchConfig {
            shared_bytes: self.shared_bytes,
            ..LaunchConfig::new([self.grid, 1, 1], [self.threads, 1, 1])
        };
        Ok(Binding { function, maps, params: self.params, config })
    }
}

impl<Params: NoUninit, const MAPS: usize> Binding<Params, MAPS> {
    /// Submits the kernel to `stream`, and returns before it has run.
    ///
    /// # Errors
    /// What the driver says. A fault of the kernel surfaces later, as [`DriverError::Fault`].
    ///
    /// # Safety
    /// At the addresses lie tensors as large as the plan says. They and `self` live until the kernel
    /// has run, and nothing else uses what it writes, or writes what it reads, at that time.
    pub unsafe fn launch(&self, stream: &Stream) -> Result<(), DriverError> {
        let mut arguments = Arguments::new();
        self.maps.iter().for_each(|map| arguments.push(map));
        arguments.push(&self.params);
        // SAFETY: the parameters are those of the plan's kernel, maps first; the caller answers for
        // the tensors.
        unsafe { self.function.launch(stream, &self.config, &arguments) }
    }
}
