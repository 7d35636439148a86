//! `dependencies`: what the workspace depends on, held to deny.toml without the network, and THIRD-PARTY.md.

mod spdx;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use crate::workspace::{capture, cargo, root, run as run_command};

/// The platform whose dependencies are looked at, wherever this runs.
const PLATFORM: &str = "x86_64-unknown-linux-gnu";

/// Where all packages come from that are not in the tree.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

const NOTICE: &str = "THIRD-PARTY.md";

const HEADER: &str = "\
# Third-party software

What this workspace is built and tested with on x86-64 Linux, each under its own licence. No source code of it is in this repository.
Written by `cargo xtask dependencies`.

| crate | licence | source |
| --- | --- | --- |
";

/// Write THIRD-PARTY.md: the crates that this workspace depends on, and their licences
#[derive(clap::Args)]
pub struct Args {}

/// The parts of deny.toml that are checked here.
#[derive(Deserialize)]
struct Rules {
    licenses: Licenses,
    bans: Bans,
}

#[derive(Deserialize)]
struct Licenses {
    allow: Vec<String>,
    #[serde(default)]
    exceptions: Vec<Exception>,
}

/// What one crate may be licensed under beside the rest.
#[derive(Deserialize)]
struct Exception {
    allow: Vec<String>,
    #[serde(rename = "crate")]
    name: String,
}

#[derive(Deserialize)]
struct Bans {
    skip: Vec<Skip>,
}

#[derive(Deserialize)]
struct Skip {
    /// `name@version`
    #[serde(rename = "crate")]
    package: String,
}

/// What `cargo metadata` says.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    license: Option<String>,
    repository: Option<String>,
    /// None where it is in the tree.
    source: Option<String>,
}

/// Runs `dependencies`.
pub fn run(_: &Args) -> Result<()> {
    fs::write(root().join(NOTICE), notice(&packages()?)).with_context(|| format!("cannot write {NOTICE}"))?;
    say!("wrote {NOTICE}");
    Ok(())
}

/// Fails where a dependency is not what deny.toml allows, or THIRD-PARTY.md is stale. Where cargo-deny is installed, it has its say too.
pub fn check() -> Result<()> {
    let text = fs::read_to_string(root().join("deny.toml")).context("cannot read deny.toml")?;
    let rules: Rules = toml::from_str(&text).context("deny.toml")?;
    let packages = packages()?;
    let complaints = complaints(&rules, &packages);
    if !complaints.is_empty() {
        bail!("{}", complaints.join("\n"));
    }
    let found = fs::read_to_string(root().join(NOTICE)).unwrap_or_default();
    ensure!(found == notice(&packages), "{NOTICE} is stale: run `cargo xtask dependencies`");
    say!("{} dependencies are what deny.toml allows", packages.len());
    if capture(&mut cargo(["deny", "--version"])).is_ok() {
        // Advisories need the network: they are asked for by hand.
        run_command(&mut cargo(["deny", "--workspace", "check", "licenses", "bans", "sources"]))?;
    }
    Ok(())
}

/// The packages that are not in the tree.
fn packages() -> Result<Vec<Package>> {
    let metadata = ["metadata", "--format-version", "1", "--locked", "--filter-platform", PLATFORM];
    let (json, _) = capture(&mut cargo(metadata))?;
    let Metadata { mut packages } = serde_json::from_str(&json).context("cargo metadata")?;
    packages.retain(|package| package.source.is_some());
    packages.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    Ok(packages)
}

