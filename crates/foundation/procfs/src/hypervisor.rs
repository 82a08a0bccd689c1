//! Virtual machines: the hypervisor that this machine is a guest of, and its virtio ports.

use crate::{CpuInfo, Reading, Root};

/// A hypervisor, and the file that reveals it.
pub struct Hypervisor {
    pub name: String,
    pub reading: Reading,
}

/// The hypervisor that this machine is a guest of; `None` on bare metal.
pub fn hypervisor(root: &Root) -> Option<Hypervisor> {
    if xen_dom0(root).is_some() {
        return None;
    }
    by_kernel(root)
        .or_else(|| declared(root))
        .or_else(|| by_device_tree(root))
        .or_else(|| by_firmware(root))
        .or_else(|| by_flag(root))
}

/// The file that shows that this is Xen's Dom0, which manages the machine and is not a guest.
pub fn xen_dom0(root: &Root) -> Option<Reading> {
    let reading = root.reading("/proc/xen/capabilities");
    reading.text().is_some_and(|text| text.contains("control_d")).then_some(reading)
}

/// WSL2 has Microsoft's own kernel, and no DMI tables.
fn by_kernel(root: &Root) -> Option<Hypervisor> {
    let reading = root.reading("/proc/sys/kernel/osrelease");
    let is_wsl = reading.text()?.to_ascii_lowercase().contains("microsoft-standard-wsl");
    is_wsl.then(|| Hypervisor { name: "wsl2".into(), reading })
}

fn declared(root: &Root) -> Option<Hypervisor> {
    let reading = root.reading("/sys/hypervisor/type");
    let name = reading.text()?.to_owned();
    Some(Hypervisor { name, reading })
}

fn by_device_tree(root: &Root) -> Option<Hypervisor> {
    let reading = root.reading("/proc/device-tree/hypervisor/compatible");
    let name = if reading.text()?.contains("xen") { "xen" } else { "kvm" };
    Some(Hypervisor { name: name.into(), reading })
}

/// Vendor or product in the DMI tables, and the hypervisor. On processors without a hypervisor flag, such as Arm's, nothing else
/// reveals it.
///
/// Source: systemd's `detect_vm_dmi_vendor` names most of them; the others are what those providers' machines show.
const FIRMWARES: [(&str, &str); 17] = [
    ("QEMU", "kvm"),
    ("KVM", "kvm"),
    ("OpenStack", "kvm"),
    ("KubeVirt", "kvm"),
    ("Hetzner", "kvm"),
    ("DigitalOcean", "kvm"),
    ("Scaleway", "kvm"),
    ("Alibaba Cloud", "kvm"),
    ("HVM domU", "xen"),
    ("Apple Virtualization", "apple"),
    ("Amazon EC2", "amazon"),
    ("Google Compute Engine", "kvm"),
    ("VMware", "vmware"),
    ("VirtualBox", "virtualbox"),
    ("Virtual Machine", "hyper-v"),
    ("Parallels", "parallels"),
    ("BHYVE", "bhyve"),
];

fn by_firmware(root: &Root) -> Option<Hypervisor> {
    let tables = [PRODUCT, "/sys/class/dmi/id/sys_vendor"];
    tables.into_iter().find_map(|table| {
        let reading = root.reading(table);
        let text = reading.text()?;
        let (_, name) = FIRMWARES.into_iter().find(|(mark, _)| text.contains(mark))?;
        let name = if text.contains("QEMU") && is_emulated(root) { "qemu (emulated CPU)" } else { name };
        (!is_bare_metal(root)).then(|| Hypervisor { name: name.into(), reading: reading.clone() })
    })
}

const PRODUCT: &str = "/sys/class/dmi/id/product_name";

/// Providers rent bare-metal machines as well: Amazon names them `….metal` or `….metal-24xl`, Hetzner anything but `vServer`.
fn is_bare_metal(root: &Root) -> bool {
    let product = root.read(PRODUCT).unwrap_or_default();
    let is_hetzner = root.read("/sys/class/dmi/id/sys_vendor").is_ok_and(|vendor| vendor == "Hetzner");
    product.contains(".metal") || product.ends_with("metal") || (is_hetzner && product != "vServer")
}

