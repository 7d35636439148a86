//! The report's page: as it opens, and under the reader's hands.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use report::Report;
use results::{Measurement, Peers, Run};
use tests::browser::{Browser, Loads, Page, Window, file_url};

use crate::{Shared, is_fine};

/// The marks at the two ends of each picture that is shown: their notes have the least room.
const OUTERMOST: &str = "[...document.querySelectorAll('svg.pic')].flatMap(picture => {
    const middle = mark => { const box = mark.getBoundingClientRect(); return box.left + box.right; };
    const marks = [...picture.querySelectorAll('.mark')].filter(mark => mark.getBoundingClientRect().width);
    marks.sort((a, b) => middle(a) - middle(b));
    return [...new Set([marks[0], marks.at(-1)])].filter(mark => mark);
})";

/// The trials of this file.
pub fn trials(browser: &Shared) -> Vec<Trial> {
    let trial = |name: &str, runs: fn() -> Result<Vec<Run>>, test: fn(&mut Browser, &Path) -> Result<()>| {
        browser.trial(name, move |browser| {
            let folder = tempfile::tempdir()?;
            let page = folder.path().join("report.html");
            fs::write(&page, Report::new(&runs()?, &Peers::read(&results().join("peers.json"))?).html())?;
            test(browser, &page)
        })
    };
    vec![
        trial("the report", measured, |browser, page| is_fine(browser, page, "report", Loads::Nothing)),
        trial("the report's notes", measured, |browser, page| in_each_window(browser, page, notes)),
        trial("the report's keys", measured, |browser, page| in_each_window(browser, page, keys)),
        trial("the report's lines", measured, |browser, page| in_each_window(browser, page, lines)),
        trial("the report's axis", measured, |browser, page| in_each_window(browser, page, axis)),
        trial("the report's tables", measured, |browser, page| in_each_window(browser, page, tables)),
        trial("the report's colours", measured, |browser, page| in_each_window(browser, page, colours)),
        trial("a report of several GPUs", several_gpus, |browser, page| is_fine(browser, page, "gpus", Loads::Nothing)),
        trial("a report of two runs", beside_modelled, |browser, page| is_fine(browser, page, "runs", Loads::Nothing)),
    ]
}

/// The folder of the repository's own results.
fn results() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", "docs", "results"].iter().collect()
}

/// The newest results of each kind, as one run.
fn measured() -> Result<Vec<Run>> {
    let folder = results();
    let newest = Run::newest_in(&folder)?.context("there are no results")?;
    let mut run = Run::read(&newest)?;
    run.name = format!("docs/results/{}", newest.file_name().unwrap_or_default().display());
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with("accuracy-") && name.ends_with(".jsonl") {
            run.accuracy.extend(Run::read(&path)?.accuracy);
        }
    }
    run.timelines = several_gpus()?.remove(0).timelines;
    Ok(vec![run])
}

/// What several GPUs did over time, beside a product over them.
fn several_gpus() -> Result<Vec<Run>> {
    let mut run = Run::read(&results().join("scale/timeline-2026-11-26-h200.jsonl"))?;
    let newest = Run::newest_in(&results())?.context("there are no results")?;
    let row = Run::read(&newest)?.measurements.remove(0);
    let scheme = Some("2x2 panels, 4x4 chunks".to_owned());
    run.distributed.push(Measurement { gpus: Some(4), scheme, efficiency: Some(0.9), ..row });
    Ok(vec![run])
}

/// Those beside others that say that they are modelled, and are wider.
fn beside_modelled() -> Result<Vec<Run>> {
    let mut runs = measured()?;
    let mut modelled = runs[0].clone();
    modelled.name = "somewhere/else/modelled-in-an-emulator-without-a-gpu.jsonl".into();
    for row in &mut modelled.measurements {
        row.modelled = true;
        row.gflops *= 1.3;
    }
    runs.push(modelled);
    Ok(runs)
}

fn in_each_window(browser: &mut Browser, page: &Path, test: fn(&mut Page) -> Result<()>) -> Result<()> {
    for window in [Window::ALL[0], Window::ALL[3]] {
        test(&mut browser.open(&file_url(page)?, window, Loads::Nothing)?)?;
    }
    Ok(())
}

fn nobody_complains(page: &mut Page, about: &str) -> Result<()> {
    let complaints = page.complaints()?;
    ensure!(complaints.is_empty(), "{about}: {} complaints\n{}", complaints.len(), complaints.join("\n"));
    Ok(())
}

