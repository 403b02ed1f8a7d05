//! A page in the browser, and what is asked of it. What looks at the page from within is `checks.js`.

use super::chromium::Browser;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;

const CHECKS: &str = include_str!("checks.js");
/// Presses of Tab after which a page must have been walked through.
const PRESSES: usize = 4000;

/// A trace whose tasks have names that try to leave their place.
pub fn hostile_trace() -> String {
    let names = [
        "<script>document.title='pwned'</script>",
        "\"onfocus=\"document.title='pwned'",
        "'><img src=x onerror=alert(1)>",
        "a\u{202e}b",
    ];
    let mut out = String::new();
    for n in 0..400_usize {
        let (name, t, sector) = (
            names[n % names.len()],
            n as f64 / 1000.0,
            n * 7919 % 65536 * 8,
        );
        for (action, at) in [("Q", 0.0), ("G", 1e-6), ("D", 3e-6), ("C", 9e-5)] {
            let time = 1.0 + t + at;
            writeln!(
                out,
                "  8,0    0  {:8} {time:14.9}  77  {action}  WS {sector} + 1 [{name}]",
                n * 4 + 1
            )
            .expect("text");
        }
    }
    out
}

pub struct Page<'a> {
    b: &'a mut Browser,
    session: String,
    target: String,
    url: String,
}

