//! Sources of real-time priorities besides `limits.d`: rtkit, and the limits of systemd units.

use howlate_model::{Finding, FindingId, Verdict};
use howlate_procfs::{CgroupMembership, Limits, LinuxDistribution, Root, SELF, container};

use super::draft::{FindingDraft, finding};
use crate::process::Process;

/// D-Bus service files of rtkit; the last one on NixOS.
const RTKIT_SERVICES: [&str; 3] = [
    "/usr/share/dbus-1/system-services/org.freedesktop.RealtimeKit1.service",
    "/usr/local/share/dbus-1/system-services/org.freedesktop.RealtimeKit1.service",
    "/run/current-system/sw/share/dbus-1/system-services/org.freedesktop.RealtimeKit1.service",
];
const PORTAL_SERVICES: [&str; 2] = [
    "/usr/share/dbus-1/services/org.freedesktop.portal.Desktop.service",
    "/run/current-system/sw/share/dbus-1/services/org.freedesktop.portal.Desktop.service",
];

/// rtkit gives threads of desktop programs real-time priorities; the desktop portal forwards requests from sandboxes.
///
/// Source: rtkit's README (`--max-realtime-priority=20`, `--rttime-usec-max=200000` by default); xdg-desktop-portal,
/// `org.freedesktop.portal.Realtime`.
pub(super) fn rtkit(root: &Root) -> Option<Finding> {
    let service =
        RTKIT_SERVICES.iter().map(|path| root.reading(*path)).find(|reading| reading.text().is_some())?;
    let [portal, nixos_portal] = PORTAL_SERVICES.map(|path| root.reading(path));
    let portal = if portal.is_missing() && !nixos_portal.is_missing() { nixos_portal } else { portal };
    let found = match portal.text() {
        Some(_) => "rtkit gives audio programs real-time priorities, also through the desktop portal",
        None => {
            "rtkit gives audio programs real-time priorities; there is no desktop portal for sandboxed ones"
        }
    };
    let draft = finding(FindingId::RealtimeKit, Verdict::Note, found).evidence(&service).evidence(&portal).why(
        "PipeWire and PulseAudio ask it where their own limit does not allow a priority. By default it goes up to 20, and \
         only for programs that let the kernel end them when such a thread runs for 200 ms without sleeping. Higher priorities need your own limit (rtprio).",
    );
    Some(draft.apply("journalctl -b -u rtkit-daemon   # which threads it has made real-time").finish())
}

/// The real-time limit of the service that this process runs in: `limits.d` applies to logins only.
///
/// Source: `systemd.exec(5)`, `LimitRTPRIO=`; `pam_limits(8)`.
pub(super) fn service(root: &Root) -> Option<Finding> {
    // In a container, the unit is that of the runtime.
    if container(root).is_some() {
        return None;
    }
    let membership = CgroupMembership::read(root, SELF);
    let path = membership.v2().filter(|path| path.contains(".service")).or(membership.v1("name=systemd"))?;
    let unit = path.split('/').find(|part| part.ends_with(".service"))?.to_owned();
    let limits = Limits::read(root);
    let highest = limits.soft("Max realtime priority")?;
    let is_manager = unit.starts_with("user@");
    // The managers of users are instances of one unit.
    let drop_in_unit = if is_manager { "user@.service".to_owned() } else { unit.clone() };
    let subject = if is_manager {
        "the manager of this user's programs"
    } else {
        "the service that this process is of"
    };
    let is_root = Process::read(root).holds("CAP_SYS_NICE") == Some(true);
    let (verdict, found) = match highest {
        0 if is_root => {
            (Verdict::Note, format!("{subject}, {unit}, has LimitRTPRIO=0; CAP_SYS_NICE makes up for it"))
        }
        0 => (Verdict::Costs, format!("{subject}, {unit}, has LimitRTPRIO=0")),
        _ => (
            Verdict::Good,
            format!("{subject}, {unit}, allows real-time priorities up to {}", highest.min(99)),
        ),
    };
    let folder = format!("/etc/systemd/system/{drop_in_unit}.d");
    let draft = finding(FindingId::ServiceLimits, verdict, found)
        .evidence(&membership.reading)
        .evidence(&limits.evidence("Max realtime priority"))
        .why(
            "What a service manager starts has the limits of its unit. Those in /etc/security/limits.d are applied at logins \
             only, so that a program that is real-time in a terminal may not be in a service.",
        );
    let draft = draft.when(verdict == Verdict::Costs, |draft| {
        let take_effect = if is_manager { "restart, as it outlives a short logout" } else { "restart the service" };
        if LinuxDistribution::read(root) == LinuxDistribution::NixOs {
            return nixos_remedy(draft, &drop_in_unit, take_effect);
        }
        draft
            .apply(format!(
                "sudo mkdir -p {folder} && printf '[Service]\\nLimitRTPRIO=99\\nLimitMEMLOCK=infinity\\n' | sudo tee {folder}/90-howlate.conf && \
                 sudo systemctl daemon-reload   # then {take_effect}"
            ))
            .undo(format!("sudo rm {folder}/90-howlate.conf && sudo systemctl daemon-reload   # then {take_effect}"))
    });
    Some(draft.finish())
}

/// On NixOS all units come from configuration.nix.
fn nixos_remedy(draft: FindingDraft, unit: &str, take_effect: &str) -> FindingDraft {
    let name = unit.trim_end_matches(".service");
    let line = |setting: &str| format!("`systemd.services.\"{name}\".serviceConfig.{setting};`");
    let lines = format!("{} and {}", line("LimitRTPRIO = 99"), line("LimitMEMLOCK = \"infinity\""));
    draft
        .apply(format!("add {lines} to configuration.nix, run `nixos-rebuild switch`, and {take_effect}"))
        .undo(format!("remove them from configuration.nix, run `nixos-rebuild switch`, and {take_effect}"))
}
