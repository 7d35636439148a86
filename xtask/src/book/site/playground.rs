//! The playground: the emulator as WebAssembly, the steps that it runs, and the page's script, in one folder beside the pages. Everything is a
//! script or a style sheet: pages that are opened as files may load nothing else.
//!
//!     playground/playground.js    the files of docs/playground/, joined
//!     playground/emulator.js      the emulator, compressed
//!     playground/steps/           what each chapter runs, compressed

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use cuda_builder::Toolchain;
use flate2::Compression;
use flate2::write::GzEncoder;
use gpu_kernels::STEPS;
use serde::Deserialize;

use super::html::to_root;
use crate::workspace::{self, root};

/// The folder of the site, and that of the sources.
const FOLDER: &str = "playground";
const SOURCES: &str = "docs/playground";

/// Files of the script, in this order: each uses those before it.
const SCRIPTS: [&str; 15] = [
    "dom.js",
    "load.js",
    "worker.js",
    "values.js",
    "listing.js",
    "lanes.js",
    "access.js",
    "warps.js",
    "timeline.js",
    "stepper.js",
    "results.js",
    "tabs.js",
    "form.js",
    "playground.js",
    "start.js",
];

const STYLE: &str = "playground.css";

/// The page that has a choice of steps, and the place for it.
const PAGE: &str = "playground.html";
const PLACE: &str = "data-steps=\"all\"";

/// Bytes of the folder at most.
const MAX_BYTES: u64 = 3 << 20;

const TARGET: &str = "wasm32-unknown-unknown";

/// Writes the playground to the site, and puts it into the pages that have a place for it. Where it cannot be compiled, a line says so,
/// and the pages are as they were.
pub fn build(site: &Path, pages: &[String]) -> Result<()> {
    let wasm = match compile() {
        Ok(wasm) => wasm,
        Err(error) => {
            say!("the book has no playground: {error:#}");
            return Ok(());
        }
    };
    let folder = site.join(FOLDER);
    fs::create_dir_all(folder.join("steps"))?;
    data(&folder, "emulator", &fs::read(&wasm).with_context(|| format!("cannot read {}", wasm.display()))?)?;
    let slugs = lessons(&folder)?;
    fs::write(folder.join("playground.js"), script()?)?;
    fs::copy(root().join(SOURCES).join(STYLE), folder.join(STYLE))?;
    for path in pages {
        let file = site.join(path);
        let page = fs::read_to_string(&file)?;
        if let Some(page) = with_playground(&page, path, &slugs) {
            fs::write(file, page)?;
        }
    }
    let bytes: u64 =
        super::files(&folder)?.iter().map(|file| Ok(fs::metadata(folder.join(file))?.len())).sum::<Result<_>>()?;
    ensure!(bytes <= MAX_BYTES, "the playground has {bytes} bytes, more than {MAX_BYTES}");
    say!("the playground: {} KiB in {FOLDER}/, for {} kernels", bytes >> 10, slugs.len());
    Ok(())
}

/// Compiles the emulator to WebAssembly, by the device toolchain: it has the sources of the standard library.
fn compile() -> Result<PathBuf> {
    let toolchain = Toolchain::find(workspace::kernels()).context("run `cargo xtask setup`")?;
    let linker = toolchain.wasm_linker().context("there is no wasm-ld: run `cargo xtask setup`")?;
    let target = root().join("target/playground");
    let mut cargo = toolchain.cargo();
    cargo.current_dir(root()).args([
        "build",
        "--quiet",
        "--locked",
        "--package",
        "playground",
        "--lib",
        "--profile",
        "page",
    ]);
    cargo.args(["--target", TARGET, "-Zbuild-std=std,panic_abort", "-Zbuild-std-features=optimize_for_size"]);
    cargo.arg("--target-dir").arg(&target).env("RUSTFLAGS", format!("-Clinker={}", linker.display()));
    workspace::run(&mut cargo)?;
    Ok(target.join(TARGET).join("page/playground.wasm"))
}

