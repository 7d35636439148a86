//! Sets of elements as rectangles, and what they mean for memory.

use std::collections::BTreeSet;

use super::placement::Place;

/// Elements of 4 bytes in a sector of 32 bytes.
const SECTOR: u32 = 8;

/// A set of elements as few rectangles: row, column, rows, columns.
pub fn rectangles(places: impl IntoIterator<Item = Place>) -> Vec<[u32; 4]> {
    let places: BTreeSet<Place> = places.into_iter().collect();
    let mut runs: Vec<[u32; 4]> = Vec::new();
    for [row, col] in places {
        match runs.last_mut() {
            Some([last, start, _, length]) if *last == row && *start + *length == col => *length += 1,
            _ => runs.push([row, col, 1, 1]),
        }
    }
    let mut rectangles: Vec<[u32; 4]> = Vec::new();
    for [row, col, _, columns] in runs {
        let above = rectangles.iter_mut().find(|[r, c, rows, cs]| [*r + *rows, *c, *cs] == [row, col, columns]);
        match above {
            Some(rectangle) => rectangle[2] += 1,
            None => rectangles.push([row, col, 1, columns]),
        }
    }
    rectangles
}

/// The elements of the sectors that some elements lie in, where rows begin with sectors.
pub fn sectors(places: impl IntoIterator<Item = Place>) -> BTreeSet<Place> {
    let firsts: BTreeSet<Place> = places.into_iter().map(|[row, col]| [row, col / SECTOR * SECTOR]).collect();
    firsts.into_iter().flat_map(|[row, col]| (0..SECTOR).map(move |i| [row, col + i])).collect()
}

/// How many sectors some elements lie in.
pub fn sector_count(places: impl IntoIterator<Item = Place>) -> usize {
    sectors(places).len() / SECTOR as usize
}

/// The distinct rows of some elements.
pub fn rows(places: &[Place]) -> BTreeSet<u32> {
    places.iter().map(|[row, _]| *row).collect()
}

/// Their distinct columns.
pub fn columns(places: &[Place]) -> BTreeSet<u32> {
    places.iter().map(|[_, column]| *column).collect()
}

#[cfg(test)]
mod tests {
    use super::super::placement::grid;
    use super::*;

    #[test]
    fn neighbours_become_one_rectangle() {
        let two = grid(3, 2).map(|[row, col]| [row + 1, col + 4]).chain([[9, 9]]);
        assert_eq!(rectangles(two), [[1, 4, 3, 2], [9, 9, 1, 1]]);
    }

    #[test]
    fn sectors_are_eight_neighbours() {
        assert_eq!(sector_count(grid(32, 1)), 32);
        assert_eq!(sector_count(grid(1, 32)), 4);
        assert_eq!(sectors([[0, 9]]).into_iter().next(), Some([0, 8]));
    }
}
