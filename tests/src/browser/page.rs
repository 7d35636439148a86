//! A page that a browser has opened.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::devtools::Devtools;
use super::{Window, text};

/// Says what is wrong with the layout, for a window of a given width.
const CHECK: &str = include_str!("check.js");

/// Resolves when letters and pictures are there, nothing moves any more, and what came of it is painted.
const SETTLED: &str = "(async () => {
    await document.fonts.ready;
    for (const animation of document.getAnimations()) {
        try { animation.finish(); } catch { animation.cancel(); }
    }
    for (let frame = 0; frame < 2; frame++) await { then: painted => requestAnimationFrame(painted) };
    return true;
})()";

/// The addresses of what the page's elements name to be loaded, now or once it is scrolled to.
const NAMED: &str = "[...document.querySelectorAll(`[src], image[href], use[href], object[data], link:is([rel~=stylesheet],
    [rel~=icon], [rel~=manifest], [rel~=preload], [rel~=modulepreload], [rel~=prefetch], [rel~=preconnect], [rel~=dns-prefetch])`)]
    .map(element => element.getAttribute('src') ?? element.getAttribute('href') ?? element.getAttribute('data'))
    .filter(address => !address.startsWith('#'))
    .map(address => new URL(address, document.baseURI).href)";

/// The height of a picture, in dots: what a screen shows without making it small. Chromium cannot paint more than 16384.
const PICTURE_DOTS: u32 = 2400;

/// What a page may load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loads {
    /// Nothing but itself.
    Nothing,
    /// Files that lie beside it.
    Files,
}

/// An open page, closed with this value.
#[derive(Debug)]
pub struct Page<'b> {
    devtools: &'b mut Devtools,
    context: String,
    session: String,
    url: String,
    window: Window,
    loads: Loads,
}

impl<'b> Page<'b> {
    pub(super) fn open(
        devtools: &'b mut Devtools,
        context: String,
        url: &str,
        window: Window,
        loads: Loads,
    ) -> Result<Self> {
        let mut page = Self { devtools, context, session: String::new(), url: String::new(), window, loads };
        let blank = json!({ "url": "about:blank", "browserContextId": page.context });
        let target = page.devtools.call(None, "Target.createTarget", blank)?;
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        page.session = text(&page.devtools.call(None, "Target.attachToTarget", attach)?["sessionId"])?;

        for domain in ["Page", "Runtime", "Log", "Network"] {
            page.call(&format!("{domain}.enable"), json!({}))?;
        }
        let (is_phone, scale) = (window.is_phone(), page.dots_per_pixel());
        let metrics = json!({ "width": window.width, "height": 900, "deviceScaleFactor": scale, "mobile": is_phone });
        page.call("Emulation.setDeviceMetricsOverride", metrics)?;
        page.ask_for(window.is_dark)?;

        page.go_to(url)?;
        Ok(page)
    }

    /// Opens another address in the page's place, and waits until it stands. What has happened before is forgotten.
    pub fn go_to(&mut self, url: &str) -> Result<()> {
        self.url = url.to_owned();
        self.devtools.take_events(&self.session);
        let navigation = self.call("Page.navigate", json!({ "url": url }))?;
        if let Some(error) = navigation.get("errorText") {
            bail!("it cannot be opened: {error}");
        }
        self.devtools.wait_for(&self.session, "Page.loadEventFired")?;
        self.settle()
    }

    /// Lets the reader of the open page ask for dark colours, or for light ones.
    pub fn prefer_dark(&mut self, is_dark: bool) -> Result<()> {
        self.ask_for(is_dark)?;
        self.settle()
    }

    fn ask_for(&mut self, is_dark: bool) -> Result<()> {
        self.window.is_dark = is_dark;
        let features = json!([
            { "name": "prefers-color-scheme", "value": self.window.theme() },
            { "name": "prefers-reduced-motion", "value": "reduce" },
        ]);
        self.call("Emulation.setEmulatedMedia", json!({ "features": features }))?;
        Ok(())
    }

    /// Waits until letters and pictures are there, and nothing moves any more.
    pub fn settle(&mut self) -> Result<()> {
        self.evaluate::<bool>(SETTLED)?;
        Ok(())
    }

    /// The value of the expression `script` in the page; where it is asynchronous, what it resolves to.
    pub fn evaluate<T: DeserializeOwned>(&mut self, script: &str) -> Result<T> {
        let params = json!({ "expression": script, "awaitPromise": true, "returnByValue": true });
        let result = self.call("Runtime.evaluate", params)?;
        if let Some(details) = result.get("exceptionDetails") {
            bail!("{}", exception(details));
        }
        Ok(serde_json::from_value(result["result"]["value"].clone())?)
    }

    /// Moves the pointer onto the element that the expression `element` gives, scrolled to where it can be seen, and waits
    /// until what that brings up stands.
    pub fn point_at(&mut self, element: &str) -> Result<()> {
        let [x, y]: [f64; 2] = self.evaluate(&format!(
            "(element => {{
                element.scrollIntoView({{ block: 'center', inline: 'center', behavior: 'instant' }});
                const box = element.getBoundingClientRect();
                return [box.x + box.width / 2, box.y + box.height / 2];
            }})({element})"
        ))?;
        self.call("Input.dispatchMouseEvent", json!({ "type": "mouseMoved", "x": x, "y": y }))?;
        self.settle()
    }

    /// Presses a key, such as `Enter`, `ArrowLeft` or ` `, in the element that has the focus.
    pub fn press(&mut self, key: &str) -> Result<()> {
        let (code, text) = match key {
            "Enter" => ("Enter", "\r"),
            " " => ("Space", " "),
            other => (other, ""),
        };
        let number = match key {
            "Enter" => 13,
            " " => 32,
            "End" => 35,
            "Home" => 36,
            "ArrowLeft" => 37,
            "ArrowRight" => 39,
            other => bail!("no number is known of the key {other}"),
        };
        for kind in ["keyDown", "keyUp"] {
            let text = if kind == "keyDown" { text } else { "" };
            let params =
                json!({ "type": kind, "key": key, "code": code, "text": text, "windowsVirtualKeyCode": number });
            self.call("Input.dispatchKeyEvent", params)?;
        }
        self.settle()
    }

    /// Opens everything that is folded away.
    pub fn unfold(&mut self) -> Result<()> {
        self.evaluate::<bool>("document.querySelectorAll('details').forEach(part => part.open = true), true")?;
        self.settle()
    }

    /// What a reader would complain about, so far.
    pub fn complaints(&mut self) -> Result<Vec<String>> {
        let layout: Vec<String> = self.evaluate(&format!("({CHECK})({})", self.window.width))?;
        let mut requests: BTreeSet<String> = self.evaluate::<BTreeSet<String>>(NAMED)?;
        let mut complaints = Vec::new();
        for event in self.devtools.take_events(&self.session) {
            let params = &event["params"];
            match event["method"].as_str().unwrap_or_default() {
                "Network.requestWillBeSent" => _ = requests.insert(text(&params["request"]["url"])?),
                "Runtime.exceptionThrown" => {
                    complaints.push(format!("exception: {}", exception(&params["exceptionDetails"])));
                }
                "Runtime.consoleAPICalled" => complaints.extend(console(params)),
                "Log.entryAdded" => complaints.extend(self.log(&params["entry"])),
                _ => {}
            }
        }
        let strays = requests.iter().filter(|url| self.is_stray(url));
        complaints.extend(strays.map(|url| format!("request: {url}")));
        complaints.extend(layout);
        Ok(complaints)
    }

    /// The whole page as PNG, from top to bottom, in as many pictures as it takes.
    pub fn pictures(&mut self) -> Result<Vec<Vec<u8>>> {
        let [width, height]: [u32; 2] =
            self.evaluate("[document.scrollingElement.scrollWidth, document.scrollingElement.scrollHeight]")?;
        let most = PICTURE_DOTS / self.dots_per_pixel();
        let mut pictures = Vec::new();
        for top in (0..height.max(1)).step_by(most as usize) {
            let clip = json!({ "x": 0, "y": top, "width": width, "height": (height - top).min(most), "scale": 1 });
            let params = json!({ "format": "png", "captureBeyondViewport": true, "clip": clip });
            let picture = self.call("Page.captureScreenshot", params)?;
            pictures.push(BASE64_STANDARD.decode(text(&picture["data"])?).context("a picture")?);
        }
        Ok(pictures)
    }

    fn call(&mut self, method: &str, params: Value) -> Result<Value> {
        self.devtools.call(Some(&self.session), method, params)
    }

    fn dots_per_pixel(&self) -> u32 {
        if self.window.is_phone() { 2 } else { 1 }
    }

    /// Whether the page should not have asked for `url`.
    fn is_stray(&self, url: &str) -> bool {
        let page = self.url.split('#').next();
        let inside = ["data:", "blob:", "about:"].iter().any(|scheme| url.starts_with(scheme));
        !(inside || url.split('#').next() == page || self.loads == Loads::Files && url.starts_with("file:"))
    }

    /// An error that the browser itself reports; that a stray request failed is no news.
    fn log(&self, entry: &Value) -> Option<String> {
        let url = entry["url"].as_str().unwrap_or_default();
        let is_news = entry["source"] != "network" || !self.is_stray(url);
        let is_error = entry["level"] == "error" && is_news;
        is_error.then(|| format!("log: {} ({url})", entry["text"].as_str().unwrap_or_default()))
    }
}

impl Drop for Page<'_> {
    fn drop(&mut self) {
        let context = json!({ "browserContextId": self.context });
        let _ = self.devtools.call(None, "Target.disposeBrowserContext", context);
        self.devtools.take_events(&self.session);
    }
}

/// An error that the page wrote to its console.
fn console(params: &Value) -> Option<String> {
    let is_error = params["type"] == "error" || params["type"] == "assert";
    let said = |argument: &Value| match &argument["value"] {
        Value::String(text) => text.clone(),
        Value::Null => argument["description"].as_str().unwrap_or_default().to_owned(),
        value => value.to_string(),
    };
    let words: Vec<_> = params["args"].as_array()?.iter().map(said).collect();
    is_error.then(|| format!("console: {}", words.join(" ")))
}

/// The first line of an exception.
fn exception(details: &Value) -> String {
    let text = details["exception"]["description"].as_str().or(details["text"].as_str()).unwrap_or_default();
    text.lines().next().unwrap_or_default().to_owned()
}
