//! Whether the kernel is PREEMPT_RT, and the preemption model of other kernels.

use crate::settings::{PREEMPTION_MODEL_FILE, Writes};
use howlate_model::{Finding, FindingId, Verdict};
use howlate_procfs::{
    CommandLine, Kernel, LinuxDistribution, Reading, Root, board, bracketed_choice, container, hypervisor,
    is_transactional, os_release,
};

use super::draft::{FindingDraft, finding};
use crate::debugfs::Debugfs;
use crate::kernel_config::KernelConfig;

/// Whether this is a `PREEMPT_RT` kernel.
pub(super) fn realtime_kernel(root: &Root) -> Option<Finding> {
    let build = root.reading("/proc/sys/kernel/version");
    build.text()?;
    let why = "A PREEMPT_RT kernel can be preempted almost everywhere, interrupt handlers included. \
        Other kernels are often as fast, but nothing bounds their worst case.";
    if Kernel::is_realtime(root) {
        let flag = root.reading("/sys/kernel/realtime");
        let draft =
            finding(FindingId::RealtimeKernel, Verdict::Good, "this is a PREEMPT_RT kernel").evidence(&build);
        return Some(draft.when(!flag.is_missing(), |draft| draft.evidence(&flag)).why(why).finish());
    }
    let draft = finding(FindingId::RealtimeKernel, Verdict::Note, "this is not a PREEMPT_RT kernel")
        .evidence(&build)
        .why(why)
        .cost(
            "maximum 18 to 22 µs with PREEMPT_RT, 39 ms without, on the authors' machines",
            "README of rt-tests",
        );
    let draft =
        realtime_kernel_steps(root).into_iter().fold(draft, FindingDraft::apply).undo(undo_kernel(root));
    Some(draft.finish())
}

/// How to get a PREEMPT_RT kernel for this machine.
///
/// Source: the distributions' package lists; Raspberry Pi's `linux-image-rpi-v8-rt` has no build for the Pi 5's own kernel.
fn realtime_kernel_steps(root: &Root) -> Vec<String> {
    let step = |text: &str| vec![text.to_owned()];
    if container(root).is_some() {
        return step("restart the host into a real-time kernel: a container has none of its own");
    }
    if hypervisor(root).is_some_and(|found| found.name == "wsl2") {
        return step(
            "build one (CONFIG_PREEMPT_RT) and name it in Windows' .wslconfig (`kernel=`): WSL2 has none",
        );
    }
    if board(root).is_some_and(|board| board.contains("Jetson")) {
        return step(
            "install NVIDIA's real-time kernel packages of this release of Jetson Linux, and restart into them",
        );
    }
    let release = Kernel::read(root).release;
    let arch = Kernel::architecture(root).unwrap_or_default();
    let build =
        "build one with CONFIG_PREEMPT_RT (in the kernel itself since Linux 6.12), and restart into it";
    match LinuxDistribution::read(root) {
        LinuxDistribution::RaspberryPi => vec![
            "sudo apt install linux-image-rpi-v8-rt   # then kernel=kernel8_rt.img in /boot/firmware/config.txt, and restart".to_owned(),
            "on a Raspberry Pi 5, whose own kernel has pages of 16 KiB, that is the one with 4 KiB; or build one".to_owned(),
        ],
        // A board's own kernel knows its devices; one from elsewhere may not start there.
        LinuxDistribution::Debian => match debian_package(&release) {
            Some(package) => vec![format!("sudo apt install {package}   # then restart into it")],
            None => step(build),
        },
        LinuxDistribution::Proxmox => step(
            "Proxmox has none, and Debian's does not know ZFS: have the kernel preempt itself (`preempt=full`), or run what is to be \
             punctual on a machine of its own",
        ),
        // Ubuntu Pro offers it for Ubuntu itself, and for releases with long-term support.
        LinuxDistribution::Ubuntu if ["x86_64", "aarch64"].contains(&arch.as_str()) && is_long_supported(root) => step("sudo pro enable realtime-kernel   # then restart into it; it takes a subscription, free for a few machines"),
        LinuxDistribution::RedHat => step("sudo dnf install kernel-rt   # from the repository rt; then restart into it"),
        LinuxDistribution::Suse if is_transactional(root) => step("sudo transactional-update pkg install kernel-rt   # then restart into it"),
        LinuxDistribution::Suse => step("sudo zypper install kernel-rt   # then restart into it"),
        LinuxDistribution::Arch if os_release(root, "ID").as_deref() == Some("steamos") => {
            step("SteamOS has none, and each of its updates replaces what was installed besides: have its kernel preempt itself (`preempt=full`)")
        }
        LinuxDistribution::Arch => step("sudo pacman -S linux-rt   # then restart into it"),
        LinuxDistribution::Fedora => {
            let derivative = os_release(root, "ID").filter(|id| id != "fedora").and_then(|_| os_release(root, "NAME"));
            vec![format!("{} has none: {build}", derivative.unwrap_or_else(|| "Fedora".to_owned()))]
        }
        LinuxDistribution::NixOs => step("set `boot.kernelPackages = pkgs.linuxPackages-rt_latest` in configuration.nix, run `nixos-rebuild boot`, and restart"),
        LinuxDistribution::Ubuntu | LinuxDistribution::Alpine | LinuxDistribution::Other => step(build),
    }
}

