//! C divided among the rows and columns of a grid of GPUs.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;

use gpu_kernels::Ab;

use super::choose::Search;
use super::geometry::Shape;
use super::part::Part;
use super::side::{Group, join};
use crate::{Error, Problem};

/// A grid of GPUs, row after row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grid<'a> {
    pub rows: usize,
    pub columns: usize,
    /// Bytes of each GPU's memory.
    pub limits: &'a [u64],
    /// Whether panels that several GPUs need are read from the host once: those of A by a row of the grid, those of B by a column.
    pub is_shared: bool,
}

/// What a GPU has of the product.
pub(super) struct Place {
    /// Rows and columns of C.
    pub block: [Range<usize>; 2],
    pub limit: u64,
    /// With whom it shares panels.
    pub groups: Ab<Group>,
}

impl Place {
    fn extents(&self) -> [usize; 2] {
        [self.block[0].len(), self.block[1].len()]
    }
}

impl<'a> Grid<'a> {
    /// All grids of so many GPUs, and ways to use them.
    pub fn all(limits: &'a [u64], may_share: bool) -> impl Iterator<Item = Self> {
        let gpus = limits.len();
        let ways = [false, true].into_iter().filter(move |is_shared| !is_shared || (may_share && gpus > 1));
        let rows = (1..=gpus).filter(move |rows| gpus.is_multiple_of(*rows));
        rows.flat_map(move |rows| ways.clone().map(move |is_shared| (rows, is_shared)))
            .map(move |(rows, is_shared)| Self { rows, columns: gpus / rows, limits, is_shared })
    }

    fn places(&self, problem: &Problem) -> Vec<Place> {
        let Self { rows, columns, limits, is_shared } = *self;
        let least = limits.iter().copied().min().unwrap_or(0);
        let place = |gpu: usize| {
            let [row, column] = [gpu / columns, gpu % columns];
            let of_row = Group { first: row * columns, step: 1, count: columns, own: column };
            let of_column = Group { first: column, step: columns, count: rows, own: row };
            Place {
                block: [share(problem.m, rows, row), share(problem.n, columns, column)],
                // GPUs that share have the same slots.
                limit: if is_shared { least } else { limits[gpu] },
                groups: if is_shared { Ab { a: of_row, b: of_column } } else { Ab::both(Group::alone(gpu)) },
            }
        };
        (0..limits.len()).map(place).collect()
    }

    /// The best parts of the GPUs; `None` where the memory of one is too small.
    pub fn best(&self, search: &mut Search<'_>) -> Result<Option<Vec<Part>>, Error> {
        let places = self.places(search.problem);
        // Those that share have the shape that is best for the largest.
        let key = |place: &Place| if self.is_shared { ([0; 2], 0) } else { (place.extents(), place.limit) };
        let mut largest: Vec<&Place> = places.iter().collect();
        largest.sort_by_key(|place| std::cmp::Reverse(place.extents()));
        let mut shapes: HashMap<([usize; 2], u64), Shape> = HashMap::new();
        for place in largest {
            if let Entry::Vacant(entry) = shapes.entry(key(place)) {
                let Some(shape) = search.best(place)? else { return Ok(None) };
                entry.insert(shape);
            }
        }
        self.built(search, &places, |place| shapes[&key(place)])
    }

    /// The parts of GPUs that all have this shape; `None` where the memory of one is too small.
    pub fn of_shape(&self, search: &mut Search<'_>, shape: Shape) -> Result<Option<Vec<Part>>, Error> {
        let places = self.places(search.problem);
        self.built(search, &places, |_| shape)
    }

    /// The parts at these places. `None` where one has no room; or where GPUs that are to share panels have more tiles than others, which
    /// a vector more may make.
    fn built(
        &self,
        search: &mut Search<'_>,
        places: &[Place],
        shape: impl Fn(&Place) -> Shape,
    ) -> Result<Option<Vec<Part>>, Error> {
        let mut counts = Vec::with_capacity(places.len());
        let mut parts = Vec::with_capacity(places.len());
        for place in places {
            let (built, count) = search.built(place, shape(place))?;
            if built.part.memory_bytes() > place.limit {
                return Ok(None);
            }
            counts.push(count);
            parts.push(built);
        }
        if self.is_shared && counts.iter().any(|count| *count != counts[0]) {
            return Ok(None);
        }
        Ok(Some(join(parts)))
    }
}

/// The elements of a dimension that one of `count` GPUs has: equal, but for a vector.
fn share(extent: usize, count: usize, index: usize) -> Range<usize> {
    let vectors = extent.div_ceil(VECTOR);
    let first = |index: usize| (vectors * index / count * VECTOR).min(extent);
    first(index)..first(index + 1)
}

/// Shares begin at a multiple of so many elements: a vector load of 16-bit ones.
const VECTOR: usize = 8;
