//! The book's playground, where the site was built with it: what it shows, and that it computes what the emulator computes natively.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use playground::steps::{self, Lesson};
use playground::{Case, Session};
use serde_json::{Value, json};
use tests::browser::{Browser, Loads, Page, Window, file_url, save};

use crate::Shared;
use crate::book::THEMES;

const DESK: Window = Window { width: 1400, is_dark: false };

/// Kernels that are run in the page and natively: a sample, a step with barriers, one with TMA, mbarriers and tensor cores.
const COMPARED: [&str; 4] = ["saxpy", "smem-tiling", "tf32-split-k", "hgemm-split-k"];

/// The trials of this file.
pub fn trials(browser: &Shared) -> Vec<Trial> {
    let is_built = site("playground/emulator.js").is_file();
    let trial = |name: &str, test: fn(&mut Browser) -> Result<()>| {
        let test = move |browser: &mut Browser| {
            test(browser).context("target/book, as `cargo xtask book --html` last built it")
        };
        browser.trial(name, test).with_ignored_flag(!is_built)
    };
    vec![
        trial("the book's playground: three kernels in every window", looks),
        trial("the book's playground: the native emulator's bits and counters", is_native),
        trial("the book's playground: a deleted barrier, steps back, keys, themes", keys),
        trial("the book's playground: pasted PTX, and what is wrong with it", pasted),
        trial("the book's playground: a trap of the emulator", trap),
        trial("the book's playground: a chapter's own kernel", chapter),
    ]
}

fn site(page: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../target/book")).join(page)
}

/// Opens the playground with that kernel, and waits until its text is there.
fn open<'b>(browser: &'b mut Browser, kernel: &str, window: Window) -> Result<Page<'b>> {
    let url = format!("{}?kernel={kernel}", file_url(&site("playground.html"))?);
    let mut page = browser.open(&url, window, Loads::Files)?;
    page.evaluate::<bool>(&until("place.playground?.text"))?;
    Ok(page)
}

/// A script that resolves when the condition holds of the page's playground. It looks again with every frame.
fn until(condition: &str) -> String {
    format!(
        "(async () => {{
            const place = document.querySelector('.gpu-playground');
            while (!({condition})) await {{ then: (painted) => requestAnimationFrame(painted) }};
            return true;
        }})()"
    )
}

/// Presses `Run`, and waits for the result: what is said of it.
fn run(page: &mut Page) -> Result<String> {
    page.evaluate::<bool>("document.querySelector('.gpu-playground').playground.start().then(() => true)")?;
    page.evaluate::<bool>(&until("place.playground.view"))?;
    verdict(page)
}

fn verdict(page: &mut Page) -> Result<String> {
    page.evaluate("document.querySelector('.gpu-playground .verdict').textContent")
}

fn looks(browser: &mut Browser) -> Result<()> {
    let mut complaints = Vec::new();
    for window in Window::ALL {
        for kernel in ["divergent-loop", "naive", "producer-consumer"] {
            let mut page = open(browser, kernel, window)?;
            let said = run(&mut page)?;
            ensure!(said.starts_with("clean: "), "{kernel}: {said}");
            for view in ["Lanes", "Access", "Warps", "Timeline", "Results", "Counters"] {
                let show = format!("document.querySelector('.gpu-playground').playground.tabs.show('{view}'), true");
                page.evaluate::<bool>(&show)?;
                page.evaluate::<bool>(&until(&format!(
                    "'{view}' !== 'Timeline' || place.querySelector('.timeline svg')"
                )))?;
                page.settle()?;
                let look = format!("playground-{kernel}-{}-{}-{}", view.to_lowercase(), window.width, window.theme());
                let found = page.complaints()?;
                if kernel == "producer-consumer" || !found.is_empty() {
                    save(&mut page, &look)?;
                }
                complaints.extend(found.into_iter().map(|found| format!("{look}: {found}")));
            }
        }
    }
    ensure!(complaints.is_empty(), "{} complaints\n{}", complaints.len(), complaints.join("\n"));
    Ok(())
}

