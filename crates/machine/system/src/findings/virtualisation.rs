//! Virtual machines: the hypervisor, and steal time.

use howlate_model::{Finding, FindingId, Verdict};
use howlate_procfs::{Reading, Root, Stat};

use super::draft::{FindingDraft, finding};

/// A share of steal time, in hundredths of a percent, from which on it is a cost.
const NOTICEABLE_STEAL: u64 = 100;

/// Whether this is a guest.
pub(super) fn hypervisor(root: &Root) -> Option<Finding> {
    if let Some(reading) = howlate_procfs::xen_dom0(root) {
        return Some(xen_dom0(&reading));
    }
    let hypervisor = howlate_procfs::hypervisor(root)?;
    let found = format!("this machine is a guest ({})", hypervisor.name);
    let draft = finding(FindingId::Hypervisor, Verdict::Costs, found)
        .evidence(&hypervisor.reading)
        .why(
            "The host decides when a virtual CPU runs. Timer interrupts pass through it, and an idle \
            virtual CPU must be scheduled on the host before it wakes up.",
        )
        .cost(
            "median 4.6 µs for sleeps of 200 µs, 11.6 µs for 250 µs, when the host stops polling; 52 µs \
                for 5 ms",
            "measured by howlate's authors in a KVM guest; Documentation/virt/kvm/halt-polling.rst",
        );
    Some(add_host_remedy(root, draft, &hypervisor.name).finish())
}

/// Xen's Dom0 manages the machine, and is scheduled like other guests.
///
/// Source: Xen's documentation, "Xen Hypervisor Command Line Options".
fn xen_dom0(reading: &Reading) -> Finding {
    finding(
        FindingId::Hypervisor,
        Verdict::Note,
        "this is Xen's first domain: Xen schedules its CPUs like those of its guests",
    )
    .evidence(reading)
    .why("A virtual CPU of the first domain waits for a CPU of the machine as those of the guests do.")
    .apply("add `dom0_max_vcpus=N dom0_vcpus_pin` to Xen's own command line, not to Linux', and restart")
    .undo("remove `dom0_max_vcpus=N dom0_vcpus_pin` from Xen's command line and restart")
    .finish()
}

/// Cloud providers by words of the firmware's tables, and what to choose there: their customers cannot configure the host.
const PROVIDERS: [(&str, &str); 13] = [
    (
        "Amazon EC2",
        "choose an instance `….metal`, or a dedicated host: nobody outside of Amazon can bind virtual CPUs",
    ),
    (
        "Google",
        "choose a sole-tenant node, or a bare-metal machine: nobody outside of Google can bind virtual CPUs",
    ),
    (
        "Microsoft Corporation",
        "in Azure choose a dedicated host or an isolated size; on a Hyper-V host of your own, reserve the guest's CPUs: `Set-VMProcessor GUEST -Reserve 100`",
    ),
    (
        "Hetzner",
        "choose a server with dedicated virtual CPUs (CCX), or a dedicated one: nobody else can bind them",
    ),
    ("DigitalOcean", "choose a machine with dedicated CPUs: nobody outside can bind them"),
    ("Scaleway", "choose a machine with dedicated CPUs, or bare metal: nobody outside can bind them"),
    (
        "Alibaba Cloud",
        "choose an ECS bare-metal instance, or a dedicated host: nobody outside can bind virtual CPUs",
    ),
    (
        "OracleCloud",
        "choose a bare-metal shape, or a dedicated host: nobody outside of Oracle can bind virtual CPUs",
    ),
    ("Linode", "choose a plan with dedicated CPUs: nobody outside can bind them"),
    ("Akamai", "choose a plan with dedicated CPUs: nobody outside can bind them"),
    ("OVH", "choose bare metal: nobody outside can bind virtual CPUs"),
    ("Vultr", "choose a machine with dedicated CPUs, or bare metal: nobody outside can bind them"),
    (
        "OpenStack",
        "ask for a flavour with `hw:cpu_policy=dedicated`: nobody inside of the guest can bind its CPUs",
    ),
];

/// Adds how to give the guest dedicated CPUs.
fn add_host_remedy(root: &Root, draft: FindingDraft, name: &str) -> FindingDraft {
    // Only the third table names Oracle.
    let tables = ["sys_vendor", "product_name", "chassis_asset_tag"]
        .map(|table| root.read(&format!("/sys/class/dmi/id/{table}")).unwrap_or_default());
    let provider = PROVIDERS.iter().find(|(mark, _)| tables.iter().any(|table| table.contains(mark)));
    if let Some((_, choice)) = provider {
        return draft.apply(*choice).undo("go back to the present kind of machine");
    }
    let (apply, undo) = match name {
        "vmware" => (
            "on the host, in the guest's options: Latency Sensitivity `High`, with all of its CPU and memory reserved",
            "on the host: Latency Sensitivity `Normal`, without the reservations",
        ),
        "hyper-v" => (
            "on the host: `Set-VMProcessor GUEST -Reserve 100`",
            "on the host: `Set-VMProcessor GUEST -Reserve 0`",
        ),
        "xen" => (
            "on the host: `xl vcpu-pin GUEST 0 2`, and so on for each virtual CPU",
            "on the host: `xl vcpu-pin GUEST all all`",
        ),
        "wsl2" => ("measure on a Linux of its own: nobody can bind the virtual CPUs of WSL2", "none"),
        "virtualbox" | "parallels" | "apple" | "bhyve" => {
            ("measure on a machine of its own: this hypervisor binds no virtual CPUs", "none")
        }
        _ => (
            "on the host: bind each virtual CPU to a CPU of its own: `virsh vcpupin GUEST 0 2` with libvirt, `qm set VMID --affinity 2-5` with Proxmox",
            "on the host: `virsh vcpupin GUEST 0 0-N`, with N the host's last CPU; `qm set VMID --delete affinity`",
        ),
    };
    draft.apply(apply).undo(undo)
}

/// Steal time: the host ran something else.
pub(super) fn steal(root: &Root) -> Option<Finding> {
    let hypervisor = howlate_procfs::hypervisor(root)?;
    let times = root.reading("/proc/stat").lines(|line| line.starts_with("cpu "));
    let all = Stat::parse(times.text()?).all()?;
    let share = all.steal?.saturating_mul(10_000).checked_div(all.whole)?;
    let verdict = if share >= NOTICEABLE_STEAL { Verdict::Costs } else { Verdict::Note };
    let found = format!("the host took {}.{:02} % of CPU time since boot (steal)", share / 100, share % 100);
    let draft = finding(FindingId::Steal, verdict, found).evidence(&times).why(
        "While time is stolen the virtual CPU stands still, and so does every thread on it. Not every \
            host reports it.",
    );
    let add_remedy = |draft: FindingDraft| add_host_remedy(root, draft, &hypervisor.name);
    Some(draft.when(verdict == Verdict::Costs, add_remedy).finish())
}
