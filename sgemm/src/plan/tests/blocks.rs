//! Blocks of an SM, and blocks of a tile, of steps whose plan splits k.

use gpu_kernels::{BLOCK_SMEM_BYTES, SM_SMEM_BYTES};

use super::*;

const SMS: u32 = 132;
const FIVE: Step = Step {
    tile: Tile { bm: 32, bn: 64, bk: 16, tm: 4, tn: 8 },
    schedule: Schedule::PlannedSplitK { blocks_per_sm: 5, reduction_k: 64 },
    dynamic_smem_bytes: 10_000,
    ..Step::PLAIN
};

/// Blocks of which an SM has room at once for the shared memory of each.
fn room(step: &Step, blocks: u64, cluster: u32) -> u32 {
    let bytes = step.launch_smem_bytes(blocks, 100, cluster, SMS);
    assert!(bytes <= step.most_smem_bytes());
    (SM_SMEM_BYTES / (bytes + BLOCK_SMEM_BYTES)).min(5)
}

#[test]
fn an_sm_has_room_for_its_share_of_blocks_where_those_of_two_launches_have_none() {
    let sms = u64::from(SMS);
    assert_eq!([2 * sms, 5 * sms / 2].map(|blocks| room(&FIVE, blocks, 1)), [5, 5], "both launches have room");
    assert_eq!([3 * sms - 1, 3 * sms, 3 * sms + 1].map(|blocks| room(&FIVE, blocks, 1)), [3, 3, 4]);
    assert_eq!([5 * sms, 50 * sms].map(|blocks| room(&FIVE, blocks, 1)), [5, 5], "all room is needed");
    assert_eq!(room(&FIVE, 3 * sms, 8), 4, "clusters leave room over");
    let row = Step { tile: Tile { bn: 1, ..FIVE.tile }, ..FIVE };
    assert_eq!(room(&row, 3 * sms, 1), 5, "rows are loaded, whoever does it");
}
