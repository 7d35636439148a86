//! Sentences that are easy to read are short: the average of a page's prose is held below a limit.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::blocks;
use super::page::Page;

/// Words that a page's sentences may have on average.
const MOST_WORDS: f64 = 20.0;

/// Below so many sentences an average says nothing.
const LEAST_SENTENCES: usize = 10;

/// The complaints about pages of the book whose sentences are too long.
pub fn complaints(pages: &[Page]) -> Vec<String> {
    pages.iter().filter(|page| page.is_in_book()).filter_map(complaint).collect()
}

fn complaint(page: &Page) -> Option<String> {
    let lengths = sentences(&page.text)?;
    let average = lengths.iter().sum::<usize>() as f64 / lengths.len().max(1) as f64;
    (lengths.len() >= LEAST_SENTENCES && average >= MOST_WORDS).then(|| {
        format!("{}: its sentences have {average:.1} words on average: make it less than {MOST_WORDS}", page.path)
    })
}

/// The words of each sentence of the page's paragraphs and lists: no heading, table, code or generated block. `None` where the blocks
/// do not pair up, which is another complaint.
fn sentences(text: &str) -> Option<Vec<usize>> {
    let text = blocks::refill(text, |_| Some(String::new())).ok()?;
    let mut lengths = Vec::new();
    let (mut prose, mut outside) = (String::new(), 0);
    for event in Parser::new_ext(&text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Table(_) | Tag::CodeBlock(_) | Tag::Heading { .. }) => outside += 1,
            Event::End(TagEnd::Table | TagEnd::CodeBlock | TagEnd::Heading(_)) => outside -= 1,
            Event::Text(text) | Event::Code(text) if outside == 0 => prose.push_str(&text),
            Event::SoftBreak | Event::HardBreak => prose.push(' '),
            Event::Start(Tag::Item) | Event::End(TagEnd::Paragraph | TagEnd::Item) => {
                lengths.extend(words(&prose));
                prose.clear();
            }
            _ => {}
        }
    }
    Some(lengths)
}

/// The words of each sentence of a paragraph.
fn words(paragraph: &str) -> Vec<usize> {
    let mut lengths = vec![0];
    for word in paragraph.split_whitespace() {
        *lengths.last_mut().unwrap_or(&mut 0) += 1;
        if word.trim_end_matches([')', '"', '*']).ends_with(['.', '!', '?']) {
            lengths.push(0);
        }
    }
    lengths.retain(|length| *length > 0);
    lengths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_those_of_prose() {
        let text = "# A heading. Of two\n\nOne, two. Three\nfour `five.six` seven!\n\n- A list: its items\n- are *sentences*. Two.\n\n\
            | a. | b |\n|---|---|\n| c. | d |\n\n    code. code.\n\n<!-- generated: a -->\nlong\n<!-- /generated -->\n";
        assert_eq!(sentences(text), Some(vec![2, 4, 4, 2, 1]));
    }

    #[test]
    fn a_page_of_long_sentences_is_named() {
        let page = |text: String| Page { path: "docs/src/a.md".into(), text, step: None };
        let long = format!("{}.\n\n", "word ".repeat(20).trim_end()).repeat(LEAST_SENTENCES);
        let short = format!("{}.\n\n", "word ".repeat(19).trim_end()).repeat(LEAST_SENTENCES);
        assert_eq!(complaints(&[page(short)]), Vec::<String>::new());
        let found = complaints(&[page(long)]);
        assert!(found.len() == 1 && found[0].starts_with("docs/src/a.md: its sentences have 20.0 words"), "{found:?}");
    }
}
