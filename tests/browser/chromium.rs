//! A Chromium without a window, spoken to over its debugging pipe: JSON messages with a zero byte between them (Chrome
//! DevTools Protocol). No port is opened and no other program is needed.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

/// What is always needed: no window, no sandbox (CI runs as root), and nothing asked of the network by the browser itself.
const FLAGS: [&str; 10] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
];
/// The longest that any answer may take.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Browser {
    child: Child,
    to: Option<ChildStdin>,
    from: Receiver<Value>,
    last: u64,
    /// What was told without being asked.
    pub events: Vec<Value>,
    profile: tempfile::TempDir,
}

impl Browser {
    pub fn start(program: &Path) -> Browser {
        let profile = tempfile::tempdir().expect("a directory");
        // The browser reads commands from 3 and answers on 4; the shell puts the pipes there.
        let mut child = Command::new("bash")
            .args([
                "-c",
                "exec \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>/dev/null",
                "bash",
            ])
            .arg(program)
            .args(FLAGS)
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("bash starts");
        let out = child.stdout.take().expect("a pipe");
        let (send, from) = channel();
        thread::spawn(move || {
            let mut out = BufReader::new(out);
            let mut bytes = Vec::new();
            while out.read_until(0, &mut bytes).is_ok_and(|n| n > 0) {
                let text = bytes.strip_suffix(&[0]).unwrap_or(&bytes);
                let Ok(v) = serde_json::from_slice::<Value>(text) else {
                    break;
                };
                if send.send(v).is_err() {
                    break;
                }
                bytes.clear();
            }
        });
        Browser {
            to: child.stdin.take(),
            child,
            from,
            last: 0,
            events: Vec::new(),
            profile,
        }
    }

    /// Asks, and waits for the answer.
    pub fn ask(&mut self, session: Option<&str>, method: &str, params: Value) -> Value {
        self.last += 1;
        let mut m = json!({ "id": self.last, "method": method, "params": params });
        if let Some(s) = session {
            m["sessionId"] = s.into();
        }
        let to = self.to.as_mut().expect("the browser runs");
        to.write_all(format!("{m}\0").as_bytes())
            .expect("the browser listens");
        loop {
            let got = self.from.recv_timeout(PATIENCE);
            let got = got.unwrap_or_else(|e| panic!("{method}: no answer of the browser: {e}"));
            match got["id"].as_u64() {
                Some(id) if id == self.last => {
                    assert!(got["error"].is_null(), "{method}: {}", got["error"]);
                    return got["result"].clone();
                }
                Some(_) => {}
                None => self.events.push(got),
            }
        }
    }

    /// Waits until it tells of this.
    pub fn wait(&mut self, session: &str, method: &str) {
        let of = |e: &Value| e["method"] == method && e["sessionId"] == session;
        while !self.events.iter().any(of) {
            let got = self.from.recv_timeout(PATIENCE);
            self.events
                .push(got.unwrap_or_else(|e| panic!("no {method}: {e}")));
        }
    }

    /// Ends it.
    pub fn stop(mut self) {
        self.ask(None, "Browser.close", json!({}));
        self.to = None;
        self.child.wait().expect("it ends");
        drop(self.profile);
    }
}
