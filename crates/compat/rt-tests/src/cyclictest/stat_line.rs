//! The `T:` line of one thread.

use crate::cyclictest::options::Unit;
use crate::cyclictest::tally::Tally;

/// One line, as in `T: 0 (30519) P:80 I:1000 C:    100 Min:      5 Act:   10 Avg:    9 Max:      25`.
pub(crate) fn stat_line(tally: &Tally, unit: Unit) -> String {
    let Tally { thread, tid, priority, interval_us, cycles, min, act, max, .. } = tally;
    let width = match unit {
        Unit::Micros => 5,
        Unit::Nanos => 8,
    };
    let mean = tally.whole_mean();
    let smis = tally.smis.map_or_else(String::new, |smis| format!(" SMI:{smis:8}"));
    format!(
        "T:{thread:2} ({tid:5}) P:{priority:2} I:{interval_us} C:{cycles:7} \
         Min:{min:7} Act:{act:width$} Avg:{mean:width$} Max:{max:8}{smis}\n"
    )
}
