//! `os-release(5)`: whose system this is, by which commands differ.

use crate::{CpuInfo, Root};

/// Distributions that do the same things in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distribution {
    /// Alpine, with `ash` and OpenRC.
    Alpine,
    /// Arch and what is made of it.
    Arch,
    /// Debian itself, and what is made of it otherwise.
    Debian,
    /// Fedora.
    Fedora,
    /// NixOS, which is set up in one place of its own.
    NixOs,
    /// Proxmox VE, on Debian.
    Proxmox,
    /// Raspberry Pi OS, on Debian.
    RaspberryPi,
    /// Red Hat Enterprise Linux, and CentOS, Rocky, Alma and Oracle's.
    RedHat,
    /// SUSE and openSUSE.
    Suse,
    /// Ubuntu and what is made of it.
    Ubuntu,
    /// Another one, or none that is known.
    Other,
}

/// Words of `ID`, `ID_LIKE` and of the name for people, with what they stand for: the more special first.
const WORDS: [(&str, Distribution); 19] = [
    ("nixos", Distribution::NixOs),
    ("raspbian", Distribution::RaspberryPi),
    ("proxmox", Distribution::Proxmox),
    ("ubuntu", Distribution::Ubuntu),
    ("mint", Distribution::Ubuntu),
    ("alpine", Distribution::Alpine),
    ("arch", Distribution::Arch),
    ("manjaro", Distribution::Arch),
    ("rhel", Distribution::RedHat),
    ("red", Distribution::RedHat),
    ("centos", Distribution::RedHat),
    ("rocky", Distribution::RedHat),
    ("almalinux", Distribution::RedHat),
    ("oracle", Distribution::RedHat),
    ("fedora", Distribution::Fedora),
    ("suse", Distribution::Suse),
    ("opensuse", Distribution::Suse),
    ("sles", Distribution::Suse),
    ("debian", Distribution::Debian),
];

impl Distribution {
    /// Reads `os-release`. What Raspberry Pi and Proxmox make of Debian is called Debian there, and known by its kernel.
    pub fn read(root: &Root) -> Self {
        let mut fields =
            ["ID", "ID_LIKE", "PRETTY_NAME"].into_iter().filter_map(|field| os_release(root, field));
        let named = fields.find_map(|text| by_words(&text));
        let kernel = root.read("/proc/sys/kernel/osrelease").unwrap_or_default();
        match named {
            Some(Self::Debian) if kernel.contains("+rpt") => Self::RaspberryPi,
            Some(Self::Debian) if kernel.ends_with("-pve") => Self::Proxmox,
            named => named.unwrap_or(Self::Other),
        }
    }

    /// Whether `apt` installs its packages.
    pub const fn has_apt(self) -> bool {
        matches!(self, Self::Debian | Self::Proxmox | Self::RaspberryPi | Self::Ubuntu)
    }

    /// Whether systemd is what starts it.
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

fn by_words(text: &str) -> Option<Distribution> {
    let text = text.to_ascii_lowercase();
    let mut words = text.split(|letter: char| !letter.is_ascii_alphabetic());
    let known =
        |word: &str| WORDS.iter().find(|(known, _)| *known == word).map(|(_, distribution)| *distribution);
    words.find_map(known)
}

/// Whether the system is one snapshot that is changed as a whole: MicroOS, Leap Micro, Aeon.
pub fn is_transactional(root: &Root) -> bool {
    root.has("/usr/sbin/transactional-update")
        || os_release(root, "ID")
            .is_some_and(|id| ["micro", "aeon", "kalpa"].iter().any(|one| id.contains(one)))
}

/// The board, where the firmware gave the kernel a tree of devices: `Raspberry Pi 5 Model B Rev 1.0`.
pub fn board(root: &Root) -> Option<String> {
    let by_tree = || root.read("/proc/device-tree/model").ok();
    CpuInfo::read(root).field("Model").map(str::to_owned).or_else(by_tree)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::tree;

    #[track_caller]
    fn check(release: &str, kernel: &str, distribution: Distribution) {
        let files = [("/etc/os-release", release), ("/proc/sys/kernel/osrelease", kernel)];
        assert_eq!(Distribution::read(&tree(&files).1), distribution, "{release}");
    }

    #[test]
    fn the_id_counts_before_what_it_is_like_and_both_before_the_name() {
        check("PRETTY_NAME=\"Rocky Linux 9.5 (Blue Onyx)\"\n", "5.14.0", Distribution::RedHat);
        check("NAME=Pop\nID=pop\nID_LIKE=\"ubuntu debian\"\n", "6.8.0", Distribution::Ubuntu);
        check("ID=debian\n", "6.12.47+rpt-rpi-2712", Distribution::RaspberryPi);
        check("ID=debian\n", "6.8.12-1-pve", Distribution::Proxmox);
        check("ID=fedora\nPRETTY_NAME=\"Fedora Linux 44\"\n", "7.0", Distribution::Fedora);
        check("PRETTY_NAME=\"SUSE Linux Enterprise Server 15 SP6\"\n", "6.4.0", Distribution::Suse);
        check("PRETTY_NAME=\"Arago 2023.10\"\n", "6.6", Distribution::Other);
        check("PRETTY_NAME=\"Arch Linux\"\n", "6.15", Distribution::Arch);
        check("", "", Distribution::Other);
    }
}
