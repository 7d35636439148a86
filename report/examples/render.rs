//! Writes the report of files of results into a folder: `render FOLDER FILE...`.
use std::path::{Path, PathBuf};
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<_> = std::env::args().skip(1).collect();
    let runs = args[1..].iter().map(|f| results::Run::read(Path::new(f))).collect::<Result<Vec<_>, _>>()?;
    let peers = results::Peers::read(Path::new("docs/results/peers.json"))?;
    let folder = PathBuf::from(&args[0]);
    std::fs::create_dir_all(&folder)?;
    let t = std::time::Instant::now();
    report::write(&folder, &runs, &peers)?;
    eprintln!("{:?}", t.elapsed());
    let report = report::Report::new(&runs, &peers);
    for p in report.pictures() {
        std::fs::write(
            folder.join(format!("{}-narrow.png", p.name)),
            p.png(report::Layout::Narrow, report::Theme::Light)?,
        )?;
        std::fs::write(folder.join(format!("{}-dark.png", p.name)), p.png(report::Layout::Wide, report::Theme::Dark)?)?;
    }
    for l in report.left_out() {
        eprintln!("{}: {}", l.title, l.reason);
    }
    Ok(())
}
