//! A thin safe layer over the CUDA driver, loaded at run time.
//!
//! [`probe`] comes first, by itself or inside [`Context::open`]: it loads the driver library and
//! returns a typed error where there is none, where it is too old, or where it sees no device.
//! Everything else hangs on a [`Context`], which is the device's *primary* context, so that
//! memory and streams of other CUDA users in the process (cudarc, PyTorch) can be used as they are.
//!
//! Every call makes its context current on the calling thread, and leaves it so, unless the caller has
//! [kept](CurrentContext) another. Values are
//! `Send` and `Sync` where the driver allows; a value dropped never panics, and an error while
//! dropping is reported as a `tracing` event.
//!
//! ```no_run
//! use fa3_sys::driver::{Buffer, Context, LaunchConfig, Module, Params, Stream};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let image: &[u8] = &[];
//! let context = Context::open(0)?;
//! let stream = Stream::new(&context)?;
//! let data = Buffer::from_slice(&stream, &[1.0f32; 1024])?;
//! let scale = Module::load_image(&context, image)?.function("scale")?;
//! let (pointer, count, factor) = (data.ptr(), 1024u32, 2.0f32);
//! let params = Params::new().with(&pointer).with(&count).with(&factor);
//! // SAFETY: the kernel writes `count` floats at `pointer`, which `data` owns until after `read`.
//! unsafe { scale.launch(&stream, &LaunchConfig::new([8, 1, 1], [128, 1, 1]), &params)? };
//! let doubled: Vec<f32> = data.to_vec(&stream)?;
//! # Ok(()) }
//! ```

mod buffer;
mod config;
mod context;
mod current;
mod device;
mod encode;
mod error;
mod event;
mod graph;
mod image;
mod launch;
mod memory;
mod module;
mod params;
mod probe;
mod stream;
mod symbols;

pub use buffer::Buffer;
pub use config::{LaunchConfig, LaunchError, LaunchLimits};
pub use context::Context;
pub use current::CurrentContext;
pub use device::{DeviceInfo, devices};
pub use encode::EncodeError;
#[doc(hidden)]
pub use encode::ask_driver;
pub use error::DriverError;
pub use event::Event;
pub use graph::{Graph, GraphExec};
pub use image::ImageError;
pub use memory::{DevicePtr, MemoryInfo};
pub use module::{Function, FunctionAttributes, Module};
pub use params::Params;
pub use probe::{Driver, DriverVersion, MIN_DRIVER_VERSION, probe};
pub use stream::Stream;

/// Calls a driver function and turns its result into a [`DriverError`] that names it.
macro_rules! call {
    ($function:ident($($argument:expr),* $(,)?)) => {
        $crate::driver::error::check(
            stringify!($function),
            cudarc::driver::sys::$function($($argument),*) as u32,
        )
    };
}
pub(crate) use call;

/// Reports an error that a destructor cannot return.
pub(crate) fn report_drop_error(what: &'static str, result: Result<(), DriverError>) {
    if let Err(error) = result {
        tracing::warn!(%error, "{what} could not be released");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_cross_threads() {
        fn send<T: Send>() {}
        fn send_and_sync<T: Send + Sync>() {}
        send_and_sync::<(Driver, DeviceInfo, DriverError)>();
        send_and_sync::<(Context, Stream, Event, Buffer)>();
        send_and_sync::<(Module, Function, GraphExec, LaunchConfig, Params<'_>)>();
        send::<Graph>();
    }
}
