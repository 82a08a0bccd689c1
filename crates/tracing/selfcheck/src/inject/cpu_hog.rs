//! `thread`: a thread of higher priority that takes the CPU for a set time, again and again.

use howlate_linux::clock;
use howlate_model::{InjectedCause, Span};

use super::clock_reader::runs_until;
use super::request::InjectorReport;
use super::work::{Work, sleep_until};

/// How long it takes the CPU.
const TAKES: Span = Span::from_micros(400);
/// How often: nine periods of the measured thread.
const EVERY: Span = Span::from_millis(9);
/// It begins this long before the measured thread is to be woken, at least, and at most.
const BEFORE: [u64; 2] = [50_000, 350_000];

pub(crate) fn prepare(mut known: InjectedCause) -> Work {
    Box::new(move |stretch| {
        for (number, time) in (0_u64..).zip(stretch.grid(EVERY, EVERY)) {
            let earlier = BEFORE[0] + number * 7_919 % (BEFORE[1] - BEFORE[0]);
            sleep_until(time.minus(Span::from_nanos(earlier)));
            known.stamps.extend(runs_until(clock::now().plus(TAKES)));
        }
        Ok(InjectorReport { known: Some(known), ..InjectorReport::default() })
    })
}
