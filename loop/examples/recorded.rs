//! A loop with a period of 50 ms, one iteration of which plans for three periods, and then asks a recorder to keep what all CPUs did.
//!
//!     cargo build --package howlate-loop --example recorded
//!     howlate record --out recorded.d     # in another terminal, as root
//!     target/debug/examples/recorded
//!     howlate show recorded.d

use std::time::{Duration, Instant};

use howlate_loop::{Loop, snap};

const PERIOD: Duration = Duration::from_millis(50);
const ITERATIONS: u32 = 40;
const LONG_ITERATION: u32 = 25;

#[allow(clippy::disallowed_methods, clippy::print_stdout, reason = "a program as people write it")]
fn main() {
    let mut control = Loop::new("control", PERIOD);
    let (mut next, mut was_asked) = (Instant::now(), false);
    for number in 0..ITERATIONS {
        next += PERIOD;
        while next + PERIOD <= Instant::now() {
            next += PERIOD;
        }
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
        let turn = control.turn();
        work_for(Duration::from_millis(1));
        if number == LONG_ITERATION {
            let plan = turn.span("long plan");
            work_for(3 * PERIOD);
            drop(plan);
            was_asked = snap("planned for too long");
        }
    }
    println!("{}", if was_asked { "a recorder was asked" } else { "no recorder" });
}

#[allow(clippy::disallowed_methods, reason = "a program as people write it")]
fn work_for(length: Duration) {
    let until = Instant::now() + length;
    while Instant::now() < until {
        std::hint::spin_loop();
    }
}
