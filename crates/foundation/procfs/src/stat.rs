//! `/proc/stat`: counters of the whole machine since boot.

use crate::Root;

/// The file's text. Each counter is parsed on request: the file is long, and most callers need two of its numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    text: String,
}

/// CPU time in ticks of `USER_HZ`. Source: `proc_stat(5)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTicks {
    /// Everything but idle and iowait; includes steal.
    pub busy: u64,
    /// Busy and idle together.
    pub whole: u64,
    /// Time stolen by the hypervisor; `None` on old kernels.
    pub steal: Option<u64>,
}

impl Stat {
    pub fn read(root: &Root) -> Self {
        Self::parse(root.read("/proc/stat").unwrap_or_default())
    }

    pub fn parse(text: impl Into<String>) -> Self {
        Self { text: text.into() }
    }

    /// Like all counters here `None` where the file lacks it.
    pub fn context_switches(&self) -> Option<u64> {
        first_number(self.line("ctxt ")?)
    }

    /// Interrupts serviced on all CPUs.
    pub fn interrupts(&self) -> Option<u64> {
        first_number(self.line("intr ")?)
    }

    /// All CPUs together.
    pub fn all(&self) -> Option<CpuTicks> {
        CpuTicks::parse(self.line("cpu ")?)
    }

    /// Each online CPU with its number.
    pub fn cpus(&self) -> Vec<(u32, CpuTicks)> {
        let lines = self.text.lines().filter_map(|line| line.strip_prefix("cpu")?.split_once(' '));
        lines.filter_map(|(number, ticks)| Some((number.parse().ok()?, CpuTicks::parse(ticks)?))).collect()
    }

    fn line(&self, name: &str) -> Option<&str> {
        self.text.lines().find_map(|line| line.strip_prefix(name))
    }
}

/// The first number: of a total and its parts, the total.
fn first_number(numbers: &str) -> Option<u64> {
    numbers.split(' ').next()?.parse().ok()
}

impl CpuTicks {
    /// `user nice system idle iowait irq softirq steal guest guest_nice`; guest time is already
    /// included in user time.
    fn parse(numbers: &str) -> Option<Self> {
        let mut ticks = numbers.split_ascii_whitespace().map_while(|tick| tick.parse::<u64>().ok()).fuse();
        let mut whole = 0_u64;
        let mut next = || ticks.next().inspect(|tick| whole = whole.saturating_add(*tick));
        let [_user, _nice, _system] = [next(), next(), next()];
        let idle = next()?.saturating_add(next()?);
        let [_irq, _softirq, steal] = [next(), next(), next()];
        Some(Self { busy: whole.saturating_sub(idle), whole, steal })
    }

    /// Difference from `earlier`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            busy: self.busy.saturating_sub(earlier.busy),
            whole: self.whole.saturating_sub(earlier.whole),
            steal: self.steal.zip(earlier.steal).map(|(now, then)| now.saturating_sub(then)),
        }
    }

    /// Sum of the ticks of two intervals.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            busy: self.busy.saturating_add(other.busy),
            whole: self.whole.saturating_add(other.whole),
            steal: self.steal.zip(other.steal).map(|(left, right)| left.saturating_add(right)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_read_and_not_those_of_single_interrupts() {
        let stat = Stat::parse("cpu  1 2\nintr 900 7 0 0 893\nctxt 4711\nbtime 1\n");
        assert_eq!((stat.interrupts(), stat.context_switches()), (Some(900), Some(4711)));
        assert_eq!(stat.all(), None, "two numbers say nothing of idle time");
    }

    #[test]
    fn guest_time_is_not_counted_twice_and_iowait_is_idle() {
        let stat = Stat::parse("cpu  1 2 3 4 5 6 7 8 9 10\ncpu3 1 0 0 9 0\n");
        assert_eq!(stat.all(), Some(CpuTicks { busy: 27, whole: 36, steal: Some(8) }));
        assert_eq!(stat.cpus(), [(3, CpuTicks { busy: 1, whole: 10, steal: None })]);
    }

    #[test]
    fn numbers_at_their_end_do_not_overflow() {
        let max = u64::MAX;
        let stat = Stat::parse(format!("cpu  {max} {max} 0 {max} {max} 0 0 0\n"));
        let all = stat.all().unwrap();
        assert_eq!(all.plus(all).whole, max);
        assert_eq!(CpuTicks::default().since(all).busy, 0);
    }
}
