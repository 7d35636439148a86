//! Who may use whom: the crates of the workspace, and the top-level modules of each. Both are lists from the bottom up, so that
//! no circle can arise.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use serde::Deserialize;
use syn::visit::{self, Visit};

use crate::workspace;

/// The workspace's crates, each with those of them that it may depend on. Tests and build scripts may use more.
const CRATES: &[(&str, &[&str])] = &[
    ("gpu-kernels", &["sgemm-cuda-std"]),
    ("ptx-emu", &[]),
    ("ptx-emu-driver", &["ptx-emu"]),
    // `sgemm` only to write the steps: see its features.
    ("playground", &["gpu-kernels", "ptx-emu", "sgemm"]),
    ("ptx-emu-python", &["ptx-emu"]),
    // The emulator only where a user asks for it: see `LIBRARY`.
    ("sgemm", &["gpu-kernels", "ptx-emu"]),
    ("sgemm-blas", &["sgemm"]),
    ("sgemm-capi", &["sgemm"]),
    ("sgemm-cublas", &["sgemm"]),
    ("results", &[]),
    ("report", &["gpu-kernels", "results"]),
    ("host", &["gpu-kernels", "ptx-emu", "report", "results", "sgemm"]),
    ("xtask", &["cuda_builder", "gpu-kernels", "report", "results"]),
];

/// Everything that the library depends on and does not leave to its users' choice: what all of them get with it.
const LIBRARY: (&str, &[&str]) = ("sgemm", &["cudarc", "gpu-kernels", "libloading"]);

/// The top-level modules of each crate, from the bottom up: a module may use those before it. Where none are listed, any order will
/// do that has no circle. The crate's root, which names what is public, may use all of them, and what it defines itself may be
/// used by all.
const MODULES: &[(&str, &[&str])] = &[
    (
        "gpu-kernels",
        &["hardware", "spec", "ptx", "gemm", "planned", "prepass", "epilogue", "postpass", "mainloop", "steps"],
    ),
    (
        "sgemm",
        &[
            "accuracy",
            "error",
            "modules",
            "scalar",
            "product",
            "problem",
            "device",
            "plan",
            "select",
            "cuda",
            "emulator",
            "distributed",
            "streamed",
        ],
    ),
    (
        "ptx-emu",
        &[
            "types", "finding", "lanes", "ops", "syntax", "memory", "spec", "program", "check", "launch", "trace",
            "counters", "lower", "exec", "kernel", "model", "cli",
        ],
    ),
    (
        "capi",
        &["constants", "status", "registry", "choices", "cuda", "problem", "operands", "handle", "plan", "host", "run"],
    ),
    ("blas", &["call", "loaded", "next", "recent", "xerbla", "compute", "route", "fortran", "cblas"]),
    (
        "cublas",
        &[
            "abi",
            "reason",
            "next",
            "settings",
            "call",
            "memory",
            "gpu",
            "forked",
            "log",
            "route",
            "entry",
            "algorithm",
            "v2",
            "lt",
        ],
    ),
    ("results", &[]),
    ("host", &["error", "verify", "backend", "measure", "output", "cli"]),
    ("report", &[]),
    ("xtask", &[]),
];

/// The complaints about the dependencies between crates and between the modules of the files.
pub fn complaints<'a>(files: impl Iterator<Item = (&'a str, &'a str)> + Clone) -> Result<Vec<String>> {
    let mut complaints = crates(&packages()?);
    for (name, modules) in MODULES {
        let folder = format!("{name}/src/");
        let of_crate = files.clone().filter_map(|(path, text)| Some((path.strip_prefix(&folder)?, text)));
        let of_crate: Vec<_> = of_crate.filter(|(path, _)| path.ends_with(".rs")).collect();
        complaints.extend(of_modules(name, modules, &of_crate)?);
    }
    Ok(complaints)
}

/// A package of the workspace, as cargo describes it.
#[derive(Deserialize)]
struct Package {
    name: String,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    /// `None` of what the package's own code uses, `dev` or `build` otherwise.
    kind: Option<String>,
    /// Whether a feature turns it on.
    #[serde(default)]
    optional: bool,
}

fn packages() -> Result<Vec<Package>> {
    #[derive(Deserialize)]
    struct Metadata {
        packages: Vec<Package>,
    }
    let mut command = workspace::cargo(["metadata", "--no-deps", "--offline", "--format-version", "1"]);
    let output = command.current_dir(workspace::root()).output().context("cannot run cargo metadata")?;
    let metadata: Metadata = serde_json::from_slice(&output.stdout).context("cannot read cargo's metadata")?;
    Ok(metadata.packages)
}

