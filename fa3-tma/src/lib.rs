//! The circular shared-memory ring of warp-specialised kernels: device headers and a host model.
#![no_std]
