//! What a spinning thread reads: the CPU's counter where the kernel's clock is derived from it, else that clock.

use howlate_linux::{clock, cycle_counter};
use howlate_model::Span;
use howlate_procfs::{CpuInfo, Root};

/// What is read in every iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TickSource {
    /// The CPU's counter: the TSC on x86-64, `CNTVCT_EL0` on aarch64.
    Ticks,
    /// `clock_gettime(CLOCK_MONOTONIC)`.
    Clock,
}

const CLOCK_SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// The best tick source of this machine.
pub fn tick_source() -> TickSource {
    let source = Root::live().read(CLOCK_SOURCE).unwrap_or_default();
    tick_source_with(source.trim(), &CpuInfo::read(&Root::live()))
}

/// The TSC must not change with the CPU's frequency, nor stop while idle; the kernel trusts it where it is the clock source.
fn tick_source_with(source: &str, info: &CpuInfo) -> TickSource {
    let is_steady = match source {
        "tsc" => info.has_flag("constant_tsc") && info.has_flag("nonstop_tsc"),
        source => source == "arch_sys_counter",
    };
    if cycle_counter::HAS_TICKS && is_steady { TickSource::Ticks } else { TickSource::Clock }
}

/// Reads a counter.
pub(super) trait Counter: Copy + Send + 'static {
    fn read() -> u64;
}

#[derive(Clone, Copy)]
pub(super) struct Ticks;

impl Counter for Ticks {
    #[inline(always)]
    fn read() -> u64 {
        cycle_counter::ticks()
    }
}

#[derive(Clone, Copy)]
pub(super) struct Clock;

impl Counter for Clock {
    #[inline(always)]
    fn read() -> u64 {
        clock::now().as_nanos().unsigned_abs()
    }
}

/// Length of a tick: `nanos` nanoseconds per `ticks` ticks.
#[derive(Clone, Copy, Debug)]
pub(super) struct TickLength {
    nanos: u64,
    ticks: u64,
}

/// How long the counter is compared with the clock: readings are some 50 ns apart, 2 millionths of this.
const COMPARISON_TIME: Span = Span::from_millis(25);
/// The closest of this many pairs of readings counts.
const PAIRS: usize = 16;

impl TickLength {
    /// Compares the counter with the clock.
    pub(super) fn measure(source: TickSource) -> Self {
        match source {
            TickSource::Clock => Self { nanos: 1, ticks: 1 },
            TickSource::Ticks => {
                let (ticks, at) = read_both();
                drop(clock::sleep_for(COMPARISON_TIME));
                let (later_ticks, later) = read_both();
                let passed = later_ticks.saturating_sub(ticks);
                Self { nanos: later.since(at).as_nanos().max(1), ticks: passed.max(1) }
            }
        }
    }

    #[inline]
    pub(super) fn span(self, ticks: u64) -> Span {
        Span::from_nanos(scale(ticks, self.nanos, self.ticks))
    }

    /// Ticks in a microsecond, rounded.
    pub(super) fn megahertz(self) -> u64 {
        scale(self.ticks, 10_000, self.nanos).saturating_add(5) / 10
    }

    /// The smallest number of ticks whose [`Self::span`] is not less than `span`.
    pub(super) fn ticks(self, span: Span) -> u64 {
        let product = u128::from(span.as_nanos()) * u128::from(self.ticks);
        u64::try_from(product.div_ceil(u128::from(self.nanos))).unwrap_or(u64::MAX)
    }
}

/// `count` × `numerator` / `denominator`.
#[inline]
fn scale(count: u64, numerator: u64, denominator: u64) -> u64 {
    let product = u128::from(count) * u128::from(numerator) / u128::from(denominator);
    u64::try_from(product).unwrap_or(u64::MAX)
}

/// Counter and clock at one time.
fn read_both() -> (u64, howlate_model::MonotonicTime) {
    let pair = || {
        let before = cycle_counter::ticks();
        let at = clock::now();
        let apart = cycle_counter::ticks().saturating_sub(before);
        (apart, before + apart / 2, at)
    };
    let closest = (0..PAIRS).map(|_| pair()).min_by_key(|(apart, ..)| *apart);
    closest.map_or_else(|| (cycle_counter::ticks(), clock::now()), |(_, ticks, at)| (ticks, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(flags: &str) -> CpuInfo {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("proc")).unwrap();
        std::fs::write(folder.path().join("proc/cpuinfo"), format!("flags\t\t: {flags}\n")).unwrap();
        CpuInfo::read(&Root::at(folder.path()))
    }

    #[test]
    fn the_counter_is_read_only_where_it_is_steady_and_the_clock_source() {
        if !cycle_counter::HAS_TICKS {
            return howlate_testing::skip("programs do not read this processor's counter");
        }
        let steady = info("fpu constant_tsc nonstop_tsc");
        assert_eq!(tick_source_with("tsc", &steady), TickSource::Ticks);
        assert_eq!(tick_source_with("kvm-clock", &steady), TickSource::Clock);
        assert_eq!(tick_source_with("tsc", &info("fpu constant_tsc")), TickSource::Clock);
        assert_eq!(tick_source_with("arch_sys_counter", &info("")), TickSource::Ticks);
    }

    #[test]
    fn ticks_become_nanoseconds_and_back() {
        let length = TickLength { nanos: 1_000, ticks: 2_000 };
        assert_eq!(length.span(3_000), Span::from_nanos(1_500));
        assert_eq!(length.ticks(Span::from_micros(1)), 2_000);
        let odd = TickLength { nanos: 1_000, ticks: 2_399 };
        (1..1_000).map(Span::from_nanos).for_each(|span| assert_eq!(odd.span(odd.ticks(span)), span));
        assert_eq!((length.megahertz(), length.span(u64::MAX).as_nanos()), (2_000, u64::MAX / 2));
        assert_eq!(TickLength::measure(TickSource::Clock).span(7), Span::from_nanos(7));
    }
}
