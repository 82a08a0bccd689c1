//! What is said about the clock.

use howlate_linux::clock;
use howlate_measure::measure_instrument;
use howlate_model::Span;
use howlate_rt_tests::cyclictest::Options;

use crate::streams::Streams;

/// With high-resolution timers, `clock_getres(2)` says 1 ns; without, the length of a tick.
const HIGH_RESOLUTION: Span = Span::from_nanos(1);

/// Warns of a clock that is coarser than it should be, or than it says.
pub(crate) fn check(options: &Options, streams: Streams) {
    let reported = clock::resolution();
    if reported != HIGH_RESOLUTION {
        streams.say("WARN: High resolution timers not available\n");
    }
    if options.resolution {
        let measured = measure_instrument().clock_precision;
        if options.verbose || measured > reported {
            let (reported, measured) = (reported.as_nanos(), measured.as_nanos());
            streams.say(&format!(
                "WARN: reported clock resolution: {reported} nsec\n\
                 WARN: measured clock resolution approximately: {measured} nsec\n"
            ));
        }
    }
}

/// Nanoseconds that the clock waited on is ahead of `CLOCK_MONOTONIC`.
pub(crate) fn ahead(options: &Options) -> i64 {
    if options.clock.is_monotonic() { 0 } else { clock::offset_from_monotonic(options.clock) }
}
