//! Which panel is where in the GPU's memory: known ahead, since the order of products is.

use std::collections::HashMap;

use crate::plan::Preparation;

/// Slots of one operand's panels. A panel that is needed and not there takes the slot of the one whose next use is farthest away, which
/// is the least that can be loaded (Belady's rule). Of those that are not used again, it takes the one that was used first: its slot
/// is free soonest.
pub(super) struct Slots {
    slots: Vec<Slot>,
    /// By panel: when it is used, the last use first.
    uses: HashMap<usize, Vec<usize>>,
    /// The slot of the use before.
    last: Option<usize>,
}

/// A slot and its panel.
#[derive(Default)]
pub(super) struct Slot {
    panel: Option<usize>,
    used: Option<usize>,
    /// What brings the panel: the last task of each queue, until one of the compute queue has waited for them.
    pub arriving: Vec<usize>,
    /// The number of the load that brought it.
    pub load: Option<usize>,
    /// The last task that read it.
    pub read_by: Option<usize>,
    /// How the panel was prepared.
    pub prepared: Option<Preparation>,
}

impl Slots {
    /// So many slots, at least 1, for panels that are used in that order.
    pub fn new(count: usize, order: &[usize]) -> Self {
        let mut uses: HashMap<usize, Vec<usize>> = HashMap::new();
        for (time, panel) in order.iter().enumerate().rev() {
            uses.entry(*panel).or_default().push(time);
        }
        Self { slots: (0..count.max(1)).map(|_| Slot::default()).collect(), uses, last: None }
    }

    /// The next use, of this panel: its slot, and whether it is to be loaded there.
    pub fn take(&mut self, panel: usize) -> (usize, bool) {
        let time = self.uses.get_mut(&panel).and_then(Vec::pop);
        let there = self.slots.iter().position(|slot| slot.panel == Some(panel));
        let index = there.unwrap_or_else(|| self.victim());
        let slot = &mut self.slots[index];
        if there.is_none() {
            *slot = Slot { panel: Some(panel), read_by: slot.read_by, load: slot.load, ..Slot::default() };
        }
        slot.used = time;
        self.last = Some(index);
        (index, there.is_none())
    }

    pub fn slot(&mut self, index: usize) -> &mut Slot {
        &mut self.slots[index]
    }

    /// The slot to be overwritten: not the one that is being read, if there is another one.
    fn victim(&self) -> usize {
        let next = |slot: &Slot| slot.panel.and_then(|panel| self.uses.get(&panel)?.last().copied());
        let key = |index: &usize| {
            let slot = &self.slots[*index];
            let age = usize::MAX - slot.used.unwrap_or(0);
            (slot.panel.is_none(), Some(*index) != self.last, next(slot).unwrap_or(usize::MAX), age)
        };
        (0..self.slots.len()).max_by_key(key).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Panels that are loaded, in their order.
    fn loads(count: usize, order: &[usize]) -> Vec<usize> {
        let mut slots = Slots::new(count, order);
        order.iter().copied().filter(|panel| slots.take(*panel).1).collect()
    }

    #[test]
    fn panels_stay_as_long_as_they_are_of_use() {
        assert_eq!(loads(3, &[0, 1, 2, 0, 1, 2]), [0, 1, 2]);
        // Forward and back: the last two are still there.
        assert_eq!(loads(2, &[0, 1, 2, 2, 1, 0]), [0, 1, 2, 0]);
        assert_eq!(loads(1, &[0, 0, 1, 1, 0]), [0, 1, 0]);
    }

    #[test]
    fn the_slot_that_is_free_soonest_is_taken() {
        let order = [0, 1, 2, 3];
        let mut slots = Slots::new(3, &order);
        let taken = order.map(|panel| slots.take(panel).0);
        assert_eq!(taken[3], taken[0]);
    }
}
