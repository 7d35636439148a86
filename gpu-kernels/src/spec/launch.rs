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
    const MEASURED: [[u32; Splits::MAX_CLUSTER as usize + 1]; 3] = [
        [132, 132, 132, 117, 120, 110, 102, 105, 120],
        [264, 264, 264, 237, 248, 235, 234, 224, 240],
        [396, 396, 396, 372, 368, 345, 372, 329, 360],
    ];
    let measured = &MEASURED[least(of_sm.saturating_sub(1), 2) as usize];
    let (slots, found) = (sm_count as u64 * of_sm as u64, measured[cluster as usize]);
    if slots == measured[1] as u64 {
        return found;
    }
    (slots * found as u64 / measured[1] as u64) as u32 / at_least_1(cluster) * cluster
}

/// Blocks of the SM with the most of them, where so many run at once; all its slots where not all of them do.
const fn of_fullest_sm(blocks: u64, sm_count: u32, blocks_per_sm: u32, cluster: u32) -> u32 {
    let mut of_sm = 1;
    while of_sm < blocks_per_sm && blocks > in_clusters(sm_count, of_sm, cluster) as u64 {
        of_sm += 1;
    }
    of_sm
}

/// The most planes that a plan divides k into.
const MAX_PLANES: u32 = 64;

/// The least rows and columns of a tile that takes time for its products, and not for its elements alone.
const EVEN_TILE: u32 = 16;

/// What shared memory is given out in, in bytes.
const SMEM_UNIT: u32 = 128;

/// Cycles of an SM that a reduction takes, fitted to times of an H200: of its own, for each block of a cluster, and for each plane beside
/// its elements, of which an SM adds so many in a cycle.
const REDUCTION: u64 = 2500;
const OF_BLOCK: u64 = 250;
const OF_PLANE: u64 = 440;
const ADDED_PER_CYCLE: u64 = 4;

/// The same of planes where a block has one element of C: its k takes a fraction of the time that other blocks' take, and the launch that
/// adds planes does not.
const OF_ELEMENTS: u64 = 20_000;

/// Cycles from one k-tile of a block to the next, however small it is.
const LATENCY: u64 = 160;

/// Bytes of A and B that come from memory in a cycle, for each SM of the device. So many SMs load for one another.
const LOADED_PER_CYCLE: u64 = 17;
const LOADED_FOR: u32 = 2;

/// Cycles of the reduction of two blocks, for which [`Schedule::PlannedSplitK`] has a number of k.
const OF_TWO: u64 = REDUCTION + 2 * OF_BLOCK;

impl Step {
    /// Into how many splits a plan divides k, for so many problems in one launch: of those for which there are slots, so many that the
    /// longest k of a block, and what the reduction takes, are least. Blocks of a cluster reduce within the launch, but fewer of them find
    /// room, and fewer share k-tiles beside their splits; planes, which a launch adds, are for one problem.
    #[must_use]
    pub const fn splits(&self, m: u32, n: u32, k: u32, problems: u32, sm_count: u32) -> Splits {
        let Schedule::PlannedSplitK { blocks_per_sm, .. } = self.schedule else { return Splits::NONE };
        if !self.may_be_split() {
            return Splits::NONE;
        }
        let blocks = at_least_1(self.tiles(m, n).count().saturating_mul(problems));
        let of_planes = if self.tile.bm * self.tile.bn == 1 { OF_ELEMENTS } else { REDUCTION };
        let of_plane = OF_PLANE + m as u64 * n as u64 / (ADDED_PER_CYCLE * at_least_1(sm_count) as u64);
        let (mut best, mut fewest) = (Splits::NONE, u64::MAX);
        let (mut cluster, mut whole) = (0, 0);
        while cluster < Splits::MAX_CLUSTER {
            cluster += 1;
            let blocks_of_plane = blocks.saturating_mul(cluster);
            if blocks_of_plane > sm_count * blocks_per_sm {
                break;
            }
            let reduction = if cluster > 1 { REDUCTION + OF_BLOCK * cluster as u64 } else { 0 };
            let may_be_best = whole / cluster as u64 + reduction < fewest;
            let may_have_planes = problems == 1 && reduction + of_planes + 2 * of_plane < fewest;
            let has_room = blocks_of_plane <= in_clusters(sm_count, blocks_per_sm, cluster);
            if !has_room || !may_be_best && !may_have_planes {
                continue;
            }
            let one = self.cycles(m, n, k, problems, Splits { cluster, planes: 1 }, sm_count);
            if cluster == 1 {
                whole = one;
            }
            if one + reduction < fewest {
                (best, fewest) = (Splits { cluster, planes: 1 }, one + reduction);
            }
            // More planes, until another takes longer to add than it saves.
            let useful = if may_have_planes { (one / of_plane).isqrt() } else { 1 };
            let useful = if useful < MAX_PLANES as u64 { useful as u32 } else { MAX_PLANES };
            // So many that memory is busy, or that each SM has so many blocks.
            let (mut of_sm, mut planes) = (if self.multicasts { 0 } else { 1 }, 1);
            while of_sm <= blocks_per_sm && planes < useful {
                let room = in_clusters(sm_count, at_least_1(of_sm), cluster) / blocks_of_plane;
                let wanted = if of_sm == 0 { (sm_count / LOADED_FOR).div_ceil(blocks_of_plane) } else { room };
                planes = least(wanted, least(room, useful));
                of_sm += 1;
                let addition = reduction + of_planes + of_plane * planes as u64;
                if planes <= 1 || one / planes as u64 + addition >= fewest {
                    continue; // no room, or no gain
                }
                let splits = Splits { cluster, planes };
                let cycles = self.cycles(m, n, k, problems, splits, sm_count) + addition;
                if cycles < fewest {
                    (best, fewest) = (splits, cycles);
                }
            }
        }
        best
    }

