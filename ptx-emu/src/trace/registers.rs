//! The registers of a warp by name, as steps write them.

use super::step::RegisterWrite;

/// Lanes of a warp.
const LANES: usize = 32;

/// Values of a warp's registers, by register.
#[derive(Debug, Clone, Default)]
pub(crate) struct RegisterFile(Vec<Values>);

/// A register's value in each lane.
#[derive(Debug, Clone, Default)]
struct Values {
    /// Lanes that have written it.
    defined: u32,
    /// Words of a lane, lane by lane; empty until the first write.
    words: Vec<u32>,
}

impl RegisterFile {
    /// A lane's value of a register, if it has one.
    pub(crate) fn get(&self, register: u32, lane: u32) -> Option<u128> {
        let values = self.0.get(register as usize).filter(|values| lane < 32 && values.defined >> lane & 1 != 0)?;
        let words = values.words.len() / LANES;
        let words = &values.words[lane as usize * words..][..words];
        Some(words.iter().rev().fold(0, |value, word| value << 32 | u128::from(*word)))
    }

    /// Writes a register in these lanes; `after` has their words, lane by lane. Returns what changed.
    pub(crate) fn write(&mut self, register: u32, lanes: u32, after: Vec<u32>) -> RegisterWrite {
        let words = after.len() / (lanes.count_ones().max(1) as usize);
        let values = self.values(register, words);
        let first = lanes & !values.defined;
        let before = each(lanes).flat_map(|lane| values.words[lane * words..][..words].iter().copied()).collect();
        let write = RegisterWrite { register, lanes, first, before, after: after.into() };
        self.redo(&write);
        write
    }

    /// Does a write again.
    pub(crate) fn redo(&mut self, write: &RegisterWrite) {
        let values = self.values(write.register, write.words());
        values.put(write.lanes, &write.after);
        values.defined |= write.lanes;
    }

    /// Takes a write back.
    pub(crate) fn undo(&mut self, write: &RegisterWrite) {
        let values = self.values(write.register, write.words());
        values.put(write.lanes, &write.before);
        values.defined &= !write.first;
    }

    fn values(&mut self, register: u32, words: usize) -> &mut Values {
        let index = register as usize;
        if self.0.len() <= index {
            self.0.resize_with(index + 1, Values::default);
        }
        let values = &mut self.0[index];
        if values.words.is_empty() {
            values.words = vec![0; words * LANES];
        }
        values
    }
}

impl Values {
    fn put(&mut self, lanes: u32, from: &[u32]) {
        let words = self.words.len() / LANES;
        for (lane, from) in each(lanes).zip(from.chunks(words.max(1))) {
            self.words[lane * words..][..words].copy_from_slice(from);
        }
    }
}

/// The lanes of a mask.
fn each(lanes: u32) -> impl Iterator<Item = usize> {
    (0..LANES).filter(move |lane| lanes >> lane & 1 != 0)
}
