//! `cargo xtask fuzz`: damaged and hostile input, for as long as asked.
//!
//! Under libFuzzer, which keeps inputs that reach code that none before has reached; blindly (`--blind`, or where no C++
//! compiler is) by `howlate-fuzz` alone. What fails stays in `fuzz/corpus`, what reaches most in `target/fuzz`.

use std::fs;
use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// Has the compiler count which edges an input takes, and say what is compared with what. Stable options; those of
/// `cargo fuzz` without a sanitizer, which would need another toolchain.
///
/// Source: <https://github.com/rust-fuzz/cargo-fuzz/blob/main/src/project.rs>
const COUNTED: [&str; 6] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    // Short texts are compared by a call, which libFuzzer listens to, rather than in place, where nobody does.
    "-Cllvm-args=-max-loads-per-memcmp=0",
];
const PROGRAM: &str = "howlate-fuzz-coverage";

/// For each input: machines that run this are shared, so one that hangs is given long. Memory is that of libFuzzer as
/// well, with its corpus; inputs are as long as the longest seed.
const LIMITS: [&str; 4] = ["-timeout=60", "-rss_limit_mb=1024", "-malloc_limit_mb=256", "-max_len=65536"];

/// Feeds all targets or those named, each its share of the time.
pub fn run(words: &[&str]) -> ExitCode {
    let blind: Vec<&str> = words.iter().copied().filter(|word| *word != "--blind").collect();
    // The blind one takes up where it is told to.
    if blind.len() < words.len() || words.contains(&"--batch") {
        return blindly(&blind);
    }
    match Guided::build() {
        Ok(guided) => guided.feed(words),
        Err(error) => {
            println!("1 skipped: guided by coverage: {error}; blindly instead");
            blindly(words)
        }
    }
}

/// Hands everything to the blind fuzzer, built so that overflows are found.
fn blindly(words: &[&str]) -> ExitCode {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["run", "--quiet", "--profile", "fuzz", "--package", "howlate-fuzz"]);
    cargo.args(["--bin", "howlate-fuzz", "--"]).args(words);
    match cargo.current_dir(root()).status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => could_not(&format!("cargo does not start: {error}")),
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn could_not(error: &str) -> ExitCode {
    eprintln!("error: {error}");
    ExitCode::from(2)
}

/// The fuzzer that sees what inputs reach.
struct Guided {
    program: PathBuf,
}

impl Guided {
    fn build() -> Result<Self, String> {
        let host = host().map_err(|error| format!("rustc does not tell its host: {error}"))?;
        let folder = root().join("target/coverage");
        let mut cargo = Command::new(env!("CARGO"));
        // With a target named, build scripts and macros are not counted.
        cargo.args(["build", "--quiet", "--profile", "fuzz", "--target", &host, "--target-dir"]).arg(&folder);
        cargo.args(["--package", "howlate-fuzz", "--features", "coverage", "--bin", PROGRAM]);
        let built = cargo.env("RUSTFLAGS", COUNTED.join(" ")).current_dir(root()).status();
        match built {
            Ok(status) if status.success() => {
                Ok(Self { program: folder.join(host).join("fuzz").join(PROGRAM) })
            }
            _ => Err("it cannot be built (it takes a C++ compiler: apt-get install g++)".to_owned()),
        }
    }

    fn feed(&self, words: &[&str]) -> ExitCode {
        let asked = match Asked::read(words, self) {
            Ok(asked) => asked,
            Err(error) => return could_not(&error),
        };
        let mut failed = 0;
        for target in &asked.targets {
            println!("== {target}, {} s", asked.seconds);
            match self.feed_one(target, asked.seconds) {
                Ok(true) => {}
                Ok(false) => failed += 1,
                Err(error) => return could_not(&format!("{target}: {error}")),
            }
        }
        println!("{} targets, {failed} failed", asked.targets.len());
        if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }

    /// Whether no input failed.
    fn feed_one(&self, target: &str, seconds: u64) -> io::Result<bool> {
        let grown = root().join("target/fuzz").join(target);
        let (reached, seeds) = (grown.join("reached"), grown.join("seeds"));
        let kept = root().join("fuzz/corpus").join(target);
        for folder in [&reached, &seeds, &kept] {
            fs::create_dir_all(folder)?;
        }
        let mut fuzzer = Command::new(&self.program);
        fuzzer.args(LIMITS).args(["-print_final_stats=1", "-print_funcs=0", "-use_value_profile=1"]);
        fuzzer.arg(format!("-max_total_time={seconds}"));
        fuzzer.arg(format!("-artifact_prefix={}/", kept.display()));
        // The first is where it adds what reaches more.
        fuzzer.args([&reached, &seeds, &kept]);
        fuzzer.env("HOWLATE_FUZZ_TARGET", target).env("HOWLATE_FUZZ_SEEDS", &seeds);
        let ended = pass_on(fuzzer.current_dir(root()));
        // Only where nothing failed is it empty.
        drop(fs::remove_dir(&kept));
        ended
    }

