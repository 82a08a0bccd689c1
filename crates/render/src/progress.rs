//! Progress of long work, in one line.

use howlate_model::{Condition, Span};

use crate::condition::condition;
use crate::numbers::{count, rough};
use crate::style::{DIM, paint};

/// `turn 3 of 12 · clock_nanosleep for 1ms · other · load idle · 34 s left`.
pub fn progress(turn: usize, turns: usize, now: &Condition, left: Span) -> String {
    let text = format!("turn {turn} of {turns} · {} · {}", condition(now), time_left(left));
    paint(DIM, text)
}

/// `34.0 s left`.
pub fn time_left(left: Span) -> String {
    if left.is_zero() { "ending".to_owned() } else { format!("{} left", rough(left)) }
}

/// `guest 2 of 4 · 6.1.0-rt · 12.0 s · 24 000 wake-ups`.
pub fn boot_progress(title: &str, age: Span, wakeups: u64) -> String {
    let doing = if wakeups == 0 { "booting".to_owned() } else { format!("{} wake-ups", count(wakeups)) };
    paint(DIM, format!("{title} · {} · {doing}", rough(age)))
}
