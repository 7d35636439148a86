//! Classes of instructions, by the unit that executes them.

use crate::program::{Action, Async, Bulk, BulkEnd, Fragments, Instruction, Tensor, TextureKind, Wgmma};
use crate::types::Space;
use serde::{Deserialize, Serialize};

/// Class of an instruction, by the unit that executes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)] // their names say it
pub enum Class {
    Fma,
    FloatArithmetic,
    DoubleArithmetic,
    HalfArithmetic,
    TensorCore,
    SpecialFunction,
    IntegerArithmetic,
    Logic,
    Comparison,
    Conversion,
    Move,
    Lanes,
    GlobalLoad,
    GlobalStore,
    SharedLoad,
    SharedStore,
    LocalAccess,
    OtherLoad,
    GenericAccess,
    Branch,
    Barrier,
    Other,
}

impl Class {
    pub(super) fn of(instruction: &Instruction) -> Self {
        let mnemonic = &*instruction.mnemonic;
        let is_store = matches!(instruction.action, Action::Store(_) | Action::Atomic(_));
        let space = match &instruction.action {
            Action::Load(access) | Action::Store(access) => Some(access.space),
            Action::Atomic(atomic) => Some(atomic.space),
            Action::Branch(_)
            | Action::BranchIndex(..)
            | Action::Call(_)
            | Action::Return
            | Action::Exit
            | Action::Trap
            | Action::Assert(_) => {
                return Self::Branch;
            }
            Action::Barrier(_)
            | Action::ClusterBarrier(_)
            | Action::WarpBarrier(_)
            | Action::Fence(_)
            | Action::MbarrierInitFence
            | Action::MaxRegisters(_)
            | Action::ProxyFence => {
                return Self::Barrier;
            }
            Action::Converge(..) => return Self::Lanes,
            Action::Async(action) => {
                return match &**action {
                    Async::Copy(_) => Self::GlobalLoad,
                    Async::Bulk(Bulk { end, .. }) | Async::Tensor(Tensor { end, .. }) => match end {
                        BulkEnd::Barrier { .. } => Self::GlobalLoad,
                        BulkEnd::Group => Self::GlobalStore,
                    },
                    _ => Self::Other,
                };
            }
            Action::Mbarrier(_) => return Self::Barrier,
            Action::Matrices(access) => {
                return if access.is_store { Self::SharedStore } else { Self::SharedLoad };
            }
            Action::Fragments(fragments) => match &**fragments {
                Fragments::Access(access) => {
                    return match (access.space, access.is_store) {
                        (Space::Shared, true) => Self::SharedStore,
                        (Space::Shared, false) => Self::SharedLoad,
                        (Space::Global, true) => Self::GlobalStore,
                        (Space::Global, false) => Self::GlobalLoad,
                        _ => Self::GenericAccess,
                    };
                }
                Fragments::Transpose(_) => return Self::Move,
            },
            Action::Texture(access) => {
                return match access.kind {
                    TextureKind::Surface { is_store: true, .. } => Self::GlobalStore,
                    _ => Self::GlobalLoad,
                };
            }
            Action::Wgmma(action) => {
                return if matches!(**action, Wgmma::Mma(_)) { Self::TensorCore } else { Self::Other };
            }
            Action::WarpMma(_) => return Self::TensorCore,
            Action::Nop | Action::Print(_) | Action::Malloc { .. } | Action::Free(_) => return Self::Other,
            Action::Alloca { .. } | Action::StackSave(_) | Action::StackRestore(_) => return Self::Move,
            Action::Compute(_) => None,
        };
        match space {
            Some(Space::Global) if is_store => Self::GlobalStore,
            Some(Space::Global) => Self::GlobalLoad,
            Some(Space::Shared) if is_store => Self::SharedStore,
            Some(Space::Shared) => Self::SharedLoad,
            Some(Space::Local) => Self::LocalAccess,
            Some(Space::Generic) => Self::GenericAccess,
            Some(Space::Const | Space::Param) => Self::OtherLoad,
            None => Self::of_compute(mnemonic),
        }
    }

    fn of_compute(mnemonic: &str) -> Self {
        let name = mnemonic.split('.').next().unwrap_or_default();
        let has = |ty: &str| mnemonic.split('.').any(|part| part == ty);
        match name {
            "mov" | "selp" | "cvta" | "prmt" => Self::Move,
            "setp" | "set" | "slct" | "testp" | "isspacep" => Self::Comparison,
            "cvt" => Self::Conversion,
            "and" | "or" | "xor" | "not" | "cnot" | "lop3" | "shl" | "shr" | "shf" | "bfe" | "bfi" | "brev" => {
                Self::Logic
            }
            "rcp" | "rsqrt" | "sqrt" | "sin" | "cos" | "ex2" | "lg2" | "tanh" if has("approx") => Self::SpecialFunction,
            "shfl" | "vote" | "match" | "redux" | "activemask" | "elect" => Self::Lanes,
            "fma" | "mad" if has("f32") || has("f32x2") => Self::Fma,
            _ if has("f64") => Self::DoubleArithmetic,
            _ if has("f32") || has("f32x2") => Self::FloatArithmetic,
            _ if ["f16", "f16x2", "bf16", "bf16x2"].into_iter().any(has) => Self::HalfArithmetic,
            _ => Self::IntegerArithmetic,
        }
    }
}
