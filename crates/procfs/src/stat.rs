//! `/proc/stat`: what the kernel has counted over the whole machine since it started.

use crate::Root;

/// Counts at one moment; what the file lacks is `None` or empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    /// All CPUs together.
    pub all: Option<CpuTicks>,
    /// Each online CPU with its number.
    pub cpus: Vec<(u32, CpuTicks)>,
    /// Context switches.
    pub context_switches: Option<u64>,
    /// Interrupts serviced.
    pub interrupts: Option<u64>,
}

/// What CPUs spent their time on, in ticks of `USER_HZ`. Source: `proc_stat(5)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTicks {
    /// Anything but the idle loop, what a host took included.
    pub busy: u64,
    /// Busy and idle.
    pub whole: u64,
    /// Taken by the host; old kernels do not say.
    pub steal: Option<u64>,
}

impl Stat {
    /// Reads it.
    pub fn read(root: &Root) -> Self {
        Self::parse(&root.read("/proc/stat").unwrap_or_default())
    }

    /// The file's text understood.
    pub fn parse(text: &str) -> Self {
        let mut stat = Self::default();
        for (name, rest) in text.lines().filter_map(|line| line.split_once(' ')) {
            match (name, name.strip_prefix("cpu")) {
                ("ctxt", _) => stat.context_switches = first_number(rest),
                ("intr", _) => stat.interrupts = first_number(rest),
                (_, Some("")) => stat.all = CpuTicks::parse(rest),
                (_, Some(number)) => {
                    let cpu = number.parse().ok().zip(CpuTicks::parse(rest));
                    stat.cpus.extend(cpu);
                }
                _ => {}
            }
        }
        stat
    }
}

/// The first of some numbers; of a total and its parts, the total.
fn first_number(numbers: &str) -> Option<u64> {
    numbers.split(' ').next()?.parse().ok()
}

impl CpuTicks {
    /// `user nice system idle iowait irq softirq steal guest guest_nice`; the guest's time is in the
    /// user's already.
    fn parse(numbers: &str) -> Option<Self> {
        let ticks: Vec<u64> =
            numbers.split_whitespace().take(8).map_while(|tick| tick.parse().ok()).collect();
        let idle = ticks.get(3)?.saturating_add(*ticks.get(4)?);
        let whole = ticks.iter().fold(0_u64, |sum, tick| sum.saturating_add(*tick));
        Some(Self { busy: whole.saturating_sub(idle), whole, steal: ticks.get(7).copied() })
    }

    /// What was added since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            busy: self.busy.saturating_sub(earlier.busy),
            whole: self.whole.saturating_sub(earlier.whole),
            steal: self.steal.zip(earlier.steal).map(|(now, then)| now.saturating_sub(then)),
        }
    }

    /// These and those of another stretch of time.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            busy: self.busy.saturating_add(other.busy),
            whole: self.whole.saturating_add(other.whole),
            steal: self.steal.zip(other.steal).map(|(one, other)| one.saturating_add(other)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_read_and_not_those_of_single_interrupts() {
        let stat = Stat::parse("cpu  1 2\nintr 900 7 0 0 893\nctxt 4711\nbtime 1\n");
        assert_eq!((stat.interrupts, stat.context_switches), (Some(900), Some(4711)));
        assert_eq!(stat.all, None, "two numbers say nothing of idle time");
    }

    #[test]
    fn guests_are_not_counted_twice_and_waiting_for_a_disk_is_idle() {
        let stat = Stat::parse("cpu  1 2 3 4 5 6 7 8 9 10\ncpu3 1 0 0 9 0\n");
        assert_eq!(stat.all, Some(CpuTicks { busy: 27, whole: 36, steal: Some(8) }));
        assert_eq!(stat.cpus, [(3, CpuTicks { busy: 1, whole: 10, steal: None })]);
    }

    #[test]
    fn numbers_at_their_end_do_not_overflow() {
        let most = u64::MAX;
        let stat = Stat::parse(&format!("cpu  {most} {most} 0 {most} {most} 0 0 0\n"));
        let all = stat.all.unwrap();
        assert_eq!(all.plus(all).whole, most);
        assert_eq!(CpuTicks::default().since(all).busy, 0);
    }
}