/// QEMU's name of a CPU that it emulates in software.
fn is_emulated(root: &Root) -> bool {
    CpuInfo::read(root).mentions("QEMU TCG CPU")
}

/// Every x86 hypervisor sets this flag for its guests; it does not name the hypervisor.
fn by_flag(root: &Root) -> Option<Hypervisor> {
    let content = Ok("flags: … hypervisor …".into());
    let clocksources = root.read("/sys/devices/system/clocksource/clocksource0/available_clocksource");
    let kvm = clocksources.is_ok_and(|clocks| clocks.contains("kvm-clock"));
    let name = if kvm { "kvm" } else { "unnamed hypervisor" };
    CpuInfo::read(root)
        .has_flag("hypervisor")
        .then(|| Hypervisor { name: name.into(), reading: Reading { path: "/proc/cpuinfo".into(), content } })
}

/// Device of the virtio port that the host named `name`.
///
/// Source: `Documentation/ABI/testing/sysfs-class-virtio-console` of Linux, `name`.
pub fn virtio_port(root: &Root, name: &str) -> Option<String> {
    const PORTS: &str = "/sys/class/virtio-ports";
    let has_name =
        |device: &String| root.read(&format!("{PORTS}/{device}/name")).is_ok_and(|text| text.trim() == name);
    root.list(PORTS).into_iter().find(has_name).map(|device| format!("/dev/{device}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::tree;

    fn name(files: &[(&str, &str)]) -> Option<String> {
        hypervisor(&tree(files).1).map(|hypervisor| hypervisor.name)
    }

    #[test]
    fn a_guest_without_a_flag_is_recognised_by_its_firmware() {
        let of = |vendor, product| {
            name(&[("/sys/class/dmi/id/sys_vendor", vendor), ("/sys/class/dmi/id/product_name", product)])
        };
        assert_eq!(of("Hetzner", "vServer").as_deref(), Some("kvm"));
        assert_eq!(of("Hetzner", "Dedicated"), None);
        assert_eq!(of("Amazon EC2", "m6g.large").as_deref(), Some("amazon"));
        assert_eq!(of("Amazon EC2", "m6g.metal"), None);
        assert_eq!(of("Amazon EC2", "m7i.metal-24xl"), None);
        assert_eq!(of("Supermicro", "AS-2024"), None);
    }

    #[test]
    fn dom0_is_no_guest_despite_its_hypervisor_flag() {
        let dom0 = [
            ("/proc/xen/capabilities", "control_d\n"),
            ("/sys/hypervisor/type", "xen\n"),
            ("/proc/cpuinfo", "flags\t\t: fpu hypervisor\n"),
        ];
        assert_eq!(name(&dom0), None);
        assert_eq!(name(&dom0[1..]).as_deref(), Some("xen"));
        assert!(xen_dom0(&tree(&dom0).1).is_some() && xen_dom0(&tree(&dom0[1..]).1).is_none());
    }

    #[test]
    fn wsl_is_recognised_by_its_kernel() {
        let wsl = ("/proc/sys/kernel/osrelease", "6.6.87.2-microsoft-standard-WSL2\n");
        assert_eq!(name(&[wsl, ("/proc/cpuinfo", "flags\t\t: hypervisor\n")]).as_deref(), Some("wsl2"));
    }

    #[test]
    fn a_port_is_found_by_its_name() {
        let ports = [
            ("sys/class/virtio-ports/vport0p1/name", "one\n"),
            ("sys/class/virtio-ports/vport0p2/name", "two\n"),
        ];
        let folder = howlate_testing::tree(&ports);
        let root = Root::at(folder.path());
        assert_eq!(virtio_port(&root, "two").as_deref(), Some("/dev/vport0p2"));
        assert_eq!(virtio_port(&root, "three"), None);
    }
}
