//! What every part of a class is made of.

use std::io;

use howlate_linux::clock;
use howlate_model::MonotonicTime;
use rustix::thread::{ClockId, clock_nanosleep_absolute};

use super::request::{InjectorReport, Stretch};

/// Something prepared that is done from one time to another.
pub(crate) type Work = Box<dyn FnOnce(Stretch) -> io::Result<InjectorReport>>;

/// The kernel's reason, in a sentence.
pub(crate) fn reason(what: &str, error: &io::Error) -> io::Error {
    let text = error.to_string();
    io::Error::other(format!("{what}: {}", text.split(" (os error").next().unwrap_or_default()))
}

/// Sleeps until `time`, whatever signals come.
pub(crate) fn sleep_until(time: MonotonicTime) {
    while clock_nanosleep_absolute(ClockId::Monotonic, &clock::timespec_at(time)).is_err() {}
}
