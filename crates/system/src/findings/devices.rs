//! Devices that save power: what they are used for waits until they are back.

use howlate_model::{Finding, FindingId, Verdict};
use howlate_procfs::Root;

use super::draft::finding;

const ASPM: &str = "/sys/module/pcie_aspm/parameters/policy";

/// How readily links of PCI Express sleep.
///
/// Source: `Documentation/admin-guide/kernel-parameters.txt`, `pcie_aspm.policy`.
pub(super) fn links(root: &Root) -> Option<Finding> {
    let policy = root.reading(ASPM);
    let chosen = howlate_procfs::chosen(policy.text()?)?.to_owned();
    let verdict = match chosen.as_str() {
        "performance" => Verdict::Good,
        "default" => Verdict::Note,
        _ => Verdict::Costs,
    };
    let found = match chosen.as_str() {
        "default" => {
            "links of PCI Express sleep as the firmware has set them up (ASPM policy default)".to_owned()
        }
        other => format!("the ASPM policy of PCI Express is {other}"),
    };
    let draft = finding(FindingId::PcieLinkPower, verdict, found).seen(&policy).why(
        "A link that sleeps must wake before a network card, disk or sound card can raise its interrupt or move data. Timers and \
         threads that wake each other do not wait for it.",
    );
    let draft = draft.when(verdict != Verdict::Good, |draft| {
        draft
            .apply(format!("echo performance | sudo tee {ASPM}"))
            .undo(format!("echo {chosen} | sudo tee {ASPM}"))
    });
    Some(draft.end())
}

/// Whether graphics processors are switched off when they have nothing to do.
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
        some => format!("{some} graphics processors may be switched off when they have nothing to do"),
    };
    let verdict = if may_sleep.is_empty() { Verdict::Good } else { Verdict::Note };
    let draft = finding(FindingId::GraphicsPower, verdict, found);
    let draft = controls.iter().fold(draft, |draft, (control, status)| draft.seen(control).seen(status));
    let draft = draft.why(
        "Work submitted to a sleeping graphics processor waits until it is back. This affects inference and display, not wake-ups.",
    );
    let draft = may_sleep.iter().fold(draft, |draft, (control, _)| {
        let path = &control.path;
        draft.apply(format!("echo on | sudo tee {path}")).undo(format!("echo auto | sudo tee {path}"))
    });
    Some(draft.end())
}
