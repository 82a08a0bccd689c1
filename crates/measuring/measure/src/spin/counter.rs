//! What a spinning thread reads: the processor's counter where the kernel's clock is made of it, else that clock.

use howlate_linux::{clock, cycle_counter};
use howlate_model::Span;
use howlate_procfs::{CpuInfo, Root};

/// What is read at every turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// The processor's counter: the TSC on x86-64, `CNTVCT_EL0` on aarch64.
    Ticks,
    /// `clock_gettime(CLOCK_MONOTONIC)`.
    Clock,
}

const CLOCK_SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// What can be read on this machine.
pub fn counted() -> Counted {
    let source = Root::live().read(CLOCK_SOURCE).unwrap_or_default();
    counted_with(source.trim(), &CpuInfo::read(&Root::live()))
}

/// The TSC must not change with the CPU's frequency, nor stop while it is idle; the kernel trusts it where its clock is made of it.
fn counted_with(source: &str, info: &CpuInfo) -> Counted {
    let is_steady = match source {
        "tsc" => info.has_flag("constant_tsc") && info.has_flag("nonstop_tsc"),
        source => source == "arch_sys_counter",
    };
    if cycle_counter::HAS_TICKS && is_steady { Counted::Ticks } else { Counted::Clock }
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

/// How long ticks of the counter are: so many nanoseconds for so many ticks.
#[derive(Clone, Copy, Debug)]
pub(super) struct TickLength {
    nanos: u64,
    ticks: u64,
}

/// For so long both clocks are compared: readings are some 50 ns apart, 2 millionths of it.
const COMPARED: Span = Span::from_millis(25);
/// Pairs of readings of which the closest counts.
const PAIRS: usize = 16;

impl TickLength {
    /// Compares the counter with the clock.
    pub(super) fn measure(counted: Counted) -> Self {
        match counted {
            Counted::Clock => Self { nanos: 1, ticks: 1 },
            Counted::Ticks => {
                let (ticks, at) = pair();
                drop(clock::sleep_for(COMPARED));
                let (later_ticks, later) = pair();
                let passed = later_ticks.saturating_sub(ticks);
                Self { nanos: later.since(at).as_nanos().max(1), ticks: passed.max(1) }
            }
        }
    }

    #[inline]
    pub(super) fn span(self, ticks: u64) -> Span {
        Span::from_nanos(share(ticks, self.nanos, self.ticks))
    }

    /// Ticks in a microsecond, rounded.
    pub(super) fn megahertz(self) -> u64 {
        share(self.ticks, 10_000, self.nanos).saturating_add(5) / 10
    }

    /// So many that [`Self::span`] of them is not less.
    pub(super) fn ticks(self, span: Span) -> u64 {
        let product = u128::from(span.as_nanos()) * u128::from(self.ticks);
        u64::try_from(product.div_ceil(u128::from(self.nanos))).unwrap_or(u64::MAX)
    }
}

/// `count` times `of` in `whole`.
#[inline]
fn share(count: u64, of: u64, whole: u64) -> u64 {
    let product = u128::from(count) * u128::from(of) / u128::from(whole);
    u64::try_from(product).unwrap_or(u64::MAX)
}

/// Both at one moment.
fn pair() -> (u64, howlate_model::MonotonicTime) {
    let one = || {
        let before = cycle_counter::ticks();
        let at = clock::now();
        let apart = cycle_counter::ticks().saturating_sub(before);
        (apart, before + apart / 2, at)
    };
    let closest = (0..PAIRS).map(|_| one()).min_by_key(|(apart, ..)| *apart);
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
    fn the_counter_is_read_only_where_it_is_steady_and_the_kernels_own() {
        if !cycle_counter::HAS_TICKS {
            return howlate_testing::skip("programs do not read this processor's counter");
        }
        let steady = info("fpu constant_tsc nonstop_tsc");
        assert_eq!(counted_with("tsc", &steady), Counted::Ticks);
        assert_eq!(counted_with("kvm-clock", &steady), Counted::Clock);
        assert_eq!(counted_with("tsc", &info("fpu constant_tsc")), Counted::Clock);
        assert_eq!(counted_with("arch_sys_counter", &info("")), Counted::Ticks);
    }

    #[test]
    fn ticks_become_nanoseconds_and_back() {
        let length = TickLength { nanos: 1_000, ticks: 2_000 };
        assert_eq!(length.span(3_000), Span::from_nanos(1_500));
        assert_eq!(length.ticks(Span::from_micros(1)), 2_000);
        let odd = TickLength { nanos: 1_000, ticks: 2_399 };
        (1..1_000).map(Span::from_nanos).for_each(|span| assert_eq!(odd.span(odd.ticks(span)), span));
        assert_eq!((length.megahertz(), length.span(u64::MAX).as_nanos()), (2_000, u64::MAX / 2));
        assert_eq!(TickLength::measure(Counted::Clock).span(7), Span::from_nanos(7));
    }
}
