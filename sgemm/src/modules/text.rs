//! PTX as text: whether it is a module, and what is left of it without some of its kernels.

use std::iter;
use std::ops::Range;

/// Checks what every PTX module has: PTX ISA, "PTX Module Directives".
///
/// # Errors
/// What it lacks.
pub fn check(text: &str) -> Result<(), &'static str> {
    if text.contains('\0') {
        return Err("it holds a NUL byte");
    }
    if !directives(text, ".version").any(|_| true) {
        return Err("it has no .version line");
    }
    if !directives(text, ".target").any(|_| true) {
        return Err("it has no .target line");
    }
    let count = |brace| code(text).flat_map(str::chars).filter(|c| *c == brace).count();
    if count('{') != count('}') {
        return Err("its braces do not match: is it a truncated file?");
    }
    Ok(())
}

/// The text with nothing but the ends of its lines in these ranges.
pub(super) fn without(text: &str, ranges: impl Iterator<Item = Range<usize>>) -> String {
    let mut rest = 0;
    let mut result = String::new();
    for Range { start, end } in ranges {
        result += &text[rest..start];
        let lines = text[start..end].bytes().filter(|byte| *byte == b'\n').count();
        result.extend(iter::repeat_n('\n', lines));
        rest = end;
    }
    result + &text[rest..]
}

/// What follows the directive, in each line that has it.
fn directives<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
    code(text).filter_map(move |line| {
        let (before, rest) = line.split_once(name)?;
        let alone = before.chars().all(|c| c.is_whitespace() || c.is_ascii_alphabetic() || c == '.')
            && rest.starts_with(char::is_whitespace);
        alone.then_some(rest)
    })
}

/// The lines without their `//` comments.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(|line| line.split_once("//").map_or(line, |(code, _)| code))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(crate) const HEADER: &str = ".version 7.0\n.target sm_80\n.address_size 64\n";

    #[test]
    fn says_what_is_wrong_with_a_module() {
        assert_eq!(check(HEADER), Ok(()));
        assert_eq!(check(""), Err("it has no .version line"));
        assert_eq!(check("// .version 7.0"), Err("it has no .version line"));
        assert_eq!(check(".version 7.0"), Err("it has no .target line"));
        assert_eq!(check(&format!("{HEADER}\0")), Err("it holds a NUL byte"));
        assert_eq!(
            check(&format!("{HEADER}.entry a() {{ ret;")),
            Err("its braces do not match: is it a truncated file?")
        );
    }
}
