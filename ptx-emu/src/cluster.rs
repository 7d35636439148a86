//! Which blocks of a grid come together as a cluster.

use crate::kernel::Launch;
use crate::syntax::LaunchBounds;

/// Blocks that a cluster may have: more than 8 only on GPUs that a kernel has asked for it.
pub(crate) const MAX_BLOCKS: u64 = 16;

/// Blocks of a cluster, by dimension: as the launch has it, or else as the kernel requires it. Fails where they do not agree,
/// or the grid is not made of such clusters.
pub(crate) fn of_launch(bounds: &LaunchBounds, launch: &Launch) -> Result<[u32; 3], String> {
    let text = |[x, y, z]: [u32; 3]| format!("{x} x {y} x {z}");
    let cluster = match bounds.required_cluster {
        Some(required) if launch.cluster == [1; 3] => required,
        Some(required) if launch.cluster != required => {
            return Err(format!("its .reqnctapercluster is {}, not {}", text(required), text(launch.cluster)));
        }
        _ => launch.cluster,
    };
    let blocks = cluster.into_iter().fold(1u64, |all, size| all.saturating_mul(size.into()));
    if blocks == 0 || blocks > MAX_BLOCKS {
        return Err(format!("a cluster of {} blocks; it has 1 to {MAX_BLOCKS}", text(cluster)));
    }
    if launch.grid.iter().zip(cluster).any(|(grid, cluster)| grid % cluster != 0) {
        let (grid, cluster) = (text(launch.grid), text(cluster));
        return Err(format!("a grid of {grid} blocks is not made of clusters of {cluster}"));
    }
    Ok(cluster)
}
