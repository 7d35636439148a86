//! What was made last, to be used again.

/// How many are kept.
const MOST: usize = 4;

/// The last values that were asked for, by their keys.
pub struct Recent<K, V> {
    /// The last one last.
    entries: Vec<(K, V)>,
}

impl<K, V> Default for Recent<K, V> {
    fn default() -> Self {
        Self { entries: Vec::with_capacity(MOST) }
    }
}

impl<K: PartialEq, V> Recent<K, V> {
    /// The value of a key, which is made where it is not among the last ones. The one that was not asked for for longest goes then.
    pub fn get<E>(&mut self, key: K, make: impl FnOnce() -> Result<V, E>) -> Result<&mut V, E> {
        let entry = match self.entries.iter().position(|(known, _)| *known == key) {
            Some(index) => self.entries.remove(index),
            None => (key, make()?),
        };
        if self.entries.len() == MOST {
            self.entries.remove(0);
        }
        let last = self.entries.len();
        self.entries.push(entry);
        Ok(&mut self.entries[last].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ones_are_kept() {
        let mut recent = Recent::default();
        let mut made = Vec::new();
        for key in [1, 2, 3, 4, 1, 5, 1, 2, 5] {
            let value = recent.get(key, || {
                made.push(key);
                Ok::<_, ()>(key * 10)
            });
            assert_eq!(value, Ok(&mut (key * 10)));
        }
        // 5 took the place of 2, and 2 that of 3.
        assert_eq!(made, [1, 2, 3, 4, 5, 2]);
        assert_eq!(recent.get(7, || Err("no")), Err("no"));
        assert_eq!(recent.get(4, || Err("kept")), Ok(&mut 40));
    }
}
