//! Many small recordings: merged, shown, and as a page.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use howlate_linux::clock;
use howlate_model::{
    Block, Distribution, EndReason, Header, Latency, Line, Node, RecordingEnd, Span, TurnFinished, Usage,
};
use howlate_recording::{Reader, Writer};

use super::program::built;

/// What each machine of a fleet measures, and how many there are; `HOWLATE_BENCH_NODES` has another number.
const FLEETS: [(u32, &[&str]); 2] = [
    (10_000, &["cyclic", "--policy", "other,fifo:80", "--load", "idle,pipe", "--threads", "1"]),
    (1_000, &["notify", "--mechanism", "pipe,futex", "--policy", "other,fifo:80"]),
];
const BLOCKS: u32 = 4;
/// Wake-ups of a block: of all recordings, a thousand million in all.
const KINDS: u32 = 1_000;
const OF_EACH_KIND: u64 = 6;
/// One of this many machines is late.
const LATE: u32 = 100;
/// Number of different recordings, which repeat.
const BODIES: u32 = 64;

/// The commands to time, and their output files.
const COMMANDS: [(&str, &[&str]); 4] = [
    ("merge", &["merge", "many", "-o", "all.jsonl"]),
    ("show", &["show", "many"]),
    ("report", &["report", "many", "-o", "all.html"]),
    ("compare", &["compare", "many", "many"]),
];

/// Writes the recordings, into the folder `HOWLATE_BENCH_FOLDER` if set, where they stay; then runs each command once and prints
/// its time and peak memory.
pub fn run() -> io::Result<()> {
    let howlate = built()?;
    let kept_folder: Option<PathBuf> = std::env::var_os("HOWLATE_BENCH_FOLDER").map(Into::into);
    let temporary = tempfile::tempdir()?;
    let folder = kept_folder.as_deref().unwrap_or(temporary.path());
    FLEETS
        .iter()
        .try_for_each(|(nodes, arguments)| of_fleet(&howlate, &folder.join(arguments[0]), *nodes, arguments))
}

fn of_fleet(howlate: &Path, folder: &Path, nodes: u32, arguments: &[&str]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let size = write_all(howlate, folder, nodes, arguments)?;
    for (name, arguments) in COMMANDS {
        let (seconds, memory) = measured(Command::new(howlate).args(arguments).current_dir(folder))?;
        let rate = size as f64 / 1e6 / seconds;
        println!("{name:7} {seconds:.2} s, {rate:.0} MB/s, at most {memory} of memory");
    }
    let size = |name: &str| fs::metadata(folder.join(name)).map_or(0, |file| file.len() / 1_024);
    println!("merged {} KiB, page {} KiB", size("all.jsonl"), size("all.html"));
    Ok(())
}

/// The recordings, below `folder`; returns their bytes.
fn write_all(program: &Path, folder: &Path, nodes: u32, arguments: &[&str]) -> io::Result<u64> {
    let nodes = std::env::var("HOWLATE_BENCH_NODES").ok().and_then(|text| text.parse().ok()).unwrap_or(nodes);
    let many = folder.join("many");
    fs::create_dir(&many)?;
    let (header, mut size) = (header(program, folder, arguments)?, 0);
    let bodies = (0..=BODIES).map(|number| body(folder, &header, number)).collect::<io::Result<Vec<_>>>()?;
    for node in 0..nodes {
        let body = if node % LATE == 1 { BODIES } else { node % BODIES };
        let text = [first_line(&header, node)?.as_bytes(), &bodies[body as usize]].concat();
        fs::write(many.join(format!("n{node}.jsonl")), &text)?;
        size += text.len() as u64;
    }
    let wake_ups = u64::from(nodes * BLOCKS * KINDS) * OF_EACH_KIND * header.conditions.len() as u64;
    println!("{}: {nodes} recordings, {wake_ups} wake-ups, {} MB", arguments[0], size / 1_000_000);
    Ok(size)
}

/// The header of a machine, with its line break.
fn first_line(header: &Header, node: u32) -> io::Result<String> {
    let labels = [("rack".to_owned(), (node / 16).to_string())].into();
    let own = Node { name: Some(format!("n{node}")), machine: None, boot: None, labels };
    let header = Header { id: Some(format!("id-{node}")), node: own, ..header.clone() };
    Ok(format!("{}\n", serde_json::to_string(&Line::Header(Box::new(header)))?))
}

/// The lines after the header; the last of the different recordings is of a late machine.
fn body(folder: &Path, header: &Header, number: u32) -> io::Result<Vec<u8>> {
    let mut random = fastrand::Rng::with_seed(u64::from(number));
    let late = random.i64(0..4_000) + if number == BODIES { 30_000 } else { 0 };
    let path = folder.join(format!("body-{number}"));
    write(&path, header, late, &mut random)?;
    let text = fs::read(&path)?;
    let first = text.iter().position(|byte| *byte == b'\n').map_or(0, |place| place + 1);
    Ok(text[first..].to_vec())
}

/// The header of a real, very short run.
fn header(program: &Path, folder: &Path, arguments: &[&str]) -> io::Result<Header> {
    let path = folder.join("short.jsonl");
    let mut command = Command::new(program);
    command.args(arguments).args(["--samples", "1", "--rounds", "1", "--quiet", "--out"]).arg(&path);
    command.stdout(Stdio::null()).status()?;
    Ok(Reader::open(&path).map_err(io::Error::other)?.header().clone())
}

fn write(path: &Path, header: &Header, late: i64, random: &mut fastrand::Rng) -> io::Result<()> {
    let mut writer = Writer::create(path, header).map_err(io::Error::other)?;
    let at = header.at;
    for condition in 0..header.conditions.len() as u32 {
        for round in 0..BLOCKS {
            let until = at.plus(Span::from_secs(1));
            let mut block = Block { condition, round, from: at, until, ..Block::default() };
            fill(&mut block.latency, late, random);
            if header.command == howlate_model::Command::Notify {
                fill(block.send.get_or_insert_default(), 0, random);
            }
            writer.write(&Line::Block(Box::new(block)));
        }
        let usage = Some(Usage { elapsed: Span::from_secs(4), ..Usage::default() });
        let (load, unfinished, error) = (None, false, None);
        let finished = TurnFinished { condition, round: BLOCKS - 1, at, usage, load, unfinished, error };
        writer.write(&Line::Finished(finished));
    }
    writer.write(&Line::End(RecordingEnd { at, how: EndReason::Done }));
    writer.close();
    Ok(())
}

/// A bell around 50 µs, and a tail.
fn fill(latency: &mut Distribution, late: i64, random: &mut fastrand::Rng) {
    for _ in 0..KINDS {
        let bell: i64 = (0..4).map(|_| random.i64(10_000..15_000)).sum();
        let tail = if random.u8(..50) == 0 { random.i64(0..300_000) } else { 0 };
        latency.record_n(Latency::from_nanos(bell + tail + late), OF_EACH_KIND);
    }
}

/// Duration of a command, and its peak memory, read shortly before its end.
fn measured(command: &mut Command) -> io::Result<(f64, String)> {
    let began = clock::now();
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let mut most = String::from("?");
    while child.try_wait()?.is_none() {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        if let Some(line) = status.lines().find_map(|line| line.strip_prefix("VmHWM:")) {
            most = line.trim().to_owned();
        }
        clock::sleep_for(Span::from_millis(10))?;
    }
    Ok((clock::now().since(began).as_secs_f64(), most))
}
