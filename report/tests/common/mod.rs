//! The committed results, and what is made of them.

use std::path::{Path, PathBuf};

use report::{Picture, Report};
use results::{Peers, Run};

pub fn docs(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/results").join(file)
}

/// The newest results of an H200.
pub fn measured() -> Run {
    Run::read(&Run::newest_in(&docs("")).unwrap().unwrap()).unwrap()
}

pub fn peers() -> Peers {
    Peers::read(&docs("peers.json")).unwrap()
}

/// As the emulator leaves them: modelled, without cuBLAS.
pub fn modelled() -> Run {
    let mut run = measured();
    run.name = "target/bench/emulator/rows.jsonl".into();
    run.measurements.retain(|row| !row.is_baseline() && row.m <= 2048);
    for row in &mut run.measurements {
        (row.modelled, row.percent_of_cublas, row.backend) = (true, None, "emulator".into());
    }
    run
}

pub fn picture(runs: &[Run], name: &str) -> Picture {
    Report::new(runs, &peers()).picture(name).unwrap().clone()
}
