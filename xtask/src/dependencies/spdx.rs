//! Licence expressions of packages: names with AND, OR, WITH and parentheses. SPDX 2.3, annex D.

/// Whether an expression is met by licences that are allowed. What cannot be read is not.
pub fn is_met(expression: &str, is_allowed: &dyn Fn(&str) -> bool) -> bool {
    // What registries took before there was SPDX.
    let text = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut left = &words[..];
    any(&mut left, is_allowed) == Some(true) && left.is_empty()
}

fn any(words: &mut &[&str], is_allowed: &dyn Fn(&str) -> bool) -> Option<bool> {
    let mut is_met = all(words, is_allowed)?;
    while accept(words, "OR") {
        is_met |= all(words, is_allowed)?;
    }
    Some(is_met)
}

fn all(words: &mut &[&str], is_allowed: &dyn Fn(&str) -> bool) -> Option<bool> {
    let mut is_met = one(words, is_allowed)?;
    while accept(words, "AND") {
        is_met &= one(words, is_allowed)?;
    }
    Some(is_met)
}

fn one(words: &mut &[&str], is_allowed: &dyn Fn(&str) -> bool) -> Option<bool> {
    if accept(words, "(") {
        let is_met = any(words, is_allowed)?;
        return accept(words, ")").then_some(is_met);
    }
    let name = next(words)?;
    if accept(words, "WITH") {
        return Some(is_allowed(&format!("{name} WITH {}", next(words)?)));
    }
    Some(is_allowed(name))
}

fn next<'a>(words: &mut &[&'a str]) -> Option<&'a str> {
    let (first, rest) = words.split_first()?;
    *words = rest;
    Some(first)
}

fn accept(words: &mut &[&str], word: &str) -> bool {
    let is_next = words.first() == Some(&word);
    if is_next {
        *words = &words[1..];
    }
    is_next
}

#[cfg(test)]
mod tests {
    use super::is_met;

    #[test]
    fn expressions_are_met_by_what_is_allowed() {
        let is_allowed = |name: &str| ["MIT", "Zlib", "Apache-2.0 WITH LLVM-exception"].contains(&name);
        for met in [
            "MIT",
            "GPL-3.0 OR MIT",
            "GPL-3.0/MIT",
            "GPL-3.0 OR Zlib AND MIT",
            "(GPL-3.0 OR MIT) AND Zlib",
            "Apache-2.0 WITH LLVM-exception OR Apache-2.0",
        ] {
            assert!(is_met(met, &is_allowed), "{met}");
        }
        for unmet in ["", "GPL-3.0", "Apache-2.0", "MIT AND GPL-3.0", "(MIT", "MIT)", "MIT MIT", "OR", "MIT WITH"] {
            assert!(!is_met(unmet, &is_allowed), "{unmet}");
        }
    }
}
