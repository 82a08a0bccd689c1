//! Thermal throttling, and throttling for lack of power.

use howlate_model::{Finding, FindingId, Verdict};
use howlate_procfs::{Isolation, Reading, Root};

use super::draft::{FindingDraft, finding};

/// Throttling from this rate on is a cost.
const OFTEN_PER_HOUR: f64 = 1.0;

const WHY: &str = "A CPU that is slowed down by its own hardware takes several times as long for the same work, whatever the governor says, and \
    begins to at any moment.";

/// Source: Documentation/ABI/testing/sysfs-devices-system-cpu, `thermal_throttle`; the Raspberry Pi documentation, `get_throttled`.
pub(super) fn examine(root: &Root) -> Option<Finding> {
    board_throttling(root).or_else(|| processor_throttling(root))
}

/// Bits of `get_throttled`: the present state; 16 bits higher, whether it occurred since the start.
const BITS: [(u64, &str); 4] = [
    (1, "too little voltage from its supply"),
    (2, "frequency capped"),
    (4, "throttled"),
    (8, "near its limit of temperature"),
];

/// The state reported by the firmware of a Raspberry Pi.
fn board_throttling(root: &Root) -> Option<Finding> {
    let reading = firmware_files(root)
        .into_iter()
        .map(|path| root.reading(path))
        .find(|reading| reading.text().is_some())?;
    let word = u64::from_str_radix(reading.text()?.trim_start_matches("0x"), 16).ok()?;
    let reasons = |shift: u32| {
        BITS.iter().filter(|(bit, _)| word >> shift & bit != 0).map(|(_, text)| *text).collect::<Vec<_>>()
    };
    let (now, since) = (reasons(0), reasons(16));
    let (verdict, found) = match (now.is_empty(), since.is_empty()) {
        (true, true) => (Verdict::Good, "the board has not been slowed down since its start".to_owned()),
        (true, false) => (
            Verdict::Costs,
            format!("the board was slowed down at some time since its start: {}", since.join(", ")),
        ),
        (false, _) => (Verdict::Costs, format!("the board is slowed down now: {}", now.join(", "))),
    };
    let has_low_voltage = word & (1 | 1 << 16) != 0;
    let draft = finding(FindingId::ThermalThrottling, verdict, found).evidence(&reading).why(WHY);
    let draft = draft.when(verdict == Verdict::Costs && has_low_voltage, |draft| {
        draft
            .apply("use the supply that the board was made for, on a short cable (27 W for a Raspberry Pi 5, 15 W for a 4)")
            .undo("the supply of before")
    });
    Some(
        draft
            .when(verdict == Verdict::Costs && !has_low_voltage, |draft| {
                draft
                    .apply("cool the board: a heat sink, a fan, a case that lets air in")
                    .undo("the cooling of before")
            })
            .finish(),
    )
}

/// `/sys/devices/platform/soc/soc:firmware/get_throttled`, with an address in the names of newer boards.
fn firmware_files(root: &Root) -> Vec<String> {
    const PLATFORM: &str = "/sys/devices/platform";
    let is_chip = |name: &String| name.starts_with("soc");
    let chips = root.list(PLATFORM).into_iter().filter(is_chip).map(|name| format!("{PLATFORM}/{name}"));
    let inner = |chip: String| {
        let names = root.list(&chip).into_iter().filter(is_chip);
        names.map(|name| format!("{chip}/{name}")).collect::<Vec<_>>()
    };
    let firmwares = chips.flat_map(inner).filter(|path| path.ends_with(":firmware"));
    firmwares.map(|path| format!("{path}/get_throttled")).collect()
}

/// The number of times that an x86 processor was throttled, by the kernel's counters.
fn processor_throttling(root: &Root) -> Option<Finding> {
    let file = |cpu: u32, name: &str| format!("/sys/devices/system/cpu/cpu{cpu}/thermal_throttle/{name}");
    let cpus = Isolation::read(root).online;
    let counts = |name: &str| -> Vec<Reading> {
        let readings = cpus.iter().map(|cpu| root.reading(file(cpu, name)));
        readings.filter(|reading| reading.text().is_some()).collect()
    };
    let [core, package] = ["core_throttle_count", "package_throttle_count"].map(counts);
    let highest =
        |readings: &[Reading]| readings.iter().max_by_key(|reading| reading.number::<u64>()).cloned();
    let (core, package) = (highest(&core), highest(&package));
    let number = |reading: &Option<Reading>| reading.as_ref().and_then(Reading::number::<u64>);
    let count = number(&core).max(number(&package))?;
    let uptime = root.reading("/proc/uptime");
    let hours = uptime
        .text()
        .and_then(|text| text.split(' ').next()?.parse::<f64>().ok())
        .map(|seconds| seconds / 3600.0);
    // Once a day on a laptop is no cost.
    let is_often = hours.is_none_or(|hours| count as f64 >= hours * OFTEN_PER_HOUR);
    let verdict = match count {
        0 => Verdict::Good,
        _ if is_often => Verdict::Costs,
        _ => Verdict::Note,
    };
    let since = hours
        .map_or_else(|| "since the start".to_owned(), |hours| format!("in the {hours:.0} h since the start"));
    let found = match count {
        0 => "the processor was not slowed down by heat since the start".to_owned(),
        1 => format!("the processor was slowed down by heat once {since}"),
        _ => format!("the processor was slowed down by heat {count} times {since}"),
    };
    let draft = finding(FindingId::ThermalThrottling, verdict, found);
    let draft =
        [core, package].iter().flatten().fold(draft, |draft, reading| draft.evidence(reading)).why(WHY);
    let add_remedy = |draft: FindingDraft| {
        draft
            .apply(
                "cool it better; where turbo frequencies are on, switching them off keeps it below that heat",
            )
            .undo("as before")
    };
    Some(draft.evidence(&uptime).when(verdict == Verdict::Costs, add_remedy).finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Option<Finding> {
        examine(&Root::at(howlate_testing::tree(files).path()))
    }

    #[test]
    fn the_word_of_a_pi_is_read_bit_by_bit() {
        let finding = |word: &str| {
            found(&[("sys/devices/platform/soc@107c000000/soc@107c000000:firmware/get_throttled", word)])
                .unwrap()
        };
        let now = finding("50005\n");
        assert_eq!(now.verdict, Verdict::Costs);
        assert!(now.found.contains("voltage") && now.found.contains("throttled"), "{}", now.found);
        assert!(now.remedy.unwrap().apply[0].contains("supply"));
        let before = finding("80000");
        assert!(
            before.found.contains("since its start") && before.remedy.unwrap().apply[0].starts_with("cool")
        );
        assert_eq!(finding("0").verdict, Verdict::Good);
        assert_eq!(found(&[("sys/devices/platform/soc/soc:firmware/get_throttled", "x")]), None);
    }

    #[test]
    fn the_cpu_that_was_slowed_down_most_counts() {
        let count = |cpu: &str| format!("sys/devices/system/cpu/{cpu}/thermal_throttle/core_throttle_count");
        let finding = |first: &str, second: &str| {
            let [file_0, file_1] = ["cpu0", "cpu1"].map(count);
            found(&[("sys/devices/system/cpu/online", "0-1"), (&file_0, first), (&file_1, second)]).unwrap()
        };
        assert!(finding("0", "12").found.contains("12 times"));
        assert_eq!(finding("0", "0").verdict, Verdict::Good);
    }
}
