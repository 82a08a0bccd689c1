//! `/proc/interrupts`: interrupt counts by CPU.

use crate::Root;

/// The file's text.
#[derive(Clone, Debug, Default)]
pub struct InterruptCounts(String);

impl InterruptCounts {
    /// Empty where the file cannot be read.
    pub fn read(root: &Root) -> Self {
        Self(root.read("/proc/interrupts").unwrap_or_default())
    }

    /// Count of one row (`NMI`, `LOC`, `24`) on a CPU.
    pub fn of(&self, row: &str, cpu: u32) -> Option<u64> {
        let name = format!("CPU{cpu}");
        let column = self.0.lines().next()?.split_whitespace().position(|heading| heading == name)?;
        let counts =
            self.0.lines().find_map(|line| line.trim_start().strip_prefix(row)?.strip_prefix(':'))?;
        counts.split_whitespace().nth(column)?.parse().ok()
    }
}

/// Description of a numbered interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterruptRow<'a> {
    /// Interrupt controller: `GICv3`, `IO-APIC`.
    pub chip: &'a str,
    /// Its number at the controller, where given.
    pub number_at_chip: Option<u32>,
    /// The first handler: `arch_timer`, `nvme0q3`.
    pub action: &'a str,
}

impl InterruptCounts {
    /// The description after the counts of a row.
    pub fn row(&self, row: &str) -> Option<InterruptRow<'_>> {
        let cpus = self.0.lines().next()?.split_whitespace().filter(|word| word.starts_with("CPU")).count();
        let counts =
            self.0.lines().find_map(|line| line.trim_start().strip_prefix(row)?.strip_prefix(':'))?;
        let mut words = counts.split_whitespace().skip(cpus);
        let (chip, number) = (words.next()?, words.next()?);
        let action =
            words.find(|word| !["Level", "Edge", "edge", "fasteoi"].contains(word)).unwrap_or_default();
        let number_at_chip = number.split('-').next().and_then(|number| number.parse().ok());
        Some(InterruptRow { chip, number_at_chip, action: action.trim_end_matches(',') })
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

    #[test]
    fn a_row_names_its_controller_and_handler() {
        let text = "           CPU0       CPU1\n 11:         10         10     GICv3  30 Level     arch_timer\n 36:          0    2226417 PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0\n";
        let counts = InterruptCounts(text.to_owned());
        let row = |chip, number, action| Some(InterruptRow { chip, number_at_chip: Some(number), action });
        assert_eq!(counts.row("11"), row("GICv3", 30, "arch_timer"));
        assert_eq!(counts.row("36"), row("PCI-MSIX-0000:00:02.0", 1, "virtio1-req.0"));
        assert_eq!(counts.row("12"), None);
    }
}
