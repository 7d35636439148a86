//! The Chrome DevTools Protocol, over a browser's pipe.
//!
//! A browser that is started with `--remote-debugging-pipe` reads commands from file 3 and writes answers and events to
//! file 4, each as JSON with a zero behind it. It needs no port, and ends when this process does, however that ends.
//! Crates that speak the protocol generate code for all of it, which would take longer to compile than the other tests.
//! Methods, their parameters and events: <https://chromedevtools.github.io/devtools-protocol/tot/>.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

/// How long an answer may take, on a machine that is busy with other tests.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long a browser may take to end by itself.
const FAREWELL: Duration = Duration::from_secs(10);

/// Gives the browser its pipe: Rust's standard library opens only the first three files of a program.
const PIPE: &str = r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null"#;

/// No sandbox, since root has none, and only the project's own pages are opened; no name is resolved, so that nothing
/// leaves the machine; colours and letters that depend on no screen.
const OPTIONS: [&str; 16] = [
    "--remote-debugging-pipe",
    "--headless",
    "--no-sandbox",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--disable-quic",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--force-color-profile=srgb",
    "--font-render-hinting=none",
    "--hide-scrollbars",
];

/// A browser's process, and the pipe to it.
#[derive(Debug)]
pub struct Devtools {
    process: Child,
    /// `None` once the browser was told to end.
    commands: Option<ChildStdin>,
    messages: Receiver<Value>,
    /// Events that nobody has asked for yet.
    events: Vec<Value>,
    last_id: u64,
}

impl Devtools {
    /// Starts the browser `program` with the folder `profile`, which is empty, for its files.
    pub fn start(program: &Path, profile: &Path) -> Result<Self> {
        let log = profile.join("stderr.txt");
        let mut command = Command::new("sh");
        command.args(["-c", PIPE]).arg(program).args(OPTIONS);
        command.arg(format!("--user-data-dir={}", profile.display()));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(File::create(&log)?);
        let mut process = command.spawn().with_context(|| format!("cannot run `{}`", program.display()))?;
        let (commands, messages) = (process.stdin.take(), listen(process.stdout.take().context("no pipe")?));
        let mut devtools = Self { process, commands, messages, events: Vec::new(), last_id: 0 };
        devtools.call(None, "Browser.getVersion", json!({})).with_context(|| {
            format!("`{}` does not start; {}", program.display(), fs::read_to_string(&log).unwrap_or_default().trim())
        })?;
        Ok(devtools)
    }

    /// Calls `method`, of the page `session` or of the browser, and returns its result.
    pub fn call(&mut self, session: Option<&str>, method: &str, params: Value) -> Result<Value> {
        self.last_id += 1;
        let mut command = json!({ "id": self.last_id, "method": method, "params": params });
        if let Some(session) = session {
            command["sessionId"] = session.into();
        }
        let mut bytes = serde_json::to_vec(&command)?;
        bytes.push(0);
        self.commands.as_mut().context("the browser has ended")?.write_all(&bytes)?;

        let deadline = Instant::now() + PATIENCE;
        loop {
            let message = self.next(deadline).with_context(|| method.to_owned())?;
            if message["id"] == self.last_id {
                if let Some(error) = message.get("error") {
                    bail!("{method}: {error}");
                }
                return Ok(message["result"].clone());
            }
            if message.get("method").is_some() {
                self.events.push(message);
            }
        }
    }

    /// Waits until the page `session` reports the event `method`, if it has not yet.
    pub fn wait_for(&mut self, session: &str, method: &str) -> Result<()> {
        let is_it = |event: &Value| event["sessionId"] == session && event["method"] == method;
        let deadline = Instant::now() + PATIENCE;
        while !self.events.iter().any(is_it) {
            let message = self.next(deadline).with_context(|| method.to_owned())?;
            self.events.push(message);
        }
        Ok(())
    }

    /// Takes the events of the page `session` that have come so far, in their order.
    pub fn take_events(&mut self, session: &str) -> Vec<Value> {
        self.events.extract_if(.., |event| event["sessionId"] == session).collect()
    }

    fn next(&self, deadline: Instant) -> Result<Value> {
        match self.messages.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(message) => Ok(message),
            Err(RecvTimeoutError::Timeout) => bail!("no answer from the browser in {} s", PATIENCE.as_secs()),
            Err(RecvTimeoutError::Disconnected) => bail!("the browser has ended"),
        }
    }
}

impl Drop for Devtools {
    fn drop(&mut self) {
        if let Some(mut commands) = self.commands.take() {
            let _ = commands.write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        }
        let deadline = Instant::now() + FAREWELL;
        while self.next(deadline).is_ok() {}
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// What comes through the pipe, message by message, until the browser ends.
fn listen(pipe: ChildStdout) -> Receiver<Value> {
    let (sender, receiver) = channel();
    let mut pipe = BufReader::new(pipe);
    thread::spawn(move || {
        let mut bytes = Vec::new();
        while pipe.read_until(0, &mut bytes).is_ok_and(|count| count > 0) {
            let message = serde_json::from_slice(bytes.strip_suffix(&[0]).unwrap_or(&bytes));
            bytes.clear();
            if message.is_ok_and(|message| sender.send(message).is_err()) {
                break;
            }
        }
    });
    receiver
}
