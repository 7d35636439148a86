//! One product over several GPUs, on emulated ones.

use crate::program::{assert_fails, host, no_device, rows};
use results::{Run, TaskKind};
use tempfile::TempDir;

const EMULATED: [&str; 2] = ["--backend", "emulator"];

#[test]
fn every_class_and_scheme_is_verified_and_compared_with_one_gpu() {
    let cases: [(&[&str], usize, &str); 6] = [
        (&["--gpus", "1", "--precision", "fp32"], 1, "1x1 panels"),
        (&["--gpus", "3", "--alpha", "-0.5", "--beta", "2"], 3, ""),
        (&["--gpus", "4", "--grid", "2x2", "--precision", "tf32", "--beta", "0.5"], 4, "2x2 panels"),
        (&["--gpus", "6", "--grid", "3x2", "--block", "16", "--precision", "f16"], 6, "3x2 blocks of 16"),
        (&["--gpus", "4", "--grid", "2x1x2", "--precision", "fp32"], 4, "2x1x2 panels"),
        (&["--gpus", "2", "--chunks", "1x5", "--precision", "bf16"], 2, "1x5 chunks"),
    ];
    for (arguments, gpus, scheme) in cases {
        let outcome = host(&[&EMULATED, arguments, &["--size", "70x90x50", "--format", "json"]].concat());
        assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""), "{arguments:?}");
        let rows = rows(&outcome.stdout);
        let [all, alone] = &rows[..] else { panic!("{arguments:?}: {}", outcome.stdout) };
        assert_eq!((&all["gpus"], &alone["gpus"]), (&gpus.into(), &1.into()));
        assert!(all["scheme"].as_str().unwrap().contains(scheme), "{all}");
        for row in [all, alone] {
            assert_eq!(
                (&row["verified"], &row["modelled"], &row["backend"]),
                (&true.into(), &true.into(), &"emulator".into())
            );
            assert!(row["rel_error"].as_f64() > Some(0.0) && row["max_scaled_error"].as_f64() < Some(1.0), "{row}");
        }
        let time = |row: &serde_json::Value| row["time_ms"].as_f64().unwrap();
        let efficiency = time(alone) / (gpus as f64 * time(all));
        assert!((all["efficiency"].as_f64().unwrap() - efficiency).abs() < 1e-9 && alone["efficiency"] == 1.0);
    }
}

#[test]
fn the_table_and_the_picture_say_that_times_are_modelled() {
    let folder = TempDir::new().unwrap();
    let picture = folder.path().join("timeline.svg");
    let arguments = ["--gpus", "2", "--grid", "2x1", "--chunks", "1x2", "--size", "64", "--seed", "5"];
    let outcome = host(&[&EMULATED[..], &arguments, &["--timeline", picture.to_str().unwrap()]].concat());
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    for text in
        ["m = 64, n = 64, k = 64", "seed = 5", "times modelled for NVIDIA H200", "2x1 panels, 1x2 chunks", "efficiency"]
    {
        assert!(outcome.stdout.contains(text), "'{text}' is missing in: {}", outcome.stdout);
    }
    let svg = std::fs::read_to_string(&picture).unwrap();
    for text in ["rank 1, compute", "rank 1, inbound", "AllGather of chunk 1 of B", "over 2 GPUs (modelled)"] {
        assert!(svg.contains(text), "'{text}' is missing");
    }
    let nowhere = folder.path().join("no/such/folder.svg");
    let outcome = host(&[&EMULATED[..], &arguments, &["--timeline", nowhere.to_str().unwrap()]].concat());
    assert!(outcome.code == 1 && outcome.stderr.starts_with("error: cannot write "), "{}", outcome.stderr);
}