/// Every letter of every reply is that of the same code, natively: results, digests, counters, findings, registers, timelines.
fn is_native(browser: &mut Browser) -> Result<()> {
    let mut page = open(browser, "saxpy", DESK)?;
    for slug in COMPARED {
        let Lesson { case, exercise, .. } = lesson(slug)?;
        let mut session = Session::default();
        for case in [exercise.apply(&case), case] {
            let steps = [0, 100, 7].map(|step| json!({ "do": "step", "step": step, "watched": ["%r1"] }));
            for request in [request(&case)?].into_iter().chain(steps).chain([json!({ "do": "timeline" })]) {
                let native = session.answer(&request.to_string());
                let ask = format!("document.querySelector('.gpu-playground').playground.emulator.ask({request})");
                let reply: String = page.evaluate(&ask)?;
                let what = &request["do"];
                ensure!(reply == native, "{slug}, {what}: {}", difference(&reply, &native));
            }
        }
    }
    Ok(())
}

fn lesson(slug: &str) -> Result<Lesson> {
    let lessons = steps::all().map_err(anyhow::Error::msg)?;
    lessons.into_iter().find(|lesson| lesson.slug == slug).context(slug.to_owned())
}

fn request(case: &Case) -> Result<Value> {
    let mut request = serde_json::to_value(case)?;
    request["do"] = "run".into();
    Ok(request)
}

/// Where two texts differ.
fn difference(one: &str, other: &str) -> String {
    let at = one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count();
    let around = |text: &str| text.chars().skip(at.saturating_sub(80)).take(160).collect::<String>();
    format!("in the page\n{}\nnatively\n{}", around(one), around(other))
}

fn keys(browser: &mut Browser) -> Result<()> {
    let mut page = open(browser, "smem-tiling", DESK)?;
    let focus = |page: &mut Page, element: &str| {
        page.evaluate::<bool>(&format!("document.querySelector('.gpu-playground {element}').focus(), true"))
    };
    focus(&mut page, "button.run")?;
    page.press("Enter")?;
    page.evaluate::<bool>(&until("place.playground.view"))?;
    ensure!(verdict(&mut page)?.starts_with("clean: "), "{}", verdict(&mut page)?);

    focus(&mut page, ".exercise button")?;
    page.press("Enter")?;
    page.evaluate::<bool>(&until("place.querySelector('.findings li')"))?;
    let found: String = page.evaluate("document.querySelector('.gpu-playground .findings').innerText")?;
    ensure!(found.contains("race") && found.contains("st.shared"), "without the barrier: {found}");
    let is_kept: bool = page.evaluate("document.querySelector('.exercise').contains(document.activeElement)")?;
    ensure!(is_kept, "the button that was pressed has lost the focus");

    focus(&mut page, ".stepper button")?;
    let stand = |page: &mut Page, key: &str| {
        page.press(key)?;
        page.evaluate::<bool>(&until("place.playground.view.step === place.playground.stepper.step"))?;
        page.evaluate::<[usize; 2]>(
            "(({ view }) => [view.step, view.line])(document.querySelector('.gpu-playground').playground)",
        )
    };
    let [first, _] = stand(&mut page, "Home")?;
    let [on, line] = stand(&mut page, "ArrowRight")?;
    let [further, _] = stand(&mut page, "ArrowRight")?;
    let back = stand(&mut page, "ArrowLeft")?;
    ensure!(first == 0 && on > first && further > on && back == [on, line], "{first}, {on}, {further}, back {back:?}");
    let [last, _] = stand(&mut page, "End")?;
    ensure!(
        last > further && page.evaluate::<bool>("location.pathname.endsWith('playground.html')")?,
        "the page turned"
    );

    focus(&mut page, "[role=tab]")?;
    page.press("ArrowRight")?;
    let shown: String =
        page.evaluate("document.querySelector('.gpu-playground [role=tab][aria-selected=true]').textContent")?;
    ensure!(shown == "Access", "{shown}");
    for theme in THEMES {
        page.evaluate::<bool>(&format!("document.querySelector('#mdbook-theme-{theme}').click(), true"))?;
        page.settle()?;
        let complaints = page.complaints()?;
        ensure!(complaints.is_empty(), "{theme}: {complaints:?}");
    }
    Ok(())
}

