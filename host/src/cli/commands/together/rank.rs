//! A rank: one process with one GPU.

use std::io::{BufReader, stdin};
use std::process::{abort, exit};
use std::time::Duration;

use sgemm::distributed::Launched;

use super::session;
use crate::backend::cuda::JoinedRank;
use crate::cli::interrupt;
use crate::cli::launcher::is_started_by_host;
use crate::cli::launcher::parent::News;
use crate::cli::request::{RunRequest, Together};
use crate::{Error, output};

/// How long the end of the process may take: the driver's own may hang.
const END: Duration = Duration::from_secs(5);

/// Bytes of matrices that a host draws, copies and checks in a second, at the least.
const HOST_BYTES_PER_SECOND: f64 = 2e8;

/// What a GPU multiplies in a second, at the least.
const FLOPS: f64 = 1e13;

/// Measures with the other ranks. Returns the exit code.
pub fn run(request: &RunRequest, together: &Together, launched: &Launched) -> Result<u8, Error> {
    let news = if is_started_by_host() {
        News::listen(BufReader::new(stdin()), leave)
    } else {
        // A launcher ends all ranks by a signal.
        interrupt::instead(|| exit(interrupt::EXIT_CODE.into()));
        News::default()
    };
    let rank = launched.rank;
    let told = news.clone();
    news.on_loss(move || {
        let (what, reason) = ("join the other ranks".into(), String::new());
        give_up(rank, &sgemm::Error::Collective { rank, what, reason }.into(), &told)
    });
    let waits = [together.deadline, together.deadline + host_time(request, together)?];
    let outcome = JoinedRank::join(launched, waits, together.timeline.is_some()).and_then(|mut rank| {
        let aborter = rank.aborter();
        news.on_loss(move || aborter.abort());
        let outcome = session::run(&mut rank, request, together);
        // What a failed communicator and its memory take to end is not waited for.
        outcome.inspect_err(|error| give_up(launched.rank, error, &news))
    });
    outcome.inspect_err(|error| give_up(launched.rank, error, &news))
}

/// Says why this rank fails, and ends the process.
fn give_up(rank: usize, error: &Error, news: &News) {
    // What it waited for failed because another one has gone.
    let lost = match (error, news.loss()) {
        (Error::Gemm(sgemm::Error::Collective { what, .. }), Some(reason)) => {
            Some(sgemm::Error::Collective { rank, what: what.clone(), reason }.into())
        }
        _ => None,
    };
    let error = lost.as_ref().unwrap_or(error);
    if !output::reader_has_gone(error) {
        output::complain(&format!("error: {error}"));
    }
    end(error.exit_code())
}

/// The parent has gone, or wants this rank to end.
fn leave() {
    end(1)
}

/// Ends the process, come what may.
fn end(code: u8) -> ! {
    std::thread::spawn(|| {
        std::thread::sleep(END);
        abort()
    });
    exit(code.into())
}

/// How long ranks may wait for each other while one of them draws operands, multiplies alone, or checks.
fn host_time(request: &RunRequest, together: &Together) -> Result<Duration, Error> {
    let problems = request.problems.on(false)?;
    let time = |problem: &crate::Problem| {
        let alone_s = problem.flops() / FLOPS;
        let launches = f64::from(together.timing.launches(1e3 * alone_s));
        problem.host_bytes() as f64 / HOST_BYTES_PER_SECOND + launches * alone_s
    };
    let longest = problems.iter().map(time).fold(0.0, f64::max);
    Ok(Duration::try_from_secs_f64(longest).unwrap_or(Duration::MAX / 4))
}
