//! The examination itself: a good page gets no complaint, and each bad one, which has one mistake, the one about it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use libtest_mimic::Trial;
use tests::browser::{Browser, Loads, Window, examine, file_url, screenshots};

use crate::{Shared, is_fine};

const WIDE: Window = Window { width: 1400, is_dark: false };
const NARROW: Window = Window { width: 390, is_dark: false };
const DARK: Window = Window { width: 390, is_dark: true };

/// A page with a mistake: its name, its body, where it is looked at, and what the complaint says.
type Bad = (&'static str, &'static str, Window, &'static [&'static str]);

/// One mistake each.
const BAD: &[Bad] = &[
    ("console error", "<script>console.error('no', 3, {})</script>", WIDE, &["console: no 3 Object"]),
    ("failed assertion", "<script>console.assert(false, 'not so')</script>", WIDE, &["console: not so"]),
    ("exception", "<script>null.length</script>", WIDE, &["exception: TypeError: ", "null"]),
    (
        "unhandled rejection",
        "<script>(async () => { throw new Error('broken') })()</script>",
        WIDE,
        &["exception: Error: broken"],
    ),
    (
        "request",
        "<img alt='' src='https://example.com/picture.png'>",
        WIDE,
        &["request: https://example.com/picture.png"],
    ),
    (
        "later request",
        "<script>fetch('http://10.0.0.1/rows').catch(() => 0)</script>",
        WIDE,
        &["request: http://10.0.0.1/"],
    ),
    (
        "style",
        "<style>p { background: url(https://example.com/x.svg) }</style><p>x",
        WIDE,
        &["request: https://example.com/x.svg"],
    ),
    ("connection", "<link rel=preconnect href='//example.com'>", WIDE, &["request: ", "example.com/"]),
    ("file beside it", "<link rel=icon href=icon.svg>", WIDE, &["request: file:///", "icon.svg"]),
    (
        "wide box",
        "<div id=box style='width: 500px; height: 9px'></div>",
        NARROW,
        &["overflow: <div#box>", " 508 px", " 390 px"],
    ),
    (
        "wide table",
        "<table id=rows><td><pre>0123456789 0123456789 0123456789 0123456789 0123456789</pre></table>",
        NARROW,
        &["overflow: <table#rows>"],
    ),
    ("wide margin", "<p style='margin-right: -60px; width: 100px; padding-right: 330px'>x", NARROW, &["overflow: <p>"]),
    ("left of the window", "<p id=left style='margin-left: -20px'>text", WIDE, &["overflow: <p#left> goes from -12"]),
    (
        "text over text",
        "<div id=here><p style='margin: 0'>one line<p style='margin: -10px 0 0'>another",
        WIDE,
        &["overlap: \"one line\" in <div#here> and \"another\" in <div#here> by "],
    ),
    (
        "labels over each other",
        "<svg width=300 height=99><text x=9 y=50>first label<tspan x=60>second</tspan></text></svg>",
        WIDE,
        &["overlap: \"first label\" and \"second\" by "],
    ),
    (
        "slanted labels over each other",
        "<svg width=300 height=200><text transform='rotate(-45 99 99)' x=90 y=99>first</text>\
         <text transform='rotate(-45 99 99)' x=110 y=99>second</text></svg>",
        WIDE,
        &["overlap: \"second\" and \"first\" by "],
    ),
    (
        "cut by its drawing",
        "<svg id=chart width=120 height=40><text x=60 y=20>a long label</text></svg>",
        WIDE,
        &["cut: \"a long label\" in <svg#chart> sticks out of <svg#chart> by "],
    ),
    (
        "outside of its drawing",
        "<svg style='overflow: visible' width=90 height=40><text x=9 y=120>lost</text></svg>",
        WIDE,
        &["cut: \"lost\" sticks out of <svg> by "],
    ),
    (
        "cut by its box",
        "<p class=box style='overflow: hidden; white-space: nowrap; width: 60px'>a long text",
        WIDE,
        &["cut: \"a long text\" sticks out of <p.box> by "],
    ),
    ("tiny text", "<p style='font-size: 8px'>small print", WIDE, &["tiny: \"small print\" is 8.0 px"]),
    (
        "a drawing made small",
        "<svg viewBox='0 0 800 99' width='100%'><text x=9 y=50 font-size=16>label</text></svg>",
        NARROW,
        &["tiny: \"label\" is 7.5 px"],
    ),
    ("grey text", "<p style='color: #808080'>pale", WIDE, &["contrast: \"pale\" is 3.95 : 1, #808080 on #ffffff"]),
    (
        "faded text",
        "<div style='opacity: 0.5; background: #fff'><p style='background: #eee'>pale",
        WIDE,
        &["contrast: \"pale\" is 3.70 : 1, #808080 on #f7f7f7"],
    ),
    (
        "text for daylight",
        "<meta name=color-scheme content='light dark'><p style='color: #222'>pale",
        DARK,
        &["contrast: \"pale\" is ", "#222222 on #121212"],
    ),
    (
        "label on its bar",
        "<svg width=300 height=99><rect width=300 height=99 fill='#1f5fa8'/><text x=9 y=50>label</text></svg>",
        WIDE,
        &["contrast: \"label\" is ", "#000000 on #1f5fa8"],
    ),
];

