//! `cargo xtask bench crowd`: memory of howlate's commands beside ten thousand threads, while a thousand start each second.

use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use howlate_linux::clock;
use howlate_model::Span;
use rustix::process::{Pid, Signal, kill_process};

use super::program::{KilledOnDrop, built, compiled};
use super::why::limit::{BenchFigure, BenchLimits};

/// Limit of memory, MiB.
const MOST: f64 = 128.0;
/// Default of `--for`.
const USUALLY: Span = Span::from_secs(60);
/// Samples of a command's memory, to see growth.
const SAMPLES: u64 = 6;

/// The commands; `PID` stands for the process with the threads, `OUT` for the folder of results.
const COMMANDS: [&str; 4] = [
    "watch --quiet --out OUT PID",
    "serve --listen 127.0.0.1:0 --process PID",
    "top --json PID",
    "record --quiet --out OUT",
];

/// Runs for the default time.
pub fn run() -> io::Result<()> {
    run_for(USUALLY)
}

/// Runs all commands for `time`: prints their memory, and fails if the peak of one is above the limit.
pub fn run_for(time: Span) -> io::Result<()> {
    let program = built()?;
    let folder = tempfile::tempdir()?;
    let crowd = compiled("bench/crowd.c", folder.path())?;
    let mut crowd = KilledOnDrop(Command::new(&crowd).stdout(Stdio::piped()).spawn()?);
    line_of(&mut crowd.0)?;
    let begin = |(number, arguments): (usize, &&'static str)| {
        let out = folder.path().join(format!("{number}"));
        CrowdObserver::begin(&program, arguments, crowd.0.id(), &out)
    };
    let mut all = COMMANDS.iter().enumerate().map(begin).collect::<io::Result<Vec<_>>>()?;
    for look in 1..=SAMPLES {
        clock::sleep_for(Span::from_nanos(time.as_nanos() / SAMPLES))?;
        let after = time.as_secs_f64() * look as f64 / SAMPLES as f64;
        all.iter_mut().try_for_each(|looking| looking.look(after))?;
    }
    let mut limits = BenchLimits::default();
    for looking in &mut all {
        end(&mut looking.program.0, looking.name)?;
        let name = format!("{}: MiB at most", looking.name);
        limits.judge(&BenchFigure {
            name: &name,
            value: looking.most,
            interval: None,
            most: MOST,
            unit: "MiB",
        });
    }
    limits.verdict()
}

/// A running command.
struct CrowdObserver {
    name: &'static str,
    program: KilledOnDrop,
    /// Address of `howlate serve`; `None` for other commands.
    address: Option<String>,
    /// Peak of its memory, MiB.
    most: f64,
}

impl CrowdObserver {
    fn begin(program: &Path, arguments: &'static str, crowd: u32, out: &Path) -> io::Result<Self> {
        let (pid, out) = (crowd.to_string(), out.display().to_string());
        let name = arguments.split(' ').next().unwrap_or_default();
        let arguments = arguments.split(' ').map(|word| match word {
            "PID" => pid.as_str(),
            "OUT" => out.as_str(),
            _ => word,
        });
        let is_server = name == "serve";
        let mut command = Command::new(program);
        command.args(arguments).stdout(if is_server { Stdio::piped() } else { Stdio::null() });
        let mut program = KilledOnDrop(command.spawn()?);
        let first_line = if is_server { Some(line_of(&mut program.0)?) } else { None };
        let address = first_line
            .and_then(|line| Some(line.split("http://").nth(1)?.trim().trim_end_matches('/').to_owned()));
        Ok(Self { name, program, address, most: 0.0 })
    }

    fn look(&mut self, after: f64) -> io::Result<()> {
        // Reads the metrics as Prometheus would, which costs memory too.
        let answer = self.address.as_deref().map(series_count).transpose()?;
        let [now, peak] = memory(self.program.0.id())?;
        self.most = self.most.max(peak);
        let series = answer.map_or_else(String::new, |answer| format!(", {answer} series"));
        println!("{:>8} after {after:>4.0} s: {now:>6.1} MiB{series}", self.name);
        Ok(())
    }
}

fn line_of(child: &mut Child) -> io::Result<String> {
    let mut line = String::new();
    let out = child.stdout.as_mut().ok_or_else(|| io::Error::other("it has no output"))?;
    BufReader::new(out).read_line(&mut line)?;
    if line.is_empty() { Err(io::Error::other("it ended before it began")) } else { Ok(line) }
}

/// Number of series in `/metrics`.
fn series_count(address: &str) -> io::Result<usize> {
    let mut stream = TcpStream::connect(address)?;
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer.lines().filter(|line| line.starts_with("howlate_")).count())
}

/// Resident memory now, and its peak, MiB.
pub(super) fn memory(pid: u32) -> io::Result<[f64; 2]> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let of = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().strip_suffix(" kB")?.parse::<f64>().ok()
    };
    let both = of("VmRSS:").zip(of("VmHWM:")).map(|(now, most)| [now / 1_024.0, most / 1_024.0]);
    both.ok_or_else(|| io::Error::other("it ended before it was told to"))
}

/// Ends the command by SIGINT.
fn end(child: &mut Child, name: &str) -> io::Result<()> {
    kill_process(Pid::from_child(child), Signal::INT)?;
    // Closes the pipe, so that the server cannot block on it.
    drop(child.stdout.take());
    let interrupted = clock::now();
    let status = child.wait()?;
    println!("{name:>8} ended {:.1} s after Ctrl-C: {status}", clock::now().since(interrupted).as_secs_f64());
    Ok(())
}