/// Writes what each kernel is run with, and returns their names, the samples first.
fn lessons(folder: &Path) -> Result<Vec<String>> {
    #[derive(Deserialize)]
    struct Lesson {
        slug: String,
    }
    // As the tests build it, for its own test: otherwise selected, dependencies would have other features, and be built again.
    let options = ["test", "--quiet", "--workspace", "--no-run", "--test", "session"];
    workspace::run(&mut workspace::cargo(options))?;
    let program = std::env::current_exe()?.with_file_name(format!("playground-steps{}", std::env::consts::EXE_SUFFIX));
    let (lines, _) = workspace::capture(&mut Command::new(program))?;
    let mut slugs = Vec::new();
    for line in lines.lines() {
        let Lesson { slug } = serde_json::from_str(line).context("a lesson of the playground")?;
        data(folder, &format!("steps/{slug}"), line.as_bytes())?;
        slugs.push(slug);
    }
    Ok(slugs)
}

/// Writes a script that hands these bytes over, compressed: `load.js` reads it.
fn data(folder: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    let mut compressed = GzEncoder::new(Vec::new(), Compression::best());
    compressed.write_all(bytes)?;
    let text = BASE64_STANDARD.encode(compressed.finish()?);
    fs::write(folder.join(format!("{name}.js")), format!("playgroundData(\"{name}\", \"{text}\");\n"))?;
    Ok(())
}

/// The page's script: one scope for all files.
fn script() -> Result<String> {
    let mut script = String::from("(() => {\n'use strict';\n");
    for name in SCRIPTS {
        let path = root().join(SOURCES).join(name);
        script += &fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    }
    Ok(script + "})();\n")
}

/// The page with its playground: at its place, or at the end of a step's chapter. `None` of other pages.
fn with_playground(page: &str, path: &str, slugs: &[String]) -> Option<String> {
    let page = if path == PAGE {
        page.replace(PLACE, &format!("data-steps=\"{}\"", slugs.join(" ")))
    } else {
        let step = STEPS.iter().enumerate().find(|(index, step)| path == chapter(*index, step))?.1;
        let place = format!(
            "<section class=\"in-page\" hidden><h3 id=\"in-this-page\">In this page</h3>\
             <div class=\"gpu-playground\" data-step=\"{}\"></div></section></main>",
            step.slug
        );
        page.replacen("</main>", &place, 1)
    };
    let root = to_root(path);
    let style = format!("<link rel=\"stylesheet\" href=\"{root}{FOLDER}/{STYLE}\"></head>");
    let script = format!("<script defer src=\"{root}{FOLDER}/playground.js\"></script></body>");
    Some(page.replacen("</head>", &style, 1).replacen("</body>", &script, 1))
}

/// The page of a step's chapter.
fn chapter(index: usize, step: &gpu_kernels::Step) -> String {
    let file = workspace::step_file_name(index, step);
    format!("steps/{}.html", file.trim_end_matches(".rs"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BARE: &str = "<html><head></head><body><main><p>text</p></main></body></html>";

    #[test]
    fn a_chapter_gets_its_own_step_and_other_pages_stay() {
        let slugs = ["saxpy".to_owned(), "naive".to_owned()];
        let chapter = with_playground(BARE, "steps/01_naive.html", &slugs).unwrap();
        assert!(
            chapter.contains("<p>text</p><section class=\"in-page\" hidden>")
                && chapter.contains("data-step=\"naive\"")
        );
        assert!(
            chapter.contains("src=\"../playground/playground.js\"")
                && chapter.contains("href=\"../playground/playground.css\"")
        );
        assert_eq!(with_playground(BARE, "glossary.html", &slugs), None);
        let page = with_playground(&BARE.replace("text", PLACE), PAGE, &slugs).unwrap();
        assert!(page.contains("data-steps=\"saxpy naive\"") && page.contains("src=\"playground/playground.js\""));
    }

    #[test]
    fn every_file_of_the_script_is_joined() {
        let listed = |name: &String| SCRIPTS.contains(&name.as_str()) || name == STYLE;
        let files = super::super::files(&root().join(SOURCES)).unwrap();
        assert!(files.iter().all(listed) && files.len() == SCRIPTS.len() + 1, "{files:?}");
    }
}
