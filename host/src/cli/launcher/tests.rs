//! Processes of a shell in place of ranks. Those that are never killed would run for a day, and the tests with them.

use super::*;

/// Longer than any test may take.
const LONG: Duration = Duration::from_secs(86_400);

/// Ends when its standard input does, as a rank.
const OBEDIENT: &str = "while read line; do :; done";

/// Does not look at its standard input.
const DEAF: &str = "exec sleep 86400";

fn commands(scripts: &[&str]) -> Vec<Command> {
    let command = |script: &&str| {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    };
    scripts.iter().map(command).collect()
}

/// How ranks that run these scripts end.
fn end(scripts: &[&str], deadline: Duration) -> (u8, String) {
    let End { exit_code, line } = Launched::start(commands(scripts), deadline).unwrap().wait(&Stop::default()).unwrap();
    (exit_code, line.unwrap_or_default())
}

#[test]
fn all_well_is_exit_code_0() {
    assert_eq!(end(&["true", "echo rows", "echo note >&2"], LONG), (0, String::new()));
}

#[test]
fn the_first_that_fails_is_heard_and_all_others_are_ended() {
    let fails = "echo 'error: no memory' >&2; exit 1";
    for others in [OBEDIENT, DEAF] {
        assert_eq!(end(&[others, fails, others], LONG), (1, "error: no memory".into()));
    }
    // What others say of it afterwards is not printed.
    let echo = "read line; echo 'error: it is lost' >&2; exit 1";
    assert_eq!(end(&[echo, echo, fails], LONG), (1, "error: no memory".into()));
    let usage = "echo 'error: no such option' >&2; exit 2";
    assert_eq!(end(&[usage, usage], LONG), (2, "error: no such option".into()));
}

#[test]
fn of_one_that_is_killed_the_others_say_what_they_miss() {
    let waits = r#"read line; echo "error: rank 0: AllGather of chunk 3 of B: $line" >&2; exit 1"#;
    let (code, line) = end(&[waits, "kill -9 $$", OBEDIENT], LONG);
    assert_eq!(code, 1);
    assert!(line.starts_with("error: rank 0: AllGather of chunk 3 of B: rank 1 has ended: signal: 9"), "{line}");
}

#[test]
fn one_that_goes_without_a_word_ends_the_others_at_the_deadline() {
    for (goes, how) in [("kill -9 $$", "signal: 9 (SIGKILL)"), ("exit 7", "exit status: 7")] {
        let expected = format!("error: rank 1 has ended: {how}");
        assert_eq!(end(&[DEAF, goes], Duration::ZERO), (1, expected));
    }
}

#[test]
fn stopped_ones_are_killed() {
    let late = "echo 'error: rank 1: AllGather of chunk 0 of B: rank 0 did not come' >&2; exit 1";
    let expected = "error: rank 1: AllGather of chunk 0 of B: rank 0 did not come";
    assert_eq!(end(&["kill -STOP $$", late], LONG), (1, expected.into()));
    if cfg!(target_os = "linux") {
        let expected = "error: rank 0 was stopped, and did not go on: it was killed";
        assert_eq!(end(&["kill -STOP $$", DEAF], Duration::ZERO), (1, expected.into()));
    }
}

#[test]
fn none_outlives_the_others() {
    let expected = "error: rank 0 did not end after others had: it was killed";
    assert_eq!(end(&[DEAF, "true"], Duration::ZERO), (1, expected.into()));
}

#[test]
fn an_interruption_ends_all() {
    let interrupted = (130, "interrupted: 2 ranks were ended".to_owned());
    // Ctrl-C reaches ranks too, perhaps before this program. What runs the tests may ignore it, and its processes with it.
    assert_eq!(end(&["exec env --default-signal=INT sh -c 'kill -INT $$'", DEAF], LONG), interrupted);
    let stop = Stop::default();
    stop.raise();
    let End { exit_code, line } =
        Launched::start(commands(&[DEAF, "kill -STOP $$"]), LONG).unwrap().wait(&stop).unwrap();
    assert_eq!((exit_code, line.unwrap()), interrupted);
}

#[test]
fn no_process_is_left_behind() {
    let mut processes = commands(&["true", DEAF, "true"]);
    processes[2] = Command::new("/no/such/program");
    let Err(error) = Launched::start(processes, LONG) else { panic!("there is no such program") };
    assert!(matches!(error, Error::Launch { rank: 2, .. }), "{error}");
    // Its own number first.
    let launched = Launched::start(commands(&[&format!("echo $$; {DEAF}")]), LONG).unwrap();
    let pid = launched.lines.recv().unwrap().text;
    let is_there = || Command::new("sh").args(["-c", &format!("kill -0 {pid} 2>&1")]).status().unwrap().success();
    assert!(is_there());
    drop(launched);
    assert!(!is_there());
}
