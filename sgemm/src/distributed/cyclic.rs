//! One dimension of a matrix, dealt out in blocks.

/// A dimension whose blocks are dealt out to processes in turn: ScaLAPACK's block-cyclic distribution, from process 0 on. With one block
/// for each process these are panels.
///
/// ```
/// use sgemm::distributed::Cyclic;
///
/// let rows = Cyclic { extent: 10, block: 2, processes: 3 };
/// // Blocks 0 1 2 0 1: process 1 has rows 2 3 8 9.
/// assert_eq!(rows.count(1), 4);
/// assert_eq!((0..4).map(|local| rows.global(1, local)).collect::<Vec<_>>(), [2, 3, 8, 9]);
/// assert_eq!(rows.owner(8), (1, 2));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cyclic {
    /// Elements of the whole dimension.
    pub extent: usize,
    /// Elements of a block, at least 1; the last one may have fewer.
    pub block: usize,
    /// Processes, at least 1.
    pub processes: usize,
}

impl Cyclic {
    /// A panel of about equal extent for each process: the last ones have less, or nothing.
    #[must_use]
    pub fn panels(extent: usize, processes: usize) -> Self {
        Self { extent, block: extent.div_ceil(processes).max(1), processes }
    }

    /// Elements that a process has: ScaLAPACK's `numroc`.
    #[must_use]
    pub fn count(&self, process: usize) -> usize {
        let Self { extent, block, processes } = *self;
        let (whole, rest) = (extent / block, extent % block);
        let blocks = whole / processes + usize::from(process < whole % processes);
        blocks * block + if process == whole % processes { rest } else { 0 }
    }

    /// The most that any process has: that of the first.
    #[must_use]
    pub fn most(&self) -> usize {
        self.count(0)
    }

    /// The index in the whole dimension of a process's element.
    #[must_use]
    pub fn global(&self, process: usize, local: usize) -> usize {
        let Self { block, processes, .. } = *self;
        (local / block * processes + process) * block + local % block
    }

    /// The process that has an element, and its index there.
    #[must_use]
    pub fn owner(&self, global: usize) -> (usize, usize) {
        let Self { block, processes, .. } = *self;
        (global / block % processes, global / (block * processes) * block + global % block)
    }

    /// Whether no process has more than one block.
    #[must_use]
    pub fn is_panels(&self) -> bool {
        self.extent <= self.block.saturating_mul(self.processes)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Each element has one owner, which counts it, and owners agree with positions.
        #[test]
        fn every_element_is_dealt_out_once(extent in 0_usize..200, block in 1_usize..40, processes in 1_usize..10) {
            let dimension = Cyclic { extent, block, processes };
            let mut found = vec![0; extent];
            for process in 0..processes {
                let count = dimension.count(process);
                prop_assert!(count <= dimension.most());
                for local in 0..count {
                    let global = dimension.global(process, local);
                    found[global] += 1;
                    prop_assert_eq!(dimension.owner(global), (process, local));
                }
            }
            prop_assert!(found.iter().all(|count| *count == 1));
        }

        #[test]
        fn panels_are_contiguous(extent in 0_usize..200, processes in 1_usize..10) {
            let panels = Cyclic::panels(extent, processes);
            prop_assert!(panels.is_panels());
            let order = (0..processes).flat_map(|process| (0..panels.count(process)).map(move |i| panels.global(process, i)));
            prop_assert!(order.eq(0..extent));
        }
    }
}