/// Marks show their values, inside the window.
fn notes(page: &mut Page) -> Result<()> {
    let count: usize = page.evaluate(&format!("{OUTERMOST}.length"))?;
    ensure!(count > 0, "there is nothing to point at");
    for index in 0..count {
        let mark = format!("{OUTERMOST}[{index}]");
        page.point_at(&mark)?;
        let note: String = page.evaluate("document.querySelector('#tip:not([hidden])')?.innerText ?? ''")?;
        let labels = "[...document.querySelectorAll('.mark')].map(mark => mark.getAttribute('aria-label').trim())";
        ensure!(page.evaluate::<Vec<String>>(labels)?.contains(&note), "pointing at mark {index} shows {note:?}");
        nobody_complains(page, &note)?;
    }
    Ok(())
}

/// The arrow keys go from mark to mark, past those that are not shown.
fn keys(page: &mut Page) -> Result<()> {
    let hidden: Vec<String> = page.evaluate(
        "[...document.querySelectorAll('svg.pic')].flatMap(picture => {
            const marks = [...picture.querySelectorAll('.mark')].filter(mark => mark.getBoundingClientRect().width);
            marks[0]?.focus();
            return marks.map(() => {
                const right = new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true });
                document.activeElement.dispatchEvent(right);
                return document.activeElement;
            });
        }).filter(mark => !mark.getBoundingClientRect().width).map(mark => mark.getAttribute('aria-label'))",
    )?;
    ensure!(hidden.is_empty(), "the keys go to {} marks that are not shown: {:?}", hidden.len(), hidden[0]);
    Ok(())
}

/// All lines at once, and none.
fn lines(page: &mut Page) -> Result<()> {
    for (about, unlike) in [("all lines", ":not(:checked)"), ("no lines", ":checked")] {
        let click = format!("document.querySelectorAll('.toggles input{unlike}').forEach(box => box.click()), true");
        page.evaluate::<bool>(&click)?;
        nobody_complains(page, about)?;
    }
    Ok(())
}

/// The reader may ask for other colours than the system's.
fn colours(page: &mut Page) -> Result<()> {
    let background = "getComputedStyle(document.body).backgroundColor";
    let before: String = page.evaluate(background)?;
    page.evaluate::<bool>("document.querySelector('#theme').click(), true")?;
    ensure!(before != page.evaluate::<String>(background)?, "the colours stay as they are");
    nobody_complains(page, "other colours")
}

/// The axis that is chosen is the one that is shown, and all can be reached by the keyboard.
fn axis(page: &mut Page) -> Result<()> {
    let shown =
        "[...document.querySelectorAll('.ladder figure > div')].filter(div => div.getBoundingClientRect().height)
        .map(div => div.className)";
    ensure!(page.evaluate::<Vec<String>>(shown)? == ["v-absolute"], "the absolute axis is not the first");
    for id in ["peak", "cublas", "absolute"] {
        let choose = format!(
            "(box => {{ box.focus(); box.click(); return document.activeElement === box; }})(document.querySelector('#axis-{id}'))"
        );
        ensure!(page.evaluate::<bool>(&choose)?, "the axis {id} cannot be reached");
        let shown: Vec<String> = page.evaluate(shown)?;
        ensure!(shown == [format!("v-{id}")], "{id} is chosen, and {shown:?} are shown");
        nobody_complains(page, id)?;
    }
    Ok(())
}

/// Heads sort the ladder's table both ways, and a button makes a file of it as it stands.
fn tables(page: &mut Page) -> Result<()> {
    let sort = "(button => { button.focus(); button.click(); return document.activeElement === button; })
        (document.querySelectorAll('.ladder thead button')[3])";
    let column = "[...document.querySelectorAll('.ladder tbody tr')].map(row => parseFloat(row.cells[3].textContent))";
    for is_up in [false, true] {
        ensure!(page.evaluate::<bool>(sort)?, "a head cannot be reached");
        let values: Vec<f64> = page.evaluate(column)?;
        ensure!(values.len() > 20 && values.is_sorted_by(|a, b| if is_up { a <= b } else { a >= b }), "{values:?}");
    }
    let download = "(() => {
        let file = '';
        HTMLAnchorElement.prototype.click = function () { file = `${this.download} ${this.href}`; };
        document.querySelector('.ladder button.csv').click();
        return file;
    })()";
    let file: String = page.evaluate(download)?;
    ensure!(file.starts_with("the-ladder-tflops-at-4096.csv blob:"), "{file}");
    nobody_complains(page, "a sorted table")
}
