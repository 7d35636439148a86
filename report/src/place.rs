//! Where labels go, so that none lies on another.

use crate::canvas::{Anchor, Area, Type};

/// Moves places as little as possible, such that adjacent ones are `gap` apart and all lie between `least` and `most`, if there
/// is room. The order stays.
pub(crate) fn spread(places: &[f64], gap: f64, least: f64, most: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_by(|a, b| places[*a].total_cmp(&places[*b]));
    // Groups of places that touch: how many, and the middle of where they want to be.
    let mut groups: Vec<(f64, usize)> = Vec::new();
    for &i in &order {
        groups.push((places[i], 1));
        while let [.., (above, n), (below, m)] = groups[..] {
            let half = |count: usize| gap * (count - 1) as f64 / 2.0;
            if below - half(m) - (above + half(n)) >= gap {
                break;
            }
            let middle = (above * n as f64 + below * m as f64) / (n + m) as f64;
            groups.truncate(groups.len() - 2);
            groups.push((middle, n + m));
        }
    }
    let mut sorted: Vec<f64> = Vec::new();
    for (middle, count) in groups {
        let first = middle - gap * (count - 1) as f64 / 2.0;
        sorted.extend((0..count).map(|i| first + gap * i as f64));
    }
    let mut bound = least;
    for y in &mut sorted {
        *y = y.max(bound);
        bound = *y + gap;
    }
    let mut bound = most;
    for y in sorted.iter_mut().rev() {
        *y = y.min(bound);
        bound = *y - gap;
    }
    let mut result = vec![0.0; places.len()];
    order.iter().zip(sorted).for_each(|(&i, y)| result[i] = y);
    result
}

/// Finds free places for texts around points.
#[derive(Debug)]
pub(crate) struct Placer {
    taken: Vec<Area>,
    bounds: Area,
}

/// A text's place: x and y of its middle line, and its end.
pub(crate) type Place = (f64, f64, Anchor);

impl Placer {
    /// Texts stay within `bounds`.
    pub(crate) fn new(bounds: Area) -> Self {
        Self { taken: Vec::new(), bounds }
    }

    /// Nothing may be put there.
    pub(crate) fn block(&mut self, area: Area) {
        self.taken.push(area);
    }

    /// The nearest place to a point that is free, if there is one.
    pub(crate) fn put(&mut self, [x, y]: [f64; 2], look: Type, text: &str) -> Option<Place> {
        const DIRECTIONS: [(f64, f64, Anchor); 8] = [
            (1.0, 0.0, Anchor::Start),
            (0.0, -1.1, Anchor::Middle),
            (-1.0, 0.0, Anchor::End),
            (0.0, 1.1, Anchor::Middle),
            (0.8, -0.8, Anchor::Start),
            (-0.8, -0.8, Anchor::End),
            (0.8, 0.8, Anchor::Start),
            (-0.8, 0.8, Anchor::End),
        ];
        for distance in [9.0, 13.0, 18.0, 25.0, 34.0, 45.0, 58.0, 74.0, 92.0, 115.0, 140.0] {
            for (dx, dy, anchor) in DIRECTIONS {
                let (left, middle) = (x + dx * distance, y + dy * (distance + 1.0));
                let area = look.area(left, middle, anchor, text);
                // A little room on both sides: adjacent texts would read as one.
                let area = Area { left: area.left - 2.0, right: area.right + 2.0, ..area };
                if self.is_free(&area) {
                    self.taken.push(area);
                    return Some((left, middle, anchor));
                }
            }
        }
        None
    }

    /// Whether a text may be put there.
    pub(crate) fn is_free(&self, area: &Area) -> bool {
        let bounds = &self.bounds;
        let is_inside = area.left >= bounds.left
            && area.right <= bounds.right
            && area.top >= bounds.top
            && area.bottom <= bounds.bottom;
        is_inside && !self.taken.iter().any(|taken| taken.overlaps(area))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adjacent_places_keep_their_distance_and_order() {
        assert_eq!(spread(&[10.0, 50.0], 10.0, 0.0, 100.0), [10.0, 50.0]);
        assert_eq!(spread(&[52.0, 50.0, 0.0], 10.0, 0.0, 100.0), [56.0, 46.0, 0.0]);
        assert_eq!(spread(&[98.0, 99.0], 10.0, 0.0, 100.0), [90.0, 100.0]);
    }

    #[test]
    fn a_text_avoids_others() {
        let look = Type { size: 12.0, class: "" };
        let mut placer = Placer::new(Area { left: 0.0, top: 0.0, right: 300.0, bottom: 300.0 });
        let areas: Vec<_> = (0..8)
            .filter_map(|_| placer.put([150.0, 150.0], look, "label"))
            .map(|(x, y, anchor)| look.area(x, y, anchor, "label"))
            .collect();
        assert_eq!(areas.len(), 8);
        assert!(areas.iter().enumerate().all(|(i, a)| areas[..i].iter().all(|b| !a.overlaps(b))));
    }
}
