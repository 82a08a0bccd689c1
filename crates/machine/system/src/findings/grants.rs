//! Who hands out real-time priorities besides `limits.d`: rtkit, and the manager of services.

use howlate_model::{Finding, FindingId, Verdict};
use howlate_procfs::{CgroupMembership, Limits, LinuxDistribution, Root, SELF, container};

use super::draft::{Draft, finding};
use crate::process::Process;

/// The last one is NixOS'.
const RTKIT: [&str; 3] = [
    "/usr/share/dbus-1/system-services/org.freedesktop.RealtimeKit1.service",
    "/usr/local/share/dbus-1/system-services/org.freedesktop.RealtimeKit1.service",
    "/run/current-system/sw/share/dbus-1/system-services/org.freedesktop.RealtimeKit1.service",
];
const PORTAL: [&str; 2] = [
    "/usr/share/dbus-1/services/org.freedesktop.portal.Desktop.service",
    "/run/current-system/sw/share/dbus-1/services/org.freedesktop.portal.Desktop.service",
];

/// rtkit gives threads of desktop programs a real-time priority; the portal hands requests on from sandboxes.
///
/// Source: rtkit's README (`--max-realtime-priority=20`, `--rttime-usec-max=200000` by default); xdg-desktop-portal,
/// `org.freedesktop.portal.Realtime`.
pub(super) fn rtkit(root: &Root) -> Option<Finding> {
    let service = RTKIT.iter().map(|path| root.reading(*path)).find(|one| one.text().is_some())?;
    let [portal, other] = PORTAL.map(|path| root.reading(path));
    let portal = if portal.is_missing() && !other.is_missing() { other } else { portal };
    let found = match portal.text() {
        Some(_) => "rtkit gives audio programs real-time priorities, also through the desktop portal",
        None => {
            "rtkit gives audio programs real-time priorities; there is no desktop portal for sandboxed ones"
        }
    };
    let draft = finding(FindingId::RealtimeKit, Verdict::Note, found).seen(&service).seen(&portal).why(
        "PipeWire and PulseAudio ask it where their own limit does not allow a priority. By default it goes up to 20, and \
         only for programs that let the kernel end them when such a thread runs for 200 ms without sleeping. Higher priorities need your own limit (rtprio).",
    );
    Some(draft.apply("journalctl -b -u rtkit-daemon   # which threads it has made real-time").end())
}

/// Programs that a service manager starts have its limits: `limits.d` is read at logins only.
///
/// Source: `systemd.exec(5)`, `LimitRTPRIO=`; `pam_limits(8)`.
pub(super) fn service(root: &Root) -> Option<Finding> {
    // The unit of a container's runtime is none of what runs inside.
    if container(root).is_some() {
        return None;
    }
    let membership = CgroupMembership::read(root, SELF);
    let path = membership.v2().filter(|path| path.contains(".service")).or(membership.v1("name=systemd"))?;
    let unit = path.split('/').find(|part| part.ends_with(".service"))?.to_owned();
    let limits = Limits::read(root);
    let most = limits.soft("Max realtime priority")?;
    let is_manager = unit.starts_with("user@");
    // The manager of each user is an instance of one unit.
    let edited = if is_manager { "user@.service".to_owned() } else { unit.clone() };
    let who = if is_manager {
        "the manager of this user's programs"
    } else {
        "the service that this process is of"
    };
    let is_root = Process::read(root).holds("CAP_SYS_NICE") == Some(true);
    let (verdict, found) = match most {
        0 if is_root => {
            (Verdict::Note, format!("{who}, {unit}, has LimitRTPRIO=0; CAP_SYS_NICE makes up for it"))
        }
        0 => (Verdict::Costs, format!("{who}, {unit}, has LimitRTPRIO=0")),
        some => (Verdict::Good, format!("{who}, {unit}, allows real-time priorities up to {}", some.min(99))),
    };
    let place = format!("/etc/systemd/system/{edited}.d");
    let draft = finding(FindingId::ServiceLimits, verdict, found)
        .seen(&membership.reading)
        .seen(&limits.evidence("Max realtime priority"))
        .why(
            "What a service manager starts has the limits of its unit. Those in /etc/security/limits.d are applied at logins \
             only, so that a program that is real-time in a terminal may not be in a service.",
        );
    let draft = draft.when(verdict == Verdict::Costs, |draft| {
        let again = if is_manager { "restart, as it outlives a short logout" } else { "restart the service" };
        if LinuxDistribution::read(root) == LinuxDistribution::NixOs {
            return by_nix(draft, &edited, again);
        }
        draft
            .apply(format!(
                "sudo mkdir -p {place} && printf '[Service]\\nLimitRTPRIO=99\\nLimitMEMLOCK=infinity\\n' | sudo tee {place}/90-howlate.conf && \
                 sudo systemctl daemon-reload   # then {again}"
            ))
            .undo(format!("sudo rm {place}/90-howlate.conf && sudo systemctl daemon-reload   # then {again}"))
    });
    Some(draft.end())
}

/// NixOS makes all units itself, and nobody else writes to their folder.
fn by_nix(draft: Draft, unit: &str, again: &str) -> Draft {
    let name = unit.trim_end_matches(".service");
    let line = |setting: &str| format!("`systemd.services.\"{name}\".serviceConfig.{setting};`");
    let lines = format!("{} and {}", line("LimitRTPRIO = 99"), line("LimitMEMLOCK = \"infinity\""));
    draft
        .apply(format!("add {lines} to configuration.nix, run `nixos-rebuild switch`, and {again}"))
        .undo(format!("remove them from configuration.nix, run `nixos-rebuild switch`, and {again}"))
}