fn crates(packages: &[Package]) -> Vec<String> {
    let mut complaints = Vec::new();
    for Package { name, dependencies } in packages {
        let own = dependencies.iter().filter(|dependency| dependency.kind.is_none());
        let of_workspace = own.clone().filter(|dependency| packages.iter().any(|other| other.name == dependency.name));
        if let Some((_, allowed)) = CRATES.iter().find(|(listed, _)| listed == name) {
            let strays = of_workspace.filter(|dependency| !allowed.contains(&dependency.name.as_str()));
            complaints.extend(strays.map(|dependency| {
                format!(
                    "{name}/Cargo.toml: depends on {}: CRATES of xtask/src/tidy/directions.rs has no such direction",
                    dependency.name
                )
            }));
        }
        if name == LIBRARY.0 {
            let strays =
                own.filter(|dependency| !dependency.optional && !LIBRARY.1.contains(&dependency.name.as_str()));
            complaints.extend(strays.map(|dependency| {
                format!("{name}/Cargo.toml: depends on {}, which all users of the library would get", dependency.name)
            }));
        }
    }
    complaints
}

/// The complaints about one crate, whose files are given by their paths below src/.
fn of_modules(name: &str, modules: &[&str], files: &[(&str, &str)]) -> Result<Vec<String>> {
    let rank = |module: &str| modules.iter().position(|listed| *listed == module);
    let roots = files.iter().filter(|(path, _)| ["lib.rs", "main.rs"].contains(path));
    let mut exported = BTreeMap::new();
    for (path, text) in roots {
        let file = syn::parse_file(text).with_context(|| format!("{name}/src/{path}"))?;
        exported.extend(exports(&file));
    }
    let mut complaints = Vec::new();
    let mut edges = BTreeSet::new();
    for (path, text) in files {
        let own: Vec<String> = module_path(path);
        let Some(top) = own.first().cloned() else { continue };
        if is_test(path) {
            continue;
        }
        let own_rank = rank(&top);
        if own_rank.is_none() && !modules.is_empty() {
            complaints.push(format!(
                "{name}/src/{path}: MODULES of xtask/src/tidy/directions.rs has no {name}::{top}: add it"
            ));
            continue;
        }
        let file = syn::parse_file(text).with_context(|| format!("{name}/src/{path}"))?;
        let mut uses = Uses { crate_name: name.replace('-', "_"), module: own, found: Vec::new() };
        uses.visit_file(&file);
        uses.found.sort();
        uses.found.dedup();
        for used in uses.found {
            let used = exported.get(&used).cloned().unwrap_or(used);
            edges.insert((top.clone(), used.clone()));
            if rank(&used).zip(own_rank).is_some_and(|(used, own)| used > own) {
                complaints.push(format!(
                    "{name}/src/{path}: {top} uses {used}, which stands above it: move what both need down"
                ));
            }
        }
    }
    complaints.dedup();
    if modules.is_empty() {
        complaints.extend(circle(edges).map(|modules| format!("{name}/src: {modules} use each other in a circle")));
    }
    Ok(complaints)
}

/// The modules that use each other in a circle, or are used by such and use such, if there are any.
fn circle(mut edges: BTreeSet<(String, String)>) -> Option<String> {
    edges.retain(|(user, used)| user != used);
    loop {
        let users: BTreeSet<_> = edges.iter().map(|(user, _)| user.clone()).collect();
        let count = edges.len();
        edges.retain(|(_, used)| users.contains(used));
        match edges.len() {
            0 => return None,
            left if left == count => return Some(users.into_iter().collect::<Vec<_>>().join(", ")),
            _ => {}
        }
    }
}

/// The module that a file is: `["a", "b"]` of `a/b.rs` and of `a/b/mod.rs`.
fn module_path(path: &str) -> Vec<String> {
    let mut parts: Vec<_> = path.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    parts.pop_if(|last| ["mod", "lib", "main"].contains(&last.as_str()));
    parts
}

fn is_test(path: &str) -> bool {
    path.split('/').any(|part| part.starts_with("test"))
}

/// What the crate's root re-exports, with the module that it is from.
fn exports(file: &syn::File) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for item in &file.items {
        if let syn::Item::Use(item) = item {
            let mut names = Vec::new();
            leaves(&item.tree, &mut Vec::new(), &mut names);
            let from = names.into_iter().filter_map(|names| Some((names.last()?.clone(), module_of(&names)?.clone())));
            found.extend(from.filter(|(name, module)| name != module));
        }
    }
    found
}

/// The top-level module that a path of the root names.
fn module_of(names: &[String]) -> Option<&String> {
    names.iter().find(|name| !["crate", "self"].contains(&name.as_str()))
}

