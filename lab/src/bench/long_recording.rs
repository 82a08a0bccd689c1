//! A recording of a thousand million wake-ups.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use howlate_model::{Block, EndReason, Header, Latency, Line, RecordingEnd, Span, TurnFinished, Usage};
use howlate_recording::{Reader, Writer};

pub const WAKE_UPS: u64 = 1_000_000_000;
pub const THREADS: u32 = 200;
/// What a long run leaves of each condition.
const BLOCKS: u64 = 32;
/// How long each of them is.
const LENGTH: Span = Span::from_secs(156);

/// Writes it to `path`; `program` makes its header, and what else it needs in `folder`.
pub fn write(program: &Path, folder: &Path, path: &Path) -> io::Result<()> {
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
