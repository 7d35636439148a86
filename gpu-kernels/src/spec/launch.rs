//! What a plan decides of a step of [`Schedule::PlannedSplitK`]: how k is split, and how much shared memory a block gets.

use super::{Extent, Group, Schedule, Splits, Step, Tile, at_least_1, least};

/// Shared memory of an SM that can run every step, and what each block takes of it beside its own, in bytes.
pub const SM_SMEM_BYTES: u32 = 228 << 10;
/// See [`SM_SMEM_BYTES`].
pub const BLOCK_SMEM_BYTES: u32 = 1 << 10;

/// So many blocks' share of an SM, up to as many as it has slots.
pub(super) const fn of_sm(blocks: u64, sm_count: u32, blocks_per_sm: u32) -> u32 {
    at_least_1(if blocks < (sm_count * blocks_per_sm) as u64 {
        (blocks as u32).div_ceil(at_least_1(sm_count))
    } else {
        blocks_per_sm
    })
}

/// Blocks that run at once in clusters of so many, on so many SMs with so many slots each: a cluster is in one GPC, and leaves slots over
/// there.
pub(super) const fn in_clusters(sm_count: u32, of_sm: u32, cluster: u32) -> u32 {
    /// On 132 SMs, by slots and by blocks of a cluster, from none on: `cuOccupancyMaxActiveClusters` on an H200.
    const MEASURED: [[u64; Splits::MAX_CLUSTER as usize + 1]; 3] = [
        [132, 132, 132, 117, 120, 110, 102, 105, 120],
        [264, 264, 264, 237, 248, 235, 234, 224, 240],
        [396, 396, 396, 372, 368, 345, 372, 329, 360],
    ];
    let measured = &MEASURED[least(of_sm.saturating_sub(1), 2) as usize];
    let found = sm_count as u64 * of_sm as u64 * measured[cluster as usize] / measured[1];
    found as u32 / at_least_1(cluster) * cluster
}

/// The most planes that a plan divides k into.
const MAX_PLANES: u32 = 64;

/// The least rows and columns of a tile that takes time for its products, and not for its elements alone.
const EVEN_TILE: u32 = 16;

/// What shared memory is given out in, in bytes.
const SMEM_UNIT: u32 = 128;

/// Elements of a tile up to which its k-tiles are loaded for longer than they are multiplied.
const NARROW: u32 = 64 * 32;

impl Step {
    /// Into how many splits a plan divides k, for so many problems in one launch: of those for which there are slots, so many that the
    /// longest k of a block, and what the reduction takes, are least. Planes, which a launch adds, are for what is too long for a cluster.
    #[must_use]
    pub const fn splits(&self, m: u32, n: u32, k: u32, problems: u32, sm_count: u32) -> Splits {
        let Schedule::PlannedSplitK { blocks_per_sm, reduction_k } = self.schedule else { return Splits::NONE };
        let blocks = at_least_1(self.tiles(m, n).count().saturating_mul(problems)) as u64;
        // With more stages, a block needs no others beside it, unless it waits for memory whatever it has of them.
        let is_narrow = self.tile.bm * self.tile.bn <= NARROW;
        let (of_sm, most_rounds) = match self.stage_bytes {
            0 => (blocks_per_sm, 1),
            _ => (1, if is_narrow { blocks_per_sm as u64 } else { 1 }),
        };
        let slots = at_least_1(sm_count * of_sm);
        let (k, reduction_k) = (k as u64, reduction_k as u64);
        let (mut best, mut least) = (Splits::NONE, blocks.div_ceil(slots as u64) * k);
        let mut cluster = 2;
        while cluster <= Splits::MAX_CLUSTER {
            let slots = at_least_1(in_clusters(sm_count, of_sm, cluster)) as u64;
            let reduction = reduction_k * (4 + cluster as u64) / 4;
            let most = if cluster == Splits::MAX_CLUSTER && problems == 1 { MAX_PLANES } else { 1 };
            let mut planes = 1;
            while planes <= most {
                let splits = Splits { cluster, planes };
                let addition = if planes > 1 { reduction_k * (4 + planes as u64 / 4) } else { 0 };
                let passes = reduction + addition;
                let count = splits.count() as u64;
                let rounds = (blocks * count).div_ceil(slots);
                if rounds > most_rounds || passes >= least {
                    break; // as for all that are more
                }
                let time = (rounds * k).div_ceil(count) + passes;
                if time < least {
                    (best, least) = (splits, time);
                }
                planes += 1;
            }
            if planes == 1 {
                break;
            }
            cluster += 1;
        }
        best
    }

