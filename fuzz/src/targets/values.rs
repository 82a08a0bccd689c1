//! Values of options: lengths, CPU lists, policies, loads, limits, ways to sleep and to notify.

use std::fmt::Display;
use std::str::FromStr;

use howlate_model::{CpuSet, Limit, Load, LoadList, Notifier, Policy, Sleeper, Span, Wait};

use crate::Target;

pub(crate) const TARGET: Target = Target { name: "values", seeds, body };

fn seeds() -> Vec<Vec<u8>> {
    let texts = [
        "1h 30m",
        "1.5ms",
        "0-3,8",
        "deadline:200us/1ms",
        "fifo:80",
        "nice:-20",
        "cpu:50%+cmd:'dd if=/dev/zero'",
        "stress-ng:vm@0-1",
        "hackbench-program:'-g 5',idle",
        "p99.9>50us",
        "missed>0",
        "clock_nanosleep",
        "./my-probe",
        "futex",
        "disk:/var/tmp:20%",
    ];
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

fn body(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    survives::<Span>(text);
    survives::<CpuSet>(text);
    survives::<Policy>(text);
    survives::<Load>(text);
    survives::<Limit>(text);
    survives::<Wait>(text);
    survives::<Notifier>(text);
    drop(text.parse::<LoadList>());
    // A way to sleep is kept for as long as the program runs, so that not every text becomes one.
    if !text.contains('/') {
        survives::<Sleeper>(text);
    }
}

/// What was read is read again from its own text.
fn survives<T: FromStr + Display>(text: &str) {
    if let Ok(value) = text.parse::<T>() {
        let again = value.to_string();
        let same = again.parse::<T>().is_ok_and(|same| same.to_string() == again);
        assert!(same, "{text:?} became {again:?}");
    }
}
