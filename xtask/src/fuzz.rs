//! `cargo xtask fuzz`: runs the fuzz targets for a given time.
//!
//! Under libFuzzer, which keeps inputs that reach new code; blindly (`--blind`, or without a C++ compiler) by `howlate-fuzz`
//! alone. Failing inputs stay in `fuzz/corpus`, those with the most coverage in `target/fuzz`.

use std::fs;
use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// Compiler flags: counters of control-flow edges, and a trace of comparisons. Those of `cargo fuzz` without a sanitizer, which
/// would need a nightly toolchain.
///
/// Source: <https://github.com/rust-fuzz/cargo-fuzz/blob/main/src/project.rs>
const COVERAGE_FLAGS: [&str; 6] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    // Short strings are compared by calls of `memcmp`, which libFuzzer intercepts, rather than inline.
    "-Cllvm-args=-max-loads-per-memcmp=0",
];
const PROGRAM: &str = "howlate-fuzz-coverage";

/// Limits of libFuzzer. The timeout per input, s, is generous because machines are shared; memory, MB, includes libFuzzer and its
/// corpus; inputs, bytes, are at most as long as the longest seed.
const LIMITS: [&str; 4] = ["-timeout=60", "-rss_limit_mb=1024", "-malloc_limit_mb=256", "-max_len=65536"];

/// Runs the named targets, or all, each for an equal share of the time.
pub fn run(arguments: &[&str]) -> ExitCode {
    let rest: Vec<&str> = arguments.iter().copied().filter(|argument| *argument != "--blind").collect();
    // Only the blind fuzzer can start at a given batch.
    if rest.len() < arguments.len() || arguments.contains(&"--batch") {
        return run_blindly(&rest);
    }
    match LibFuzzer::build() {
        Ok(fuzzer) => fuzzer.run_targets(arguments),
        Err(error) => {
            println!("1 skipped: guided by coverage: {error}; blindly instead");
            run_blindly(arguments)
        }
    }
}

/// Runs the blind fuzzer, built with overflow checks.
fn run_blindly(arguments: &[&str]) -> ExitCode {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["run", "--quiet", "--profile", "fuzz", "--package", "howlate-fuzz"]);
    cargo.args(["--bin", "howlate-fuzz", "--"]).args(arguments);
    match cargo.current_dir(root()).status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => fail(&format!("cargo does not start: {error}")),
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn fail(error: &str) -> ExitCode {
    eprintln!("error: {error}");
    ExitCode::from(2)
}

/// The targets built with coverage counters and libFuzzer.
struct LibFuzzer {
    program: PathBuf,
}

impl LibFuzzer {
    fn build() -> Result<Self, String> {
        let host = host().map_err(|error| format!("rustc does not tell its host: {error}"))?;
        let folder = root().join("target/coverage");
        let mut cargo = Command::new(env!("CARGO"));
        // With an explicit target, build scripts and macros are built without counters.
        cargo.args(["build", "--quiet", "--profile", "fuzz", "--target", &host, "--target-dir"]).arg(&folder);
        cargo.args(["--package", "howlate-fuzz", "--features", "coverage", "--bin", PROGRAM]);
        let status = cargo.env("RUSTFLAGS", COVERAGE_FLAGS.join(" ")).current_dir(root()).status();
        match status {
            Ok(status) if status.success() => {
                Ok(Self { program: folder.join(host).join("fuzz").join(PROGRAM) })
            }
            _ => Err("it cannot be built (it takes a C++ compiler: apt-get install g++)".to_owned()),
        }
    }

    fn run_targets(&self, arguments: &[&str]) -> ExitCode {
        let options = match LibFuzzerOptions::read(arguments, self) {
            Ok(options) => options,
            Err(error) => return fail(&error),
        };
        let mut failed = 0;
        for target in &options.targets {
            println!("== {target}, {} s", options.seconds);
            match self.run_target(target, options.seconds) {
                Ok(true) => {}
                Ok(false) => failed += 1,
                Err(error) => return fail(&format!("{target}: {error}")),
            }
        }
        println!("{} targets, {failed} failed", options.targets.len());
        if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }

