//! Colours for PTX and SASS, which are not among highlight.js's languages: its classes, put in when the site is built.

use std::sync::LazyLock;

use regex::Regex;

use super::html::escaped;

/// The name of each group is the class of what it matches.
struct Language {
    /// What a line begins with.
    statement: Regex,
    /// A word in the rest of the line.
    operand: Regex,
}

static PTX: LazyLock<Language> = LazyLock::new(|| Language {
    statement: regex(
        r"^[\s{}]*(?<symbol>\$?\w+:)?\s*(?<variable>@!?%?\w+)?\s*((?<keyword>[a-z]\w*)(?<title>(?:(?:\.|::)\w+)*))?",
    ),
    operand: regex(
        r"(?<comment>//.*|/\*.*?\*/|\.\.\..*)|(?<variable>%[\w.]+)|(?<symbol>\$\w+)|(?<title>\.[a-z]\w*)|(?<number>\b0[fFdDxX][[:xdigit:]]+|\b\d+(?:\.\d+)?\b)",
    ),
});

static SASS: LazyLock<Language> = LazyLock::new(|| Language {
    statement: regex(
        r"^\s*(?<comment>/\*.*?\*/)?\s*(?<symbol>\.L\w+:)?\s*(?<variable>@!?\w+)?\s*((?<keyword>[A-Z]\w*)(?<title>(?:\.\w+)*))?",
    ),
    operand: regex(
        r"(?<comment>/\*.*?\*/|\.\.\..*)|(?<symbol>`\([^)]*\))|(?<variable>\b(?:U?R(?:\d+|Z)|U?P(?:\d+|T)|SR_[\w.]+|SB\d+|B\d+)\b)|(?<number>\b0x[[:xdigit:]]+|\b\d+(?:\.\d+)?\b)|(?<title>\.[A-Za-z]\w*)",
    ),
});

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the tests use it")
}

/// `code` as HTML with a `<span>` for each word that has a colour; `None` of languages that highlight.js knows, or nobody.
pub fn highlight(language: &str, code: &str) -> Option<String> {
    let Language { statement, operand } = match language {
        "ptx" => &*PTX,
        "sass" => &*SASS,
        _ => return None,
    };
    let mut html = String::new();
    for line in code.split_inclusive('\n') {
        let start = statement.find(line).map_or(0, |found| found.end());
        for (regex, text) in [(statement, &line[..start]), (operand, &line[start..])] {
            html.push_str(&spans(regex, text));
        }
    }
    Some(html)
}

fn spans(regex: &Regex, text: &str) -> String {
    let mut html = String::new();
    let mut at = 0;
    for captures in regex.captures_iter(text) {
        for class in regex.capture_names().flatten() {
            let Some(found) = captures.name(class).filter(|found| !found.is_empty()) else { continue };
            html.push_str(&escaped(&text[at..found.start()]));
            html.push_str(&format!("<span class=\"hljs-{class}\">{}</span>", escaped(found.as_str())));
            at = found.end();
        }
    }
    html + &escaped(&text[at..])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spans as `class(text)`.
    fn shown(language: &str, code: &str) -> String {
        let html = highlight(language, code).unwrap();
        html.replace("<span class=\"hljs-", "").replace("\">", "(").replace("</span>", ")")
    }

    #[test]
    fn ptx_has_its_parts() {
        let expected = [
            ("$L__BB6_4:\n", "symbol($L__BB6_4:)\n"),
            (
                "    @%p1 ld.global.b32 %r19, [%rd28+16];  // *a\n",
                "    variable(@%p1) keyword(ld)title(.global.b32) variable(%r19), [variable(%rd28)+number(16)];  comment(// *a)\n",
            ),
            ("mov.b32 %f1, 0f3F800000;", "keyword(mov)title(.b32) variable(%f1), number(0f3F800000);"),
            (".reg .pred %p<3>;", "title(.reg) title(.pred) variable(%p)&lt;number(3)&gt;;"),
            ("    bra.uni $L__BB6_4;", "    keyword(bra)title(.uni) symbol($L__BB6_4);"),
            (
                "cp.async.bulk.tensor.2d.shared::cluster.global [%r1], x;",
                "keyword(cp)title(.async.bulk.tensor.2d.shared::cluster.global) [variable(%r1)], x;",
            ),
            ("    ...", "    comment(...)"),
        ];
        for (code, html) in expected {
            assert_eq!(shown("ptx", code), html);
        }
    }

    #[test]
    fn sass_has_its_parts() {
        let expected = [
            (".L_x_1:\n", "symbol(.L_x_1:)\n"),
            (
                "    @!P1 BRA `(.L_x_2) ;\n    LDS.128 R4, [UR4+0x8] ;\n",
                "    variable(@!P1) keyword(BRA) symbol(`(.L_x_2)) ;\n    keyword(LDS)title(.128) variable(R4), [variable(UR4)+number(0x8)] ;\n",
            ),
            (
                "FFMA R0, R73.reuse, -R1, RZ ;",
                "keyword(FFMA) variable(R0), variable(R73)title(.reuse), -variable(R1), variable(RZ) ;",
            ),
            ("    ... 56 lines more\n", "    comment(... 56 lines more)\n"),
        ];
        for (code, html) in expected {
            assert_eq!(shown("sass", code), html);
        }
    }

    #[test]
    fn nothing_is_lost_and_others_are_left_alone() {
        let code = "mul.wide.u32 %rd1, %r1, 4; // a < b && \"c\"\n\n}\n";
        let html = highlight("ptx", code).unwrap();
        let text =
            regex("<[^>]*>").replace_all(&html, "").replace("&lt;", "<").replace("&quot;", "\"").replace("&amp;", "&");
        assert_eq!(text, code);
        assert_eq!(highlight("rust", "fn main() {}"), None);
    }
}
