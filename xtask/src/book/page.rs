//! A page with generated blocks.

use gpu_kernels::Step;

/// The folder of the book's pages.
pub const FOLDER: &str = "docs/src";

/// A page of Markdown.
#[derive(Debug, Clone)]
pub struct Page {
    /// Where it is, from the workspace's root, with `/`.
    pub path: String,
    /// Its text.
    pub text: String,
    /// The step whose chapter it is.
    pub step: Option<&'static Step>,
}

impl Page {
    /// A link from this page to a file of the workspace.
    pub fn link(&self, path: &str) -> String {
        let folder = self.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let [mut from, mut to] = [folder, path].map(|path| path.split('/').filter(|part| !part.is_empty()).peekable());
        while from.peek().is_some() && from.peek() == to.peek() {
            from.next();
            to.next();
        }
        from.map(|_| "..").chain(to).collect::<Vec<_>>().join("/")
    }

    /// Whether it is a page of the book, from which no link may lead elsewhere.
    pub fn is_in_book(&self) -> bool {
        self.path.starts_with(FOLDER)
    }
}
