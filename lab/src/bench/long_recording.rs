//! `cargo xtask bench show` and `report`: reading a recording of a thousand million wake-ups.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use howlate_linux::clock;
use howlate_model::{Block, EndReason, Header, Latency, Line, RecordingEnd, Span, TurnFinished, Usage};
use howlate_recording::{Reader, Writer};

use super::paired::median;
use super::program::{built, output};
use super::why::limit::{BenchFigure, BenchLimits};

const WAKE_UPS: u64 = 1_000_000_000;
const THREADS: u32 = 200;
/// Blocks per condition that a long run leaves.
const BLOCKS: u64 = 32;
/// Length of a block.
const LENGTH: Span = Span::from_secs(156);
const RUNS: usize = 11;
/// Limit of `howlate show`, ms.
const MOST: f64 = 40.0;

/// Writes the recording, then times `howlate show` as a whole process.
pub fn run_show() -> io::Result<()> {
    let howlate = built()?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("long.jsonl");
    write(&howlate, folder.path(), &path)?;
    let times: Vec<f64> = (0..RUNS).map(|_| show(&howlate, &path)).collect::<Result<_, _>>()?;
    let size = std::fs::metadata(&path)?.len() / 1_024;
    println!("{WAKE_UPS} wake-ups, {THREADS} threads, {size} KiB, {RUNS} runs");
    let (name, value) = ("show: the whole recording, median", median(&times));
    let mut limits = BenchLimits::default();
    limits.judge(&BenchFigure { name, value, interval: None, most: MOST, unit: "ms" });
    limits.verdict()
}

/// Time of one `howlate show`, ms.
fn show(program: &Path, path: &Path) -> io::Result<f64> {
    let began = clock::now();
    Command::new(program).arg("show").arg(path).stdout(Stdio::null()).status()?;
    Ok(clock::now().since(began).as_secs_f64() * 1e3)
}

/// Writes the recording, then times `howlate report` as a whole process.
pub fn run_report() -> io::Result<()> {
    let howlate = built()?;
    let folder = tempfile::tempdir()?;
    let (recording, page) = (folder.path().join("long.jsonl"), folder.path().join("long.html"));
    write(&howlate, folder.path(), &recording)?;
    let mut times = Vec::new();
    let mut size = 0;
    for _ in 0..RUNS {
        times.push(report(&howlate, &recording, &page)?);
        size = std::fs::metadata(&page)?.len() / 1_024;
        std::fs::remove_file(&page)?;
    }
    let median = median(&times);
    println!(
        "{WAKE_UPS} wake-ups, {THREADS} threads: a page of {size} KiB, median {median:.0} ms of {RUNS} runs"
    );
    Ok(())
}

/// Time of one `howlate report`, ms.
fn report(program: &Path, recording: &Path, page: &Path) -> io::Result<f64> {
    let began = clock::now();
    output(Command::new(program).arg("report").arg(recording).arg("-o").arg(page))?;
    Ok(clock::now().since(began).as_secs_f64() * 1e3)
}

/// Writes the recording to `path`; `folder`: for a short run of `program`, from which the header is taken.
fn write(program: &Path, folder: &Path, path: &Path) -> io::Result<()> {
    let header = header(program, folder)?;
    let mut writer = Writer::create(path, &header).map_err(io::Error::other)?;
    let mut random = fastrand::Rng::with_seed(1);
    let at = header.at;
    for condition in 0..THREADS {
        for number in 0..BLOCKS {
            let from = at.plus(LENGTH.times(number));
            let until = from.plus(LENGTH);
            let mut block = Block { condition, from, until, ..Block::default() };
            fill(&mut block, WAKE_UPS / u64::from(THREADS) / BLOCKS, &mut random);
            writer.write(&Line::Block(Box::new(block)));
        }
        let usage = Some(Usage { elapsed: LENGTH.times(BLOCKS), ..Usage::default() });
        let (load, unfinished, error) = (None, false, None);
        writer.write(&Line::Finished(TurnFinished {
            condition,
            round: 0,
            at,
            usage,
            load,
            unfinished,
            error,
        }));
    }
    writer.write(&Line::End(RecordingEnd { at, how: EndReason::Done }));
    writer.close();
    Ok(())
}

/// The header of a real, very short run with as many threads.
fn header(program: &Path, folder: &Path) -> io::Result<Header> {
    let path = folder.join("short.jsonl");
    let mut command = Command::new(program);
    command
        .args(["cyclic", "--threads", &THREADS.to_string(), "--samples", "1", "--quiet", "--out"])
        .arg(&path);
    command.stdout(Stdio::null()).status()?;
    Ok(Reader::open(&path).map_err(io::Error::other)?.header().clone())
}

/// Latencies as an idle machine has them: a bell around 50 µs and a tail up to milliseconds.
fn fill(block: &mut Block, count: u64, random: &mut fastrand::Rng) {
    const KINDS: u64 = 1_000;
    for _ in 0..KINDS {
        let bell: i64 = (0..8).map(|_| random.i64(2_000..8_000)).sum();
        let tail = if random.u8(..100) == 0 { random.i64(0..3_000_000) } else { 0 };
        block.latency.record_n(Latency::from_nanos(bell + tail), count / KINDS);
    }
    let rest = count - count / KINDS * KINDS;
    block.latency.record_n(Latency::from_nanos(40_000), rest);
}
