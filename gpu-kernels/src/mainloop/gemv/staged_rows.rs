//! Short rows of a matrix times a vector, by way of shared memory: rows without a gap are one array, which is copied 16 bytes at a time,
//! wherever rows begin.
//!
//! ```text
//!            one copy of 16 bytes
//!   global  │ ····│····│····│····│··· │     rows of 3 elements: 0 0 0 1 1 1 2 2 2 ..
//!   shared  │ 000 │1112│2233│3444│555 │     at the same place within 16 bytes
//! ```

use super::SIDE;

/// Bytes of rows in shared memory at once.
const BYTES: u32 = 24 * 1024;
/// Bytes of a copy.
const COPY: u32 = 16;
/// Rows in shared memory at once, at least.
const LEAST_ROWS: u32 = 16;

/// Values of shared memory that [`kernel::sums`] needs: the vector as f32, for elements of 2 bytes, and the rows.
pub(crate) const VALUES: u32 = BYTES / LEAST_ROWS / 2 + (BYTES + COPY) / 4;

const _: () = assert!((BYTES / LEAST_ROWS / 2).is_multiple_of(SIDE));

#[cfg(feature = "device")]
pub(crate) use kernel::{is_possible, sums};

/// What runs on the device.
#[cfg(feature = "device")]
mod kernel {
    use cuda_std::GpuFloat;
    use cuda_std::prelude::*;

    use super::*;
    use crate::mainloop::gemv::load::Load;
    use crate::mainloop::gemv::reduction::sum_of_lanes;
    use crate::mainloop::gemv::{SIDE, Strided};
    use crate::ptx::{compiler, cp_async};

    /// Whether rows of k elements that are `ld` apart can be staged.
    #[inline(always)]
    pub(crate) fn is_possible<I>(k: u32, ld: usize) -> bool {
        (k as usize == ld) & (k <= BYTES / LEAST_ROWS / size_of::<I>() as u32)
    }

    /// The sums of `rows` rows of the matrix, `ROWS` at most, to `sums` in shared memory.
    ///
    /// # Safety
    /// Every one of the block's `THREADS` threads calls it; the rows [are possible](is_possible), and may be read, as the vector;
    /// `smem` has [`VALUES`] at a multiple of 16 bytes, and `sums` a value for each row.
    #[inline(always)]
    pub(crate) unsafe fn sums<I: Load, const ROWS: u32, const THREADS: u32>(
        matrix: *const I,
        vector: Strided<I>,
        rows: u32,
        k: u32,
        smem: *mut f32,
        sums: *mut f32,
    ) {
        let size = size_of::<I>() as u32;
        let tid = thread::thread_idx_x();
        let (vector_smem, rows_smem) = (smem, smem.wrapping_add((BYTES / LEAST_ROWS / 2) as usize).cast::<I>());

        // Rows at once, a power of two, and the threads of each.
        let (mut at_once, mut lanes_log2) = (ROWS, (THREADS / ROWS).ilog2());
        while at_once * k * size > BYTES {
            (at_once, lanes_log2) = (at_once / 2, lanes_log2 + 1);
        }
        let lanes = 1 << lanes_log2;
        let (row, lane) = (tid >> lanes_log2, tid & (lanes - 1));

        let mut first = 0;
        while first < rows {
            let count = (rows - first).min(at_once);
            let elements = count * k;
            let source = matrix.wrapping_add((first * k) as usize);
            let per_copy = COPY / size;
            let skew = source.addr() as u32 % COPY / size;
            let target = rows_smem.wrapping_add(skew as usize);
            // Copies are from `before` to `end`.
            let before = ((per_copy - skew) % per_copy).min(elements);
            let end = before + (elements - before) / per_copy * per_copy;
            // SAFETY: upheld by the caller (see `# Safety`): in bounds, or not loaded; aligned, as the same bytes of `source` are.
            unsafe {
                let mut at = before + tid * per_copy;
                while at < end {
                    let (target, source) = (target.wrapping_add(at as usize), source.wrapping_add(at as usize));
                    cp_async::copy_or_zero::<SIDE>(shared::address(target), source.cast(), true);
                    at += THREADS * per_copy;
                }
                cp_async::commit_group();
                let single = if tid < before { tid } else { end + (tid - before) };
                if single < elements {
                    *target.add(single as usize) = *source.add(single as usize);
                }
                if first == 0 {
                    let mut p = tid;
                    while p < k {
                        *vector_smem.add(p as usize) = (*vector.at(0, p)).get();
                        p += THREADS;
                    }
                }
                cp_async::wait_group::<0>();
                thread::sync_threads(); // rows and vector are complete

                // Adjacent elements of a row are a lane's, so that their offsets are constants.
                let of_lane = (k + lanes - 1) >> lanes_log2;
                let mut p = (lane * of_lane).min(k);
                let end = if row < count { (p + of_lane).min(k) } else { p };
                let of_row = target.wrapping_add((row * k) as usize);
                let mut acc = [0.0; SIDE as usize];
                let products = |p: u32, acc: &mut [f32]| {
                    let (of_row, factors) = (of_row.add(p as usize), vector_smem.add(p as usize));
                    for (i, acc) in acc.iter_mut().enumerate() {
                        *acc = GpuFloat::mul_add((*of_row.add(i)).get(), *factors.add(i), *acc);
                    }
                };
                while p + SIDE <= end {
                    products(p, &mut acc);
                    p = compiler::opaque(p + SIDE); // or LLVM would unroll the loop further
                }
                while p < end {
                    products(p, &mut acc[..1]);
                    p = compiler::opaque(p + 1);
                }
                let sum = sum_of_lanes((acc[0] + acc[1]) + (acc[2] + acc[3]), lanes);
                if row < count && lane == 0 {
                    *sums.add((first + row) as usize) = sum;
                }
                thread::sync_threads(); // every warp has read the rows and stored their sums
            }
            first += at_once;
        }
    }
}