fn complaints(rules: &Rules, packages: &[Package]) -> Vec<String> {
    let mut complaints = Vec::new();
    let Licenses { allow, exceptions } = &rules.licenses;
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for Package { name, version, license, source, .. } in packages {
        versions.entry(name).or_default().insert(version);
        let license = license.as_deref().unwrap_or_default();
        let excepted = exceptions.iter().filter(|exception| exception.name == *name).flat_map(|found| &found.allow);
        let allowed: Vec<_> = allow.iter().chain(excepted).collect();
        let is_allowed = |name: &str| allowed.iter().any(|allowed| *allowed == name);
        if !spdx::is_met(license, &is_allowed) {
            complaints.push(format!("{name} {version}: its licence, '{license}', is not one that deny.toml allows"));
        }
        if source.as_deref() != Some(REGISTRY) {
            complaints.push(format!("{name} {version} is not from crates.io"));
        }
    }
    let skipped: BTreeSet<_> = rules.bans.skip.iter().map(|skip| skip.package.as_str()).collect();
    for (name, versions) in &versions {
        let left: Vec<_> = versions.iter().filter(|v| !skipped.contains(&*format!("{name}@{v}"))).collect();
        if left.len() > 1 {
            complaints.push(format!("{name} is there in versions {left:?}: deny.toml gives no reason"));
        }
    }
    let is_duplicate = |skip: &str| {
        let found = skip.split_once('@').and_then(|(name, version)| Some((versions.get(name)?, version)));
        found.is_some_and(|(versions, version)| versions.len() > 1 && versions.contains(version))
    };
    let unused = skipped.into_iter().filter(|skip| !is_duplicate(skip));
    complaints.extend(unused.map(|skip| format!("deny.toml skips {skip}, which is no duplicate")));
    complaints
}

fn notice(packages: &[Package]) -> String {
    let mut text = HEADER.to_owned();
    for Package { name, version, license, repository, .. } in packages {
        let license = license.as_deref().unwrap_or("not named");
        let source = repository.clone().unwrap_or_else(|| format!("https://crates.io/crates/{name}"));
        // Writing to a text does not fail.
        let _ = writeln!(text, "| {name} {version} | {license} | <{source}> |");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, version: &str, license: &str) -> Package {
        let source = Some(REGISTRY.to_owned());
        Package { name: name.into(), version: version.into(), license: Some(license.into()), repository: None, source }
    }

    #[test]
    fn what_is_not_allowed_is_named() {
        let skip = |package: &str| Skip { package: package.to_owned() };
        let rules = |skips: &[&str]| Rules {
            licenses: Licenses {
                allow: vec!["MIT".into()],
                exceptions: vec![Exception { allow: vec!["MPL-2.0".into()], name: "c".into() }],
            },
            bans: Bans { skip: skips.iter().map(|name| skip(name)).collect() },
        };
        let mut packages =
            vec![package("a", "1.0.0", "MIT"), package("a", "2.0.0", "MIT"), package("b", "1.0.0", "MIT")];
        assert_eq!(complaints(&rules(&["a@1.0.0"]), &packages), Vec::<String>::new());
        assert!(complaints(&rules(&[]), &packages)[0].starts_with("a is there in versions"));
        assert!(complaints(&rules(&["a@1.0.0", "b@1.0.0"]), &packages)[0].contains("b@1.0.0, which is no duplicate"));
        packages[2].license = Some("MPL-2.0".into());
        assert!(complaints(&rules(&["a@1.0.0"]), &packages)[0].contains("b 1.0.0: its licence, 'MPL-2.0'"));
        packages[2].name = "c".into();
        assert_eq!(complaints(&rules(&["a@1.0.0"]), &packages), Vec::<String>::new());
        packages[2].name = "b".into();
        packages[2].license = Some("GPL-3.0".into());
        assert!(complaints(&rules(&["a@1.0.0"]), &packages)[0].contains("'GPL-3.0'"));
        packages[2] = Package { source: Some("git+https://example.com".into()), ..package("b", "1.0.0", "MIT") };
        assert_eq!(complaints(&rules(&["a@1.0.0"]), &packages), ["b 1.0.0 is not from crates.io"]);
        assert!(notice(&packages).ends_with("| b 1.0.0 | MIT | <https://crates.io/crates/b> |\n"));
    }
}