    /// The names of all targets.
    fn targets(&self) -> Result<Vec<String>, String> {
        let listed = Command::new(&self.program).env("HOWLATE_FUZZ_TARGET", "list").output();
        let listed = listed.map_err(|error| format!("{PROGRAM} does not start: {error}"))?;
        Ok(String::from_utf8_lossy(&listed.stdout).lines().map(str::to_owned).collect())
    }
}

/// Runs it to its end, and says what it says that is worth it; whether it succeeded.
fn pass_on(fuzzer: &mut Command) -> io::Result<bool> {
    let mut running = fuzzer.stderr(Stdio::piped()).spawn()?;
    let said = running.stderr.take().map(BufReader::new);
    for line in said.into_iter().flat_map(|said| said.split(b'\n').map_while(Result::ok)) {
        let line = String::from_utf8_lossy(&line);
        if is_worth_saying(&line) {
            eprintln!("{line}");
        }
    }
    Ok(running.wait()?.success())
}

/// Each input that reaches more has a line, thousands of them, and so has each word that helped; what is reached at the beginning
/// and at the end tells as much.
fn is_worth_saying(line: &str) -> bool {
    let is_progress = line.starts_with('#') && !["INITED", "DONE"].iter().any(|word| line.contains(word));
    !is_progress && !line.starts_with('"')
}

fn host() -> io::Result<String> {
    let told = Command::new("rustc").arg("-vV").output()?;
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    let host = told.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// What was typed.
struct Asked {
    targets: Vec<String>,
    /// Time for each target, seconds.
    seconds: u64,
}

impl Asked {
    fn read(words: &[&str], guided: &Guided) -> Result<Self, String> {
        let all = guided.targets()?;
        let (mut targets, mut seconds) = (Vec::new(), 60);
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if *word == "--for" {
                let value = words.next().ok_or("--for needs a value")?;
                seconds =
                    whole_seconds(value).ok_or(format!("`{value}` is no length such as 90s, 10m or 1h"))?;
            } else if all.iter().any(|target| target == word) {
                targets.push((*word).to_owned());
            } else {
                return Err(format!(
                    "there is no target `{word}`\nusage: cargo xtask fuzz [--for 1h] [--blind] [TARGET…]\ntargets: {}",
                    all.join(", ")
                ));
            }
        }
        let targets = if targets.is_empty() { all } else { targets };
        // No time at all would be without an end.
        Ok(Self { seconds: (seconds / targets.len() as u64).max(1), targets })
    }
}

/// Of `90s`, `10m`, `1h`.
fn whole_seconds(text: &str) -> Option<u64> {
    let units = [("h", 3_600), ("m", 60), ("s", 1)];
    let (number, unit) = units.iter().find_map(|(name, unit)| Some((text.strip_suffix(name)?, unit)))?;
    number.parse::<u64>().ok()?.checked_mul(*unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_the_end_and_what_fails_are_said() {
        let said = [
            "#16\tINITED cov: 884 ft: 2003 corp: 9/1Kb exec/s: 0 rss: 44Mb",
            "#512\tREDUCE cov: 885 ft: 2010 corp: 10/1Kb lim: 64 exec/s: 0 rss: 44Mb L: 8/64 MS: 1 EraseBytes-",
            "\"over\" # Uses: 3",
            "attempt to add with overflow",
            "#900\tDONE   cov: 1886 ft: 5071 corp: 800/9Kb lim: 64 exec/s: 400 rss: 44Mb",
        ];
        assert_eq!(said.map(is_worth_saying), [true, false, false, true, true]);
    }

    #[test]
    fn lengths_have_a_unit() {
        assert_eq!(["90s", "10m", "1h"].map(whole_seconds), [Some(90), Some(600), Some(3_600)]);
        assert_eq!(["", "s", "10", "1 h", "-1s", "99999999999999999h"].map(whole_seconds), [None; 6]);
    }
}