/// The page that nobody complains about.
const GOOD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/page.html");

/// The trials of this file.
pub fn trials(browser: &Shared) -> Vec<Trial> {
    let mut trials = vec![
        browser.trial("a good page", a_good_page_is_let_pass),
        browser.trial("many complaints of a kind", many_complaints_are_counted),
        browser.trial("a note under the pointer", a_note_comes_up_under_the_pointer),
        browser.trial("what is folded away", what_is_folded_away_counts_too),
        browser.trial("a script that fails", a_failing_script_is_an_error),
    ];
    let bad = |bad: &'static Bad| browser.trial(bad.0, |browser| gets_its_complaint(browser, bad)).with_kind("bad");
    trials.extend(BAD.iter().map(bad));
    trials
}

fn a_good_page_is_let_pass(browser: &mut Browser) -> Result<()> {
    is_fine(browser, GOOD.as_ref(), "good", Loads::Nothing)?;
    // A picture has 2 dots to the pixel where a phone has.
    for (name, dots) in [("1400-light", 1400), ("1400-dark", 1400), ("390-light", 780), ("390-dark", 780)] {
        let picture = fs::read(screenshots().join(format!("good-{name}.png")))?;
        assert_eq!(picture[16..20], u32::to_be_bytes(dots), "{name}");
    }
    Ok(())
}

fn many_complaints_are_counted(browser: &mut Browser) -> Result<()> {
    let complaints = complaints(browser, &"<p style='font-size: 8px'>small".repeat(12), WIDE)?;
    assert_eq!(complaints.len(), 6, "{complaints:?}");
    assert_eq!(complaints[5], "tiny: and 7 more");
    Ok(())
}

fn what_is_folded_away_counts_too(browser: &mut Browser) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = write(folder.path(), "<details><summary>More</summary><p style='font-size: 8px'>small print</details>")?;
    let complaints = examine(browser, &file, "folded", Loads::Nothing)?;
    assert_eq!(complaints.len(), Window::ALL.len(), "{complaints:?}");
    assert_eq!(complaints[2], "folded-390-light: unfolded, tiny: \"small print\" is 8.0 px");
    Ok(())
}

fn a_note_comes_up_under_the_pointer(browser: &mut Browser) -> Result<()> {
    let url = file_url(GOOD.as_ref())?;
    let mut page = browser.open(&url, NARROW, Loads::Nothing)?;
    page.point_at("document.querySelectorAll('#chart rect')[1]")?;
    assert_eq!(page.evaluate::<String>("document.querySelector('#note').innerText")?, "coalesced: 6363");
    // It covers what is behind it, and is no text over text.
    assert_eq!(page.complaints()?, Vec::<String>::new());
    page.evaluate::<bool>("document.querySelector('#note').style.background = 'none', true")?;
    let complaints = page.complaints()?;
    assert!(complaints.iter().any(|complaint| complaint.starts_with("overlap: ")), "{complaints:?}");
    Ok(())
}

fn a_failing_script_is_an_error(browser: &mut Browser) -> Result<()> {
    let mut page = browser.open("data:text/html,", WIDE, Loads::Nothing)?;
    assert_eq!(page.evaluate::<u32>("(async () => 6 * 7)()")?, 42);
    let error = page.evaluate::<u32>("nothing + 1").unwrap_err();
    assert!(error.to_string().starts_with("ReferenceError"), "{error:#}");
    Ok(())
}

fn gets_its_complaint(browser: &mut Browser, (_, body, window, expected): &Bad) -> Result<()> {
    let complaints = complaints(browser, body, *window)?;
    let is_it =
        |complaint: &String| complaint.starts_with(expected[0]) && expected.iter().all(|part| complaint.contains(part));
    ensure!(
        complaints.len() == 1 && complaints.iter().all(is_it),
        "{expected:?} was expected, alone\n{}",
        complaints.join("\n")
    );
    Ok(())
}

/// The complaints about a page with that body, which is a file of its own.
fn complaints(browser: &mut Browser, body: &str, window: Window) -> Result<Vec<String>> {
    let folder = tempfile::tempdir()?;
    let file = write(folder.path(), body)?;
    browser.open(&file_url(&file)?, window, Loads::Nothing)?.complaints()
}

/// Writes a page with that body into `folder`.
fn write(folder: &Path, body: &str) -> Result<PathBuf> {
    let file = folder.join("bad page.html");
    let head = "<!DOCTYPE html><meta charset=utf-8><meta name=viewport content='width=device-width'>";
    fs::write(&file, format!("{head}<title>Bad</title>{body}"))?;
    Ok(file)
}
