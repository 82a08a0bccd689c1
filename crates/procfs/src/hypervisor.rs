//! Whether this machine is a guest, and whose.

use crate::{CpuInfo, Reading, Root};

/// A hypervisor, and the file that gave it away.
pub struct Hypervisor {
    /// What it is called.
    pub name: String,
    /// The file, as it was read.
    pub reading: Reading,
}

/// The hypervisor this machine is a guest of.
pub fn hypervisor(root: &Root) -> Option<Hypervisor> {
    declared(root).or_else(|| by_device_tree(root)).or_else(|| by_firmware(root)).or_else(|| by_flag(root))
}

fn declared(root: &Root) -> Option<Hypervisor> {
    let reading = root.reading("/sys/hypervisor/type");
    let name = reading.text()?.to_owned();
    // Xen's first domain manages the machine; it is no guest of it.
    let control = root.read("/proc/xen/capabilities").is_ok_and(|text| text.contains("control_d"));
    (!control).then_some(Hypervisor { name, reading })
}

fn by_device_tree(root: &Root) -> Option<Hypervisor> {
    let reading = root.reading("/proc/device-tree/hypervisor/compatible");
    let name = if reading.text()?.contains("xen") { "xen" } else { "kvm" };
    Some(Hypervisor { name: name.into(), reading })
}

/// What the firmware's tables call the machine, and whose guest that is.
const FIRMWARES: [(&str, &str); 9] = [
    ("QEMU", "kvm"),
    ("KVM", "kvm"),
    ("Amazon EC2", "amazon"),
    ("Google Compute Engine", "kvm"),
    ("VMware", "vmware"),
    ("VirtualBox", "virtualbox"),
    ("Virtual Machine", "hyper-v"),
    ("Parallels", "parallels"),
    ("BHYVE", "bhyve"),
];

fn by_firmware(root: &Root) -> Option<Hypervisor> {
    let tables = ["/sys/class/dmi/id/product_name", "/sys/class/dmi/id/sys_vendor"];
    tables.into_iter().find_map(|table| {
        let reading = root.reading(table);
        let text = reading.text()?;
        let (_, name) = FIRMWARES.into_iter().find(|(mark, _)| text.contains(mark))?;
        // Amazon rents out whole machines as well, and names them `….metal`.
        let whole = root.read(tables[0]).is_ok_and(|product| product.ends_with("metal"));
        let name = if text.contains("QEMU") && is_emulated(root) { "qemu (emulated CPU)" } else { name };
        (!whole).then(|| Hypervisor { name: name.into(), reading: reading.clone() })
    })
}

/// What QEMU calls a processor that is software.
fn is_emulated(root: &Root) -> bool {
    CpuInfo::read(root).mentions("QEMU TCG CPU")
}

/// Every x86 hypervisor sets this flag for its guests; it does not say whose.
fn by_flag(root: &Root) -> Option<Hypervisor> {
    let content = Ok("flags: … hypervisor …".into());
    let by_clock = root.read("/sys/devices/system/clocksource/clocksource0/available_clocksource");
    let kvm = by_clock.is_ok_and(|clocks| clocks.contains("kvm-clock"));
    let name = if kvm { "kvm" } else { "unnamed hypervisor" };
    CpuInfo::read(root)
        .has_flag("hypervisor")
        .then(|| Hypervisor { name: name.into(), reading: Reading { path: "/proc/cpuinfo".into(), content } })
}
