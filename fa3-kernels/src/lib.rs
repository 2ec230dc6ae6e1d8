//! Attention kernels for someone with a launcher of their own.
