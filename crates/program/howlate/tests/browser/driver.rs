//! A headless browser, driven through WebDriver.
//!
//! Source: <https://www.w3.org/TR/webdriver2/>, and the extension commands of chromedriver.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

/// No dialogs, no network services, no stored data.
const ARGUMENTS: [&str; 9] = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--hide-scrollbars",
];

/// Longest time of a command on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// Settings of the window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BrowserView {
    pub(crate) width: u32,
    pub(crate) theme: &'static str,
    pub(crate) script: bool,
}

/// A part of a page, from its upper left corner, in CSS pixels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clip {
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// Device pixels per CSS pixel.
    pub(crate) scale: f64,
}

/// Attempts to start the driver: of several that start at once, one may end before it listens.
const STARTS: u32 = 10;

/// A browser; it ends on drop.
pub(crate) struct Browser {
    driver: Child,
    /// Held open: the driver ends when it writes to a closed pipe.
    _output: BufReader<ChildStdout>,
    session: String,
}

impl Browser {
    /// `None` where no browser is installed.
    pub(crate) fn start() -> Option<Self> {
        let mut output_text = String::new();
        for _ in 0..STARTS {
            let mut command = Command::new("chromedriver");
            command.arg("--port=0").stdout(Stdio::piped()).stderr(Stdio::null());
            let mut driver = command.spawn().ok()?;
            let mut output = BufReader::new(driver.stdout.take().unwrap());
            match port(&mut output) {
                Ok(port) => return Some(Self::of(driver, output, &port)),
                Err(instead) => output_text = instead,
            }
            driver.wait().unwrap();
        }
        panic!("chromedriver does not listen: {output_text}");
    }

    fn of(driver: Child, output: BufReader<ChildStdout>, port: &str) -> Self {
        let address = format!("http://127.0.0.1:{port}/session");
        let expected = json!({"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": {"args": ARGUMENTS},
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }}});
        let mut browser = Self { driver, _output: output, session: address };
        let session = browser.post("", &expected);
        browser.session = format!("{}/{}", browser.session, session["sessionId"].as_str().unwrap());
        browser
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        let agent: ureq::Agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(PATIENCE))
            .build()
            .into();
        let address = format!("{}{path}", self.session);
        let mut answer = agent.post(&address).send(body.to_string()).unwrap();
        let answer = answer.body_mut().with_config().limit(1 << 28).read_to_string().unwrap();
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert!(answer["value"]["error"].is_null(), "{path}: {}", answer["value"]);
        answer["value"].clone()
    }

    fn command(&self, name: &str, parameters: &Value) -> Value {
        self.post("/goog/cdp/execute", &json!({"cmd": name, "params": parameters}))
    }

    /// Opens a file with these settings of the window.
    pub(crate) fn open(&self, path: &Path, view: BrowserView) {
        self.command(
            "Emulation.setDeviceMetricsOverride",
            &json!({"width": view.width, "height": 900, "deviceScaleFactor": 1, "mobile": false}),
        );
        let theme = json!([{"name": "prefers-color-scheme", "value": view.theme}]);
        self.command("Emulation.setEmulatedMedia", &json!({"features": theme}));
        self.command("Emulation.setScriptExecutionDisabled", &json!({"value": !view.script}));
        self.post("/url", &json!({"url": address(path)}));
    }

    /// Switches to the print layout.
    pub(crate) fn print(&self) {
        self.command("Emulation.setEmulatedMedia", &json!({"media": "print"}));
    }

    /// Result of a JavaScript function without parameters, once the page has settled.
    pub(crate) fn evaluate(&self, expression: &str) -> Value {
        let parameters = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let answer = self.command("Runtime.evaluate", &parameters);
        assert!(answer["exceptionDetails"].is_null(), "{expression:.80}: {}", answer["exceptionDetails"]);
        answer["result"]["value"].clone()
    }

    /// Console messages since the last call.
    pub(crate) fn console(&self) -> Vec<Value> {
        self.post("/se/log", &json!({"type": "browser"})).as_array().unwrap().clone()
    }

    /// Addresses that pages requested since the last call.
    pub(crate) fn requests(&self) -> Vec<String> {
        let log = self.post("/se/log", &json!({"type": "performance"}));
        let address = |entry: &Value| {
            let message: Value = serde_json::from_str(entry["message"].as_str()?).ok()?;
            let sent = message["message"]["method"] == "Network.requestWillBeSent";
            sent.then(|| message["message"]["params"]["request"]["url"].as_str().unwrap().to_owned())
        };
        log.as_array().unwrap().iter().filter_map(address).collect()
    }

    /// The whole page as a PNG image, in base64.
    pub(crate) fn picture(&self) -> String {
        self.capture(&json!({"format": "png", "captureBeyondViewport": true}))
    }

    /// A part of the page as a WebP image, in base64.
    pub(crate) fn picture_of(&self, Clip { width, height, scale }: Clip) -> String {
        let clip = json!({"x": 0, "y": 0, "width": width, "height": height, "scale": scale});
        self.capture(&json!({"format": "webp", "quality": 70, "captureBeyondViewport": true, "clip": clip}))
    }

    fn capture(&self, parameters: &Value) -> String {
        self.command("Page.captureScreenshot", parameters)["data"].as_str().unwrap().to_owned()
    }
}

/// The port of the driver; its output where it ended instead.
fn port(output: &mut BufReader<ChildStdout>) -> Result<String, String> {
    let mut output_text = String::new();
    for line in output.lines().map_while(Result::ok) {
        if let Some((_, port)) = line.split_once("successfully on port ") {
            return Ok(port.trim_end_matches('.').to_owned());
        }
        output_text += &format!("{line}\n");
    }
    Err(output_text)
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The driver closes the browser with the session.
        drop(ureq::delete(&self.session).call());
        drop(self.driver.kill());
        drop(self.driver.wait());
    }
}

/// URL of a file.
pub(crate) fn address(path: &Path) -> String {
    format!("file://{}", path.display())
}
