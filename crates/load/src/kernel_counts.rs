//! What the kernel has counted since it started, over the whole machine: `/proc/stat`.

use std::fs;

/// Counts at one moment; `None` where the file lacks them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct KernelCounts {
    pub(crate) context_switches: Option<u64>,
    pub(crate) interrupts: Option<u64>,
}

impl KernelCounts {
    pub(crate) fn now() -> Self {
        Self::parse(&fs::read_to_string("/proc/stat").unwrap_or_default())
    }

    fn parse(stat: &str) -> Self {
        let first = |name: &str| {
            let line = stat.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
            line.split(' ').next()?.parse().ok()
        };
        Self { context_switches: first("ctxt"), interrupts: first("intr") }
    }

    /// What was added since `earlier`.
    pub(crate) fn since(self, earlier: Self) -> Self {
        let added = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
        Self {
            context_switches: added(self.context_switches, earlier.context_switches),
            interrupts: added(self.interrupts, earlier.interrupts),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_read_and_not_those_of_single_interrupts() {
        let counts = KernelCounts::parse("cpu  1 2\nintr 900 7 0 0 893\nctxt 4711\nbtime 1\n");
        assert_eq!((counts.interrupts, counts.context_switches), (Some(900), Some(4711)));
        let later = KernelCounts { interrupts: Some(1_000), context_switches: None };
        let added = later.since(counts);
        assert_eq!((added.interrupts, added.context_switches), (Some(100), None));
    }
}
