//! A loop with named parts, which show where an iteration was long: one in a hundred plans for 3 ms.
//!
//!     cargo build --release --package howlate-loop --example spans
//!     howlate watch -- target/release/examples/spans 5

use std::time::{Duration, Instant};

use howlate_loop::Loop;

const PERIOD: Duration = Duration::from_millis(1);
const USUAL_PLAN: Duration = Duration::from_micros(100);
const LONG_PLAN: Duration = Duration::from_millis(3);
const ACT: Duration = Duration::from_micros(50);

#[allow(clippy::disallowed_methods, reason = "a program as people write it")]
fn main() {
    let seconds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(5);
    let mut control = Loop::new("control", PERIOD);
    for iteration in 0..seconds * 1_000 {
        std::thread::sleep(PERIOD / 2);
        let turn = control.turn();
        {
            let _plan = turn.span("plan");
            work_for(if iteration % 100 == 50 { LONG_PLAN } else { USUAL_PLAN });
        }
        let _act = turn.span("act");
        work_for(ACT);
    }
}

#[allow(clippy::disallowed_methods, reason = "a program as people write it")]
fn work_for(length: Duration) {
    let until = Instant::now() + length;
    while Instant::now() < until {
        std::hint::spin_loop();
    }
}
