//! Builds the files of a machine: a common base, and what differs.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::Path;

use howlate_model::{CpuSet, Finding, System, Verdict};
use howlate_procfs::Root;
use tempfile::TempDir;

const CPU: &str = "sys/devices/system/cpu";

/// The files of an invented machine, with realistic values.
pub(crate) struct Machine {
    files: BTreeMap<String, Vec<u8>>,
    cpus: CpuSet,
}

/// The CPUs of a list.
pub(crate) fn cpus(list: &str) -> CpuSet {
    list.parse().expect("a list of CPUs")
}

impl Machine {
    /// Howlate run by root, on bare metal, without tuning.
    pub(crate) fn new(distribution: &str, release: &str, build: &str, count: u32) -> Self {
        let all: CpuSet = (0..count).collect();
        let machine = Self { files: BTreeMap::new(), cpus: all.clone() };
        let machine = machine
            .file("etc/os-release", format!("PRETTY_NAME=\"{distribution}\"\n"))
            .file("proc/sys/kernel/osrelease", release)
            .file("proc/sys/kernel/version", build)
            .file("proc/sys/kernel/arch", "x86_64")
            .file("proc/cpuinfo", "vendor_id\t: GenuineIntel\nmodel name\t: Intel\nflags\t\t: fpu tsc\n")
            .file("proc/cmdline", "quiet")
            .file("proc/2/comm", "kthreadd")
            .file("proc/self/cgroup", "0::/user.slice/user-0.slice/session-1.scope")
            .file("proc/self/mountinfo", "35 23 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
            .file("proc/self/uid_map", "0 0 4294967295")
            .file("proc/self/timerslack_ns", "50000")
            .file("proc/meminfo", "MemTotal: 16303428 kB\nMemAvailable: 12327160 kB\n")
            .file("proc/stat", "cpu  10000 0 4500 798500 0 0 0 0 0 0\n")
            .file(format!("{CPU}/online"), &all)
            .file(format!("{CPU}/isolated"), "")
            .file("proc/irq/default_smp_affinity", mask(&all))
            .file("sys/devices/virtual/workqueue/cpumask", mask(&all))
            .file("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never")
            .file("dev/cpu_dma_latency", "")
            .raw("dev/cpu_dma_latency", &2_000_000_000_i32.to_ne_bytes());
        machine.permissions("000001ffffffffff", "0", &all)
    }

    /// Adds or replaces a file.
    pub(crate) fn file(mut self, path: impl Display, text: impl Display) -> Self {
        self.files.insert(path.to_string(), text.to_string().into_bytes());
        self
    }

    pub(crate) fn raw(mut self, path: &str, bytes: &[u8]) -> Self {
        self.files.insert(path.to_owned(), bytes.to_vec());
        self
    }

    fn permissions(self, capabilities: &str, priority: &str, allowed: &CpuSet) -> Self {
        let limits = format!(
            "Max locked memory         8388608              8388608              bytes\nMax nice priority         0                    0\nMax realtime priority     {priority:<20} {priority}\n"
        );
        let status =
            format!("Name:\thowlate\nCapEff:\t{capabilities}\nSeccomp:\t0\nCpus_allowed_list:\t{allowed}\n");
        self.file("proc/self/status", status).file("proc/self/limits", limits)
    }

    /// Howlate run by a user without privileges.
    pub(crate) fn user(self) -> Self {
        let cpus = self.cpus.clone();
        self.permissions("0000000000000000", "0", &cpus)
    }

    /// Howlate in a pod or container, with these capabilities and CPUs.
    pub(crate) fn contained(self, capabilities: &str, allowed: &str) -> Self {
        let machine = self.permissions(capabilities, "0", &cpus(allowed)).file("proc/self/cgroup", "0::/");
        machine.file("proc/2/comm", "bash")
    }

    pub(crate) fn kubernetes(self) -> Self {
        self.file("var/run/secrets/kubernetes.io/serviceaccount/namespace", "default")
    }

    pub(crate) fn arm(self) -> Self {
        let cpuinfo = "processor\t: 0\nCPU implementer\t: 0x41\n";
        self.file("proc/sys/kernel/arch", "aarch64").file("proc/cpuinfo", cpuinfo)
    }

    pub(crate) fn config(self, lines: &[&str]) -> Self {
        let release = String::from_utf8(self.files["proc/sys/kernel/osrelease"].clone()).expect("a release");
        self.file(
            format!("boot/config-{release}"),
            format!("CONFIG_HIGH_RES_TIMERS=y\n{}\n", lines.join("\n")),
        )
    }

    pub(crate) fn cmdline(self, parameters: &str) -> Self {
        self.file("proc/cmdline", parameters)
    }

    /// Idle states of every CPU: name and exit latency. `is_off` says for a CPU and a state whether it is disabled.
    pub(crate) fn idle(self, states: &[(&str, u32)], is_off: impl Fn(u32, &str) -> bool) -> Self {
        let all = self.cpus.clone();
        all.iter().fold(self, |machine, cpu| {
            (0..).zip(states).fold(machine, |machine, (number, (name, latency)): (u32, _)| {
                let state = format!("{CPU}/cpu{cpu}/cpuidle/state{number}");
                let off = u32::from(is_off(cpu, name));
                machine
                    .file(format!("{state}/name"), name)
                    .file(format!("{state}/latency"), latency)
                    .file(format!("{state}/residency"), latency * 3)
                    .file(format!("{state}/disable"), off)
            })
        })
    }

    /// A frequency policy for each of these CPUs: governor, and lowest, highest and hardware frequency in MHz.
    pub(crate) fn frequency(
        self,
        first: &[u32],
        governor: &str,
        [lowest, highest, hardware]: [u32; 3],
    ) -> Self {
        first.iter().fold(self, |machine, policy| {
            let policy = format!("{CPU}/cpufreq/policy{policy}");
            machine
                .file(format!("{policy}/scaling_governor"), governor)
                .file(format!("{policy}/scaling_min_freq"), lowest * 1000)
                .file(format!("{policy}/scaling_max_freq"), highest * 1000)
                .file(format!("{policy}/cpuinfo_max_freq"), hardware * 1000)
        })
    }

    pub(crate) fn siblings(self, siblings_of: impl Fn(u32) -> Vec<u32>) -> Self {
        let all = self.cpus.clone();
        let machine = self.file(format!("{CPU}/smt/active"), 1).file(format!("{CPU}/smt/control"), "on");
        all.iter().fold(machine, |machine, cpu| {
            let core: CpuSet = siblings_of(cpu).into_iter().collect();
            machine.file(format!("{CPU}/cpu{cpu}/topology/core_cpus_list"), core)
        })
    }

    pub(crate) fn irq(self, number: u32, allowed: &str, handled: &str) -> Self {
        self.file(format!("proc/irq/{number}/smp_affinity_list"), allowed)
            .file(format!("proc/irq/{number}/effective_affinity_list"), handled)
    }

    pub(crate) fn isolated(self, list: &str) -> Self {
        self.file(format!("{CPU}/isolated"), list)
    }

    pub(crate) fn tickless(self, list: &str) -> Self {
        self.file(format!("{CPU}/nohz_full"), list)
    }

    /// The CPUs of new interrupts and of workqueues.
    pub(crate) fn housekeeping(self, list: &str) -> Self {
        let mask = mask(&cpus(list));
        self.file("proc/irq/default_smp_affinity", &mask).file("sys/devices/virtual/workqueue/cpumask", &mask)
    }

    pub(crate) fn firmware(self, vendor: &str, product: &str) -> Self {
        self.file("sys/class/dmi/id/sys_vendor", vendor).file("sys/class/dmi/id/product_name", product)
    }

    pub(crate) fn guest(self) -> Self {
        self.file("proc/cpuinfo", "vendor_id\t: GenuineIntel\nflags\t\t: fpu tsc hypervisor\n")
    }

    /// The findings on this machine.
    pub(crate) fn examine(&self) -> MachineFindings {
        MachineFindings { findings: examine_tree(self.write().path()) }
    }

    pub(crate) fn describe(&self) -> System {
        howlate_system::describe(&Root::at(self.write().path()))
    }

    fn write(&self) -> TempDir {
        let folder = tempfile::tempdir().expect("a directory for the machine");
        for (path, bytes) in &self.files {
            let file = folder.path().join(path);
            let folder = file.parent().expect("a file below it");
            std::fs::create_dir_all(folder).expect("the machine can be written");
            std::fs::write(file, bytes).expect("the machine can be written");
        }
        folder
    }
}

fn examine_tree(folder: &Path) -> Vec<Finding> {
    howlate_system::examine(&Root::at(folder))
}

/// A CPU mask in the kernel's format: groups of 32 bits, highest first.
fn mask(cpus: &CpuSet) -> String {
    let groups = cpus.iter().last().map_or(0, |last| last / 32);
    let bits = |group: u32| {
        cpus.iter().filter(|cpu| cpu / 32 == group).fold(0_u32, |bits, cpu| bits | 1 << (cpu % 32))
    };
    (0..=groups).rev().map(|group| format!("{:08x}", bits(group))).collect::<Vec<_>>().join(",")
}

/// The findings on a machine.
pub(crate) struct MachineFindings {
    pub(crate) findings: Vec<Finding>,
}

impl MachineFindings {
    #[track_caller]
    pub(crate) fn get(&self, id: &str) -> &Finding {
        self.findings
            .iter()
            .find(|finding| finding.id.name() == id)
            .unwrap_or_else(|| panic!("no finding {id}"))
    }

    pub(crate) fn has(&self, id: &str) -> bool {
        self.findings.iter().any(|finding| finding.id.name() == id)
    }

    /// The ids of the findings that cost latency, in order.
    pub(crate) fn costs(&self) -> Vec<&str> {
        let costly = self.findings.iter().filter(|finding| finding.verdict == Verdict::Costs);
        costly.map(|finding| finding.id.name()).collect()
    }

    #[track_caller]
    pub(crate) fn verdict(&self, id: &str) -> Verdict {
        self.get(id).verdict
    }

    /// The commands of a remedy that fix the finding, in one text.
    #[track_caller]
    pub(crate) fn remedy(&self, id: &str) -> String {
        let remedy = self.get(id).remedy.clone().unwrap_or_default();
        [remedy.apply, remedy.lasting].concat().join("\n")
    }

    /// All commands of all remedies.
    pub(crate) fn steps(&self) -> impl Iterator<Item = &String> {
        let remedies = self.findings.iter().filter_map(|finding| finding.remedy.as_ref());
        remedies.flat_map(|remedy| remedy.apply.iter().chain(&remedy.undo).chain(&remedy.lasting))
    }
}
