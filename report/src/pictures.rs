//! The pictures, one module each.

mod counted;
mod ladder;
mod occupancy;
mod precision;
mod roofline;
mod sizes;
mod traffic;

use crate::data::Data;
use crate::picture::{LeftOut, Picture};

/// Draws one, if there are figures for it.
type Draw = fn(&Data) -> Result<Picture, LeftOut>;

/// All of them, in the order of the page.
pub(crate) const ALL: [Draw; 6] =
    [ladder::picture, sizes::picture, precision::picture, roofline::picture, occupancy::picture, traffic::picture];
