//! Guests, pods and containers: what can be changed from inside.

use howlate_model::Verdict;

use crate::machine::Machine;

fn debian(release: &str, count: u32) -> Machine {
    Machine::new("Debian GNU/Linux 12 (bookworm)", release, "#1 SMP PREEMPT_RT Debian", count)
}

pub(crate) fn pod_with_exclusive_cpus() -> Machine {
    let node = Machine::new(
        "Red Hat Enterprise Linux 9.4 (Plow)",
        "5.14.0-427.el9.x86_64+rt",
        "#1 SMP PREEMPT_RT",
        64,
    );
    let pod = node
        .siblings(|cpu| vec![cpu % 32, cpu % 32 + 32])
        .idle(&[("POLL", 0), ("C1", 1), ("C6", 170)], |_, _| false)
        .isolated("2-31,34-63")
        .tickless("2-31,34-63")
        .housekeeping("0-1,32-33")
        .irq(0, "0-63", "0-63")
        .irq(50, "0-1,32-33", "1")
        .file("proc/sys/kernel/timer_migration", "0")
        .contained("0000000000800000", "4,36")
        .kubernetes()
        .file("sys/fs/cgroup/cpuset.cpus.effective", "4,36")
        .file("sys/fs/cgroup/cpu.max", "200000 100000")
        .file("sys/fs/cgroup/cpu.stat", "nr_periods 60582\nnr_throttled 31857\nthrottled_usec 4792267674\n");
    [4, 36].into_iter().fold(pod, |pod, cpu| {
        pod.file(format!("sys/devices/system/cpu/cpu{cpu}/power/pm_qos_resume_latency_us"), "n/a")
    })
}

#[test]
fn a_pod_with_cpus_of_its_own_keeps_its_limit_and_is_judged_by_its_cpus() {
    let found = pod_with_exclusive_cpus().examine();
    assert_eq!(found.costs(), ["cpu_quota", "memory_lock"]);
    let quota = found.remedy("cpu_quota");
    assert!(quota.contains("leave `resources.limits.cpu`") && quota.contains("cpu-quota.crio.io"), "{quota}");
    assert_eq!(found.verdict("idle_states"), Verdict::Good);
    assert!(
        found.get("isolated_cpus").found.contains("`--cpus 4,36`"),
        "{}",
        found.get("isolated_cpus").found
    );
    assert!(!found.get("kernel_threads").found.contains("bash"));
    assert_eq!(found.verdict("kernel_threads"), Verdict::Good);
}

pub(crate) fn pod_with_a_limit() -> Machine {
    let node = Machine::new("Alpine Linux v3.20", "6.1.102-aws", "#1 SMP PREEMPT_DYNAMIC Mon Aug 5 2024", 16)
        .guest();
    node.contained("00000000a80425fb", "0-15")
        .kubernetes()
        .firmware("Amazon EC2", "m6a.4xlarge")
        .file("sys/fs/cgroup/cpu.max", "50000 100000")
        .file("sys/fs/cgroup/cpu.stat", "nr_periods 1000\nnr_throttled 400\nthrottled_usec 99999\n")
}

#[test]
fn a_pod_raises_its_limit_and_no_cpus_are_bound_at_amazon() {
    let found = pod_with_a_limit().examine();
    assert_eq!(found.costs()[0], "cpu_quota");
    assert!(found.remedy("cpu_quota").starts_with("raise "));
    let host = found.remedy("hypervisor");
    assert!(host.contains(".metal") && !host.contains("virsh"), "{host}");
}

pub(crate) fn docker_container() -> Machine {
    let group = "/docker/0123456789abcdef";
    let host = Machine::new("Ubuntu 20.04.6 LTS", "5.4.0-200-lowlatency", "#220-Ubuntu SMP PREEMPT", 4);
    let files = format!("sys/fs/cgroup/cpu,cpuacct{group}");
    host.contained("00000000a80425fb", "0-3")
        .file(".dockerenv", "")
        .file(
            "proc/self/cgroup",
            format!("12:cpu,cpuacct:{group}\n1:name=systemd:{group}\n0::/system.slice/containerd.service"),
        )
        .file(
            "proc/self/mountinfo",
            "36 23 0:31 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n",
        )
        .file(format!("{files}/cpu.rt_runtime_us"), "0")
        .file(format!("{files}/cpu.rt_period_us"), "1000000")
        .file(format!("{files}/cpu.cfs_quota_us"), "-1")
}