    /// Which blocks of a launch share k-tiles, for so many problems in it.
    #[must_use]
    pub const fn group(&self, m: u32, n: u32, problems: u32, splits: Splits, sm_count: u32) -> Group {
        let blocks_per_sm = match self.schedule {
            Schedule::PlannedSplitK { blocks_per_sm, .. } => blocks_per_sm,
            Schedule::PersistentBatch { .. } => return self.tile_group(m, n, problems, sm_count),
            _ => return Group::ALONE,
        };
        if !self.multicasts || problems > 1 {
            return Group::ALONE;
        }
        let Tile { bm, bn, .. } = self.tile;
        let filled = Extent { rows: least(bm, m), cols: least(bn, n) };
        Group::of(self.tiles(m, n), self.tile, filled, splits, sm_count, blocks_per_sm)
    }

    /// Dynamic shared memory of each of so many blocks of a launch, in bytes: stages for so many k-tiles, as long as as many blocks share
    /// an SM as there are; or so much that they share the SMs evenly.
    #[must_use]
    pub const fn launch_smem_bytes(&self, blocks: u64, k_tiles: u32, cluster: u32, sm_count: u32) -> u32 {
        let Schedule::PlannedSplitK { blocks_per_sm, .. } = self.schedule else { return self.dynamic_smem_bytes };
        let of_sm = of_sm(blocks, sm_count, blocks_per_sm);
        let bytes = match self.stage_bytes {
            0 => self.even_smem_bytes(blocks, blocks_per_sm, cluster, sm_count),
            bytes => least((SM_SMEM_BYTES / of_sm - BLOCK_SMEM_BYTES) / bytes, k_tiles) * bytes,
        };
        if bytes > self.dynamic_smem_bytes { bytes } else { self.dynamic_smem_bytes }
    }

    /// Shared memory with which an SM has room for no more than its share of so many blocks. The launch before this one leaves some SMs
    /// later than others: where not all blocks find room beside its own, those SMs that it leaves first would run more than the others.
    const fn even_smem_bytes(&self, blocks: u64, blocks_per_sm: u32, cluster: u32, sm_count: u32) -> u32 {
        let is_for_multiplying = self.tile.bm >= EVEN_TILE && self.tile.bn >= EVEN_TILE;
        if !is_for_multiplying || 2 * blocks <= (sm_count * blocks_per_sm) as u64 {
            return 0;
        }
        let mut of_sm = 1;
        while of_sm < blocks_per_sm && blocks > in_clusters(sm_count, of_sm, cluster) as u64 {
            of_sm += 1;
        }
        if of_sm == blocks_per_sm { 0 } else { SM_SMEM_BYTES / (of_sm + 1) - BLOCK_SMEM_BYTES + SMEM_UNIT }
    }

    /// The most that [`launch_smem_bytes`](Self::launch_smem_bytes) asks for.
    #[must_use]
    pub const fn most_smem_bytes(&self) -> u32 {
        let Schedule::PlannedSplitK { blocks_per_sm, .. } = self.schedule else { return self.dynamic_smem_bytes };
        let (mut most, mut blocks) = (0, 1);
        while blocks <= blocks_per_sm as u64 {
            let bytes = self.launch_smem_bytes(blocks, u32::MAX, 1, 1);
            most = if bytes > most { bytes } else { most };
            blocks += 1;
        }
        most
    }
}
