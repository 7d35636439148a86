//! What memory is called in messages.

use crate::types::Type;

/// What an allocation is called in messages, and how its elements lie.
///
/// ```
/// use ptx_emu::{Label, Type};
///
/// let rows = Label::new(Type::F32, &[30, 416]);
/// assert_eq!(rows.element(4 * 5000), "element 5000 (row 12, column 8)");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// Its name; without one, it is the argument of the kernel that points to it.
    pub name: Option<String>,
    /// The type of its elements.
    pub ty: Type,
    /// Its extents in elements, the contiguous one last. That of a matrix with a leading dimension is the leading dimension.
    pub shape: Vec<u64>,
}

impl Label {
    /// Of elements of that type, without a name.
    #[must_use]
    pub fn new(ty: Type, shape: &[u64]) -> Self {
        Self { name: None, ty, shape: shape.to_vec() }
    }

    /// The same with a name.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.name = Some(name.to_owned());
        self
    }

    /// Which element is so many bytes behind the first, such as `element 5000 (row 12, column 8)`.
    #[must_use]
    pub fn element(&self, offset: u64) -> String {
        let size = u64::from(self.ty.bytes().max(1));
        let (element, rest) = (offset / size, offset % size);
        let within = if rest > 0 { format!("byte {rest} of ") } else { String::new() };
        let mut index = Vec::new();
        let mut above = element;
        for extent in self.shape.iter().skip(1).rev() {
            let extent = (*extent).max(1);
            index.push((above % extent).to_string());
            above /= extent;
        }
        index.push(above.to_string());
        index.reverse();
        let place = match &index[..] {
            [row, column] => format!(" (row {row}, column {column})"),
            [_, _, _, ..] => format!(" (index {})", index.join(", ")),
            _ => String::new(),
        };
        format!("{within}element {element}{place}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_have_the_place_that_the_shape_gives_them() {
        assert_eq!(Label::new(Type::F32, &[1000]).element(8), "element 2");
        assert_eq!(Label::new(Type::F16, &[8, 40]).element(2 * 45 + 1), "byte 1 of element 45 (row 1, column 5)");
        assert_eq!(Label::new(Type::F32, &[2, 3, 4]).element(4 * 23), "element 23 (index 1, 2, 3)");
        assert_eq!(Label::new(Type::F32, &[2, 0]).element(4), "element 1 (row 1, column 0)");
    }
}
