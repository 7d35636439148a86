//! What a stream is given to do.

use std::ffi::c_void;
use std::sync::Arc;

use crate::code::Launch;
use crate::copy::{Copy, Fill};
use crate::machine::in_context;
use crate::status::Answer;

/// An operation, at once or as a node of a graph.
#[derive(Debug)]
pub enum Operation {
    /// A kernel.
    Launch(Launch),
    /// A copy.
    Copy(Copy),
    /// Elements of one value.
    Fill(Fill),
    /// A function of the program's.
    Call { function: unsafe extern "C" fn(*mut c_void), argument: usize },
    /// The nodes of a graph, as they were when it was made executable.
    Graph(Vec<Arc<Operation>>),
    /// The end of an allocation, in the stream's order.
    Free(u64),
    /// Nothing, where something must be recorded.
    Nothing,
}

impl Operation {
    /// `CUgraphNodeType` of it.
    pub fn node_type(&self) -> u32 {
        match self {
            Self::Launch(_) => 0,
            Self::Copy(_) => 1,
            Self::Fill(_) => 2,
            Self::Call { .. } => 3,
            Self::Graph(_) => 4,
            Self::Nothing => 5,
            Self::Free(_) => 11,
        }
    }

    /// Does it, unless a kernel before it failed.
    pub fn run(&self) -> Answer {
        if in_context()?.pending.is_some() {
            return Ok(());
        }
        match self {
            Self::Launch(launch) => launch.run(&mut *in_context()?),
            // SAFETY: the program says that its memory is there.
            Self::Copy(copy) => unsafe { copy.run(&mut in_context()?.memory) },
            Self::Fill(fill) => fill.run(&mut in_context()?.memory),
            Self::Call { function, argument } => {
                // SAFETY: a function that the program gave for this, with its argument. It may call us: nothing is locked.
                unsafe { function(std::ptr::with_exposed_provenance_mut(*argument)) };
                Ok(())
            }
            Self::Graph(operations) => operations.iter().try_for_each(|operation| operation.run()),
            Self::Free(address) => in_context()?.free(*address),
            Self::Nothing => Ok(()),
        }
    }
}
