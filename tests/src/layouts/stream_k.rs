//! Stream-K on few SMs: what the matrices of a device with all of them have no room for beside them, the checker of races in global
//! memory sees every flag and partial tile.

use gpu_kernels::{Schedule, Step};

use super::{Case, Executor, cases, check_in_its_types};

/// Checks a step of [`Schedule::StreamK`] on tiles that blocks share; others have none.
///
/// # Errors
/// The first case that fails, and how.
pub fn run(step: &'static Step, executor: &impl Executor) -> Result<(), String> {
    let Schedule::StreamK { blocks_per_sm, .. } = step.schedule else { return Ok(()) };
    let (tile, sm_count) = (step.tile, executor.sm_count());
    let cta_slots = blocks_per_sm * sm_count;
    // All tiles of these are stream-K tiles, one of them more than there are slots, or the only one.
    let tiles = if step.has_many_splits() { vec![1, cta_slots + 1] } else { vec![cta_slots + 1] };
    for (number, rows) in tiles.into_iter().enumerate() {
        let [m, n] = [rows * tile.bm - 3, tile.bn - 5];
        if step.stream_k_tiles(m, n, sm_count).tiles != rows {
            return Err(format!("{m} x {n}: {rows} tiles are not split"));
        }
        for k_tiles in [3, cta_slots] {
            let fused =
                Case { d_by_columns: None, is_unaligned: false, are_scalars_on_device: false, ..cases(number)[0] };
            let fused = Case { batch: (1, [Some(0); 2]), ..fused };
            // Another kernel.
            let plain = Case { bias: None, is_rectified: false, ..fused };
            for case in [plain, fused] {
                check_in_its_types(step, [m, n, k_tiles * tile.bk - 1], case, executor)?;
            }
        }
    }
    Ok(())
}
