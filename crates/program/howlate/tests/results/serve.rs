//! `howlate serve`: pages, metrics, access and signals.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::Duration;

use crate::common::{howlate, is_installed, run, send, skip, stderr, wait_until};
use rustix::process::Signal;
use tempfile::TempDir;

const TOKEN: &str = "0123456789abcdef-of-the-tests";

fn recording(name: &str) -> PathBuf {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../testdata/recordings/v1");
    Path::new(folder).join(name).with_extension("jsonl")
}

/// A folder with one recording.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(recording("cyclic"), folder.path().join("a.jsonl")).unwrap();
    folder
}

/// Head and body of a response.
fn request(address: &str, path: &str, headers: &str) -> io::Result<(String, String)> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{headers}\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    Ok((head.to_owned(), body.to_owned()))
}

/// A server on a free port; stopped on drop.
pub(crate) struct TestServer {
    child: Child,
    /// Its address, such as `127.0.0.1:43211`.
    address: String,
}

impl TestServer {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let mut command = howlate(&["serve", "--listen", "127.0.0.1:0"]);
        let mut child = command.args(arguments).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("page     http://").and_then(|rest| rest.strip_suffix('/'));
        Self { address: address.unwrap_or_else(|| panic!("no address in {line:?}")).to_owned(), child }
    }

    /// Head and body of a response to a request with these headers.
    fn get_with(&self, path: &str, headers: &str) -> (String, String) {
        request(&self.address, path, headers).unwrap()
    }

    /// Body at a path.
    #[track_caller]
    pub(crate) fn get(&self, path: &str) -> String {
        let (head, body) = self.get_with(path, "");
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}\n{body}");
        body
    }

    /// Sends SIGINT; returns the status.
    pub(crate) fn end(mut self) -> Option<i32> {
        send(self.child.id(), Signal::INT);
        self.child.wait().unwrap().code()
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Output of a server that must not start.
#[track_caller]
fn assert_not_started(arguments: &[&str]) -> Output {
    let mut command = howlate(&[&["serve"], arguments].concat());
    let mut server = WaitingProgram(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    wait_until("an end of a server that must not start", || server.0.try_wait().unwrap().is_some());
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    server.0.stdout.take().unwrap().read_to_end(&mut stdout).unwrap();
    server.0.stderr.take().unwrap().read_to_end(&mut stderr).unwrap();
    Output { status: server.0.wait().unwrap(), stdout, stderr }
}

#[test]
fn metrics_are_those_of_show_and_the_page_is_that_of_report() {
    let path = recording("cyclic");
    let path = path.to_str().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (metrics, page) = (folder.path().join("x.prom"), folder.path().join("x.html"));
    run(&["show", path, "--prometheus", metrics.to_str().unwrap()]);
    run(&["report", path, "-o", page.to_str().unwrap()]);
    let served = TestServer::start(&[path]);
    assert_eq!(served.get("/metrics"), std::fs::read_to_string(metrics).unwrap());
    assert_eq!(served.get("/"), std::fs::read_to_string(page).unwrap());
    assert_eq!(served.end(), Some(0));
}

/// Health checks need no token, and reveal nothing else.
#[test]
fn whether_it_is_alive_is_told_without_a_token_and_metrics_come_as_openmetrics() {
    let path = recording("cyclic");
    let folder = tempfile::tempdir().unwrap();
    let token = folder.path().join("token");
    std::fs::write(&token, format!("{TOKEN}\n")).unwrap();
    std::fs::set_permissions(&token, PermissionsExt::from_mode(0o600)).unwrap();
    let served = TestServer::start(&[path.to_str().unwrap(), "--token-file", token.to_str().unwrap()]);
    let (head, body) = served.get_with("/health", "");
    assert!(head.starts_with("HTTP/1.1 200 ") && body == "ok\n", "{head}: {body}");
    assert!(served.get_with("/", "").0.starts_with("HTTP/1.1 401 "));
    let with = |accept: &str| {
        served.get_with("/metrics", &format!("Authorization: Bearer {TOKEN}\r\nAccept: {accept}\r\n"))
    };
    let (head, body) = with("application/openmetrics-text;version=1.0.0,text/plain;q=0.3");
    assert!(head.contains("Content-Type: application/openmetrics-text; version=1.0.0"), "{head}");
    assert!(body.ends_with("# EOF\n") && body.contains(",le=\"1e-06\"} "), "{body}");
    let both = "application/openmetrics-text;version=2.0.0,application/openmetrics-text;version=1.0.0;q=0.5";
    let (head, body) = with(both);
    assert!(head.contains("Content-Type: application/openmetrics-text; version=2.0.0"), "{head}");
    assert!(body.contains(",schema:3,zero_threshold:") && !body.contains("_bucket{"), "{body}");
    let (head, plain) = with("text/plain");
    assert!(head.contains("Content-Type: text/plain; version=0.0.4"), "{head}");
    assert!(!plain.contains("# EOF") && plain.contains(",le=\"0.000001\"} "));
}

/// Thousands of files that are no recordings: each is read and reported.
fn many() -> TempDir {
    let folder = folder();
    (0..2_000).for_each(|number| std::fs::write(folder.path().join(format!("{number}.jsonl")), "").unwrap());
    folder
}

/// Waits for the end after a signal, which must not be delayed by any work.
fn wait_for_end(child: &mut Child) -> ExitStatus {
    wait_until("its end", || child.try_wait().unwrap().is_some());
    child.wait().unwrap()
}

#[test]
fn a_signal_ends_it_while_it_reads_and_while_it_makes_a_page() {
    let folder = many();
    let path = folder.path().to_str().unwrap();
    let mut reading =
        howlate(&["serve", "--listen", "127.0.0.1:0", path]).stdout(Stdio::null()).spawn().unwrap();
    wait_until("its first file", || {
        let io = std::fs::read_to_string(format!("/proc/{}/io", reading.id()));
        io.is_ok_and(|io| !io.contains("rchar: 0\n"))
    });
    send(reading.id(), Signal::TERM);
    let status = wait_for_end(&mut reading);
    // It may have read them all by now.
    assert!(status.signal() == Some(Signal::TERM.as_raw()) || status.code() == Some(0), "{status}");
    let mut served = TestServer::start(&[path]);
    let mut asking = TcpStream::connect(&served.address).unwrap();
    write!(asking, "GET / HTTP/1.1\r\nHost: {}\r\n\r\n", served.address).unwrap();
    wait_until("a thread that answers", || {
        std::fs::read_dir(format!("/proc/{}/task", served.child.id())).unwrap().count() > 1
    });
    send(served.child.id(), Signal::TERM);
    assert_eq!(wait_for_end(&mut served.child).code(), Some(0));
}

#[test]
fn a_signal_ends_a_report_that_waits_for_its_recording() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let page = folder.path().join("page.html");
    let command_line = ["report", pipe.to_str().unwrap(), "-o", page.to_str().unwrap()];
    let mut report = howlate(&command_line).spawn().unwrap();
    // Returns once the other end is open.
    let _writer = std::fs::File::options().write(true).open(&pipe).unwrap();
    send(report.id(), Signal::TERM);
    assert_eq!(wait_for_end(&mut report).signal(), Some(Signal::TERM.as_raw()));
    assert!(!page.exists(), "half a page is none");
}

#[test]
fn what_is_put_into_a_folder_is_served_and_what_goes_is_missed() {
    let folder = folder();
    let served = TestServer::start(&[folder.path().to_str().unwrap()]);
    assert!(!served.get("/metrics").contains("kind=\"sleep\""));
    std::fs::copy(recording("sleep"), folder.path().join("b.jsonl")).unwrap();
    assert!(served.get("/metrics").contains("kind=\"sleep\""));
    for name in ["a.jsonl", "b.jsonl"] {
        std::fs::remove_file(folder.path().join(name)).unwrap();
    }
    for path in ["/", "/metrics"] {
        let (head, body) = served.get_with(path, "");
        assert!(
            head.starts_with("HTTP/1.1 503 ") && body.contains("there is no recording in "),
            "{head}\n{body}"
        );
    }
    std::fs::copy(recording("cyclic"), folder.path().join("a.jsonl")).unwrap();
    served.get("/metrics");
}

#[test]
fn no_path_of_a_request_is_one_of_the_disk() {
    let folder = folder();
    let served = TestServer::start(&[folder.path().to_str().unwrap()]);
    for path in ["/a.jsonl", "/../a.jsonl", "/%2e%2e/a.jsonl", "//etc/passwd", "/metrics/../a.jsonl"] {
        let (head, _) = served.get_with(path, "");
        assert!(head.starts_with("HTTP/1.1 404 "), "{path}: {head}");
    }
    let (head, _) = served.get_with("/", "Host: localhost\r\n");
    assert!(head.starts_with("HTTP/1.1 400 "), "two hosts: {head}");
}

#[test]
fn others_are_answered_with_the_token_or_when_it_is_open() {
    let folder = folder();
    let path = folder.path().to_str().unwrap();
    let token = folder.path().join("token");
    std::fs::write(&token, format!("{TOKEN}\n")).unwrap();
    let with_token = [path, "--listen", "0.0.0.0:0", "--token-file", token.to_str().unwrap()];
    std::fs::set_permissions(&token, PermissionsExt::from_mode(0o644)).unwrap();
    let warning = stderr(&assert_not_started(&with_token));
    assert!(
        warning.contains("every user of this machine can read the token") && warning.contains("chmod 600"),
        "{warning}"
    );
    let unprotected = assert_not_started(&[path, "--listen", "0.0.0.0:0"]);
    assert_eq!(unprotected.status.code(), Some(2));
    assert!(stderr(&unprotected).contains("`--no-auth`"), "{}", stderr(&unprotected));

    std::fs::set_permissions(&token, PermissionsExt::from_mode(0o600)).unwrap();
    let served =
        TestServer::start(&with_token[..1].iter().chain(&with_token[3..]).copied().collect::<Vec<_>>());
    for wrong in ["", "Authorization: Bearer 0123456789\r\n", "Authorization: Basic 0123456789\r\n"] {
        let (head, body) = served.get_with("/metrics", wrong);
        assert!(head.starts_with("HTTP/1.1 401 ") && !body.contains("howlate_run"), "{head}");
    }
    let (head, body) = served.get_with("/metrics", &format!("Authorization: Bearer {TOKEN}\r\n"));
    assert!(head.starts_with("HTTP/1.1 200 ") && body.contains("howlate_run"), "{head}");
}

#[test]
fn what_cannot_be_served_is_refused_before_a_port_is_taken() {
    for (arguments, message) in [
        (&["/dev/null"][..], "could be read each time"),
        (&["/nowhere.jsonl"], "/nowhere.jsonl"),
        (&["--listen", "9840"], "such as `0.0.0.0:9840`"),
        (&["--listen", "192.0.2.1:0"], "`0.0.0.0` stands for all of them"),
        (&["--watch", "4194304"], "4194304"),
    ] {
        let mut command_line = Vec::new();
        command_line.extend(if arguments.contains(&"--listen") {
            &[][..]
        } else {
            &["--listen", "127.0.0.1:0"]
        });
        command_line.extend(arguments);
        command_line.extend(arguments.contains(&"192.0.2.1:0").then_some("--open"));
        let output = assert_not_started(&command_line);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(message), "{}", stderr(&output));
    }
}

