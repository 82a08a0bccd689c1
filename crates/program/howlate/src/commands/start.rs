//! `--start-at`: starts at the same time as other machines.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use howlate_cli::StartAt;
use howlate_linux::clock;
use howlate_model::{Span, WaitClock};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::terminal;

/// Interval in ns of the checks for interrupts and for a changed clock.
const CHECK_INTERVAL: i64 = 100_000_000;

/// Waits until `start` on the wall clock, or until `interrupted` is set.
pub(super) fn wait_for(start: Option<StartAt>, interrupted: &AtomicBool, quiet: bool) -> io::Result<()> {
    let Some(start) = start else { return Ok(()) };
    let start_ns = start.after(clock::now_on(WaitClock::Realtime));
    if !quiet {
        terminal::eprint_wrapped(&format!("Begins at {}.\n", time_of_day(start_ns)));
    }
    while !interrupted.load(Ordering::Relaxed) {
        let remaining = start_ns - clock::now_on(WaitClock::Realtime);
        match u64::try_from(remaining.min(CHECK_INTERVAL)) {
            Ok(nanos @ 1..) => match clock::sleep_for(Span::from_nanos(nanos)) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                _ => {}
            },
            _ => break,
        }
    }
    Ok(())
}

/// In the local time zone.
pub(super) fn time_of_day(nanos: i64) -> String {
    let timestamp = Timestamp::from_nanosecond(i128::from(nanos)).unwrap_or(Timestamp::UNIX_EPOCH);
    timestamp.to_zoned(TimeZone::system()).strftime("%H:%M:%S").to_string()
}
