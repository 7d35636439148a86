//! The cluster dimensions of a launch.

use super::Launch;
use crate::syntax::LaunchBounds;

/// Blocks of a cluster at most: above 8 only with the non-portable size attribute.
pub(crate) const MAX_BLOCKS: u64 = 16;

/// Blocks of a cluster, by dimension: the launch's, or else what the kernel requires. Fails if they disagree or do not
/// divide the grid.
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
