//! From the accumulators of threads that share k to C: the threads of a block, then the blocks of a cluster, reduce them in a fixed order.

use super::{CHUNK, PITCH, ROWS, SIDE};
use crate::Splits;

/// Of shared memory, a chunk of `few` vectors, and then of all threads' partial sums: of a fragment's rows for each, or of one vector, of as
/// many as 16 bytes are.
const fn block_values(few: u32, element_bytes: u32) -> u32 {
    let rows = if few == 1 { SIDE * 4 / element_bytes } else { SIDE };
    let (vectors, partials) = (few * CHUNK, few * rows * PITCH);
    if vectors > partials { vectors } else { partials }
}

/// Dynamic shared memory of a block: behind these, the sums that each block of a cluster gets from all of them.
pub(crate) const fn smem_bytes(few: u32, element_bytes: u32) -> u32 {
    (block_values(few, element_bytes) + few * ROWS + Splits::MAX_CLUSTER) * 4
}

#[cfg(feature = "device")]
pub(crate) use kernel::{begin, reduce, store, sum_of_lanes};

/// What runs on the device.
#[cfg(feature = "device")]
mod kernel {
    use super::*;
    use crate::Coord;
    use crate::epilogue::direct::Output;
    use crate::epilogue::elements::Elements;
    use crate::epilogue::fused::{Fused, NOTHING};
    use crate::epilogue::partial_tile::Target;
    use crate::hardware::WARP;
    use crate::mainloop::gemv::THREADS;
    use crate::mainloop::gemv::load::Load;
    use crate::mainloop::gemv::placement::Placement;
    use crate::planned::PlannedBlock;
    use crate::ptx::{cluster, compiler};
    use cuda_std::prelude::*;
    use cuda_std::warp;

    /// Partial sums that a thread loads at once.
    const AT_ONCE: usize = 4;

    /// C = activation(alpha\*sum + beta\*C + bias) for one element, counted from where the target's tile begins.
    ///
    /// # Safety
    /// It is in bounds of C and of the bias, which are of f32 or of `O`, as the target says, and no other thread touches it.
    #[inline(always)]
    pub(crate) unsafe fn store<O: Output>(target: Target, fused: Fused<O>, Coord { row, col }: Coord, sum: f32) {
        let Target { g, tile, is_f32, .. } = target;
        let c = Elements::new(g.c.cast::<O>(), is_f32).from(target.first() + row as usize * g.ldc + col as usize);
        // SAFETY: in bounds, upheld by the caller.
        unsafe {
            let old = if g.beta == 0.0 { 0.0 } else { c.get() };
            let index = if fused.is_per_row() { tile.row + row } else { tile.col + col };
            let bias = Elements::new(fused.bias.cast_mut(), is_f32).from(index as usize);
            let bias = if fused.bias.is_null() { NOTHING } else { bias.get() };
            let [[value]] = fused.apply(g, &[[sum]], &[[old]], &[[bias]]);
            c.set(value);
        }
    }

    /// The sum of the values of so many adjacent lanes, a power of two: the same in all of them.
    ///
    /// # Safety
    /// Every lane of the warp calls it.
    #[inline(always)]
    pub(crate) unsafe fn sum_of_lanes(mut sum: f32, lanes: u32) -> f32 {
        let mut distance = lanes / 2;
        while distance > 0 {
            // SAFETY: upheld by the caller (see `# Safety`).
            sum += unsafe { warp::warp_shuffle_xor(u32::MAX, sum, distance, WARP).0 };
            distance /= 2;
        }
        sum
    }

    /// At the start of the kernel: tells the cluster that this block has begun.
    #[inline(always)]
    pub(crate) fn begin(block: PlannedBlock) {
        if block.cluster > 1 {
            cluster::arrive_relaxed();
        }
    }

    /// Reduces the partial sums that all threads of a cluster published, and hands this block's share of the tile's sums to `store`: a row
    /// of the matrix, a vector, and the sum.
    ///
    /// # Safety
    /// Every thread of the cluster calls it, after [`begin`]; `smem` has [`smem_bytes`], where it published its partial sums; there are
    /// `few` vectors, FEW at most.
    #[inline(always)]
    pub(crate) unsafe fn reduce<I: Load, const FEW: usize>(
        block: PlannedBlock,
        placement: Placement,
        few: u32,
        smem: *mut f32,
        store: impl Fn(u32, u32, f32),
    ) {
        let blocks = block.cluster.max(1); // it is, but a division would check
        let tid = thread::thread_idx_x();
        let (groups, rows_log2) = (placement.groups(), placement.block_rows_log2());
        let coord = |index: u32| (index & ((1 << rows_log2) - 1), index >> rows_log2);
        let few = if FEW == 1 { 1 } else { few };
        let sums = few << rows_log2;
        let share = sums.div_ceil(blocks).max(1);
        // Threads for a sum, adjacent lanes.
        let sums_log2 = 32 - (sums - 1).leading_zeros();
        let lanes_log2 = THREADS.ilog2().saturating_sub(sums_log2).min(WARP.ilog2());
        let lanes = 1 << lanes_log2;
        let received = smem.wrapping_add(block_values(FEW as u32, size_of::<I>() as u32) as usize); // (share, blocks)
        // SAFETY: within shared memory, which other blocks have when they have begun.
        unsafe {
            thread::sync_threads(); // every thread's partial sums are there
            if blocks > 1 {
                cluster::wait();
            }

            let mut job = tid;
            while job < sums * lanes {
                let (index, lane) = (job >> lanes_log2, job & (lanes - 1));
                let (row, f) = coord(index);
                let (bundle, of_bundle) = placement.of_row(row);
                let mut parts = [0.0; AT_ONCE];
                let mut group = lane;
                while group < groups {
                    for (i, part) in parts.iter_mut().enumerate() {
                        let group = group + i as u32 * lanes;
                        if group < groups {
                            *part += *smem.add(placement.place(f, of_bundle, bundle, group) as usize);
                        }
                    }
                    group += AT_ONCE as u32 * lanes;
                }
                let sum = sum_of_lanes((parts[0] + parts[1]) + (parts[2] + parts[3]), lanes);
                if lane == 0 {
                    let owner = index / share;
                    let place = received.add(((index - owner * share) * blocks + block.rank) as usize);
                    cluster::store(shared::address(place), owner, sum);
                }
                job += THREADS;
            }
            if blocks > 1 {
                cluster::sync(); // every block's are there
            } else {
                thread::sync_threads(); // the block's are there
            }

            let first = block.rank * share;
            let mut index = first + tid;
            while index < sums.min(first + share) {
                let (mut sum, mut other) = (0.0, 0);
                while other < blocks {
                    sum += *received.add(((index - first) * blocks + other) as usize);
                    other += compiler::opaque(1); // or LLVM would unroll the loop
                }
                let (row, f) = coord(index);
                store(row, f, sum);
                index += THREADS;
            }
        }
    }
}
