//! What other cases do not go through: rows of whole vectors where sums are split, C of either type; and sums that are longer than what
//! a block or a cluster has at once, of vectors and of others.

use gpu_kernels::{Splits, Step};

use super::{Case, Executor, cases, check_in_its_types};

/// Elements in 16 bytes of the narrowest type.
const VECTOR: u32 = 8;

/// Nearly twice the rows that a pre-pass holds.
const LONG: u32 = 2 * 4096 - 4 * VECTOR;

/// What narrow steps have of their vectors at once.
const PIECE: u32 = 1024;

/// No multiple of anything.
const REST: u32 = 195;

/// Rows or columns of a tile for which the operand that they are in is a few vectors.
const NARROW: u32 = 16;

/// Checks a step on matrices whose rows are whole vectors: full tiles and edges, with and without C, and on long sums.
///
/// # Errors
/// The first case that fails, and how.
pub fn run(step: &'static Step, executor: &impl Executor) -> Result<(), String> {
    let tile = step.tile;
    let [m, n, k] = [tile.bm, tile.bn, tile.bk].map(|size| size.next_multiple_of(VECTOR));
    let mut sizes = vec![[m, n, 2 * k]];
    if step.may_be_split() {
        sizes.push([m + VECTOR, n + VECTOR, LONG / 2]);
        sizes.extend(split([m, n], step, executor.sm_count()));
    }
    let check = |sizes, number: usize, case: Case| {
        let case = Case { batch: (1, [Some(0); 2]), d_by_columns: None, ..case };
        check_in_its_types(step, sizes, Case { are_scalars_on_device: false, ..case }, executor)
            .map_err(|error| format!("case {number}: {error}"))
    };
    let [few, many] = [tile.bm.min(tile.bn), tile.bm.max(tile.bn)];
    if few <= NARROW {
        // Vectors in pieces of elements apart, beside a matrix in either order, aligned or not: the last piece is short, or the only one.
        let depths = [PIECE / 8 + 3, Splits::MAX_CLUSTER * (PIECE + 2 * tile.bk) - tile.bk + 3];
        for (number, k) in depths.into_iter().enumerate() {
            for (order, gap) in [(false, 1), (false, 4), (true, 1), (true, 4)] {
                let case = Case { gap, is_unaligned: false, ..cases(0)[1] };
                check([4, few, k], number, Case { by_columns: [order, false, false], ..case })?;
                check([few, 4, k], number, Case { by_columns: [true, order, false], ..case })?;
            }
        }
    }
    for (number, sizes) in sizes.into_iter().enumerate() {
        for scalars in [[-2.0, 0.0], [2.0, -0.5]] {
            for is_c_f32 in [false, true] {
                let case = Case { by_columns: [false; 3], gap: 0, is_unaligned: false, ..cases(number)[number % 8] };
                check(sizes, number, Case { scalars, is_c_f32, ..case })?;
            }
        }
    }
    let long = match (few <= NARROW, step.prepasses) {
        (true, _) => [many, 4].into_iter().flat_map(|many| [[many, few, 4 * LONG], [few, many, 4 * LONG]]).collect(),
        (false, []) => vec![],
        (false, _) => vec![[VECTOR, 6 * VECTOR, LONG]],
    };
    for sizes in long {
        for (number, (gap, is_unaligned)) in [(0, false), (1, false), (4, false), (0, true)].into_iter().enumerate() {
            for is_by_columns in [false, true] {
                let [m, n, k] = sizes;
                // Where no vectors are loaded, the sum need not end with one.
                let sizes = if is_unaligned { [m, n, k + REST] } else { sizes };
                let by_columns = [is_by_columns, is_by_columns, false];
                check(sizes, number, Case { by_columns, gap, is_unaligned, ..cases(0)[1] })?;
            }
        }
    }
    Ok(())
}

/// Sums that the smallest cluster and the largest one split, and such as several clusters do.
fn split([m, n]: [u32; 2], step: &Step, sm_count: u32) -> Vec<[u32; 3]> {
    let find = |is_wanted: &dyn Fn(Splits) -> bool| {
        let mut lengths = (1..1 << 14).map(|tiles| tiles * step.tile.bk);
        lengths.find(|&k| is_wanted(step.splits(m, n, k, 1, sm_count))).map(|k| [m, n, k])
    };
    let of_cluster = |cluster| find(&|splits| splits == Splits { cluster, planes: 1 });
    [of_cluster(2), of_cluster(Splits::MAX_CLUSTER), find(&|splits| splits.planes > 1)].into_iter().flatten().collect()
}
