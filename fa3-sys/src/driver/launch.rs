//! The launch.

use cudarc::driver::sys::{
    CUlaunchAttribute, CUlaunchAttributeID, CUlaunchAttributeValue,
    CUlaunchAttributeValue_union__bindgen_ty_1, CUlaunchConfig,
};

use super::call;
use super::config::LaunchConfig;
use super::error::DriverError;
use super::module::Function;
use super::params::Params;
use super::stream::Stream;

fn attribute(id: CUlaunchAttributeID, value: CUlaunchAttributeValue) -> CUlaunchAttribute {
    CUlaunchAttribute { id, pad: [0; 4], value }
}

impl Function {
    /// Submits the kernel to `stream`. Allocates nothing and returns before the kernel has run.
    ///
    /// # Errors
    /// [`DriverError::Launch`] where `config` breaks a rule or the number or sizes of `params` are
    /// not the kernel's; [`DriverError::WrongContext`]; otherwise what the driver says. A fault of
    /// the kernel itself surfaces later, as [`DriverError::Fault`].
    ///
    /// # Safety
    /// Every parameter means what the kernel takes it for, and with them and `config` the kernel
    /// touches only memory that lives until it has run, and that nothing else uses at that time.
    /// The module must not be unloaded before, so a clone of `self` or of it is kept until then.
    pub unsafe fn launch(
        &self,
        stream: &Stream,
        config: &LaunchConfig,
        params: &Params<'_>,
    ) -> Result<(), DriverError> {
        self.context().expect_same("the kernel", stream.context(), "the stream")?;
        config
            .check(self.limits())
            .and_then(|()| params.check(self.param_sizes()))
            .map_err(|source| DriverError::Launch { kernel: self.name().to_owned(), source })?;

        let none = attribute(
            CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_IGNORE,
            CUlaunchAttributeValue { pad: [0; 64] },
        );
        let mut attributes = [none; 3];
        let mut slots = attributes.iter_mut();
        let mut count = 0;
        let mut set = |wanted: bool, id, value| {
            if wanted && let Some(slot) = slots.next() {
                *slot = attribute(id, value);
                count += 1;
            }
        };
        // A cluster that is compiled in holds by itself; only others are asked for.
        let cluster = config.cluster.filter(|_| self.limits().required_cluster.is_none());
        let [x, y, z] = cluster.unwrap_or_default();
        set(
            cluster.is_some(),
            CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
            CUlaunchAttributeValue { clusterDim: CUlaunchAttributeValue_union__bindgen_ty_1 { x, y, z } },
        );
        set(
            config.cooperative,
            CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
            CUlaunchAttributeValue { cooperative: 1 },
        );
        set(
            config.programmatic,
            CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
            CUlaunchAttributeValue { programmaticStreamSerializationAllowed: 1 },
        );

        let ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]) = (config.grid, config.block);
        let raw = CUlaunchConfig {
            gridDimX: grid_x,
            gridDimY: grid_y,
            gridDimZ: grid_z,
            blockDimX: block_x,
            blockDimY: block_y,
            blockDimZ: block_z,
            sharedMemBytes: config.shared_bytes,
            hStream: stream.handle(),
            attrs: attributes.as_mut_ptr(),
            numAttrs: count,
        };
        tracing::trace!(kernel = self.name(), ?config, "launch");
        self.context().bind()?;
        // SAFETY: function and stream are alive and of one context; `attrs` holds `numAttrs`
        // attributes; there are as many parameters as the kernel declares, each of the declared
        // size, and the driver copies them before it returns and writes through none of the
        // pointers. The caller answers for what the kernel does.
        unsafe {
            call!(cuLaunchKernelEx(
                &raw const raw,
                self.handle(),
                params.as_ptr().cast_mut().cast(),
                core::ptr::null_mut(),
            ))
        }
    }
}
