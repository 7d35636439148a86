//! What `printf` of a kernel prints: C's formats, with arguments as CUDA's `vprintf` finds them in memory, each at a multiple of its size.

use std::iter::Peekable;
use std::str::Chars;
use std::sync::PoisonError;

use super::state::{Grid, Warp};
use crate::lanes::{LANES, Mask, lanes_of};
use crate::memory::window::resolve;
use crate::program::Print;
use crate::types::Space;

/// Bytes of a launch's text, beyond which no more is kept: as much as CUDA's buffer has.
const MAX_OUTPUT: usize = 1 << 20;

/// Appends what a call prints to the launch's text, lane by lane.
pub(super) fn print(grid: &Grid<'_>, warp: &Warp, print: &Print, mask: Mask) {
    let formats: [u64; LANES] = warp.registers.read(print.format);
    let arguments: [u64; LANES] = warp.registers.read(print.arguments);
    let mut output = grid.output.lock().unwrap_or_else(PoisonError::into_inner);
    for lane in lanes_of(mask) {
        let read = |offset: u64, bytes: u32| match resolve(arguments[lane].wrapping_add(offset)) {
            (Space::Local, at) => {
                let local = grid.program.local_bytes as usize;
                let own = warp.local.get(lane * local..(lane + 1) * local).unwrap_or_default();
                let bytes = own.get(at as usize..).and_then(|own| own.get(..bytes as usize)).unwrap_or_default();
                bytes.iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte))
            }
            (_, at) => {
                let mut found = [0; 8];
                let is_there = grid.memory.read_into(at, &mut found[..bytes as usize]);
                if is_there { u64::from_le_bytes(found) } else { 0 }
            }
        };
        let text = format(&grid.memory.text(formats[lane]), read, |address| grid.memory.text(address));
        if output.len() + text.len() <= MAX_OUTPUT {
            output.push_str(&text);
        }
    }
}

/// Characters that a width or precision adds at most.
const MAX_WIDTH: usize = 1000;

/// The arguments of a call, one after the other.
struct Arguments<F> {
    /// Bytes from an offset on, as a number.
    read: F,
    offset: u64,
}

impl<F: Fn(u64, u32) -> u64> Arguments<F> {
    fn next(&mut self, bytes: u32) -> u64 {
        let at = self.offset.next_multiple_of(bytes.into());
        self.offset = at + u64::from(bytes);
        (self.read)(at, bytes)
    }
}

/// A conversion: `%-08.3lf`.
#[derive(Default)]
struct Conversion {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zeros: bool,
    width: usize,
    precision: Option<usize>,
    is_long: bool,
}

/// The text of one call: `read` gives so many bytes of the arguments from an offset on, and `text` what lies at an address.
pub(super) fn format(format: &str, read: impl Fn(u64, u32) -> u64, text: impl Fn(u64) -> String) -> String {
    let mut arguments = Arguments { read, offset: 0 };
    let mut out = String::new();
    let mut rest = format.chars().peekable();
    while let Some(c) = rest.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let conversion = Conversion::parse(&mut rest, &mut arguments);
        match rest.next() {
            Some('%') => out.push('%'),
            Some(kind) => out += &conversion.apply(kind, &mut arguments, &text),
            None => {}
        }
    }
    out
}

