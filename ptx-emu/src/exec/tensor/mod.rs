//! Bulk and tensor (TMA) copies, `ldmatrix`, `stmatrix`, `movmatrix`, `mma`, `wmma` and `wgmma`.

mod bulk;
mod descriptor;
mod fragment;
mod hazards;
mod map_edit;
mod matrix;
mod mma;
mod product;
mod quads;
mod sparse;
mod tensor_copy;
mod transfer;
mod wgmma;
mod wmma;
