//! Reading a recording of a thousand million wake-ups.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use howlate_linux::clock;
use howlate_model::{Block, End, Finished, Header, HowEnded, Latency, Line, MonotonicTime, Span, Usage};
use howlate_record::{Reader, Writer};

use super::paired::median;
use super::program::built;

const WAKE_UPS: u64 = 1_000_000_000;
const THREADS: u32 = 200;
/// What a long run leaves of each condition.
const BLOCKS: u64 = 32;
const RUNS: usize = 11;

/// Writes such a recording, then times `howlate show` as a whole process.
pub fn run() -> io::Result<()> {
    let howlate = built()?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("long.jsonl");
    write(&howlate, folder.path(), &path)?;
    let times: Vec<f64> = (0..RUNS).map(|_| time(&howlate, &path)).collect::<Result<_, _>>()?;
    let size = std::fs::metadata(&path)?.len() / 1_024;
    println!(
        "{WAKE_UPS} wake-ups, {THREADS} threads, {size} KiB: median {:.0} ms of {RUNS} runs",
        median(&times)
    );
    Ok(())
}

fn time(program: &Path, path: &Path) -> io::Result<f64> {
    let began = clock::now();
    Command::new(program).arg("show").arg(path).stdout(Stdio::null()).status()?;
    Ok(clock::now().since(began).as_secs_f64() * 1e3)
}

fn write(program: &Path, folder: &Path, path: &Path) -> io::Result<()> {
    let mut writer = Writer::create(path, &header(program, folder)?).map_err(io::Error::other)?;
    let mut random = fastrand::Rng::with_seed(1);
    let at_ns = MonotonicTime::from_nanos(0);
    for condition in 0..THREADS {
        for _ in 0..BLOCKS {
            let mut block = Block { condition, ..Block::default() };
            fill(&mut block, WAKE_UPS / u64::from(THREADS) / BLOCKS, &mut random);
            writer.write(&Line::Block(Box::new(block)));
        }
        let usage = Some(Usage { elapsed_ns: Span::from_secs(1), ..Usage::default() });
        let (load, unfinished, error) = (None, false, None);
        writer.write(&Line::Finished(Finished {
            condition,
            round: 0,
            at_ns,
            usage,
            load,
            unfinished,
            error,
        }));
    }
    writer.write(&Line::End(End { at_ns, how: HowEnded::Done }));
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