/// A program that waits repeatedly; killed on drop.
struct WaitingProgram(Child);

impl Drop for WaitingProgram {
    fn drop(&mut self) {
        drop((self.0.kill(), self.0.wait()));
    }
}

#[test]
fn a_running_program_is_watched_and_served_until_it_ends() {
    let program =
        WaitingProgram(Command::new("sh").args(["-c", "while :; do sleep 0.01; done"]).spawn().unwrap());
    let (pid, mut ended) = (program.0.id().to_string(), false);
    let mut served = TestServer::start(&["--watch", &pid]);
    // With any tracer or without one, the result so far is served.
    assert!(served.get("/metrics").contains("howlate_run_trustworthy{command=\"watch\"}"));
    assert!(served.get("/").contains("<!DOCTYPE html>"));
    drop(program);
    wait_until("an end of the server with that of the program", || {
        ended |= served.child.try_wait().unwrap().is_some();
        ended
    });
}

/// A port that was free a moment ago.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A Prometheus that scrapes the test server; stopped on drop.
pub(crate) struct PrometheusServer {
    address: String,
    _process: WaitingProgram,
    _folder: TempDir,
}

impl PrometheusServer {
    /// `job`: more lines of its configuration.
    pub(crate) fn start(served: &TestServer, job: &str, options: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = format!(
            "scrape_configs:\n  - job_name: howlate\n    scrape_interval: 1s\n{job}    static_configs: [{{ targets: [\"{}\"] }}]\n",
            served.address
        );
        let file = folder.path().join("prometheus.yml");
        std::fs::write(&file, config).unwrap();
        let address = format!("127.0.0.1:{}", free_port());
        let prometheus = Command::new("prometheus")
            .arg(format!("--config.file={}", file.display()))
            .arg(format!("--storage.tsdb.path={}", folder.path().join("data").display()))
            .arg(format!("--web.listen-address={address}"))
            .args(options)
            .stderr(Stdio::null())
            .spawn();
        Self { address, _process: WaitingProgram(prometheus.unwrap()), _folder: folder }
    }

    /// Response to a query; `None` before it responds.
    pub(crate) fn query(&self, query: &str) -> Option<String> {
        request(&self.address, &format!("/api/v1/query?query={query}"), "").ok().map(|(_, body)| body)
    }
}

#[test]
fn prometheus_scrapes_it_with_the_token() {
    if !is_installed("prometheus") {
        return skip("prometheus is not installed");
    }
    let folder = folder();
    let token = folder.path().join("token");
    std::fs::write(&token, TOKEN).unwrap();
    std::fs::set_permissions(&token, PermissionsExt::from_mode(0o600)).unwrap();
    let token = token.to_str().unwrap();
    let served = TestServer::start(&[folder.path().to_str().unwrap(), "--token-file", token]);
    let token = format!("    authorization: {{ credentials_file: {token} }}\n");
    let prometheus = PrometheusServer::start(&served, &token, &[]);
    wait_until("a number of ours in Prometheus", || {
        let found = prometheus.query("howlate_run_trustworthy");
        found.is_some_and(|body| body.contains("\"howlate_run_trustworthy\""))
    });
    let up = prometheus.query("up").unwrap();
    assert!(up.contains(",\"1\"]"), "{up}");
}
