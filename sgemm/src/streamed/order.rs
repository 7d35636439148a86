//! In which order tiles of C are computed, so that panels are read as often as possible while they are there.

/// The tiles, as kept and streamed panel, of a rectangle of that many. `group` kept panels are in memory together, while all streamed ones
/// pass by: forward for one group, backward for the next, so that the last ones of one are the first of the other.
///
/// As panels arrive they are multiplied with all that are there. Where the first group begins, nothing is: kept and streamed panels
/// arrive in turn, up to `there` streamed ones, so that the work grows with the square of what has arrived. So many are still there when
/// another group begins.
pub(super) fn order([kept, streamed]: [usize; 2], group: usize, there: usize) -> Vec<[usize; 2]> {
    let mut tiles = Vec::with_capacity(kept * streamed);
    let mut passing: Vec<usize> = (0..streamed).collect();
    let there = there.min(streamed);
    for first in (0..kept).step_by(group.max(1)) {
        let of_group: Vec<usize> = (first..kept.min(first + group.max(1))).collect();
        let mut arrived = if first == 0 { 0 } else { there };
        for (number, panel) in of_group.iter().enumerate() {
            tiles.extend(passing[..arrived].iter().map(|other| [*panel, *other]));
            if first == 0 && arrived < there {
                tiles.extend(of_group[..=number].iter().map(|other| [*other, passing[arrived]]));
                arrived += 1;
            }
        }
        for other in &passing[arrived..] {
            tiles.extend(of_group.iter().map(|panel| [*panel, *other]));
        }
        passing.reverse();
    }
    tiles
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_tile_comes_once(kept in 0_usize..12, streamed in 0_usize..12, group in 1_usize..14, there in 0_usize..14) {
            let mut tiles = order([kept, streamed], group, there);
            tiles.sort_unstable();
            let all = (0..kept).flat_map(|one| (0..streamed).map(move |other| [one, other]));
            prop_assert!(tiles.into_iter().eq(all));
        }
    }

    #[test]
    fn work_grows_along_both_sides_and_turns_back() {
        let square = order([2, 3], 2, 3);
        assert_eq!(square, [[0, 0], [1, 0], [0, 1], [1, 1], [0, 2], [1, 2]]);
        let rows = order([2, 3], 1, 1);
        assert_eq!(rows, [[0, 0], [0, 1], [0, 2], [1, 2], [1, 1], [1, 0]]);
    }
}
