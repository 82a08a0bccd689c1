//! How parameters are added to the kernel command line: each distribution and board has its own way.
//!
//! Sources: `grubby(8)`; Debian's `grub-mkconfig`, which reads `/etc/default/grub.d`; the Raspberry Pi documentation, "Kernel command
//! line (cmdline.txt)"; `rpm-ostree(1)`, `kargs`; Microsoft's "Advanced settings configuration in WSL"; Proxmox VE Administration
//! Guide, "Editing the Kernel Commandline"; System76's kernelstub, `kernelstub --help`; openSUSE's `transactional-update(8)` and
//! sdbootutil.

use howlate_model::Remedy;
use howlate_procfs::{LinuxDistribution, Root, board, container, hypervisor, is_transactional, os_release};

/// After a command that takes effect at the next boot.
const THEN_RESTART: &str = "   # then restart";

/// What holds the kernel command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BootLoader {
    /// Red Hat's front end to several boot loaders.
    Grubby,
    /// GRUB, with Debian's folder of configuration files.
    GrubFolder,
    /// `rpm-ostree`, on image-based systems.
    RpmOstree,
    /// Manages the systemd-boot entries of Pop!_OS.
    Kernelstub,
    /// A file of the firmware with one line.
    FirmwareFile(&'static str),
    /// Edited by hand: the place, and what to do afterwards.
    Manual { place: &'static str, then: &'static str },
}

impl BootLoader {
    fn read(root: &Root) -> Self {
        let unknown = Self::Manual { place: "the kernel's command line", then: "restart" };
        // A container does not contain the boot loader of its kernel.
        if container(root).is_some() {
            return unknown;
        }
        if hypervisor(root).is_some_and(|hypervisor| hypervisor.name == "wsl2") {
            let place = "`kernelCommandLine=` below `[wsl2]` in Windows' %UserProfile%\\.wslconfig";
            return Self::Manual { place, then: "run `wsl --shutdown` there" };
        }
        if root.has("/run/ostree-booted") {
            return Self::RpmOstree;
        }
        if root.has("/boot/armbianEnv.txt") {
            return Self::Manual { place: "`extraargs=` in /boot/armbianEnv.txt", then: "restart" };
        }
        if root.has("/boot/extlinux/extlinux.conf")
            || board(root).is_some_and(|board| board.contains("Jetson"))
        {
            let place = "the line APPEND of /boot/extlinux/extlinux.conf";
            return Self::Manual { place, then: "restart" };
        }
        if board(root).is_some_and(|board| board.starts_with("Raspberry Pi")) {
            let is_old = root.has("/boot/cmdline.txt") && !root.has("/boot/firmware/cmdline.txt");
            return Self::FirmwareFile(if is_old {
                "/boot/cmdline.txt"
            } else {
                "/boot/firmware/cmdline.txt"
            });
        }
        Self::of_distribution(root).unwrap_or(unknown)
    }

    fn of_distribution(root: &Root) -> Option<Self> {
        let grub = "GRUB_CMDLINE_LINUX in /etc/default/grub";
        let id = os_release(root, "ID").unwrap_or_default();
        Some(match LinuxDistribution::read(root) {
            // With UEFI kernelstub configures systemd-boot; without UEFI the machine has GRUB.
            LinuxDistribution::Ubuntu if id == "pop" && is_at(root, "/usr/bin", "kernelstub") => {
                Self::Kernelstub
            }
            LinuxDistribution::Suse if root.has("/usr/bin/sdbootutil") && root.has("/etc/kernel/cmdline") => {
                Self::Manual {
                    place: "/etc/kernel/cmdline",
                    then: "run `sdbootutil update-all-entries`, and restart",
                }
            }
            LinuxDistribution::Suse if is_transactional(root) => {
                Self::Manual { place: grub, then: "run `transactional-update grub.cfg`, and restart" }
            }
            LinuxDistribution::Alpine if root.has("/etc/update-extlinux.conf") => Self::Manual {
                place: "`default_kernel_opts` in /etc/update-extlinux.conf",
                then: "run `update-extlinux`, and restart",
            },
            LinuxDistribution::Alpine if root.has("/etc/default/grub") => {
                Self::Manual { place: grub, then: "run `grub-mkconfig -o /boot/grub/grub.cfg`, and restart" }
            }
            LinuxDistribution::Arch if id == "steamos" => Self::Manual {
                place: "GRUB_CMDLINE_LINUX_DEFAULT in /etc/default/grub (`steamos-readonly disable` lets you)",
                then: "run `update-grub`, and restart",
            },
            LinuxDistribution::Fedora | LinuxDistribution::RedHat if is_there(root, "grubby") => Self::Grubby,
            LinuxDistribution::Proxmox if root.has("/etc/kernel/cmdline") => Self::Manual {
                place: "/etc/kernel/cmdline",
                then: "run `proxmox-boot-tool refresh`, and restart",
            },
            LinuxDistribution::Debian | LinuxDistribution::Ubuntu | LinuxDistribution::Proxmox
                if is_there(root, "update-grub") =>
            {
                Self::GrubFolder
            }
            LinuxDistribution::NixOs => Self::Manual {
                place: "`boot.kernelParams` in configuration.nix",
                then: "run `nixos-rebuild boot`, and restart",
            },
            LinuxDistribution::Suse => Self::Manual {
                place: grub,
                then: "run `grub2-mkconfig -o /boot/grub2/grub.cfg`, and restart",
            },
            LinuxDistribution::Arch => Self::Manual {
                place: "the options of systemd-boot's entry, or with GRUB to GRUB_CMDLINE_LINUX in /etc/default/grub",
                then: "with GRUB, run `grub-mkconfig -o /boot/grub/grub.cfg`, and restart",
            },
            _ => return None,
        })
    }

