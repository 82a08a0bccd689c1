//! A loop whose turns are due every 50 ms, one of which plans for three periods; and a request for what all CPUs did then.
//!
//!     cargo build --package howlate-loop --example recorded
//!     howlate record --out recorded.d     # in another terminal, as root
//!     target/debug/examples/recorded
//!     howlate show recorded.d

use std::time::{Duration, Instant};

use howlate_loop::{Loop, snap};

const PERIOD: Duration = Duration::from_millis(50);
const TURNS: u32 = 40;
const LONG: u32 = 25;

#[allow(clippy::disallowed_methods, clippy::print_stdout, reason = "a program as people write it")]
fn main() {
    let mut control = Loop::new("control", PERIOD);
    let (mut next, mut asked) = (Instant::now(), false);
    for number in 0..TURNS {
        next += PERIOD;
        while next + PERIOD <= Instant::now() {
            next += PERIOD;
        }
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
        let turn = control.turn();
        work_for(Duration::from_millis(1));
        if number == LONG {
            let plan = turn.span("long plan");
            work_for(3 * PERIOD);
            drop(plan);
            asked = snap("planned for too long");
        }
    }
    println!("{}", if asked { "a recorder was asked" } else { "no recorder" });
}

#[allow(clippy::disallowed_methods, reason = "a program as people write it")]
fn work_for(length: Duration) {
    let until = Instant::now() + length;
    while Instant::now() < until {
        std::hint::spin_loop();
    }
}
