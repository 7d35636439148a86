//! Bulk and tensor (TMA) copies, `ldmatrix`, `stmatrix` and `wgmma`.

mod bulk;
mod descriptor;
mod fragment;
mod hazards;
mod matrix;
mod tensor_copy;
mod transfer;
mod wgmma;
