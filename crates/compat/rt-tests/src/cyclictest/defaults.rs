//! What holds when nothing is asked for.

use howlate_model::WaitClock;

use crate::compat::Compat;
use crate::cyclictest::options::{Affinity, Align, Options, PolicyName, Power, Unit};

impl Options {
    /// The options of a command line without any.
    pub(crate) fn unasked(compat: Compat) -> Self {
        Self {
            compat,
            howlate_out: None,
            affinity: Affinity::Unset,
            main_affinity: None,
            align: Align::No,
            break_above: None,
            tracemark: false,
            clock: WaitClock::Monotonic,
            power: Power::Latency(0),
            distance_us: 0,
            duration: None,
            fifo: None,
            histogram: None,
            histfile: None,
            interval_us: 1_000,
            json: None,
            loops: None,
            mlockall: false,
            unit: Unit::Micros,
            oscope: 1,
            policy: PolicyName::Other,
            posix_timers: false,
            priority: 0,
            priospread: false,
            quiet: false,
            refresh_on_max: false,
            relative: false,
            resolution: false,
            smi: false,
            smp: false,
            spike_above: None,
            spike_nodes: 1_024,
            system: false,
            threads: 1,
            verbose: false,
        }
    }
}
