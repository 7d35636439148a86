//! A module's text as statements, each with its place: what a mutant changes one of.

use std::ops::Range;

/// An instruction of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// Where it stands in the text, without its semicolon.
    pub place: Range<usize>,
    /// Its line, counted from 1.
    pub line: usize,
    /// `@%p1` or `@!%p1`, or nothing.
    pub guard: String,
    /// Such as `add.s32`.
    pub opcode: String,
    /// Such as `%r1`, `[%rd2+4]` and `{%r1, %r2}`.
    pub operands: Vec<String>,
}

impl Statement {
    /// The text with another opcode and other operands.
    #[must_use]
    pub fn with(&self, opcode: &str, operands: &[String]) -> String {
        format!("{} {opcode} {}", self.guard, operands.join(", ")).trim().to_owned()
    }

    /// The text, in one line.
    #[must_use]
    pub fn text(&self) -> String {
        self.with(&self.opcode, &self.operands)
    }

    /// Whether a part of the opcode between dots is this.
    #[must_use]
    pub fn has(&self, part: &str) -> bool {
        self.opcode.split('.').any(|other| other == part)
    }
}

/// The instructions of all kernels of a module, in their order.
#[must_use]
pub fn statements(text: &str) -> Vec<Statement> {
    let (mut found, mut is_body, mut start) = (Vec::new(), false, 0);
    let (mut offset, mut line_number) = (0, 0);
    for line in text.split_inclusive('\n') {
        line_number += 1;
        match line.trim_end() {
            "{" => (is_body, start) = (true, offset + line.len()),
            "}" => is_body = false,
            // A label, a directive or a comment.
            trimmed if trimmed.ends_with(':') || trimmed.trim_start().starts_with("//") => start = offset + line.len(),
            _ if is_body => {
                for (end, _) in line.match_indices(';') {
                    let end = offset + end;
                    found.extend(statement(text, start..end, line_number));
                    start = end + 1;
                }
            }
            _ => {}
        }
        offset += line.len();
    }
    found
}

fn statement(text: &str, place: Range<usize>, line: usize) -> Option<Statement> {
    // Braces of inline assembly, not of a vector: those stand behind an opcode.
    let source = text[place.clone()].trim_start_matches(|c: char| c.is_whitespace() || c == '{' || c == '}');
    let start = place.end - source.len();
    let source = source.trim_end();
    let (guard, rest) = match source.strip_prefix('@') {
        Some(_) => source.split_once(char::is_whitespace)?,
        None => ("", source),
    };
    let rest = rest.trim_start();
    let (opcode, operands) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    if opcode.is_empty() || opcode.starts_with('.') || opcode.contains(':') && !opcode.contains("::") {
        return None;
    }
    let place = start..start + source.len();
    Some(Statement { place, line, guard: guard.into(), opcode: opcode.into(), operands: split(operands) })
}

/// Operands: what stands between commas, but for those within brackets.
fn split(operands: &str) -> Vec<String> {
    let (mut depth, mut list) = (0, vec![String::new()]);
    for c in operands.chars() {
        match c {
            '[' | '{' | '(' => depth += 1,
            ']' | '}' | ')' => depth -= 1,
            _ => {}
        }
        match list.last_mut() {
            Some(last) if c != ',' || depth > 0 => last.push(c),
            _ => list.push(String::new()),
        }
    }
    list.iter().map(|operand| operand.trim().to_owned()).filter(|operand| !operand.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_found_where_they_stand() {
        let text = "\
            .visible .entry k(\n\t.param .u64 a\n)\n.maxntid 32\n{\n\t.reg .pred \t%p<2>;\n\n\
            $L__1:\n\tadd.s32 \t%r1, %r2, -3;\n\t@!%p1 st.global.v2.b32 \t[%rd1+8], {%r1, %r2};\n\
            \t{ .reg .pred e; mbarrier.try_wait.shared::cta.b64 e, [%r1], %r2;\nselp.b32 %r3, 1, 0, e; }\n\tret;\n}\n";
        let found = statements(text);
        let texts: Vec<_> = found.iter().map(Statement::text).collect();
        let expected = [
            "add.s32 %r1, %r2, -3",
            "@!%p1 st.global.v2.b32 [%rd1+8], {%r1, %r2}",
            "mbarrier.try_wait.shared::cta.b64 e, [%r1], %r2",
            "selp.b32 %r3, 1, 0, e",
            "ret",
        ];
        assert_eq!(texts, expected);
        assert_eq!(found.iter().map(|statement| statement.line).collect::<Vec<_>>(), [9, 10, 11, 12, 13]);
        assert_eq!(&text[found[1].place.clone()], "@!%p1 st.global.v2.b32 \t[%rd1+8], {%r1, %r2}");
        assert_eq!((found[1].operands.len(), &*found[1].guard), (2, "@!%p1"));
    }
}