/// The paths of a `use`, each as its names; a renamed one ends with its new name.
fn leaves(tree: &syn::UseTree, before: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    match tree {
        syn::UseTree::Path(path) => {
            before.push(path.ident.to_string());
            leaves(&path.tree, before, found);
            before.pop();
        }
        syn::UseTree::Group(group) => group.items.iter().for_each(|tree| leaves(tree, before, found)),
        syn::UseTree::Name(name) => found.push([&before[..], &[name.ident.to_string()]].concat()),
        syn::UseTree::Rename(name) => found.push([&before[..], &[name.rename.to_string()]].concat()),
        syn::UseTree::Glob(_) => found.push(before.clone()),
    }
}

/// Collects the names below the crate's root that a file uses.
struct Uses {
    crate_name: String,
    module: Vec<String>,
    found: Vec<String>,
}

impl Uses {
    fn path(&mut self, names: &[String]) {
        let supers = names.iter().take_while(|name| *name == "super").count();
        let first = names.first().map_or("", String::as_str);
        if first == "crate" || first == self.crate_name {
            self.found.extend(names.get(1).cloned());
        } else if supers > 0 && supers >= self.module.len() {
            self.found.extend(names.get(supers).cloned());
        }
    }
}

impl<'ast> Visit<'ast> for Uses {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let mut names = Vec::new();
        if !is_for_tests(&item.attrs) {
            leaves(&item.tree, &mut Vec::new(), &mut names);
        }
        names.iter().for_each(|names| self.path(names));
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<_> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.path(&names);
        visit::visit_path(self, path);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_for_tests(&item.attrs) {
            self.module.push(item.ident.to_string());
            visit::visit_item_mod(self, item);
            self.module.pop();
        }
    }

    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        let text = item.tokens.to_string();
        let words: Vec<_> = text.split_whitespace().collect();
        let after =
            words.windows(3).filter(|three| three[0] == "crate" && three[1] == "::").map(|three| three[2].to_owned());
        self.found.extend(after);
    }
}

fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    let is_test = |meta: &syn::Meta| match meta {
        syn::Meta::List(list) => list.path.is_ident("cfg") && list.tokens.to_string() == "test",
        _ => false,
    };
    attributes.iter().any(|attribute| is_test(&attribute.meta))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORDER: [&str; 3] = ["low", "middle", "high"];

    fn found(path: &str, text: &str) -> String {
        let root = "pub mod low; pub use high::{Thing, Other as Renamed}; pub use self::low::Small;";
        of_modules("house", &ORDER, &[("lib.rs", root), (path, text)]).unwrap().join("\n")
    }

    #[test]
    fn what_stands_below_may_be_used() {
        assert_eq!(found("middle/part.rs", "use crate::low::x; use super::other; use crate::Small;"), "");
        assert_eq!(found("high.rs", "use super::{low, middle::{a, b}}; fn f() { crate::low::x(); }"), "");
    }

    #[test]
    fn what_stands_above_may_not() {
        for text in [
            "use crate::high;",
            "use crate::{low::x, high::{y, z}};",
            "use crate::Thing;",
            "use house::Renamed;",
            "use super::super::high::x;",
            "fn f() { crate::high::x(); }",
            "macro_rules! m { () => { $crate::high::x() }; }",
            "mod inner { use super::super::super::high; }",
        ] {
            assert!(found("middle/part.rs", text).contains("middle uses high, which stands above it"), "{text}");
        }
    }

    #[test]
    fn tests_may_use_everything_and_new_modules_are_asked_for() {
        assert_eq!(found("low.rs", "#[cfg(test)] mod tests { use crate::high; }"), "");
        assert_eq!(found("low/tests.rs", "use crate::high;"), "");
        assert!(found("new.rs", "").contains("MODULES of xtask/src/tidy/directions.rs has no house::new"));
    }

    #[test]
    fn circles_are_found_where_no_order_is_listed() {
        let found = |of_low: &str| {
            let files =
                [("low.rs", of_low), ("middle.rs", "use crate::low;"), ("high.rs", "use crate::{low, middle};")];
            of_modules("house", &[], &files).unwrap().join("\n")
        };
        assert_eq!(found("use crate::low::x;"), "");
        assert_eq!(found("use crate::high;"), "house/src: high, low, middle use each other in a circle");
    }

    #[test]
    fn the_library_has_few_dependencies() {
        let package = |name: &str, uses: &[&str]| Package {
            name: name.into(),
            dependencies: uses
                .iter()
                .map(|name| Dependency { name: (*name).into(), kind: None, optional: false })
                .collect(),
        };
        let found = crates(&[package("sgemm", &["cudarc", "clap", "results"]), package("results", &[])]).join("\n");
        assert!(found.contains("depends on clap, which all users") && found.contains("depends on results: CRATES"));
        assert!(!found.contains("cudarc"));
    }
}
