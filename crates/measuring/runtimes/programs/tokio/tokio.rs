//! How late `tokio::time::sleep` returns. The protocol is described in docs/probes.md.

use std::io::{self, Write};
use std::time::Duration;

/// Readings kept before they are printed.
const MOST: usize = 4096;
const SECOND: i64 = 1_000_000_000;

#[repr(C)]
struct Timespec {
    seconds: std::ffi::c_long,
    nanos: std::ffi::c_long,
}

extern "C" {
    fn clock_gettime(clock: std::ffi::c_int, time: *mut Timespec) -> std::ffi::c_int;
}

/// `CLOCK_MONOTONIC`, which is what `Instant` reads but does not tell.
fn now() -> i64 {
    const CLOCK_MONOTONIC: std::ffi::c_int = 1;
    let mut time = Timespec { seconds: 0, nanos: 0 };
    // SAFETY: `time` has the layout of a timespec and outlives the call.
    unsafe { clock_gettime(CLOCK_MONOTONIC, &mut time) };
    time.seconds as i64 * SECOND + time.nanos as i64
}

/// The version of tokio that this was built with.
fn version() -> &'static str {
    let tokio = include_str!("Cargo.lock").split("name = \"tokio\"\nversion = \"").nth(1);
    tokio.and_then(|rest| rest.split('"').next()).unwrap_or_default()
}

async fn measure(asked: Duration, count: u64) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let mut readings = Vec::with_capacity(MOST);
    let mut next_print = now() + SECOND;
    for left in (1..=count).rev() {
        let start = now();
        tokio::time::sleep(asked).await;
        let end = now();
        readings.push((start, end));
        if readings.len() == MOST || end >= next_print || left == 1 {
            let lines: String = readings.drain(..).map(|(start, end)| format!("{start} {end}\n")).collect();
            out.write_all(lines.as_bytes())?;
            next_print = now() + SECOND;
        }
    }
    writeln!(out, "end")
}

/// What `#[tokio::main]` stands for.
fn main() -> io::Result<()> {
    let number = |place| std::env::args().nth(place).and_then(|text| text.parse::<u64>().ok());
    let (Some(length), Some(count)) = (number(1), number(2)) else { std::process::exit(2) };
    let compiler = option_env!("HOWLATE_COMPILER").unwrap_or("Rust");
    println!("howlate-probe 1 monotonic tokio {}, {compiler}: tokio::time::sleep", version());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(measure(Duration::from_nanos(length), count))
}