fn pasted(browser: &mut Browser) -> Result<()> {
    let mut page = open(browser, "saxpy", DESK)?;
    let text = include_str!("../../../ptx-emu/tests/ptx/vector_add.ptx");
    let paste = |page: &mut Page, text: &str| {
        page.evaluate::<String>(&format!(
            "(async () => {{
                const {{ playground }} = document.querySelector('.gpu-playground');
                await playground.open('own');
                playground.listing.editor.value = {};
                await playground.start();
                return playground.verdict.textContent;
            }})()",
            json!(text)
        ))
    };
    let said = paste(&mut page, text)?;
    ensure!(said.contains("1 block"), "{said}");
    let said = paste(&mut page, &text.replace("add.", "sum."))?;
    ensure!(said.starts_with("line ") && said.contains("sum."), "{said}");
    let said = paste(&mut page, "")?;
    ensure!(!said.is_empty() && said.lines().count() == 1, "{said}");
    let complaints = page.complaints()?;
    ensure!(complaints.is_empty(), "{complaints:?}");
    Ok(())
}

/// An emulator that does nothing but fail: each request is answered by a line, and by a new instance.
const BROKEN: &str = "(() => {
    const name = (text) => [text.length, ...new TextEncoder().encode(text)];
    const section = (number, content) => [number, content.length, ...content];
    const [none, one, zero, fails] = [[0x60, 0, 1, 0x7f], [0x60, 1, 0x7f, 1, 0x7f], [4, 0, 0x41, 0, 0x0b], [3, 0, 0, 0x0b]];
    const functions = ['request', 'answer', 'reply', 'panic_bytes', 'panic_text'];
    const exported = functions.flatMap((text, index) => [...name(text), 0, index]);
    const bytes = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, ...section(1, [2, ...none, ...one]), ...section(3, [5, 1, 0, 0, 0, 0]),
        ...section(5, [1, 0, 1]), ...section(7, [6, ...name('memory'), 2, 0, ...exported]), ...section(10, [5, ...zero, ...fails, ...zero, ...zero, ...zero])];
    return WebAssembly.compile(new Uint8Array(bytes));
})()";

fn trap(browser: &mut Browser) -> Result<()> {
    let mut page = open(browser, "saxpy", DESK)?;
    let said: [String; 2] = page.evaluate(&format!(
        "(async () => {{
            const Emulator = document.querySelector('.gpu-playground').playground.emulator.constructor;
            const emulator = new Emulator({BROKEN});
            return [await emulator.ask({{}}), await emulator.ask({{}})];
        }})()"
    ))?;
    for said in said {
        ensure!(said.contains("the emulator failed, and was started again: unreachable"), "{said}");
    }
    let complaints = page.complaints()?;
    ensure!(complaints.is_empty(), "{complaints:?}");
    Ok(())
}

fn chapter(browser: &mut Browser) -> Result<()> {
    for window in Window::ALL {
        let mut page = browser.open(&file_url(&site("steps/03_smem_tiling.html"))?, window, Loads::Files)?;
        let loaded: bool = page.evaluate("!!document.querySelector('script[src*=\"playground/emulator\"]')")?;
        ensure!(!loaded, "the emulator is loaded before anybody asks for it");
        page.evaluate::<bool>("document.querySelector('.gpu-playground button').click(), true")?;
        page.evaluate::<bool>(&until("place.playground?.view"))?;
        let said = verdict(&mut page)?;
        ensure!(said.starts_with("clean: "), "{said}");
        let complaints = page.complaints()?;
        if !complaints.is_empty() {
            save(&mut page, &format!("playground-chapter-{}-{}", window.width, window.theme()))?;
        }
        ensure!(complaints.is_empty(), "{} {}: {}", window.width, window.theme(), complaints.join("\n"));
    }
    Ok(())
}
