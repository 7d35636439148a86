//! Hill climbing: 15 mutants of a row and of a column at a time, and of their 256 products the worst.

use std::array;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::{Arithmetic, SIDE};
use crate::grading::{Case, grade};

/// Steps without an improvement after which a climb begins anew.
const PATIENCE: usize = 200;

/// The binades that the nonzero elements of a row or column may span, zeros apart; none for any number of f32.
pub type Window = Option<u8>;

/// A row and a column, and how far their product errs.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// A row of A.
    pub row: Vec<f32>,
    /// A column of B.
    pub column: Vec<f32>,
    /// The c that the guarantee of the class fp32 would need.
    pub c: f64,
}

impl Found {
    /// The product, as 1 x 1 x k.
    #[must_use]
    pub fn case(&self) -> Case {
        Case::product([1, 1, self.row.len()], self.row.clone(), self.column.clone())
    }
}

/// The worst that so many steps find, from a seed.
#[must_use]
pub fn search(arithmetic: Arithmetic, k: usize, window: Window, steps: usize, seed: u64) -> Found {
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut worst: Option<Found> = None;
    let mut climb = start(&mut rng, k, window);
    let mut idle = 0;
    for _ in 0..steps {
        let found = step(&mut rng, arithmetic, window, &climb);
        idle = if found.c > climb.c { 0 } else { idle + 1 };
        // Equals too: plateaus lead on.
        if found.c >= climb.c {
            climb = found;
        }
        if worst.as_ref().is_none_or(|worst| climb.c > worst.c) {
            worst = Some(climb.clone());
        }
        if idle > PATIENCE {
            (climb, idle) = (start(&mut rng, k, window), 0);
        }
    }
    worst.unwrap_or(climb)
}

/// Where a climb begins: elements of one binade, of all of the window, or a large product and many small ones.
fn start(rng: &mut SmallRng, k: usize, window: Window) -> Found {
    let kind = rng.random_range(0..3);
    let width = i32::from(window.unwrap_or(40));
    let vector = |rng: &mut SmallRng| {
        let vector = (0..k).map(|p| {
            let exponent = match kind {
                0 => 0,
                1 => -rng.random_range(0..width),
                _ => {
                    if p == 0 {
                        0
                    } else {
                        -rng.random_range((width / 2).min(11)..width.min(15))
                    }
                }
            };
            element(rng, exponent)
        });
        vector.collect()
    };
    Found { row: vector(rng), column: vector(rng), c: 0.0 }
}

/// The worst product of mutants.
fn step(rng: &mut SmallRng, arithmetic: Arithmetic, window: Window, climb: &Found) -> Found {
    let rows: [_; SIDE] = array::from_fn(|i| mutant(rng, &climb.row, window, i == 0));
    let columns: [_; SIDE] = array::from_fn(|i| mutant(rng, &climb.column, window, i == 0));
    let c = arithmetic.multiply(&rows, &columns);
    let mut worst: Option<Found> = None;
    for (row, c) in rows.iter().zip(&c) {
        for (column, &computed) in columns.iter().zip(c) {
            let mut found = Found { row: row.clone(), column: column.clone(), c: 0.0 };
            found.c = grade(&found.case(), &[computed]);
            if worst.as_ref().is_none_or(|worst| found.c > worst.c) {
                worst = Some(found);
            }
        }
    }
    worst.unwrap_or_else(|| climb.clone())
}

/// A vector with one to three elements changed, or as it is.
fn mutant(rng: &mut SmallRng, vector: &[f32], window: Window, is_same: bool) -> Vec<f32> {
    let mut changed = vector.to_vec();
    for _ in 0..if is_same { 0 } else { rng.random_range(1..=3) } {
        let at = rng.random_range(0..vector.len());
        let x = changed[at];
        let bits = x.to_bits();
        changed[at] = match rng.random_range(0..8) {
            0 => {
                let exponent = -rng.random_range(0..i32::from(window.unwrap_or(40)));
                element(rng, exponent)
            }
            1 => -x,
            2 => x * 2.0,
            3 => x / 2.0,
            4 => f32::from_bits(bits ^ 1 << rng.random_range(0..23)),
            5 => f32::from_bits(bits.wrapping_add(rng.random_range(0..5)).wrapping_sub(2)),
            6 => f32::from_bits(bits & !0 << rng.random_range(0..23)),
            _ => changed[rng.random_range(0..vector.len())],
        };
    }
    if is_within(&changed, window) { changed } else { vector.to_vec() }
}

/// Whether all elements are finite, far from the ends of f32, and in the window.
fn is_within(vector: &[f32], window: Window) -> bool {
    let exponents = || vector.iter().filter(|x| **x != 0.0).map(|x| (x.to_bits() >> 23 & 0xff) as i32 - 127);
    let (Some(least), Some(most)) = (exponents().min(), exponents().max()) else { return false };
    least >= -50 && most < 48 && window.is_none_or(|window| most - least < i32::from(window))
}

/// A random number of an exponent.
fn element(rng: &mut SmallRng, exponent: i32) -> f32 {
    let magnitude = rng.random_range(1.0..2.0_f32) * 2f32.powi(exponent);
    if rng.random() { magnitude } else { -magnitude }
}
