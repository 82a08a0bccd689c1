//! How late Rust's `std::thread::sleep` returns. The protocol is described in docs/probes.md.

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

fn main() -> io::Result<()> {
    let number = |place| std::env::args().nth(place).and_then(|text| text.parse::<u64>().ok());
    let (Some(length), Some(count)) = (number(1), number(2)) else { std::process::exit(2) };
    let asked = Duration::from_nanos(length);
    let mut out = io::stdout().lock();
    let compiler = option_env!("HOWLATE_COMPILER").unwrap_or("Rust");
    writeln!(out, "howlate-probe 1 monotonic {compiler}: std::thread::sleep")?;

    let mut readings = Vec::with_capacity(MOST);
    let mut next_print = now() + SECOND;
    for left in (1..=count).rev() {
        let start = now();
        std::thread::sleep(asked);
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
