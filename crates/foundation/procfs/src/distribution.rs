//! `os-release(5)`: the Linux distribution, by which commands differ.

use crate::{CpuInfo, Root};

/// Distributions whose commands and paths differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinuxDistribution {
    /// Alpine, with `ash` and OpenRC.
    Alpine,
    /// Arch and its derivatives.
    Arch,
    /// Debian, and derivatives not listed here.
    Debian,
    /// Fedora.
    Fedora,
    /// NixOS, which is configured in one place.
    NixOs,
    /// Proxmox VE, on Debian.
    Proxmox,
    /// Raspberry Pi OS, on Debian.
    RaspberryPi,
    /// Red Hat Enterprise Linux, and CentOS, Rocky, Alma and Oracle's.
    RedHat,
    /// SUSE and openSUSE.
    Suse,
    /// Ubuntu and its derivatives.
    Ubuntu,
    /// Any other.
    Other,
}

/// Words of `ID`, `ID_LIKE` and `PRETTY_NAME` with their distribution, the more specific first.
const WORDS: [(&str, LinuxDistribution); 19] = [
    ("nixos", LinuxDistribution::NixOs),
    ("raspbian", LinuxDistribution::RaspberryPi),
    ("proxmox", LinuxDistribution::Proxmox),
    ("ubuntu", LinuxDistribution::Ubuntu),
    ("mint", LinuxDistribution::Ubuntu),
    ("alpine", LinuxDistribution::Alpine),
    ("arch", LinuxDistribution::Arch),
    ("manjaro", LinuxDistribution::Arch),
    ("rhel", LinuxDistribution::RedHat),
    ("red", LinuxDistribution::RedHat),
    ("centos", LinuxDistribution::RedHat),
    ("rocky", LinuxDistribution::RedHat),
    ("almalinux", LinuxDistribution::RedHat),
    ("oracle", LinuxDistribution::RedHat),
    ("fedora", LinuxDistribution::Fedora),
    ("suse", LinuxDistribution::Suse),
    ("opensuse", LinuxDistribution::Suse),
    ("sles", LinuxDistribution::Suse),
    ("debian", LinuxDistribution::Debian),
];

impl LinuxDistribution {
    /// Raspberry Pi OS and Proxmox call themselves Debian in `os-release`, and are recognised by their kernel.
    pub fn read(root: &Root) -> Self {
        let mut fields =
            ["ID", "ID_LIKE", "PRETTY_NAME"].into_iter().filter_map(|field| os_release(root, field));
        let distribution = fields.find_map(|text| find_in_words(&text));
        let kernel = root.read("/proc/sys/kernel/osrelease").unwrap_or_default();
        match distribution {
            Some(Self::Debian) if kernel.contains("+rpt") => Self::RaspberryPi,
            Some(Self::Debian) if kernel.ends_with("-pve") => Self::Proxmox,
            distribution => distribution.unwrap_or(Self::Other),
        }
    }

    /// Whether `apt` installs its packages.
    pub const fn has_apt(self) -> bool {
        matches!(self, Self::Debian | Self::Proxmox | Self::RaspberryPi | Self::Ubuntu)
    }

    /// Whether its init system is systemd.
    pub const fn has_systemd(self) -> bool {
        !matches!(self, Self::Alpine | Self::Other)
    }
}

/// A field of `os-release(5)`.
pub fn os_release(root: &Root, field: &str) -> Option<String> {
    let release = root.read("/etc/os-release").or_else(|_| root.read("/usr/lib/os-release")).ok()?;
    let value = release.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix('='))?;
    Some(value.trim_matches(['"', '\'']).to_owned())
}

fn find_in_words(text: &str) -> Option<LinuxDistribution> {
    let text = text.to_ascii_lowercase();
    let mut words = text.split(|letter: char| !letter.is_ascii_alphabetic());
    let distribution_of =
        |word: &str| WORDS.iter().find(|(key, _)| *key == word).map(|(_, distribution)| *distribution);
    words.find_map(distribution_of)
}

/// Whether the root file system is read-only and updated by snapshots: MicroOS, Leap Micro, Aeon.
pub fn is_transactional(root: &Root) -> bool {
    root.has("/usr/sbin/transactional-update")
        || os_release(root, "ID")
            .is_some_and(|id| ["micro", "aeon", "kalpa"].iter().any(|name| id.contains(name)))
}

/// Model of the board, where there is a device tree: `Raspberry Pi 5 Model B Rev 1.0`.
pub fn board(root: &Root) -> Option<String> {
    let from_device_tree = || root.read("/proc/device-tree/model").ok();
    CpuInfo::read(root).field("Model").map(str::to_owned).or_else(from_device_tree)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::tree;

    #[track_caller]
    fn check(release: &str, kernel: &str, distribution: LinuxDistribution) {
        let files = [("/etc/os-release", release), ("/proc/sys/kernel/osrelease", kernel)];
        assert_eq!(LinuxDistribution::read(&tree(&files).1), distribution, "{release}");
    }

    #[test]
    fn id_counts_before_id_like_and_both_before_the_name() {
        check("PRETTY_NAME=\"Rocky Linux 9.5 (Blue Onyx)\"\n", "5.14.0", LinuxDistribution::RedHat);
        check("NAME=Pop\nID=pop\nID_LIKE=\"ubuntu debian\"\n", "6.8.0", LinuxDistribution::Ubuntu);
        check("ID=debian\n", "6.12.47+rpt-rpi-2712", LinuxDistribution::RaspberryPi);
        check("ID=debian\n", "6.8.12-1-pve", LinuxDistribution::Proxmox);
        check("ID=fedora\nPRETTY_NAME=\"Fedora Linux 44\"\n", "7.0", LinuxDistribution::Fedora);
        check("PRETTY_NAME=\"SUSE Linux Enterprise Server 15 SP6\"\n", "6.4.0", LinuxDistribution::Suse);
        check("PRETTY_NAME=\"Arago 2023.10\"\n", "6.6", LinuxDistribution::Other);
        check("PRETTY_NAME=\"Arch Linux\"\n", "6.15", LinuxDistribution::Arch);
        check("", "", LinuxDistribution::Other);
    }
}
