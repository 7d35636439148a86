//! Numbers as people read them: one format for tables on the terminal, in Markdown and in HTML, and for pictures.

use serde::{Deserialize, Deserializer};

/// Three significant digits; whole numbers in groups of three digits from 1000 on, powers of ten below 10^-4, and a dash for
/// what is not finite.
///
/// ```
/// use results::format::significant;
///
/// assert_eq!([31413.4, 512.34, 5.678, 0.005678].map(significant), ["31 413", "512", "5.68", "0.00568"]);
/// ```
#[must_use]
pub fn significant(value: f64) -> String {
    if !value.is_finite() {
        return "-".to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    // The magnitude of what is shown: 99.96 is shown as 100.
    let rounded: f64 = format!("{value:.2e}").parse().unwrap_or(value);
    match rounded.abs().log10().floor() as i32 {
        3.. => format!("{}{}", if value < 0.0 { "-" } else { "" }, grouped(value.abs().round() as u64)),
        -4..=2 => format!("{value:.*}", (2 - rounded.abs().log10().floor() as i32) as usize),
        _ => format!("{value:.2e}"),
    }
}

/// At most three significant digits: [`significant`] without the zeros at the end.
#[must_use]
pub fn trimmed(value: f64) -> String {
    let text = significant(value);
    let (digits, exponent) = text.split_at(text.find('e').unwrap_or(text.len()));
    if !digits.contains('.') {
        return text;
    }
    format!("{}{exponent}", digits.trim_end_matches('0').trim_end_matches('.'))
}

/// Digits in groups of three.
#[must_use]
pub fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|group| std::str::from_utf8(group).ok()).collect();
    groups.join(" ")
}

/// A speed in TFLOPS, of one in GFLOPS: records have GFLOPS, people read TFLOPS.
#[must_use]
pub fn tflops(gflops: f64) -> String {
    significant(gflops / 1000.0)
}

/// A share in percent, to one decimal place.
#[must_use]
pub fn percent(value: f64) -> String {
    format!("{value:.1}")
}

/// A speed-up or another ratio, to two decimal places.
#[must_use]
pub fn times(value: f64) -> String {
    format!("{value:.2}")
}

/// An error: two significant digits and a power of ten.
#[must_use]
pub fn error(value: f64) -> String {
    format!("{value:.1e}")
}

/// A value as a text, or a dash where there is none.
#[must_use]
pub fn or_dash(value: Option<f64>, text: impl Fn(f64) -> String) -> String {
    value.map_or_else(|| "-".to_owned(), text)
}

/// Reads `null` as NaN: JSON has no other text for numbers that are not finite.
pub(crate) fn or_nan<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NAN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_are_significant() {
        let texts = [31413.4, 512.34, 99.96, 12.34, 5.678, 0.5678, 0.005678, 1.1e-6, 0.0, -1234.0].map(significant);
        let expected = ["31 413", "512", "100", "12.3", "5.68", "0.568", "0.00568", "1.10e-6", "0", "-1 234"];
        assert_eq!(texts, expected);
        assert_eq!([999.6, 9.996, f64::NAN].map(significant), ["1 000", "10.0", "-"]);
    }

    #[test]
    fn zeros_at_the_end_go_where_they_say_nothing() {
        let texts = [756_090.4, 500.0, 12.3, 20.0, 0.5, 1.1e-6, 1e-7, 0.05, 0.0, f64::NAN].map(trimmed);
        assert_eq!(texts, ["756 090", "500", "12.3", "20", "0.5", "1.1e-6", "1e-7", "0.05", "0", "-"]);
    }

    #[test]
    fn digits_are_grouped() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1 000", "1 234 567"]);
    }

    #[test]
    fn each_kind_of_figure_has_its_own_precision() {
        assert_eq!([tflops(51_234.0), tflops(713_400.0), tflops(482.5)], ["51.2", "713", "0.482"]);
        assert_eq!([percent(100.04), times(2.0), error(1.53e-7)], ["100.0", "2.00", "1.5e-7"]);
        assert_eq!([or_dash(None, times), or_dash(Some(1.0), times)], ["-", "1.00"]);
    }
}