/// Whether this is a release of Ubuntu with long-term support and a real-time kernel; `true` where os-release does not say.
///
/// Source: <https://documentation.ubuntu.com/pro/>, the real-time kernel's releases.
fn is_long_supported(root: &Root) -> bool {
    let is_ubuntu = os_release(root, "ID").is_none_or(|id| id == "ubuntu");
    let version = os_release(root, "VERSION_ID");
    is_ubuntu && version.is_none_or(|version| ["22.04", "24.04"].contains(&version.as_str()))
}

/// How to return to the present kernel. Boards and WSL have no boot menu.
fn undo_kernel(root: &Root) -> &'static str {
    match LinuxDistribution::read(root) {
        LinuxDistribution::RaspberryPi => {
            "take `kernel=` out of /boot/firmware/config.txt again, and restart"
        }
        _ if hypervisor(root).is_some_and(|found| found.name == "wsl2") => {
            "take `kernel=` out of .wslconfig again, and run `wsl --shutdown`"
        }
        LinuxDistribution::Other | LinuxDistribution::Alpine => "start the present kernel again",
        _ => "choose the present kernel in the boot menu",
    }
}

/// Debian's real-time kernel for the flavour at the end of a kernel release; `None` if this is not Debian's own kernel.
fn debian_package(release: &str) -> Option<&'static str> {
    let packages = [
        ("amd64", "linux-image-rt-amd64"),
        ("arm64", "linux-image-rt-arm64"),
        ("armmp", "linux-image-rt-armmp"),
    ];
    packages.into_iter().find(|(flavour, _)| release.ends_with(flavour)).map(|(_, package)| package)
}

/// The preemption model of kernels that are not `PREEMPT_RT`.
pub(super) fn model(root: &Root) -> Option<Finding> {
    root.read("/proc/sys/kernel/version").ok().filter(|_| !Kernel::is_realtime(root))?;
    let PreemptionModel { mode, evidence, is_read } = model_in_force(root);
    let dynamic = Kernel::read(root).build.contains("PREEMPT_DYNAMIC");
    let (verdict, found) = match mode.as_deref() {
        Some("full") => (Verdict::Good, "the kernel can be preempted (model full)".to_owned()),
        Some("lazy") => (
            Verdict::Note,
            "normal threads are preempted lazily: on their return to user space, or at the next tick (model lazy)"
                .to_owned(),
        ),
        Some(mode) => {
            (Verdict::Costs, format!("the kernel is preempted only at certain points (model {mode})"))
        }
        None => (Verdict::Unknown, "the preemption model could not be read".to_owned()),
    };
    let found = if mode.is_some() && dynamic && !is_read {
        format!("{found}; inferred from how it was built and booted")
    } else {
        found
    };
    let why = match mode.as_deref() {
        Some("lazy") => LAZY_WHY,
        _ => {
            "A thread that was woken waits until kernel code running on its CPU can be preempted. With the \
             full model, that is almost everywhere outside locks."
        }
    };
    let draft =
        evidence.iter().fold(finding(FindingId::Preemption, verdict, found), FindingDraft::evidence).why(why);
    let now = mode.as_deref().unwrap_or("none");
    let can_be_better = verdict == Verdict::Costs || (verdict == Verdict::Note && dynamic);
    let draft = draft.when(mode.as_deref() == Some("lazy"), |draft| {
        draft.cost(
            format!(
                "up to {} for a thread without real-time priority that another CPU wakes",
                tick_length(root)
            ),
            "kernel/sched/core.c, resched_curr_lazy() and sched_tick()",
        )
    });
    Some(draft.when(can_be_better, |draft| add_remedy(draft, root, dynamic, now)).finish())
}