#[test]
fn a_container_is_started_with_options_and_no_unit_is_written_in_it() {
    let found = docker_container().examine();
    assert_eq!(
        (found.verdict("realtime_permission"), found.verdict("rt_group_scheduling")),
        (Verdict::Blocks, Verdict::Blocks)
    );
    assert!(found.remedy("rt_group_scheduling").contains("dockerd --cpu-rt-runtime"));
    assert!(!found.has("service_limits") && !found.has("kernel_threads"));
    assert!(found.remedy("isolated_cpus").contains("add `isolcpus="), "{}", found.remedy("isolated_cpus"));
}

pub(crate) fn kvm_guest() -> Machine {
    debian("6.1.0-30-rt-amd64", 4).guest().firmware("QEMU", "Standard PC (Q35 + ICH9, 2009)")
}

pub(crate) fn vmware_guest() -> Machine {
    debian("5.15.0-1075-realtime", 4).guest().firmware("VMware, Inc.", "VMware7,1")
}

pub(crate) fn xen_dom0() -> Machine {
    let files = debian("4.19.0+1", 8).guest().file("sys/hypervisor/type", "xen");
    files.file("proc/xen/capabilities", "control_d")
}

pub(crate) fn rented_arm() -> Machine {
    let guest =
        Machine::new("Debian GNU/Linux 12 (bookworm)", "6.1.0-28-arm64", "#1 SMP Debian 6.1.119-1", 4).arm();
    let guest = guest.firmware("Hetzner", "vServer").config(&["CONFIG_PREEMPT_VOLUNTARY=y"]);
    guest.file("proc/stat", "cpu  10000 0 4500 798500 0 0 0 50000 0 0\n")
}

pub(crate) fn wsl() -> Machine {
    let guest =
        Machine::new("Ubuntu 24.04.2 LTS", "6.6.87.2-microsoft-standard-WSL2", "#1 SMP PREEMPT_DYNAMIC", 8)
            .guest();
    guest.config(&["CONFIG_PREEMPT_NONE=y", "CONFIG_PREEMPT_DYNAMIC=y"])
}

#[test]
fn the_remedy_for_a_guest_depends_on_its_host() {
    for (machine, has, lacks) in [
        (kvm_guest(), "qm set VMID --affinity", "metal"),
        (vmware_guest(), "Latency Sensitivity", "virsh"),
        (xen_dom0(), "dom0_vcpus_pin", "virsh"),
        (rented_arm(), "dedicated virtual CPUs", "virsh"),
        (wsl(), "WSL2", "virsh"),
    ] {
        let remedy = machine.examine().remedy("hypervisor");
        assert!(remedy.contains(has) && !remedy.contains(lacks), "{remedy}");
    }
    assert_eq!(xen_dom0().examine().verdict("hypervisor"), Verdict::Note, "it is no guest");
}

#[test]
fn a_rented_arm_machine_is_a_guest_and_shows_what_its_host_took() {
    let found = rented_arm().examine();
    assert_eq!(found.costs(), ["steal", "preemption", "hypervisor"]);
    assert!(found.get("steal").found.contains("5.79 %"));
    assert!(found.remedy("realtime_kernel").contains("linux-image-rt-arm64"));
}

#[test]
fn wsl_is_set_up_from_windows() {
    let found = wsl().examine();
    assert!(found.remedy("realtime_kernel").contains(".wslconfig"));
    assert!(found.remedy("isolated_cpus").contains("wsl --shutdown"), "{}", found.remedy("isolated_cpus"));
}

#[test]
fn containers_are_recognised_by_files_of_their_runtime() {
    let contained = |path: &str, text: &str| {
        debian("6.8.12-1-pve", 4).contained("0000000000000000", "0-3").file(path, text).examine()
    };
    let lxc = contained("run/systemd/container", "lxc\n");
    assert!(
        lxc.remedy("realtime_permission").contains("lxc.prlimit.rtprio = 99"),
        "{}",
        lxc.remedy("realtime_permission")
    );
    let pod = contained("etc/hosts", "# Kubernetes-managed hosts file.\n127.0.0.1 localhost\n");
    assert!(pod.remedy("realtime_permission").contains("securityContext"));
    assert!(pod.steps().all(|step| !step.contains("update-grub") && !step.contains("apt install")));
}

#[test]
fn a_user_in_a_pod_needs_more_than_a_capability() {
    let user =
        "Name:\tx\nUid:\t1000\t1000\t1000\t1000\nCapEff:\t0000000000000000\nCpus_allowed_list:\t0-15\n";
    let found = pod_with_a_limit().file("proc/self/status", user).examine();
    assert!(found.remedy("realtime_permission").contains("setcap cap_sys_nice+ep"));
}
