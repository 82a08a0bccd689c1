//! Power saving and buffering of devices: PCI Express links, graphics, USB.

use howlate_model::{Finding, FindingId, Verdict};
use howlate_procfs::{Kernel, Reading, Root};

use super::draft::{FindingDraft, finding};

const ASPM_POLICY: &str = "/sys/module/pcie_aspm/parameters/policy";

/// The policy of active state power management (ASPM) of PCI Express links.
///
/// Source: `Documentation/admin-guide/kernel-parameters.txt`, `pcie_aspm.policy`.
pub(super) fn links(root: &Root) -> Option<Finding> {
    let policy = root.reading(ASPM_POLICY);
    let current = howlate_procfs::bracketed_choice(policy.text()?)?.to_owned();
    if !has_sleeping_links(root) {
        return None;
    }
    let verdict = match current.as_str() {
        "performance" => Verdict::Good,
        "default" => Verdict::Note,
        _ => Verdict::Costs,
    };
    let found = match current.as_str() {
        "default" => {
            "links of PCI Express sleep as the firmware has set them up (ASPM policy default)".to_owned()
        }
        policy => format!("the ASPM policy of PCI Express is {policy}"),
    };
    let draft = finding(FindingId::PcieLinkPower, verdict, found).evidence(&policy).why(
        "A link that sleeps must wake before a network card, disk or sound card can raise its interrupt or move data. Timers and \
         threads that wake each other do not wait for it.",
    );
    let draft = draft.when(verdict != Verdict::Good, |draft| {
        draft
            .apply(format!("echo performance | sudo tee {ASPM_POLICY}"))
            .undo(format!("echo {current} | sudo tee {ASPM_POLICY}"))
    });
    Some(draft.finish())
}

/// Whether the kernel manages the power of a link: only then devices have files for it, and the policy may be written.
///
/// Source: Documentation/ABI/testing/sysfs-bus-pci, `link/l1_aspm`, since Linux 5.5; drivers/pci/pcie/aspm.c, `pcie_aspm_set_policy`.
fn has_sleeping_links(root: &Root) -> bool {
    const DEVICES: &str = "/sys/bus/pci/devices";
    // Read a file of each, so that captured trees contain the devices.
    let mut devices = root.list(DEVICES);
    devices.retain(|device| root.read(&format!("{DEVICES}/{device}/class")).is_ok());
    let is_shown = Kernel::read(root).at_least(5, 5) == Some(true) && !devices.is_empty();
    !is_shown || devices.iter().any(|device| !root.list(&format!("{DEVICES}/{device}/link")).is_empty())
}

/// Runtime power management of graphics processors.
///
/// Source: `Documentation/power/runtime_pm.rst`.
pub(super) fn graphics(root: &Root) -> Option<Finding> {
    let is_card = |name: &String| name.strip_prefix("card").is_some_and(|rest| rest.parse::<u32>().is_ok());
    let cards = root.list("/sys/class/drm").into_iter().filter(is_card);
    let controls: Vec<_> = cards
        .map(|card| format!("/sys/class/drm/{card}/device/power"))
        .map(|power| {
            (root.reading(format!("{power}/control")), root.reading(format!("{power}/runtime_status")))
        })
        .filter(|(control, _)| control.text().is_some())
        .collect();
    if controls.is_empty() {
        return None;
    }
    let may_sleep: Vec<_> = controls.iter().filter(|(control, _)| control.text() == Some("auto")).collect();
    let found = match may_sleep.len() {
        0 => "graphics processors stay switched on".to_owned(),
        1 => "a graphics processor may be switched off when it has nothing to do".to_owned(),
        count => format!("{count} graphics processors may be switched off when they have nothing to do"),
    };
    let verdict = if may_sleep.is_empty() { Verdict::Good } else { Verdict::Note };
    let draft = finding(FindingId::GraphicsPower, verdict, found);
    let draft =
        controls.iter().fold(draft, |draft, (control, status)| draft.evidence(control).evidence(status));
    let draft = draft.why(
        "Work submitted to a sleeping graphics processor waits until it is back. This affects inference and display, not wake-ups.",
    );
    let draft = may_sleep.iter().fold(draft, |draft, (control, _)| {
        let path = &control.path;
        draft.apply(format!("echo on | sudo tee {path}")).undo(format!("echo auto | sudo tee {path}"))
    });
    Some(draft.finish())
}

const SERIAL: &str = "/sys/bus/usb-serial/devices";

