//! A browser without a window, driven through WebDriver.
//!
//! Source: <https://www.w3.org/TR/webdriver2/>, and the extension commands of chromedriver.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

/// Neither asks anyone for anything nor keeps anything.
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

/// How long a command may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// How a page is looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    pub(crate) width: u32,
    pub(crate) theme: &'static str,
    pub(crate) script: bool,
}

/// A part of a page, from its upper left corner, in CSS pixels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clip {
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// Size in pixels of a CSS pixel.
    pub(crate) scale: f64,
}

/// How often the driver is started at most: of several that started at once, one has been seen to end before it listened.
const STARTS: u32 = 10;

/// A browser; it ends when dropped.
pub(crate) struct Browser {
    driver: Child,
    /// Held open, because the driver would end when it writes to nobody.
    _output: BufReader<ChildStdout>,
    session: String,
}

impl Browser {
    /// Starts one; `None` where there is none.
    pub(crate) fn start() -> Option<Self> {
        let mut said = String::new();
        for _ in 0..STARTS {
            let mut command = Command::new("chromedriver");
            command.arg("--port=0").stdout(Stdio::piped()).stderr(Stdio::null());
            let mut driver = command.spawn().ok()?;
            let mut output = BufReader::new(driver.stdout.take().unwrap());
            match port(&mut output) {
                Ok(port) => return Some(Self::of(driver, output, &port)),
                Err(instead) => said = instead,
            }
            driver.wait().unwrap();
        }
        panic!("chromedriver does not listen: {said}");
    }

    fn of(driver: Child, output: BufReader<ChildStdout>, port: &str) -> Self {
        let address = format!("http://127.0.0.1:{port}/session");
        let wanted = json!({"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": {"args": ARGUMENTS},
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }}});
        let mut browser = Self { driver, _output: output, session: address };
        let begun = browser.post("", &wanted);
        browser.session = format!("{}/{}", browser.session, begun["sessionId"].as_str().unwrap());
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

    /// Opens a file and looks at it this way.
    pub(crate) fn open(&self, path: &Path, view: View) {
        self.command(
            "Emulation.setDeviceMetricsOverride",
            &json!({"width": view.width, "height": 900, "deviceScaleFactor": 1, "mobile": false}),
        );
        let theme = json!([{"name": "prefers-color-scheme", "value": view.theme}]);
        self.command("Emulation.setEmulatedMedia", &json!({"features": theme}));
        self.command("Emulation.setScriptExecutionDisabled", &json!({"value": !view.script}));
        self.post("/url", &json!({"url": address(path)}));
    }

    /// Shows the page as it is printed.
    pub(crate) fn print(&self) {
        self.command("Emulation.setEmulatedMedia", &json!({"media": "print"}));
    }

    /// What a function of no parameters returns in the page, once it is settled.
    pub(crate) fn evaluate(&self, expression: &str) -> Value {
        let parameters = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let answer = self.command("Runtime.evaluate", &parameters);
        assert!(answer["exceptionDetails"].is_null(), "{expression:.80}: {}", answer["exceptionDetails"]);
        answer["result"]["value"].clone()
    }

    /// What was written to the console since it was last asked.
    pub(crate) fn console(&self) -> Vec<Value> {
        self.post("/se/log", &json!({"type": "browser"})).as_array().unwrap().clone()
    }

    /// The addresses that pages asked for since it was last asked.
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
        self.captured(&json!({"format": "png", "captureBeyondViewport": true}))
    }

    /// A part of the page as a WebP image, in base64.
    pub(crate) fn picture_of(&self, Clip { width, height, scale }: Clip) -> String {
        let clip = json!({"x": 0, "y": 0, "width": width, "height": height, "scale": scale});
        self.captured(&json!({"format": "webp", "quality": 70, "captureBeyondViewport": true, "clip": clip}))
    }

    fn captured(&self, parameters: &Value) -> String {
        self.command("Page.captureScreenshot", parameters)["data"].as_str().unwrap().to_owned()
    }
}

/// Which port the driver listens on; what it said where it ended instead.
fn port(output: &mut BufReader<ChildStdout>) -> Result<String, String> {
    let mut said = String::new();
    for line in output.lines().map_while(Result::ok) {
        if let Some((_, port)) = line.split_once("successfully on port ") {
            return Ok(port.trim_end_matches('.').to_owned());
        }
        said += &format!("{line}\n");
    }
    Err(said)
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The driver ends the browser with the session.
        drop(ureq::delete(&self.session).call());
        drop(self.driver.kill());
        drop(self.driver.wait());
    }
}

/// The address of a file.
pub(crate) fn address(path: &Path) -> String {
    format!("file://{}", path.display())
}