    /// Whether no input failed.
    fn run_target(&self, target: &str, seconds: u64) -> io::Result<bool> {
        let work = root().join("target/fuzz").join(target);
        let (reached, seeds) = (work.join("reached"), work.join("seeds"));
        let corpus = root().join("fuzz/corpus").join(target);
        for folder in [&reached, &seeds, &corpus] {
            fs::create_dir_all(folder)?;
        }
        let mut fuzzer = Command::new(&self.program);
        fuzzer.args(LIMITS).args(["-print_final_stats=1", "-print_funcs=0", "-use_value_profile=1"]);
        fuzzer.arg(format!("-max_total_time={seconds}"));
        fuzzer.arg(format!("-artifact_prefix={}/", corpus.display()));
        // libFuzzer adds inputs with new coverage to the first folder.
        fuzzer.args([&reached, &seeds, &corpus]);
        fuzzer.env("HOWLATE_FUZZ_TARGET", target).env("HOWLATE_FUZZ_SEEDS", &seeds);
        let is_success = run_and_print(fuzzer.current_dir(root()));
        // Removes the folder only if it is empty: no input has failed.
        drop(fs::remove_dir(&corpus));
        is_success
    }

    fn targets(&self) -> Result<Vec<String>, String> {
        let output = Command::new(&self.program).env("HOWLATE_FUZZ_TARGET", "list").output();
        let output = output.map_err(|error| format!("{PROGRAM} does not start: {error}"))?;
        Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
    }
}

/// Runs the fuzzer and prints its output without the progress; whether it succeeded.
fn run_and_print(fuzzer: &mut Command) -> io::Result<bool> {
    let mut running = fuzzer.stderr(Stdio::piped()).spawn()?;
    let stderr = running.stderr.take().map(BufReader::new);
    for line in stderr.into_iter().flat_map(|stderr| stderr.split(b'\n').map_while(Result::ok)) {
        let line = String::from_utf8_lossy(&line);
        if !is_progress(&line) {
            eprintln!("{line}");
        }
    }
    Ok(running.wait()?.success())
}

/// Lines for single inputs and dictionary words, thousands of them; the coverage at the beginning and at the end is enough.
fn is_progress(line: &str) -> bool {
    let is_input = line.starts_with('#') && !["INITED", "DONE"].iter().any(|event| line.contains(event));
    is_input || line.starts_with('"')
}

/// The target triple of this machine.
fn host() -> io::Result<String> {
    let output = Command::new("rustc").arg("-vV").output()?;
    let version = String::from_utf8_lossy(&output.stdout).into_owned();
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| io::ErrorKind::NotFound.into())
}

struct LibFuzzerOptions {
    targets: Vec<String>,
    /// Time per target.
    seconds: u64,
}

impl LibFuzzerOptions {
    fn read(arguments: &[&str], fuzzer: &LibFuzzer) -> Result<Self, String> {
        let all = fuzzer.targets()?;
        let (mut targets, mut seconds) = (Vec::new(), 60);
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            if *argument == "--for" {
                let value = arguments.next().ok_or("--for needs a value")?;
                seconds =
                    whole_seconds(value).ok_or(format!("`{value}` is no length such as 90s, 10m or 1h"))?;
            } else if all.iter().any(|target| target == argument) {
                targets.push((*argument).to_owned());
            } else {
                return Err(format!(
                    "there is no target `{argument}`\nusage: cargo xtask fuzz [--for 1h] [--blind] [TARGET…]\ntargets: {}",
                    all.join(", ")
                ));
            }
        }
        let targets = if targets.is_empty() { all } else { targets };
        // For libFuzzer, 0 s means no limit.
        Ok(Self { seconds: (seconds / targets.len() as u64).max(1), targets })
    }
}

/// Parses `90s`, `10m`, `1h`.
fn whole_seconds(text: &str) -> Option<u64> {
    let units = [("h", 3_600), ("m", 60), ("s", 1)];
    let (number, unit) = units.iter().find_map(|(name, unit)| Some((text.strip_suffix(name)?, unit)))?;
    number.parse::<u64>().ok()?.checked_mul(*unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_the_end_and_failures_are_printed() {
        let lines = [
            "#16\tINITED cov: 884 ft: 2003 corp: 9/1Kb exec/s: 0 rss: 44Mb",
            "#512\tREDUCE cov: 885 ft: 2010 corp: 10/1Kb lim: 64 exec/s: 0 rss: 44Mb L: 8/64 MS: 1 EraseBytes-",
            "\"over\" # Uses: 3",
            "attempt to add with overflow",
            "#900\tDONE   cov: 1886 ft: 5071 corp: 800/9Kb lim: 64 exec/s: 400 rss: 44Mb",
        ];
        assert_eq!(lines.map(is_progress), [false, true, true, false, false]);
    }

    #[test]
    fn lengths_have_a_unit() {
        assert_eq!(["90s", "10m", "1h"].map(whole_seconds), [Some(90), Some(600), Some(3_600)]);
        assert_eq!(["", "s", "10", "1 h", "-1s", "99999999999999999h"].map(whole_seconds), [None; 6]);
    }
}