    fn remedy(self, parameters: &str) -> Remedy {
        let remedy = |apply: String, undo: String| Remedy {
            apply: vec![apply],
            undo: vec![undo],
            ..Remedy::default()
        };
        match self {
            Self::Grubby => {
                let command = |option: &str| {
                    format!("sudo grubby --update-kernel=ALL --{option}=\"{parameters}\"{THEN_RESTART}")
                };
                remedy(command("args"), command("remove-args"))
            }
            Self::GrubFolder => {
                let file = format!("/etc/default/grub.d/90-howlate-{}.cfg", name_of(parameters));
                // Escaped rather than quoted, so that it can be wrapped at its blanks.
                let line = format!(r#"GRUB_CMDLINE_LINUX=\"\$GRUB_CMDLINE_LINUX {parameters}\""#);
                remedy(
                    format!(
                        "sudo mkdir -p /etc/default/grub.d && echo {line} | sudo tee {file} && sudo update-grub{THEN_RESTART}"
                    ),
                    format!("sudo rm {file} && sudo update-grub{THEN_RESTART}"),
                )
            }
            Self::RpmOstree => {
                let command = |option: &str| {
                    let options = parameters
                        .split(' ')
                        .map(|parameter| format!("--{option}={parameter}"))
                        .collect::<Vec<_>>();
                    format!("sudo rpm-ostree kargs {}{THEN_RESTART}", options.join(" "))
                };
                remedy(command("append"), command("delete"))
            }
            Self::Kernelstub => {
                let command =
                    |option: &str| format!("sudo kernelstub --{option} \"{parameters}\"{THEN_RESTART}");
                remedy(command("add-options"), command("delete-options"))
            }
            Self::FirmwareFile(file) => remedy(
                format!("sudo sed -i '1s|$| {parameters}|' {file}{THEN_RESTART}"),
                format!("sudo sed -i '1s| {parameters}||' {file}{THEN_RESTART}"),
            ),
            Self::Manual { place, then } => {
                let then =
                    if then == "restart" { " and restart".to_owned() } else { format!(", then {then}") };
                remedy(
                    format!("add `{parameters}` to {place}{then}"),
                    format!("remove `{parameters}` from {place}{then}"),
                )
            }
        }
    }
}

/// Commands that add these parameters to the kernel command line, and that remove them.
pub(crate) fn boot_remedy(root: &Root, parameters: &str) -> Remedy {
    BootLoader::read(root).remedy(parameters)
}

/// Whether a program of the boot loader is installed. A machine that is booted from outside has none; a captured tree contains no
/// programs at all, so that any is assumed.
fn is_there(root: &Root, program: &str) -> bool {
    is_at(root, "/usr/sbin", program)
}

fn is_at(root: &Root, folder: &str, program: &str) -> bool {
    !root.has(folder) || root.has(&format!("{folder}/{program}"))
}

/// The name of the first parameter.
fn name_of(parameters: &str) -> &str {
    parameters.split([' ', '=']).next().unwrap_or(parameters)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::testing::tree;

    fn commands(files: &[(&str, &str)]) -> (String, String) {
        let (_folder, root) = tree(files);
        let Remedy { mut apply, mut undo, .. } = boot_remedy(&root, "nohz_full=3 rcu_nocbs=3");
        assert_eq!((apply.len(), undo.len()), (1, 1));
        (apply.remove(0), undo.remove(0))
    }

    fn commands_of(release: &str) -> (String, String) {
        commands(&[("/etc/os-release", &format!("ID={release}\n"))])
    }

    #[test]
    fn each_distribution_has_its_own_way() {
        let (apply, undo) = commands_of("debian");
        assert_eq!(
            apply,
            "sudo mkdir -p /etc/default/grub.d && echo GRUB_CMDLINE_LINUX=\\\"\\$GRUB_CMDLINE_LINUX nohz_full=3 rcu_nocbs=3\\\" \
             | sudo tee /etc/default/grub.d/90-howlate-nohz_full.cfg && sudo update-grub   # then restart"
        );
        assert_eq!(
            undo,
            "sudo rm /etc/default/grub.d/90-howlate-nohz_full.cfg && sudo update-grub   # then restart"
        );
        let (apply, undo) = commands_of("rocky");
        assert_eq!(
            apply,
            "sudo grubby --update-kernel=ALL --args=\"nohz_full=3 rcu_nocbs=3\"   # then restart"
        );
        assert!(undo.contains("--remove-args="), "{undo}");
        let booted_from_outside = [("/etc/os-release", "ID=debian\n"), ("/usr/sbin/nologin", "")];
        assert!(commands(&booted_from_outside).0.starts_with("add `"), "there is no boot loader");
        let (apply, undo) = commands_of("arago");
        assert_eq!(apply, "add `nohz_full=3 rcu_nocbs=3` to the kernel's command line and restart");
        assert!(undo.starts_with("remove `nohz_full=3"), "{undo}");
    }

    #[test]
    fn what_is_made_of_a_distribution_may_have_its_own_way() {
        let (apply, undo) = commands(&[("/etc/os-release", "ID=pop\nID_LIKE=\"ubuntu debian\"\n")]);
        assert_eq!(apply, "sudo kernelstub --add-options \"nohz_full=3 rcu_nocbs=3\"   # then restart");
        assert_eq!(undo, "sudo kernelstub --delete-options \"nohz_full=3 rcu_nocbs=3\"   # then restart");
        let with_grub = [
            ("/etc/os-release", "ID=pop\nID_LIKE=ubuntu\n"),
            ("/usr/bin/env", ""),
            ("/usr/sbin/update-grub", ""),
        ];
        assert!(commands(&with_grub).0.contains("update-grub"));
        let (apply, _) =
            commands(&[("/etc/os-release", "ID=\"opensuse-microos\"\nID_LIKE=\"suse opensuse\"\n")]);
        assert!(apply.ends_with("then run `transactional-update grub.cfg`, and restart"), "{apply}");
        let with_systemd_boot = [
            ("/etc/os-release", "ID=opensuse-microos\nID_LIKE=suse\n"),
            ("/usr/bin/sdbootutil", ""),
            ("/etc/kernel/cmdline", "quiet"),
        ];
        assert!(commands(&with_systemd_boot).0.contains("`sdbootutil update-all-entries`"));
        let (apply, _) = commands(&[("/etc/os-release", "ID=alpine\n"), ("/etc/update-extlinux.conf", "")]);
        assert!(apply.ends_with("then run `update-extlinux`, and restart"), "{apply}");
        let (apply, _) = commands(&[("/etc/os-release", "ID=steamos\nID_LIKE=arch\n")]);
        assert!(apply.contains("steamos-readonly") && apply.contains("`update-grub`"), "{apply}");
    }

    #[test]
    fn boards_images_and_wsl_come_before_the_distribution() {
        let debian = ("/etc/os-release", "ID=debian\n");
        let (apply, undo) = commands(&[debian, ("/proc/device-tree/model", "Raspberry Pi 5 Model B\0")]);
        assert_eq!(
            apply,
            "sudo sed -i '1s|$| nohz_full=3 rcu_nocbs=3|' /boot/firmware/cmdline.txt   # then restart"
        );
        assert!(undo.contains("'1s| nohz_full=3 rcu_nocbs=3||'"), "{undo}");
        let (apply, _) = commands(&[("/etc/os-release", "ID=fedora\n"), ("/run/ostree-booted", "")]);
        assert_eq!(apply, "sudo rpm-ostree kargs --append=nohz_full=3 --append=rcu_nocbs=3   # then restart");
        let (apply, _) =
            commands(&[debian, ("/proc/sys/kernel/osrelease", "6.6.87.2-microsoft-standard-WSL2")]);
        assert!(apply.contains(".wslconfig") && apply.ends_with("`wsl --shutdown` there"), "{apply}");
        let (apply, _) = commands(&[debian, ("/.dockerenv", "")]);
        assert!(apply.starts_with("add `"), "a container has no boot loader: {apply}");
    }
}
