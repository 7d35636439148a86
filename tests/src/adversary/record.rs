//! Found inputs as lines of text: kernel, window, c, and the bits of the row and the column in hexadecimal.

use std::fmt::{self, Display, Formatter};

use super::{Arithmetic, Found, Window};

/// What was found, and of what.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// The kernel that errs.
    pub arithmetic: Arithmetic,
    /// The binades that the row and the column may span.
    pub window: Window,
    /// The inputs.
    pub found: Found,
}

impl Record {
    /// From a line; `None` where it is none.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let fields: Vec<&str> = line.split(' ').collect();
        let [slug, window, c, row, column] = fields[..] else { return None };
        let numbers = |text: &str| {
            let bits = text.split(',').map(|bits| u32::from_str_radix(bits, 16).ok());
            bits.map(|bits| bits.map(f32::from_bits)).collect::<Option<Vec<f32>>>()
        };
        Some(Self {
            arithmetic: Arithmetic::find(slug)?,
            window: if window == "any" { None } else { Some(window.parse().ok()?) },
            found: Found { row: numbers(row)?, column: numbers(column)?, c: c.parse().ok()? },
        })
    }
}

impl Display for Record {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let bits = |numbers: &[f32]| numbers.iter().map(|x| format!("{:x}", x.to_bits())).collect::<Vec<_>>().join(",");
        let window = self.window.map_or_else(|| "any".to_owned(), |window| window.to_string());
        let Found { row, column, c } = &self.found;
        write!(f, "{} {window} {c:.6} {} {}", self.arithmetic.slug(), bits(row), bits(column))
    }
}
