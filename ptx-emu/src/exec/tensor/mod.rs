//! Bulk and tensor (TMA) copies, `ldmatrix`, `stmatrix`, `mma` and `wgmma`.

mod bulk;
mod descriptor;
mod fragment;
mod hazards;
mod matrix;
mod mma;
mod tensor_copy;
mod transfer;
mod wgmma;