    /// Cycles of an SM for the k-tiles of its blocks, where all of them run at once.
    const fn cycles(&self, m: u32, n: u32, k: u32, problems: u32, splits: Splits, sm_count: u32) -> u64 {
        let Schedule::PlannedSplitK { blocks_per_sm, reduction_k, is_busy } = self.schedule else { return 0 };
        let k_of_block = k.div_ceil(splits.count());
        let blocks = self.tiles(m, n).count() * problems * splits.count();
        if self.multicasts {
            let (_, k_tile) = self.grouped(m, n, problems, splits, sm_count, blocks_per_sm);
            let k_tile = k_tile / (Group::UNITS_PER_CYCLE * at_least_1(sm_count) as u64);
            let k_tiles = k_of_block.div_ceil(self.tile.bk) as u64 * if k_tile > LATENCY { k_tile } else { LATENCY };
            let bytes = (m as u64 + n as u64) * k as u64 * self.precision.input().bytes() as u64;
            let loading = least(blocks.saturating_mul(LOADED_FOR), sm_count);
            let loads = bytes.saturating_mul(problems as u64) / (LOADED_PER_CYCLE * at_least_1(loading) as u64);
            // Each waits for the other now and then.
            return if k_tiles > loads { k_tiles + loads / 2 } else { loads + k_tiles / 2 };
        }
        let one = k_of_block as u64 * OF_TWO / reduction_k as u64;
        let of_sm = of_fullest_sm(blocks as u64, sm_count, blocks_per_sm, splits.cluster) as u64;
        // Alone, a block that is busy waits for a ninth of its time, and another one for four fifths.
        let [busy, waits] = if is_busy { [8, 1] } else { [1, 4] };
        one * (busy * of_sm + waits) / (busy + waits)
    }

    /// Which blocks of a launch share k-tiles, for so many problems in it.
    #[must_use]
    pub const fn group(&self, m: u32, n: u32, problems: u32, splits: Splits, sm_count: u32) -> Group {
        match self.schedule {
            Schedule::PlannedSplitK { blocks_per_sm, .. } if self.multicasts => {
                self.grouped(m, n, problems, splits, sm_count, blocks_per_sm).0
            }
            Schedule::PersistentBatch { .. } => self.tile_group(m, n, problems, sm_count),
            _ => Group::ALONE,
        }
    }

    /// The same of a step that multicasts, and the time of a k-tile of all blocks: [`Group::of`].
    const fn grouped(
        &self,
        m: u32,
        n: u32,
        problems: u32,
        splits: Splits,
        sm_count: u32,
        blocks_per_sm: u32,
    ) -> (Group, u64) {
        let Tile { bm, bn, .. } = self.tile;
        let filled = Extent { rows: least(bm, m), cols: least(bn, n) };
        Group::of(self.tiles(m, n), self.tile, filled, problems, splits, sm_count, blocks_per_sm)
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

    /// Whether a tile takes time for its products, and not for its elements alone.
    const fn is_for_multiplying(&self) -> bool {
        self.tile.bm >= EVEN_TILE && self.tile.bn >= EVEN_TILE
    }

    /// Shared memory with which an SM has room for no more than its share of so many blocks. The launch before this one leaves some SMs
    /// later than others: where not all blocks find room beside its own, those SMs that it leaves first would run more than the others.
    const fn even_smem_bytes(&self, blocks: u64, blocks_per_sm: u32, cluster: u32, sm_count: u32) -> u32 {
        if !self.is_for_multiplying() || 2 * blocks <= (sm_count * blocks_per_sm) as u64 {
            return 0;
        }
        let of_sm = of_fullest_sm(blocks, sm_count, blocks_per_sm, cluster);
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
