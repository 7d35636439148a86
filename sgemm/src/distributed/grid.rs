//! How ranks are arranged.

/// Ranks as rows, columns and layers. A layer is a grid of processes as in BLACS, row by row, and computes with its own range of k: with one
/// layer the scheme is 1D or 2D, with more 2.5D.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Grid {
    /// Processes along m, at least 1.
    pub rows: usize,
    /// Processes along n, at least 1.
    pub columns: usize,
    /// Layers along k, at least 1.
    pub layers: usize,
}

/// A rank's place in a [`Grid`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Position {
    /// Along m.
    pub row: usize,
    /// Along n.
    pub column: usize,
    /// Along k.
    pub layer: usize,
}

/// Ranks that take part in a collective: those that differ only along one axis of the grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Axis {
    /// The processes of a column: they have the same columns of B, and gather these.
    Rows,
    /// The processes of a row: they have the same rows of A, and gather these.
    Columns,
    /// Those of the same row and column: they add up partial sums of the same elements of C.
    Layers,
}

impl Axis {
    /// Every one.
    pub const ALL: [Self; 3] = [Self::Rows, Self::Columns, Self::Layers];
}

impl Grid {
    /// A grid of so many ranks.
    #[must_use]
    pub const fn ranks(&self) -> usize {
        self.rows * self.columns * self.layers
    }

    /// Where a rank stands.
    #[must_use]
    pub const fn position(&self, rank: usize) -> Position {
        let Self { rows, columns, .. } = *self;
        Position { row: rank / columns % rows, column: rank % columns, layer: rank / (rows * columns) }
    }

    /// The rank that stands there.
    #[must_use]
    pub const fn rank(&self, Position { row, column, layer }: Position) -> usize {
        (layer * self.rows + row) * self.columns + column
    }

    /// Processes along an axis.
    #[must_use]
    pub const fn along(&self, axis: Axis) -> usize {
        match axis {
            Axis::Rows => self.rows,
            Axis::Columns => self.columns,
            Axis::Layers => self.layers,
        }
    }

    /// The ranks that a rank shares a collective with, itself included, in the order of their places along the axis.
    #[must_use]
    pub fn group(&self, rank: usize, axis: Axis) -> Vec<usize> {
        let position = self.position(rank);
        let member = |index| match axis {
            Axis::Rows => Position { row: index, ..position },
            Axis::Columns => Position { column: index, ..position },
            Axis::Layers => Position { layer: index, ..position },
        };
        (0..self.along(axis)).map(|index| self.rank(member(index))).collect()
    }
}

impl Position {
    /// The place along an axis.
    #[must_use]
    pub const fn along(&self, axis: Axis) -> usize {
        match axis {
            Axis::Rows => self.row,
            Axis::Columns => self.column,
            Axis::Layers => self.layer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_divide_the_ranks() {
        let grid = Grid { rows: 2, columns: 3, layers: 2 };
        for rank in 0..grid.ranks() {
            assert_eq!(grid.rank(grid.position(rank)), rank);
            for axis in Axis::ALL {
                let group = grid.group(rank, axis);
                assert_eq!(group.len(), grid.along(axis));
                assert_eq!(group[grid.position(rank).along(axis)], rank);
                assert!(group.iter().all(|other| grid.group(*other, axis) == group));
            }
        }
        // Row by row, as BLACS does by default.
        assert_eq!(grid.group(0, Axis::Columns), [0, 1, 2]);
        assert_eq!(grid.group(1, Axis::Rows), [1, 4]);
        assert_eq!(grid.group(1, Axis::Layers), [1, 7]);
    }
}
