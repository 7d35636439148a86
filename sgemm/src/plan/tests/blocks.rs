//! Blocks of an SM, and blocks of a tile, of steps whose plan splits k.

use gpu_kernels::{BLOCK_SMEM_BYTES, Group, SM_SMEM_BYTES, Splits};

use super::*;

const SMS: u32 = 132;
const FIVE: Step = Step {
    tile: Tile { bm: 32, bn: 64, bk: 16, tm: 4, tn: 8 },
    schedule: Schedule::PlannedSplitK { blocks_per_sm: 5, reduction_k: 64, is_busy: true },
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

#[test]
fn blocks_share_k_tiles_where_all_find_room_at_once() {
    let step = gpu_kernels::find("hgemm-split-k/64x128").unwrap();
    let group = |rows: u32, columns: u32, splits| step.group(rows * 64, columns * 128, 1, splits, SMS);
    let four_rows = Group { columns: 1, rows: 4 };
    assert_eq!(group(19, 6, Splits::NONE), four_rows, "a tile has more columns than rows, and 120 blocks run at once");
    assert_eq!(group(30, 4, Splits::NONE), Group { columns: 2, rows: 2 }, "no 128 do");
    assert_eq!(group(33, 4, Splits::NONE).count(), 2, "132 blocks in pairs, 120 in fours");
    assert_eq!(group(15, 1, Splits { cluster: 8, planes: 1 }), Group::ALONE, "no cluster is larger");
    assert_eq!(step.group(19 * 64, 6 * 128, 2, Splits::NONE, SMS), Group::ALONE, "of two problems");
}

/// As they were fastest on an H200, for rows of f32.
#[test]
fn few_long_rows_are_split_over_clusters_alone() {
    let step = gpu_kernels::find("gemv-rows/block").unwrap();
    let splits = |m, k| step.splits(m, 1, k, 1, SMS);
    assert_eq!(splits(12, 80_000), Splits { cluster: 8, planes: 1 });
    assert_eq!(splits(75, 60_000), Splits { cluster: 6, planes: 1 });
    assert!(splits(1, 1_000_000).planes > 1, "a few blocks take longer than another launch");
}
