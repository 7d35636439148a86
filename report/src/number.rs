//! Numbers as texts.

use results::grouped;

/// Digits in groups, and whole, from 100 on, up to three digits below.
pub(crate) fn thousands(value: f64) -> String {
    if !value.is_finite() {
        return "-".into();
    }
    if value.abs() < 99.95 {
        return short(value);
    }
    let sign = if value < 0.0 { "-" } else { "" };
    format!("{sign}{}", grouped(value.abs().round() as u64))
}

/// Three digits, no zeros behind them.
pub(crate) fn short(value: f64) -> String {
    if !value.is_finite() {
        return "-".into();
    }
    let decimals = match value.abs() {
        v if v >= 99.95 || v == 0.0 => 0,
        v if v >= 9.995 => 1,
        v if v >= 0.0995 => 2,
        v if v >= 0.000_995 => 4,
        _ => return format!("{value:.1e}").replace(".0e", "e"),
    };
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// For axes: `1k`, `20k`, `1M`.
pub(crate) fn axis(value: f64) -> String {
    match value {
        v if v >= 1e6 => format!("{}M", short(v / 1e6)),
        v if v >= 1e3 => format!("{}k", short(v / 1e3)),
        v => short(v),
    }
}

/// A coordinate.
pub(crate) fn pixel(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped() {
        let texts = [756_090.4, 499.0, 99.96, 12.345, 0.5, -1234.0, f64::NAN].map(thousands);
        assert_eq!(texts, ["756 090", "499", "100", "12.3", "0.5", "-1 234", "-"]);
        assert_eq!([50_000.0, 1e6, 0.2, 20.0].map(axis), ["50k", "1M", "0.2", "20"]);
        assert_eq!([1.1e-6, 1e-3, 1e-7, 0.05, 0.0].map(short), ["1.1e-6", "0.001", "1e-7", "0.05", "0"]);
    }
}