impl<'a> Page<'a> {
    pub fn open(b: &'a mut Browser, file: &Path) -> Page<'a> {
        b.events.clear();
        let made = b.ask(None, "Target.createTarget", json!({ "url": "about:blank" }));
        let target = made["targetId"].as_str().expect("a target").to_string();
        let attach = json!({ "targetId": target, "flatten": true });
        let session = b.ask(None, "Target.attachToTarget", attach)["sessionId"]
            .as_str()
            .expect("a session")
            .to_string();
        for domain in ["Page", "Network", "Log", "Runtime"] {
            b.ask(Some(&session), &format!("{domain}.enable"), json!({}));
        }
        let mut p = Page {
            b,
            session,
            target,
            url: format!("file://{}", file.display()),
        };
        p.go();
        p
    }

    fn go(&mut self) {
        let url = self.url.clone();
        self.ask("Page.navigate", json!({ "url": url }));
        let session = self.session.clone();
        self.b.wait(&session, "Page.loadEventFired");
        self.eval(CHECKS);
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        let session = self.session.clone();
        self.b.ask(Some(&session), method, params)
    }

    /// The value of an expression in the page.
    pub fn eval(&mut self, what: &str) -> Value {
        let params = json!({ "expression": what, "returnByValue": true, "awaitPromise": true });
        let got = self.ask("Runtime.evaluate", params);
        assert!(
            got["exceptionDetails"].is_null(),
            "{what}: {}",
            got["exceptionDetails"]
        );
        got["result"]["value"].clone()
    }

    /// Faults that a check of the page returns.
    fn none(&mut self, check: &str, what: &str) {
        let got = self.eval(check);
        let list = got.as_array().unwrap_or_else(|| panic!("{check}: {got}"));
        let some: Vec<String> = list.iter().take(8).map(Value::to_string).collect();
        assert!(
            list.is_empty(),
            "{what}: {} faults: {}",
            list.len(),
            some.join("\n")
        );
    }

    /// What was asked of the network, beside the page.
    pub fn requests(&self) -> Vec<String> {
        let sent = self
            .b
            .events
            .iter()
            .filter(|e| e["method"] == "Network.requestWillBeSent");
        let urls = sent.filter_map(|e| e["params"]["request"]["url"].as_str());
        urls.filter(|u| *u != self.url && !u.starts_with("data:") && *u != "about:blank")
            .map(str::to_string)
            .collect()
    }

    /// What was complained of.
    pub fn errors(&self) -> Vec<String> {
        let bad = |e: &&Value| match e["method"].as_str() {
            Some("Runtime.exceptionThrown" | "Page.javascriptDialogOpening") => true,
            Some("Runtime.consoleAPICalled") => true,
            Some("Log.entryAdded") => e["params"]["entry"]["source"] != "network",
            _ => false,
        };
        self.b
            .events
            .iter()
            .filter(bad)
            .map(Value::to_string)
            .collect()
    }

    pub fn is_quiet(&mut self) {
        let (asked, errors) = (self.requests(), self.errors());
        assert!(asked.is_empty(), "the page asks for {asked:?}");
        assert!(errors.is_empty(), "{errors:?}");
        assert_ne!(self.eval("document.title"), "pwned");
    }

    pub fn is_well_formed(&mut self) {
        self.none("B.form()", "form");
    }

    /// Width, colours.
    pub fn look(&mut self, width: u32, scheme: &str) {
        let size =
            json!({ "width": width, "height": 800, "deviceScaleFactor": 1, "mobile": false });
        self.ask("Emulation.setDeviceMetricsOverride", size);
        self.media("", scheme);
    }

    fn media(&mut self, media: &str, scheme: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.ask(
            "Emulation.setEmulatedMedia",
            json!({ "media": media, "features": features }),
        );
    }

    pub fn fits(&mut self) {
        let over = self.eval("B.overflow()");
        assert_eq!(over, 0, "the page scrolls sideways by {over} pixels");
    }

    pub fn is_readable(&mut self, what: &str) {
        let read = self.eval("B.texts().length").as_u64();
        assert!(read > Some(200), "{what}: only {read:?} texts");
        self.none("B.contrast()", what);
    }

    pub fn picture(&mut self, to: &Path) {
        let size = self.ask("Page.getLayoutMetrics", json!({}))["cssContentSize"].clone();
        let height = size["height"].as_f64().expect("a height").min(4000.0);
        let clip = json!({ "x": 0, "y": 0, "width": size["width"], "height": height, "scale": 1 });
        let got = self.ask(
            "Page.captureScreenshot",
            json!({ "captureBeyondViewport": true, "clip": clip }),
        );
        let bytes = unpacked(got["data"].as_str().expect("a picture"));
        assert!(
            bytes.starts_with(b"\x89PNG") && bytes.len() > 20_000,
            "an empty picture"
        );
        std::fs::write(to, bytes).expect("a file");
    }

    fn key(&mut self, key: &str, code: u32, text: &str) {
        for kind in ["keyDown", "keyUp"] {
            let mut m =
                json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code });
            if kind == "keyDown" && !text.is_empty() {
                m["text"] = text.into();
            }
            self.ask("Input.dispatchKeyEvent", m);
        }
    }

    /// Tab visits everything that does something, in order, and shows where it is.
    pub fn keyboard_reaches_all(&mut self) {
        let wanted = self.eval("B.begin()").as_u64().expect("a number");
        assert!(wanted > 20, "only {wanted} things to reach");
        for n in 0..PRESSES {
            self.key("Tab", 9, "");
            let at = self.eval("B.step()");
            if n == 0 {
                assert_eq!(at, "skip", "the first stop is not the skip link");
            }
            if at == "end" {
                break;
            }
        }
        self.none("B.unreached()", "not reached by Tab");
        self.none("B.unseen()", "no visible focus");
        // The skip link leads to the main part.
        self.eval("document.querySelector('.skip').focus()");
        self.key("Enter", 13, "\r");
        assert_eq!(self.eval("document.activeElement.tagName"), "MAIN");
    }

    /// Each table that can be sorted, by each of its columns, by the keyboard for one of them.
    pub fn sorts(&mut self) {
        let n = self.eval("B.sortable().length").as_u64();
        assert!(n > Some(2), "only {n:?} tables can be sorted");
        self.none("B.sorts()", "sorting");
        self.eval("B.sortable()[0].querySelector('thead th:nth-child(2) button').focus()");
        let before = self.eval(
            "B.sortable()[0].querySelector('thead th:nth-child(2)').getAttribute('aria-sort')",
        );
        self.key("Enter", 13, "\r");
        let after = self.eval(
            "B.sortable()[0].querySelector('thead th:nth-child(2)').getAttribute('aria-sort')",
        );
        assert_ne!(before, after, "Enter does not sort");
    }

    /// Typing hides rows that lack a word, and says how many are left.
    pub fn filters(&mut self) {
        let n = self.eval("B.filters().length").as_u64();
        assert!(n > Some(0), "no table can be filtered");
        let word = self.eval("B.prepare()");
        let word = word.as_str().expect("a word").to_string();
        self.ask("Input.insertText", json!({ "text": word }));
        self.none("B.filtered()", "filtering");
    }

    /// A term shows its definition where it stands; Escape leads back.
    pub fn defines(&mut self) {
        self.eval("document.querySelector('main a.w').focus()");
        self.key("Enter", 13, "\r");
        assert_eq!(self.eval("B.popped()"), true, "no definition is shown");
        self.key("Escape", 27, "");
        let back = "document.activeElement === document.querySelector('main a.w')";
        assert_eq!(self.eval("B.popped()"), false, "Escape does not close");
        assert_eq!(
            self.eval(&format!(
                "new Promise((r) => setTimeout(() => r({back}), 100))"
            )),
            true,
            "the focus is lost"
        );
    }

    pub fn colors_can_be_chosen(&mut self) {
        self.media("", "light");
        let paper = "getComputedStyle(document.body).backgroundColor";
        let light = self.eval(paper);
        self.eval("document.getElementById('c-dark').click()");
        assert_ne!(self.eval(paper), light, "dark is not chosen");
        self.none("B.contrast()", "dark by choice");
        self.media("", "dark");
        self.eval("document.getElementById('c-light').click()");
        assert_eq!(self.eval(paper), light, "light is not chosen");
        self.none("B.contrast()", "light by choice");
        self.eval("document.getElementById('c-auto').click()");
        self.media("", "light");
    }

    /// Nothing moves for those who do not want it.
    pub fn keeps_still(&mut self) {
        let features = json!([{ "name": "prefers-reduced-motion", "value": "reduce" }]);
        self.ask(
            "Emulation.setEmulatedMedia",
            json!({ "media": "", "features": features }),
        );
        self.none("B.moves()", "moves");
        self.media("", "light");
    }

    /// On paper: black on white whatever the screen has, without what cannot be used there.
    pub fn prints(&mut self) {
        self.media("print", "dark");
        self.none("B.paper()", "on paper");
        self.none("B.contrast()", "contrast on paper");
        let got = self.ask("Page.printToPDF", json!({ "printBackground": true }));
        let bytes = unpacked(got["data"].as_str().expect("a document"));
        assert!(
            bytes.starts_with(b"%PDF") && bytes.len() > 50_000,
            "an empty document"
        );
        self.media("", "light");
    }

    /// What the page says, without what its script adds.
    pub fn told(&mut self) -> Value {
        self.eval("B.told()")
    }

    /// Loads it again without script.
    pub fn without_script(&mut self) {
        self.b.events.clear();
        self.ask(
            "Emulation.setScriptExecutionDisabled",
            json!({ "value": true }),
        );
        self.go();
        assert_eq!(
            self.eval("document.querySelectorAll('th button, .tools, #pop').length"),
            0,
            "the script ran"
        );
        self.none("B.form()", "form without script");
        self.none("B.hidden()", "hidden without script");
        // Terms are links then.
        self.none("B.leads()", "terms lead nowhere");
    }

    pub fn close(self) {
        let target = json!({ "targetId": self.target });
        self.b.ask(None, "Target.closeTarget", target);
    }
}

/// Base64, as the browser sends bytes.
fn unpacked(text: &str) -> Vec<u8> {
    let value = |c: u8| match c {
        b'A'..=b'Z' => Some(c - b'A'),
        b'a'..=b'z' => Some(c - b'a' + 26),
        b'0'..=b'9' => Some(c - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let mut out = Vec::new();
    let (mut bits, mut have) = (0_u32, 0);
    for v in text.bytes().filter_map(value) {
        bits = bits << 6 | u32::from(v);
        have += 6;
        if have >= 8 {
            have -= 8;
            out.push((bits >> have & 0xff) as u8);
        }
    }
    out
}