#[test]
fn a_timeline_is_a_record_beside_the_rows() {
    let folder = TempDir::new().unwrap();
    let [picture, file] = ["timeline.svg", "rows.jsonl"].map(|name| folder.path().join(name));
    let arguments = [
        "--gpus",
        "2",
        "--grid",
        "2x1",
        "--chunks",
        "1x2",
        "--size",
        "64,48",
        "--precision",
        "fp32",
        "--format",
        "csv",
    ];
    let files = ["--json", file.to_str().unwrap(), "--timeline", picture.to_str().unwrap()];
    let outcome = host(&[&EMULATED[..], &arguments, &files].concat());
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    assert!(!outcome.stdout.contains("timeline"), "it is in the file alone: {}", outcome.stdout);
    let run = Run::read(&file).unwrap();
    assert_eq!((run.distributed.len(), run.timelines.len()), (4, 2));
    for (timeline, row) in run.timelines.iter().zip(run.distributed.iter().filter(|row| row.gpus == Some(2))) {
        assert_eq!((timeline.m, timeline.gpus, timeline.modelled), (row.m, 2, true));
        assert_eq!((Some(&timeline.scheme), &timeline.class[..]), (row.scheme.as_ref(), "fp32"));
        // The row's time is when the last task ends, and queues run their tasks one by one.
        assert!(
            (timeline.end_us() / 1e3 - row.time_ms).abs() < 1e-5 * row.time_ms,
            "{} {}",
            timeline.end_us(),
            row.time_ms
        );
        let lanes: Vec<_> = timeline.lanes.iter().map(|lane| (lane.rank, lane.queue.as_str())).collect();
        let queues = ["compute", "inbound", "outbound"];
        assert_eq!(lanes, [0, 1].map(|rank| queues.map(|queue| (rank, queue))).concat());
        for lane in &timeline.lanes {
            assert!(lane.tasks.windows(2).all(|pair| pair[0].end_us <= pair[1].start_us), "{lane:?}");
        }
        let products = timeline.tasks().filter(|task| task.kind == TaskKind::Product);
        assert_eq!(products.count(), 2 * 2, "one for each chunk on each rank");
    }
    // The picture is that of the last record.
    let svg = report::timeline(&run.timelines[1]).svg(report::Layout::Wide, report::Theme::Auto);
    assert_eq!(std::fs::read_to_string(&picture).unwrap(), svg);
    // Without the option there is none.
    let outcome = host(&[&EMULATED[..], &arguments, &files[..2]].concat());
    assert_eq!((outcome.code, Run::read(&file).unwrap().timelines.len()), (0, 0));
}

#[test]
fn options_must_go_together() {
    let two = |rest: &[&'static str]| [&["--gpus", "2"], rest].concat();
    assert_fails(&["--gpus", "0"], 2, &["--gpus", "0 is not in 1..=65535"]);
    assert_fails(&["--gpus", "3", "--grid", "2x2"], 2, &["--grid 2x2 has 4 ranks, and 3 are there"]);
    assert_fails(&two(&["--grid", "2"]), 2, &["'2' is no grid: give RxC"]);
    assert_fails(&two(&["--grid", "0x2"]), 2, &["give numbers from 1"]);
    assert_fails(&two(&["--chunks", "2x2x2"]), 2, &["give MxN"]);
    assert_fails(&two(&["--block", "0"]), 2, &["--block"]);
    assert_fails(&two(&["--deadline", "0"]), 2, &["--deadline"]);
    for option in ["--kernel=naive", "--quick", "--graphs", "--full", "--device=1"] {
        let name = option.split('=').next().unwrap();
        assert_fails(&two(&[option]), 2, &[&format!("{name} cannot be combined with several GPUs")]);
    }
    for option in ["--grid=1x2", "--block=8", "--chunks=1x2", "--timeline=x.svg"] {
        let name = option.split('=').next().unwrap();
        assert_fails(&[option], 2, &[&format!("{name} is about several GPUs: give --gpus")]);
    }
    assert_fails(&[&two(&["--grid", "1x1x2", "--precision", "f16"])[..], &EMULATED].concat(), 1, &["layers"]);
    if no_device().is_some() {
        assert_fails(&two(&["--backend", "cuda"]), 1, &["no CUDA device"]);
    } else {
        assert_fails(&["--gpus", "65535"], 2, &["--gpus 65535, and this machine has"]);
    }
}

#[test]
fn a_launcher_s_processes_are_ranks() {
    let rank = |variables: &[(&str, &str)], arguments: &[&str]| {
        let mut command = assert_cmd::Command::new(env!("CARGO_BIN_EXE_host"));
        let output = command.args(arguments).envs(variables.iter().copied()).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let torchrun = |ranks| {
        [
            ("RANK", "1"),
            ("LOCAL_RANK", "0"),
            ("WORLD_SIZE", ranks),
            ("MASTER_ADDR", "127.0.0.1"),
            ("MASTER_PORT", "29500"),
        ]
    };
    let (code, error) = rank(&torchrun("2"), &["--gpus", "3"]);
    assert_eq!(
        (code, error.starts_with("error: --gpus 3, and the launcher started 2 processes")),
        (Some(2), true),
        "{error}"
    );
    let (code, error) = rank(&torchrun("2"), &["--grid", "3x1"]);
    assert_eq!((code, error.contains("has 3 ranks, and 2 are there")), (Some(2), true), "{error}");
    let (code, error) = rank(&torchrun("2"), &EMULATED);
    assert_eq!((code, error.contains("it has all ranks in one process")), (Some(2), true), "{error}");
    let (code, error) = rank(&torchrun("two"), &[]);
    assert!(code == Some(1) && error.contains("WORLD_SIZE"), "{error}");
    if no_device().is_some() {
        let (code, error) = rank(&torchrun("2"), &[]);
        assert_eq!((code, error.starts_with("error: no CUDA device was found")), (Some(1), true), "{error}");
    }
}
