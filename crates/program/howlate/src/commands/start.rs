//! Beginning at the same time as other machines.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use howlate_cli::StartAt;
use howlate_linux::clock;
use howlate_model::{Span, WaitClock};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::terminal;

/// How long nobody looks whether it is interrupted, or the clock was set.
const A_WHILE: i64 = 100_000_000;

/// Waits for the moment by the wall clock, or until it is interrupted.
pub(super) fn wait_for(start: Option<StartAt>, interrupted: &AtomicBool, quiet: bool) -> io::Result<()> {
    let Some(start) = start else { return Ok(()) };
    let begins = start.after(clock::now_on(WaitClock::Realtime));
    if !quiet {
        terminal::tell(&format!("Begins at {}.\n", time_of_day(begins)));
    }
    while !interrupted.load(Ordering::Relaxed) {
        let left = begins - clock::now_on(WaitClock::Realtime);
        match u64::try_from(left.min(A_WHILE)) {
            Ok(nanos @ 1..) => match clock::sleep_for(Span::from_nanos(nanos)) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                _ => {}
            },
            _ => break,
        }
    }
    Ok(())
}

fn time_of_day(nanos: i64) -> String {
    let at = Timestamp::from_nanosecond(i128::from(nanos)).unwrap_or(Timestamp::UNIX_EPOCH);
    at.to_zoned(TimeZone::system()).strftime("%H:%M:%S").to_string()
}
