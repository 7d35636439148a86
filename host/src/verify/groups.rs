//! Rows or columns in random groups with random weights: C summed up over them is far fewer numbers, in which a wrong element shows.

use std::ops::Range;

use rand::seq::SliceRandom;
use rand::{Rng, RngExt};
use rayon::prelude::*;

use crate::Matrix;

/// Multiply-adds that the sums over groups of one side may cost: about a quarter of a second on a core.
const WORK: u64 = 1 << 31;

/// The fewest groups, whatever they cost, and the fewest elements of one where there are more groups.
const MIN_GROUPS: usize = 32;
const MIN_ELEMENTS: usize = 4;

/// The largest weight; the smallest is 1, so that none makes an error smaller.
const MAX_WEIGHT: f64 = 1.5;

/// A number and its weight.
type Member = (u32, f32);

/// The numbers below a count, each in one group.
#[derive(Debug)]
pub(super) struct Groups(Vec<Vec<Member>>);

impl Groups {
    /// Deals out the numbers at random, where each group costs so many multiply-adds.
    pub(super) fn new(count: u32, cost: u64, rng: &mut impl Rng) -> Self {
        let affordable = usize::try_from(WORK / cost.max(1)).unwrap_or(usize::MAX);
        let groups = affordable.min(count as usize / MIN_ELEMENTS).max(MIN_GROUPS).min(count as usize);
        let mut numbers: Vec<u32> = (0..count).collect();
        numbers.shuffle(rng);
        let mut members = vec![Vec::new(); groups];
        for (place, number) in numbers.into_iter().enumerate() {
            let weight = 1.0 + (MAX_WEIGHT as f32 - 1.0) * rng.random::<f32>();
            members[place % groups].push((number, if rng.random() { weight } else { -weight }));
        }
        // In the order of memory.
        members.iter_mut().for_each(|group| group.sort_unstable_by_key(|(number, _)| *number));
        Self(members)
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Each group's numbers with their weights.
    pub(super) fn iter(&self) -> impl Iterator<Item = impl Iterator<Item = (usize, f64)>> {
        self.0.iter().map(|group| members(group))
    }

    /// The same, in parallel.
    pub(super) fn par_iter(&self) -> impl IndexedParallelIterator<Item = impl Iterator<Item = (usize, f64)>> {
        self.0.par_iter().map(|group| members(group))
    }

    /// Sums over groups of columns, of these rows: rows x groups.
    pub(super) fn of_columns(&self, matrix: &Matrix, rows: Range<usize>) -> Vec<f64> {
        let sums = |row: usize| {
            let row = matrix.row(row);
            self.iter().map(|group| group.map(|(column, weight)| weight * f64::from(row[column])).sum())
        };
        rows.into_par_iter().flat_map_iter(sums).collect()
    }

    /// Sums over groups of rows, of these columns: groups x columns.
    pub(super) fn of_rows(&self, matrix: &Matrix, columns: &Range<usize>) -> Vec<f64> {
        let sums = |group: &Vec<Member>| {
            let mut sums = vec![0.0; columns.len()];
            for (row, weight) in members(group) {
                let row = &matrix.row(row)[columns.clone()];
                sums.iter_mut().zip(row).for_each(|(sum, &element)| *sum += weight * f64::from(element));
            }
            sums
        };
        self.0.par_iter().flat_map_iter(sums).collect()
    }
}

fn members(group: &[Member]) -> impl Iterator<Item = (usize, f64)> {
    group.iter().map(|&(number, weight)| (number as usize, f64::from(weight)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use rand::{SeedableRng, rngs::SmallRng};

    use super::*;

    fn groups(count: u32, cost: u64, seed: u64) -> Groups {
        Groups::new(count, cost, &mut SmallRng::seed_from_u64(seed))
    }

    #[test]
    fn each_number_is_in_one_group_and_no_weight_is_small() {
        for (count, cost, expected) in [(0, 1, 0), (1, 1, 1), (31, 1, 31), (4000, 1, 1000), (4000, 1 << 40, 32)] {
            let groups = groups(count, cost, 1);
            assert_eq!(groups.len(), expected);
            let numbers: Vec<_> = groups.iter().flatten().collect();
            assert!(numbers.iter().all(|(_, weight)| (1.0..=MAX_WEIGHT).contains(&weight.abs())));
            let numbers: Vec<_> = numbers.into_iter().map(|(number, _)| number).collect();
            assert_eq!(numbers.len(), count as usize);
            assert!(numbers.into_iter().collect::<BTreeSet<_>>().into_iter().eq(0..count as usize));
            let sizes: BTreeSet<_> = groups.iter().map(|group| group.count()).collect();
            assert!(sizes.len() <= 2, "they are equally large: {sizes:?}");
        }
        // Neighbours are apart, and other seeds deal otherwise.
        let of = |seed| groups(4000, 1 << 40, seed).iter().map(|group| group.map(|(n, _)| n).collect()).collect();
        let [one, other]: [Vec<Vec<usize>>; 2] = [of(1), of(2)];
        assert!(one != other && one.iter().all(|group| group.windows(2).any(|pair| pair[1] - pair[0] > 32)));
    }
}