impl Conversion {
    fn parse<F: Fn(u64, u32) -> u64>(rest: &mut Peekable<Chars<'_>>, arguments: &mut Arguments<F>) -> Self {
        let mut it = Self::default();
        while let Some(flag) = rest.next_if(|c| "-+ #0".contains(*c)) {
            match flag {
                '-' => it.left = true,
                '+' => it.plus = true,
                ' ' => it.space = true,
                '#' => it.alternate = true,
                _ => it.zeros = true,
            }
        }
        let mut number = |rest: &mut Peekable<Chars<'_>>| {
            if rest.next_if_eq(&'*').is_some() {
                return arguments.next(4) as i32 as i64;
            }
            let mut number = 0_i64;
            while let Some(digit) = rest.next_if(char::is_ascii_digit) {
                number = number.saturating_mul(10).saturating_add(digit.to_digit(10).unwrap_or_default().into());
            }
            number
        };
        let width = number(rest);
        it.left |= width < 0;
        it.width = (width.unsigned_abs() as usize).min(MAX_WIDTH);
        if rest.next_if_eq(&'.').is_some() {
            it.precision = usize::try_from(number(rest)).ok().map(|digits| digits.min(MAX_WIDTH));
        }
        while let Some(length) = rest.next_if(|c| "hlLqjzt".contains(*c)) {
            it.is_long |= length != 'h';
        }
        it
    }

    fn apply<F: Fn(u64, u32) -> u64>(
        &self,
        kind: char,
        arguments: &mut Arguments<F>,
        text: impl Fn(u64) -> String,
    ) -> String {
        let mut integer = || if self.is_long { arguments.next(8) } else { arguments.next(4) };
        match kind {
            'd' | 'i' => {
                let value = if self.is_long { integer() as i64 } else { integer() as i32 as i64 };
                self.number(
                    self.sign(value < 0),
                    &self.digits(value.unsigned_abs().to_string()),
                    self.precision.is_none(),
                )
            }
            'u' => self.number("", &self.digits(integer().to_string()), self.precision.is_none()),
            'x' | 'X' | 'o' => {
                let value = integer();
                let (digits, prefix) = match kind {
                    'x' => (format!("{value:x}"), "0x"),
                    'X' => (format!("{value:X}"), "0X"),
                    _ => (format!("{value:o}"), "0"),
                };
                let prefix = if self.alternate && value != 0 { prefix } else { "" };
                self.number(prefix, &self.digits(digits), self.precision.is_none())
            }
            'p' => self.padded(format!("{:#x}", arguments.next(8))),
            'c' => self.padded(char::from(arguments.next(4) as u8).to_string()),
            's' => {
                let text = text(arguments.next(8));
                self.padded(text.chars().take(self.precision.unwrap_or(usize::MAX)).collect())
            }
            'f' | 'F' | 'e' | 'E' | 'g' | 'G' => {
                let value = f64::from_bits(arguments.next(8));
                let digits = self.float(value.abs(), kind.to_ascii_lowercase());
                let digits = if kind.is_ascii_uppercase() { digits.to_uppercase() } else { digits };
                self.number(self.sign(value.is_sign_negative()), &digits, value.is_finite())
            }
            other => format!("%{other}"),
        }
    }

    fn sign(&self, is_negative: bool) -> &'static str {
        match (is_negative, self.plus, self.space) {
            (true, ..) => "-",
            (_, true, _) => "+",
            (.., true) => " ",
            _ => "",
        }
    }

    /// Digits of an integer, as many as the precision asks for.
    fn digits(&self, digits: String) -> String {
        format!("{digits:0>width$}", width = self.precision.unwrap_or(1))
    }

    /// A sign or prefix and digits, with zeros between them where they are asked for.
    fn number(&self, sign: &str, digits: &str, may_have_zeros: bool) -> String {
        if self.zeros && !self.left && may_have_zeros {
            let width = self.width.saturating_sub(sign.len());
            return format!("{sign}{digits:0>width$}");
        }
        self.padded(format!("{sign}{digits}"))
    }

    fn padded(&self, text: String) -> String {
        let width = self.width;
        if self.left { format!("{text:<width$}") } else { format!("{text:>width$}") }
    }

    /// The digits of a number that is not negative.
    fn float(&self, value: f64, kind: char) -> String {
        if value.is_nan() {
            return "nan".to_owned();
        }
        if value.is_infinite() {
            return "inf".to_owned();
        }
        let precision = self.precision.unwrap_or(6);
        match kind {
            'f' => format!("{value:.precision$}"),
            'e' => scientific(value, precision),
            _ => {
                // C's rule: as %e where the exponent is below -4, or not below the precision.
                let significant = precision.max(1);
                let exponential = scientific(value, significant - 1);
                let exponent: i32 =
                    exponential.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0);
                let digits = if (-4..significant as i32).contains(&exponent) {
                    format!("{value:.digits$}", digits = (significant as i32 - 1 - exponent).max(0) as usize)
                } else {
                    exponential
                };
                if self.alternate { digits } else { without_zeros(&digits) }
            }
        }
    }
}

/// `1.5e+00`: Rust's has no sign of the exponent, and as few digits as it needs.
fn scientific(value: f64, precision: usize) -> String {
    let text = format!("{value:.precision$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |exponent| ('-', exponent));
    format!("{digits}e{sign}{exponent:0>2}")
}

/// Without zeros at the end of the fraction.
fn without_zeros(digits: &str) -> String {
    let (digits, exponent) = digits.split_at(digits.find('e').unwrap_or(digits.len()));
    let digits = if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits };
    format!("{digits}{exponent}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text that glibc's `printf` gives for the same.
    #[test]
    fn conversions_are_those_of_c() {
        let of = |text: &str, arguments: &[u8]| {
            let read = |at: u64, bytes: u32| {
                let bytes = &arguments[at as usize..][..bytes as usize];
                bytes.iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte))
            };
            format(text, read, |_| "text".to_owned())
        };
        let integer = |text: &str, value: i32| of(text, &value.to_le_bytes());
        let double = |text: &str, value: f64| of(text, &value.to_le_bytes());
        assert_eq!(of("100%%\n", &[]), "100%\n");
        assert_eq!(
            integer("%d|", -5) + &integer("%5d|", 42) + &integer("%-5d|", 42) + &integer("%05d|", -42),
            "-5|   42|42   |-0042|"
        );
        assert_eq!(integer("%+d", 7) + &integer(" % .3d", 7), "+7  007");
        assert_eq!(integer("%x %", -1), "ffffffff ");
        assert_eq!(
            integer("%#X", 255) + &integer("%o", 8) + &integer("%u", -1) + &integer("%c", 65),
            "0XFF104294967295A"
        );
        assert_eq!(of("%d %ld", &[7, 0, 0, 0, 9, 9, 9, 9, 1, 0, 0, 0, 1, 0, 0, 0]), "7 4294967297");
        assert_eq!(of("%*d", &[4, 0, 0, 0, 7, 0, 0, 0]), "   7");
        assert_eq!(of("%s %.2s", &[0; 16]), "text te");
        assert_eq!(double("%f", 1.5) + &double(" %.2f", -0.126) + &double(" %8.1f|", 3.25), "1.500000 -0.13      3.2|");
        assert_eq!(double("%e", 12345.678) + &double(" %.1E", 1.5e-100), "1.234568e+04 1.5E-100");
        assert_eq!(
            double("%g", 0.0001) + &double(" %g", 1e-5) + &double(" %g", 1e6) + &double(" %g", 123456.0),
            "0.0001 1e-05 1e+06 123456"
        );
        assert_eq!(double("%g", 0.0) + &double(" %g", f64::INFINITY) + &double(" %05.1f", -2.25), "0 inf -02.2");
    }
}
