//! What pages name as code and the site has a page or a file for: items of the library's API, sources, records.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use html5gum::Token;

use super::html::{attribute, text, tokens};
use super::{API, DATA, RESULTS, files};

/// The crate whose items are linked.
const LIBRARY: &str = "sgemm";

/// The folders of the crates whose sources rustdoc shows.
const SOURCES: [(&str, &str); 3] =
    [("gpu_kernels", "gpu-kernels/src"), ("ptx_emu", "ptx-emu/src"), ("sgemm", "sgemm/src")];

/// Names that Rust has, too, and that mean its own where they stand alone.
const RUSTS: [&str; 1] = ["Copy"];

/// What rustdoc calls the places of an item's members.
const MEMBERS: [&str; 4] = ["method", "tymethod", "variant", "structfield"];

/// Where terms lead, from the site's folder.
pub struct Terms {
    site: PathBuf,
    files: BTreeMap<String, String>,
    items: BTreeMap<String, String>,
}

impl Terms {
    /// The terms of a site in which everything is there but the links to it.
    pub fn of(site: &Path) -> Result<Self> {
        let mut terms = Self { site: site.to_owned(), files: BTreeMap::new(), items: BTreeMap::new() };
        let records = files(&site.join(DATA))?.into_iter();
        terms.files.extend(records.map(|file| (format!("{RESULTS}/{file}"), format!("{DATA}/{file}"))));
        for (name, folder) in SOURCES {
            for page in files(&site.join(API).join("src").join(name))? {
                let source = page.trim_end_matches(".html");
                terms.files.insert(format!("{folder}/{source}"), format!("{API}/src/{name}/{page}"));
            }
        }
        let all = format!("{API}/{LIBRARY}/all.html");
        let page = fs::read_to_string(site.join(&all)).with_context(|| format!("cannot read {all}"))?;
        terms.items = items(&page);
        Ok(terms)
    }

    #[cfg(test)]
    pub fn new<const F: usize, const I: usize>(
        site: &Path,
        files: [(&str, &str); F],
        items: [(&str, &str); I],
    ) -> Self {
        let owned = |(name, target): (&str, &str)| (name.to_owned(), target.to_owned());
        Self { site: site.to_owned(), files: files.map(owned).into(), items: items.map(owned).into() }
    }

    /// Where a file of the repository is in the site.
    pub fn file(&self, name: &str) -> Option<&str> {
        self.files.get(name).map(String::as_str)
    }

    /// Where the library's API shows a type or a trait, or one of its members: each named with its module or without.
    pub fn item(&self, name: &str) -> Option<String> {
        let path = name.trim_start_matches("sgemm::").trim_end_matches("()");
        if let Some(page) = self.items.get(path) {
            return Some(page.clone());
        }
        let (item, member) = path.rsplit_once("::")?;
        let page = self.items.get(item)?;
        let text = fs::read_to_string(self.site.join(page)).ok()?;
        let places = MEMBERS.map(|kind| format!("{kind}.{member}"));
        places
            .into_iter()
            .find(|place| text.contains(&format!("id=\"{place}\"")))
            .map(|place| format!("{page}#{place}"))
    }
}

/// The types and traits that rustdoc's page of all items links to; those of one name in two modules only with the module.
fn items(page: &str) -> BTreeMap<String, String> {
    let mut items = BTreeMap::new();
    let mut ambiguous = Vec::new();
    let mut target = None;
    for token in tokens(page) {
        match token {
            Token::StartTag(tag) if **tag.name == *b"a" => target = attribute(&tag, "href"),
            Token::String(name) => {
                let is_type = |page: &String| {
                    let file = page.rsplit('/').next().unwrap_or_default();
                    ["struct.", "enum.", "trait."].iter().any(|kind| file.starts_with(kind))
                };
                let Some(page) = target.take().filter(is_type) else { continue };
                let path = text(&name);
                let name = path.rsplit("::").next().unwrap_or_default().to_owned();
                let page = format!("{API}/{LIBRARY}/{page}");
                if name != path && !RUSTS.contains(&name.as_str()) && items.insert(name.clone(), page.clone()).is_some()
                {
                    ambiguous.push(name);
                }
                items.insert(path, page);
            }
            _ => {}
        }
    }
    for name in ambiguous {
        items.remove(&name);
    }
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_found_by_their_names() {
        let page = "<a href=\"x/struct.Copy.html\">x::Copy</a> <a href=\"struct.Problem.html\">Problem</a> <a href=\"cuda/struct.Gemm.html\">cuda::Gemm</a> \
            <a href=\"plan/enum.Role.html\">plan::Role</a> <a href=\"x/enum.Role.html\">x::Role</a> <a href=\"fn.f.html\">f</a>";
        let items = items(page);
        assert_eq!(items["Problem"], "api/sgemm/struct.Problem.html");
        assert_eq!(items["Gemm"], "api/sgemm/cuda/struct.Gemm.html");
        assert_eq!(items["x::Role"], "api/sgemm/x/enum.Role.html");
        assert!(items.contains_key("x::Copy"));
        assert!(["Role", "f", "Copy"].iter().all(|name| !items.contains_key(*name)));
    }

    #[test]
    fn members_are_found_on_the_page_of_their_type() {
        let site = tempfile::tempdir().unwrap();
        fs::write(site.path().join("p.html"), "<section id=\"method.run\">").unwrap();
        let terms = Terms::new(site.path(), [], [("Gemm", "p.html")]);
        assert_eq!(terms.item("sgemm::Gemm").unwrap(), "p.html");
        assert_eq!(terms.item("Gemm::run()").unwrap(), "p.html#method.run");
        assert_eq!(terms.item("Gemm::walk"), None);
        assert_eq!(terms.item("Other::run"), None);
    }
}
