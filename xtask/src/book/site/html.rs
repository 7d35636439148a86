//! Pages of HTML as tokens, each with its place in the text.

use html5gum::{DefaultEmitter, StartTag, Token, Tokenizer};

/// The tokens of a page.
pub fn tokens(page: &str) -> impl Iterator<Item = Token<usize>> {
    let mut emitter = DefaultEmitter::new_with_span();
    // What stands in <script> and <style> is no HTML.
    emitter.naively_switch_states(true);
    Tokenizer::new_with_emitter(page, emitter).map(|Ok(token)| token)
}

/// The value of an attribute of a tag.
pub fn attribute(tag: &StartTag<usize>, name: &str) -> Option<String> {
    tag.attributes.get(name.as_bytes()).map(|value| text(value))
}

/// A name or a text of a page.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// `text` as it stands in a page.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The way from the folder of the page at `path` to the folder of the site.
pub fn to_root(path: &str) -> String {
    "../".repeat(path.matches('/').count())
}
