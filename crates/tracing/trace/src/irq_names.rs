//! Names of interrupts and softirqs.

use std::collections::BTreeMap;

use howlate_model::SOFTIRQS;
use howlate_procfs::Root;

/// Number of the softirq that serves timers.
pub(crate) const HRTIMER: u32 = 8;

/// Name of the CPU-local timer interrupt.
pub(crate) const TICK: &str = "local_timer";

pub(crate) fn softirq_name(number: u32) -> String {
    SOFTIRQS.get(number as usize).map_or_else(|| format!("softirq {number}"), |name| (*name).to_owned())
}

/// Names of interrupts, read at the first use.
#[derive(Debug, Default)]
pub(crate) struct InterruptNames(Option<BTreeMap<u32, String>>);

impl InterruptNames {
    /// Numbers and names in `/proc/interrupts`, as in `27: 12 34 IO-APIC 27-edge virtio1`.
    #[cfg(test)]
    pub(crate) fn parse(text: &str) -> Self {
        Self(Some(parse(text)))
    }

    /// Name as in `/proc/interrupts`.
    pub(crate) fn name(&mut self, number: u32) -> String {
        let read = || parse(&Root::live().read("/proc/interrupts").unwrap_or_default());
        let names = self.0.get_or_insert_with(read);
        names.get(&number).cloned().unwrap_or_else(|| format!("interrupt {number}"))
    }
}

/// Numbers and names of a `/proc/interrupts`: `27: 12 34 IO-APIC 27-edge virtio1`.
fn parse(text: &str) -> BTreeMap<u32, String> {
    let cpus = text.lines().next().map_or(0, |heading| heading.split_whitespace().count());
    let line = |line: &str| {
        let (number, rest) = line.split_once(':')?;
        let number = number.trim().parse().ok()?;
        let columns: Vec<&str> = rest.split_whitespace().skip(cpus).collect();
        // The interrupt controller, its line number, then the names of the devices that share it.
        let names = columns.get(2..).filter(|names| !names.is_empty()).unwrap_or(&columns);
        Some((number, names.join(" ")))
    };
    text.lines().skip(1).filter_map(line).filter(|(_, name)| !name.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupts_have_the_names_of_their_devices() {
        let text = "           CPU0       CPU1\n  0:         12          0   IO-APIC   2-edge      timer\n 24:          5          7   PCI-MSI 65536-edge      virtio0-input.0, virtio0-output.0\nLOC:     100        200   Local timer interrupts\n";
        let names = parse(text);
        assert_eq!(names[&0], "timer");
        assert_eq!(names[&24], "virtio0-input.0, virtio0-output.0");
        assert_eq!(names.len(), 2);
        assert_eq!((softirq_name(3), softirq_name(77)), ("NET_RX".into(), "softirq 77".into()));
    }
}
