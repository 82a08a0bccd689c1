//! `/proc/interrupts`: how many interrupts each CPU took.

use crate::Root;

/// One reading.
#[derive(Clone, Debug, Default)]
pub struct InterruptCounts(String);

impl InterruptCounts {
    /// Reads it; nothing where there is none.
    pub fn read(root: &Root) -> Self {
        Self(root.read("/proc/interrupts").unwrap_or_default())
    }

    /// How many of one row a CPU took: `NMI`, `LOC`, `24`.
    pub fn of(&self, row: &str, cpu: u32) -> Option<u64> {
        let name = format!("CPU{cpu}");
        let column = self.0.lines().next()?.split_whitespace().position(|one| one == name)?;
        let counts =
            self.0.lines().find_map(|line| line.trim_start().strip_prefix(row)?.strip_prefix(':'))?;
        counts.split_whitespace().nth(column)?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cpu_has_its_column() {
        let text = "           CPU0       CPU2\n  0:         12          0   timer\nNMI:          5          7   Non-maskable interrupts\nERR:          0\n";
        let counts = InterruptCounts(text.to_owned());
        assert_eq!((counts.of("NMI", 2), counts.of("0", 0)), (Some(7), Some(12)));
        assert_eq!((counts.of("NMI", 1), counts.of("MCE", 0), counts.of("ERR", 2)), (None, None, None));
    }
}
