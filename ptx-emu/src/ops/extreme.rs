//! Minimum and maximum of one lane, with every modifier. PTX ISA, "min" and "max".

/// The modifiers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Extreme {
    pub is_min: bool,
    /// `.NaN`: the result is NaN if any operand is.
    pub nan: bool,
    /// `.abs`: of the absolute values.
    pub abs: bool,
    /// `.xorsign`: the result's sign is the XOR of the signs.
    pub xorsign: bool,
}

impl Extreme {
    /// Of two numbers, -0 below +0.
    pub(crate) fn of(self, a: f64, b: f64) -> f64 {
        let negative = a.is_sign_negative() != b.is_sign_negative();
        let (a, b) = if self.abs { (a.abs(), b.abs()) } else { (a, b) };
        let less = a < b || a == b && a.is_sign_negative();
        let result = match (a.is_nan(), b.is_nan()) {
            (false, false) if less == self.is_min => a,
            (false, false) => b,
            (true, false) if !self.nan => b,
            (false, true) if !self.nan => a,
            _ => f64::NAN,
        };
        match self.xorsign && !result.is_nan() {
            true if negative => -result.abs(),
            true => result.abs(),
            false => result,
        }
    }

    /// Of three numbers.
    pub(crate) fn of_three(self, a: f64, b: f64, c: f64) -> f64 {
        self.of(self.of(a, b), c)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modifiers() {
        let min = Extreme { is_min: true, nan: false, abs: false, xorsign: false };
        let max = Extreme { is_min: false, ..min };
        assert!(min.of(0.0, -0.0).is_sign_negative() && min.of(-0.0, 0.0).is_sign_negative());
        assert!(max.of(0.0, -0.0).is_sign_positive() && max.of(-0.0, 0.0).is_sign_positive());
        assert_eq!(min.of(f64::NAN, 2.0), 2.0);
        assert!(Extreme { nan: true, ..min }.of(f64::NAN, 2.0).is_nan());
        let xorsign = Extreme { abs: true, xorsign: true, ..min };
        assert_eq!([xorsign.of(5.0, -3.0), xorsign.of(-5.0, -3.0), xorsign.of(5.0, 3.0)], [-3.0, 3.0, 3.0]);
        assert_eq!(max.of_three(1.0, f64::NAN, 3.0), 3.0);
    }
}
