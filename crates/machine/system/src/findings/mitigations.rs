//! Mitigations of processor vulnerabilities.

use howlate_model::{Finding, FindingId, Verdict};
use howlate_procfs::{CommandLine, Reading, Root};

use super::draft::finding;

const DIRECTORY: &str = "/sys/devices/system/cpu/vulnerabilities";

pub(super) fn examine(root: &Root) -> Option<Finding> {
    let readings: Vec<Reading> =
        root.list(DIRECTORY).iter().map(|name| root.reading(format!("{DIRECTORY}/{name}"))).collect();
    let mitigated: Vec<&Reading> = readings
        .iter()
        .filter(|reading| reading.text().is_some_and(|text| text.contains("Mitigation")))
        .collect();
    if readings.is_empty() {
        return None;
    }
    // "Not affected", "Vulnerable…", "Mitigation: …", "Unknown…": Documentation/ABI/testing/sysfs-devices-system-cpu.
    let is_unaffected = |reading: &&Reading| reading.text().is_some_and(|text| text.trim() == "Not affected");
    let affected = readings.len() - readings.iter().filter(is_unaffected).count();
    let line = CommandLine::read(root);
    let is_off = line.value("mitigations") == Some("off");
    let found = match (is_off, mitigated.len()) {
        (true, _) => "mitigations of processor flaws are switched off".to_owned(),
        (false, 0) => "no processor flaw is mitigated here".to_owned(),
        (false, 1) if affected == 1 => "1 processor flaw is mitigated".to_owned(),
        (false, count) if count == affected => format!("{count} processor flaws are mitigated"),
        (false, count) => format!("{count} of this processor's {affected} flaws are mitigated"),
    };
    let draft = finding(FindingId::Mitigations, Verdict::Note, found).why(
        "Mitigations slow down entering the kernel and switching between threads. They protect \
            secrets: leave them on unless every program on the machine is trusted.",
    );
    let draft = mitigated
        .iter()
        .fold(draft, |draft, reading| draft.evidence(reading))
        .evidence(&line.only(&["mitigations"]));
    Some(draft.finish())
}
