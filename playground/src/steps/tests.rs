//! What the chapters embed: every step runs clean at its small size, and what the text says of the change comes true.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use gpu_kernels::STEPS;
use serde_json::{Value, json};

use super::{Lesson, Outcome, TABLE, all};
use crate::{Case, Session};

fn ask(session: &mut Session, request: &Value) -> Value {
    let reply: Value = serde_json::from_str(&session.answer(&request.to_string())).unwrap();
    assert!(reply["error"].is_null(), "{reply}");
    reply
}

fn run(case: &Case) -> Value {
    let mut request = serde_json::to_value(case).unwrap();
    request["do"] = json!("run");
    ask(&mut Session::default(), &request)
}

fn lessons() -> Vec<Lesson> {
    all().unwrap()
}

#[test]
fn every_step_has_an_entry_in_order() {
    let slugs: Vec<_> = STEPS.iter().map(|step| step.slug).collect();
    assert_eq!(TABLE.iter().map(|entry| entry.slug).collect::<Vec<_>>(), slugs);
}

#[test]
fn every_lesson_runs_clean_and_has_its_outcome() {
    let (lessons, next) = (lessons(), AtomicUsize::new(0));
    let work = || {
        while let Some(lesson) = lessons.get(next.fetch_add(1, Relaxed)) {
            has_its_outcome(lesson);
        }
    };
    thread::scope(|scope| {
        (1..thread::available_parallelism().map_or(1, usize::from)).for_each(|_| _ = scope.spawn(work));
        work();
    });
}

fn has_its_outcome(Lesson { slug, case, exercise, .. }: &Lesson) {
    let reply = run(case);
    assert_eq!((&reply["is_clean"], &reply["findings"]), (&json!(true), &json!([])), "{slug}");
    let changed = run(&exercise.apply(case));
    let findings = changed["findings"].as_array().unwrap();
    let kinds: Vec<_> = findings.iter().map(|found| found["kind"].as_str().unwrap()).collect();
    match exercise.outcome {
        Outcome::Finds(kind) => assert!(kinds.contains(&kind), "{slug}: {kinds:?} instead of {kind}"),
        Outcome::Changes => {
            assert!(kinds.is_empty(), "{slug}: {kinds:?}");
            assert_ne!(changed["results"], reply["results"], "{slug}");
        }
    }
}

#[test]
fn changes_are_of_one_line() {
    for Lesson { slug, case, exercise, .. } in lessons() {
        let changed = exercise.apply(&case);
        let lines = |case: &Case| case.modules[0].lines().map(str::to_owned).collect::<Vec<_>>();
        let (before, after) = (lines(&case), lines(&changed));
        let differ: Vec<_> = (1..).zip(before.iter().zip(&after)).filter(|(_, (one, other))| one != other).collect();
        assert_eq!((before.len(), differ.len(), differ[0].0), (after.len(), 1, exercise.line), "{slug}");
    }
}
