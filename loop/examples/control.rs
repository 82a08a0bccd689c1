//! A control loop with three lines of howlate: an iteration every millisecond, one in a hundred of which works for three.
//!
//!     cargo build --release --package howlate-loop --example control
//!     howlate watch -- target/release/examples/control 5

use std::time::{Duration, Instant};

use howlate_loop::Loop;

const PERIOD: Duration = Duration::from_millis(1);
const USUAL_WORK: Duration = Duration::from_micros(100);
const LONG_WORK: Duration = Duration::from_millis(3);

#[allow(clippy::disallowed_methods, reason = "a program as people write it")]
fn main() {
    let seconds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(5);
    let mut next = Instant::now();
    let mut control = Loop::new("control", PERIOD);
    for iteration in 0..seconds * 1_000 {
        // The next period that has not passed yet.
        next += PERIOD;
        while next + PERIOD <= Instant::now() {
            next += PERIOD;
        }
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
        control.wake();
        work_for(if iteration % 100 == 50 { LONG_WORK } else { USUAL_WORK });
        control.done();
    }
}

#[allow(clippy::disallowed_methods, reason = "a program as people write it")]
fn work_for(length: Duration) {
    let until = Instant::now() + length;
    while Instant::now() < until {
        std::hint::spin_loop();
    }
}
