//! Graphs: work captured from a stream once and replayed with one call.

use cudarc::driver::sys::{self, CUstreamCaptureMode_enum};

use super::context::Context;
use super::error::DriverError;
use super::stream::Stream;
use super::{call, report_drop_error};

impl Stream {
    /// Captures what `record` submits to this stream, and to streams that wait for it, into a
    /// graph. Nothing runs. The stream must be none of the default ones.
    ///
    /// Captured work must not synchronise, allocate or free: on this thread the driver refuses
    /// what it cannot capture, and the capture fails. Capture ends whatever `record` returns, and
    /// if it panics too.
    ///
    /// # Errors
    /// What `record` returns, or else what the driver says.
    ///
    /// ```no_run
    /// # use fa3_sys::driver::{Buffer, Context, DriverError, Stream};
    /// # let context = Context::open(0)?;
    /// let stream = Stream::new(&context)?;
    /// let buffer = Buffer::new(&context, 1024)?;
    /// let graph = stream.capture(|stream| buffer.fill_u8(stream, 1))?;
    /// let mut replay = graph.instantiate()?;
    /// // SAFETY: `buffer`, which the graph writes, is alive until the stream is synchronised.
    /// unsafe { replay.launch(&stream)? };
    /// stream.synchronize()?;
    /// # Ok::<(), DriverError>(())
    /// ```
    pub fn capture<E: From<DriverError>>(
        &self,
        record: impl FnOnce(&Self) -> Result<(), E>,
    ) -> Result<Graph, E> {
        self.context().bind()?;
        // Other threads may go on allocating; this thread must not do what capture forbids.
        let mode = CUstreamCaptureMode_enum::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: the stream is alive.
        unsafe { call!(cuStreamBeginCapture_v2(self.handle(), mode)) }?;
        let mut capture = Capture { stream: self, open: true };
        record(self)?;
        Ok(capture.end()?)
    }
}

/// A capture in progress, ended when dropped.
struct Capture<'a> {
    stream: &'a Stream,
    open: bool,
}

impl Capture<'_> {
    fn end(&mut self) -> Result<Graph, DriverError> {
        self.open = false;
        let context = self.stream.context();
        context.bind()?;
        let mut raw = core::ptr::null_mut();
        // SAFETY: this thread began the capture, and `raw` is valid for the write. A failed
        // capture leaves null.
        unsafe { call!(cuStreamEndCapture(self.stream.handle(), &raw mut raw)) }?;
        Ok(Graph { context: context.clone(), raw })
    }
}

impl Drop for Capture<'_> {
    fn drop(&mut self) {
        if self.open {
            // The recording failed, and its error is what the caller gets; the driver's own
            // complaint about the same is of no use.
            if let Err(error) = self.end() {
                tracing::debug!(%error, "abandoned stream capture");
            }
        }
    }
}

/// Captured work, to be instantiated.
#[derive(Debug)]
pub struct Graph {
    context: Context,
    raw: sys::CUgraph,
}

// SAFETY: a `CUgraph` may be used from any thread, by one at a time (CUDA Driver API, "Graph object
// thread safety"), so it is `Send` and not `Sync`.
unsafe impl Send for Graph {}

impl Graph {
    /// Makes the graph ready to run. It can be dropped afterwards.
    ///
    /// # Errors
    /// What the driver says.
    pub fn instantiate(&self) -> Result<GraphExec, DriverError> {
        self.context.bind()?;
        let mut raw = core::ptr::null_mut();
        // SAFETY: `self` owns the graph, and `raw` is valid for the write.
        unsafe { call!(cuGraphInstantiateWithFlags(&raw mut raw, self.raw, 0)) }?;
        Ok(GraphExec { context: self.context.clone(), raw })
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        let result = self.context.bind().and_then(|()| {
            // SAFETY: `self` owns the graph; executable graphs made of it are independent.
            unsafe { call!(cuGraphDestroy(self.raw)) }
        });
        report_drop_error("graph", result);
    }
}

/// A graph that is ready to run, any number of times.
#[derive(Debug)]
pub struct GraphExec {
    context: Context,
    raw: sys::CUgraphExec,
}

// SAFETY: a `CUgraphExec` may be used from any thread, by one at a time (CUDA Driver API, "Graph
// object thread safety").
unsafe impl Send for GraphExec {}
// SAFETY: the one method that uses the handle takes `&mut self`, so that a shared reference does nothing.
unsafe impl Sync for GraphExec {}

impl GraphExec {
    /// Submits the captured work to `stream`, with the addresses and parameters of its capture.
    /// Replays of one graph run one after another.
    ///
    /// # Errors
    /// [`DriverError::WrongContext`] where graph and stream are of different contexts; otherwise
    /// what the driver says.
    ///
    /// # Safety
    /// What the captured copies and kernels needed when they were submitted holds again, until
    /// this replay is done: every address they use is alive, host memory included, their modules
    /// are loaded, and no other work races with them.
    pub unsafe fn launch(&mut self, stream: &Stream) -> Result<(), DriverError> {
        self.context.expect_same("the graph", stream.context(), "the stream")?;
        self.context.bind()?;
        // SAFETY: graph and stream are alive; the caller answers for what the graph does.
        unsafe { call!(cuGraphLaunch(self.raw, stream.handle())) }
    }
}

impl Drop for GraphExec {
    fn drop(&mut self) {
        let result = self.context.bind().and_then(|()| {
            // SAFETY: `self` owns it; replays in flight finish first (`cuGraphExecDestroy`).
            unsafe { call!(cuGraphExecDestroy(self.raw)) }
        });
        report_drop_error("executable graph", result);
    }
}