const LAZY_WHY: &str = "A thread that is to give its CPU to another normal one does so when it returns to user space, or at the \
    next tick. A request of another CPU sends it no interrupt: while it computes, it goes on until the tick. Real-time threads need \
    not wait for that.";

/// The length of a tick by the kernel's configuration.
fn tick_length(root: &Root) -> String {
    let hz = KernelConfig::read(root).value("CONFIG_HZ").and_then(|hz| hz.parse::<u32>().ok());
    let length = |hz| format!("one tick, {} ms here", 1000.0 / f64::from(hz));
    hz.filter(|hz| *hz > 0).map_or_else(|| "one tick".to_owned(), length)
}

/// The preemption model of the running kernel.
struct PreemptionModel {
    /// `None` if it could not be read or inferred.
    mode: Option<String>,
    /// The files that it was read or inferred from.
    evidence: Vec<Reading>,
    /// Whether it was read from the running kernel. Otherwise it is inferred from build and command
    /// line, which is certain only without `PREEMPT_DYNAMIC`.
    is_read: bool,
}

/// A kernel with `PREEMPT_DYNAMIC` shows its model in debugfs; where that is out of reach, the
/// command line decides, and the build's default otherwise.
fn model_in_force(root: &Root) -> PreemptionModel {
    let switch = root.reading(PREEMPTION_MODEL_FILE);
    if let Some(mode) = switch.text().and_then(bracketed_choice) {
        return PreemptionModel {
            mode: Some(mode.to_owned()),
            evidence: vec![switch.clone()],
            is_read: true,
        };
    }
    inferred_model(root, switch)
}

fn inferred_model(root: &Root, switch: Reading) -> PreemptionModel {
    let (line, config) = (CommandLine::read(root), KernelConfig::read(root));
    let model = |mode: Option<&str>, evidence| PreemptionModel {
        mode: mode.map(str::to_owned),
        evidence,
        is_read: false,
    };
    if let Some(mode) = line.value("preempt") {
        return model(Some(mode), vec![line.only(&["preempt"]), switch]);
    }
    let build = root.reading("/proc/sys/kernel/version");
    let is_built = |(option, _): &(&str, &str)| config.value(&format!("CONFIG_{option}")) == Some("y");
    let Some((option, mode)) = MODELS.into_iter().find(is_built) else {
        return model(model_from_build_string(root), vec![build, config.only(&["CONFIG_PREEMPT"]), switch]);
    };
    let evidence = vec![build, config.only(&[&format!("CONFIG_{option}")]), line.only(&["preempt"]), switch];
    model(Some(mode), evidence)
}

const MODELS: [(&str, &str); 4] = [
    ("PREEMPT", "full"),
    ("PREEMPT_LAZY", "lazy"),
    ("PREEMPT_VOLUNTARY", "voluntary"),
    ("PREEMPT_NONE", "none"),
];

/// The model by the kernel's build string alone. Since Linux 6.13 `PREEMPT` may also mean lazy.
fn model_from_build_string(root: &Root) -> Option<&'static str> {
    let kernel = Kernel::read(root);
    let has_word = |model| kernel.build.split(' ').any(|word| word == model);
    match (has_word("PREEMPT"), has_word("PREEMPT_DYNAMIC")) {
        (true, _) if kernel.at_least(6, 13) == Some(false) => Some("full"),
        (false, false) => Some("none or voluntary"),
        _ => None,
    }
}

fn add_remedy(draft: FindingDraft, root: &Root, dynamic: bool, now: &str) -> FindingDraft {
    if !dynamic {
        return draft
            .apply("install a kernel built with CONFIG_PREEMPT_DYNAMIC or CONFIG_PREEMPT and restart into it")
            .undo("choose the present kernel in the boot menu");
    }
    let switch = Writes::to_known_file(PREEMPTION_MODEL_FILE, now, "full").remedy;
    match Debugfs::read(root, &root.reading(PREEMPTION_MODEL_FILE)) {
        Debugfs::Refused(refusal) => draft.evidence(&refusal).kernel_parameter(root, "preempt=full"),
        Debugfs::Mounted => draft.remedy(switch),
        Debugfs::Unmounted => draft
            .apply("sudo mount -t debugfs none /sys/kernel/debug")
            .remedy(switch)
            .undo("sudo umount /sys/kernel/debug"),
    }
}