/// The time in milliseconds for which FTDI's serial adapters buffer received data.
///
/// Source: drivers/usb/serial/ftdi_sio.c, `latency_timer`; FTDI application note AN232B-04.
pub(super) fn serial(root: &Root) -> Option<Finding> {
    let timers = root
        .list(SERIAL)
        .into_iter()
        .map(|name| (root.reading(format!("{SERIAL}/{name}/latency_timer")), name));
    let slow: Vec<(u64, Reading, String)> = timers
        .filter_map(|(reading, name)| Some((reading.number::<u64>()?, reading, name)))
        .filter(|(millis, _, _)| *millis > 1)
        .collect();
    let longest = slow.iter().map(|(millis, _, _)| *millis).max()?;
    let names = slow.iter().map(|(_, _, name)| name.as_str()).collect::<Vec<_>>().join(", ");
    let found = format!("a USB serial adapter ({names}) may hold received data back for {longest} ms");
    let draft = finding(FindingId::UsbSerialLatency, Verdict::Costs, found);
    let draft = slow.iter().fold(draft, |draft, (_, reading, _)| draft.evidence(reading));
    let draft = draft
        .why("The adapter waits for more before it hands on a short answer: who asks a motor or a sensor and waits for it, waits that long each time.")
        .cost(format!("up to {longest} ms for each answer"), "drivers/usb/serial/ftdi_sio.c; FTDI AN232B-04");
    let add_remedy = |draft: FindingDraft, (millis, reading, _): &(u64, Reading, String)| {
        let path = &reading.path;
        draft.apply(format!("echo 1 | sudo tee {path}")).undo(format!("echo {millis} | sudo tee {path}"))
    };
    let rule = "echo 'ACTION==\"add\", SUBSYSTEM==\"usb-serial\", ATTR{latency_timer}=\"1\"' | sudo tee /etc/udev/rules.d/90-howlate-serial.rules";
    Some(slow.iter().fold(draft, add_remedy).lasting(rule).finish())
}

const USB: &str = "/sys/bus/usb/devices";
/// Interface classes of devices whose wake-up time matters: sound and serial lines.
///
/// Source: USB-IF, Defined Class Codes.
const SOUND_AND_SERIAL: [&str; 2] = ["01", "02"];
/// Words in the product names of sound devices with a vendor-specific class.
const SOUND_WORDS: [&str; 5] = ["audio", "sound", "scarlett", "midi", "dac"];

/// Runtime power management of sound and serial devices on USB.
///
/// Source: Documentation/driver-api/usb/power-management.rst.
pub(super) fn usb(root: &Root) -> Option<Finding> {
    let names = root.list(USB);
    let has_class = |device: &str| {
        let interfaces = names.iter().filter(|name| name.starts_with(&format!("{device}:")));
        interfaces
            .filter_map(|name| root.read(&format!("{USB}/{name}/bInterfaceClass")).ok())
            .any(|class| SOUND_AND_SERIAL.contains(&class.as_str()))
    };
    let product = |device: &str| root.read(&format!("{USB}/{device}/product")).unwrap_or_default();
    let is_sound = |device: &str| {
        let product = product(device).to_ascii_lowercase();
        SOUND_WORDS.iter().any(|word| product.contains(word))
    };
    let may_sleep = |device: &&String| {
        !device.contains(':') && root.read(&format!("{USB}/{device}/power/control")).as_deref() == Ok("auto")
    };
    let found: Vec<&String> =
        names.iter().filter(may_sleep).filter(|device| has_class(device) || is_sound(device)).collect();
    let first = found.first()?;
    let what = match (product(first), found.len()) {
        (name, 1) if !name.is_empty() => format!("{name} on USB may be put to sleep"),
        (_, count) => format!("{count} sound or serial devices on USB may be put to sleep"),
    };
    let draft = finding(FindingId::UsbPower, Verdict::Note, what);
    let controls: Vec<Reading> =
        found.iter().map(|device| root.reading(format!("{USB}/{device}/power/control"))).collect();
    let draft = controls.iter().fold(draft, |draft, control| draft.evidence(control));
    let draft = draft.why("A device that sleeps must wake before it can be used: the first samples or bytes after a pause are late.");
    let add_remedy = |draft: FindingDraft, control: &Reading| {
        let path = &control.path;
        draft.apply(format!("echo on | sudo tee {path}")).undo(format!("echo auto | sudo tee {path}"))
    };
    Some(controls.iter().fold(draft, add_remedy).finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn examine_tree(files: &[(&str, &str)], examiner: fn(&Root) -> Option<Finding>) -> Option<Finding> {
        examiner(&Root::at(howlate_testing::tree(files).path()))
    }

    #[test]
    fn an_adapter_that_waits_for_more_is_named_and_mended() {
        let finding = |millis: &str| {
            examine_tree(&[("sys/bus/usb-serial/devices/ttyUSB0/latency_timer", millis)], serial)
        };
        let slow = finding("16\n").unwrap();
        assert_eq!(slow.verdict, Verdict::Costs);
        assert!(slow.found.contains("ttyUSB0") && slow.found.contains("16 ms"), "{}", slow.found);
        let remedy = slow.remedy.unwrap();
        assert_eq!(remedy.undo, ["echo 16 | sudo tee /sys/bus/usb-serial/devices/ttyUSB0/latency_timer"]);
        assert!(remedy.lasting[0].contains("rules.d"));
        assert_eq!(finding("1\n"), None);
    }

    #[test]
    fn only_devices_that_are_waited_for_are_to_stay_awake() {
        let found = |class: &str, product: &str, control: &str| {
            let files = [
                ("sys/bus/usb/devices/1-4/power/control", control),
                ("sys/bus/usb/devices/1-4/product", product),
                ("sys/bus/usb/devices/1-4:1.0/bInterfaceClass", class),
            ];
            examine_tree(&files, usb).map(|finding| finding.found)
        };
        assert_eq!(
            found("01", "Interface X", "auto").as_deref(),
            Some("Interface X on USB may be put to sleep")
        );
        assert!(found("ff", "Scarlett 2i2 USB", "auto").is_some());
        assert_eq!((found("03", "Keyboard", "auto"), found("01", "Interface X", "on")), (None, None));
    }
}
