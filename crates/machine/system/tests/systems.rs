//! The trees under `testdata/systems`, described and examined.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use howlate_model::{Finding, Verdict};
use howlate_procfs::Root;
use howlate_system::{describe, examine};

const SYSTEMS: [&str; 5] = ["laptop", "rt-kernel", "container", "raspberry-pi", "vm"];

fn directory(system: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../testdata/systems").join(system)
}

fn findings(system: &str) -> Vec<Finding> {
    examine(&Root::at(directory(system)))
}

#[track_caller]
fn get(findings: &[Finding], id: &str) -> Finding {
    findings
        .iter()
        .find(|finding| finding.id.name() == id)
        .unwrap_or_else(|| panic!("no finding {id}"))
        .clone()
}

/// The tree of a system with one file replaced, or removed, and its findings.
fn altered(system: &str, path: &str, content: Option<&str>) -> (tempfile::TempDir, Vec<Finding>) {
    let copy = tempfile::tempdir().expect("a directory for the copy");
    copy_tree(&directory(system), copy.path());
    let file = copy.path().join(path);
    match content {
        Some(content) => {
            fs::create_dir_all(file.parent().expect("a file below the copy"))
                .expect("the copy can be written");
            fs::write(file, content).expect("the copy can be written");
        }
        None => fs::remove_file(file).expect("a file to remove"),
    }
    let findings = examine(&Root::at(copy.path()));
    (copy, findings)
}

fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("the copy can be written");
    for entry in fs::read_dir(from).expect("a tree under testdata").flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_tree(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("the copy can be written");
        }
    }
}

#[test]
fn each_system_is_described() {
    for system in SYSTEMS {
        let mut described = describe(&Root::at(directory(system)));
        if system == "vm" {
            // Kernels before 6.1 do not name their architecture; this program's own is used.
            assert_eq!(described.architecture, std::env::consts::ARCH);
            described.architecture = "of this program".into();
        }
        let mut shown = insta::Settings::clone_current();
        shown.set_snapshot_suffix(system);
        shown.bind(|| insta::assert_json_snapshot!("system", described));
    }
}

#[test]
fn each_system_is_examined() {
    for system in SYSTEMS {
        let mut shown = insta::Settings::clone_current();
        shown.set_snapshot_suffix(system);
        shown.bind(|| insta::assert_json_snapshot!("findings", findings(system)));
    }
}

#[test]
fn names_are_unique_and_every_finding_is_complete() {
    for system in SYSTEMS {
        let findings = findings(system);
        let ids: BTreeSet<&str> = findings.iter().map(|finding| finding.id.name()).collect();
        assert_eq!(ids.len(), findings.len(), "{system}");
        for finding in &findings {
            assert!(!finding.evidence.is_empty(), "{system}: {} shows nothing", finding.id);
            assert!(!finding.why.is_empty() && !finding.found.contains('\n'), "{system}: {}", finding.id);
        }
    }
}

#[test]
fn the_worst_comes_first() {
    for system in SYSTEMS {
        assert!(findings(system).is_sorted_by_key(|finding| finding.verdict), "{system}");
    }
}

#[test]
fn costs_have_a_remedy_and_remedies_can_be_undone() {
    for system in SYSTEMS {
        for finding in findings(system) {
            let bad = matches!(finding.verdict, Verdict::Blocks | Verdict::Costs);
            assert!(!bad || finding.remedy.is_some(), "{system}: {} has no remedy", finding.id);
            // The remedy of a good finding is a command to use, such as `chrt`, and changes nothing.
            let is_used = finding.verdict == Verdict::Good;
            let undone = is_used || finding.remedy.is_none_or(|remedy| !remedy.undo.is_empty());
            assert!(undone, "{system}: {} cannot be undone", finding.id);
        }
    }
}

#[test]
fn every_finding_is_documented() {
    let page = fs::read_to_string(directory("../../docs/doctor.md")).unwrap();
    for system in SYSTEMS {
        for finding in findings(system) {
            assert!(page.contains(&format!("| `{}` |", finding.id)), "docs/doctor.md lacks {}", finding.id);
        }
    }
}

#[test]
fn an_empty_tree_describes_nothing_and_fails_nowhere() {
    let empty = tempfile::tempdir().unwrap();
    let root = Root::at(empty.path());
    let system = describe(&root);
    assert_eq!((system.kernel.as_str(), system.cpus.len(), system.preemption), ("", 0, None));
    for finding in examine(&root) {
        assert_eq!(finding.verdict, Verdict::Unknown, "{}", finding.id);
    }
}

#[test]
fn this_machine_is_described_and_examined() {
    let root = Root::live().with_path_log();
    let system = describe(&root);
    assert!(!system.kernel.is_empty());
    assert!(!system.online.is_empty());
    assert_eq!(system.cpus.len(), system.online.len());
    let findings = examine(&root);
    assert!(findings.iter().any(|finding| finding.id.name() == "realtime_permission"));
    assert!(root.logged_paths().contains(&"/proc/self/status".to_owned()));
}

#[test]
fn the_laptop_sleeps_deeply_and_slowly() {
    let findings = findings("laptop");
    let idle = get(&findings, "idle_states");
    assert_eq!(idle.verdict, Verdict::Costs);
    assert!(idle.found.contains("C8") && idle.found.contains("200 µs"), "{}", idle.found);
    let remedy = idle.remedy.unwrap();
    assert_eq!(
        remedy.apply,
        ["for s in 3 4 5 6; do echo 1 | sudo tee /sys/devices/system/cpu/cpu*/cpuidle/state$s/disable; done"]
    );
    assert_eq!(get(&findings, "realtime_permission").verdict, Verdict::Blocks);
    let governor = get(&findings, "frequency_governor").remedy.unwrap();
    assert_eq!(
        governor.undo,
        ["echo powersave | sudo tee /sys/devices/system/cpu/cpufreq/policy*/scaling_governor"]
    );
}

#[test]
fn states_that_are_off_already_stay_off_when_the_remedy_is_undone() {
    let file = "sys/devices/system/cpu/cpu0/cpuidle/state6/disable";
    let (_copy, findings) = altered("laptop", file, Some("1\n"));
    let idle = get(&findings, "idle_states");
    assert!(idle.found.contains("C8") && idle.found.contains("200 µs"), "the other CPUs: {}", idle.found);
    let undo = idle.remedy.unwrap().undo;
    assert!(undo[0].starts_with("for s in 3 4 5; do") && undo[0].contains("/cpu*/"), "{undo:?}");
    assert_eq!(
        undo[1],
        "for n in 1 2 3; do echo 0 | sudo tee /sys/devices/system/cpu/cpu$n/cpuidle/state6/disable; done"
    );
}

#[test]
fn a_missing_capability_is_distinguished_from_a_missing_budget() {
    let held = findings("container");
    assert_eq!(get(&held, "realtime_permission").verdict, Verdict::Good);
    let share = get(&held, "rt_group_scheduling");
    assert_eq!(share.verdict, Verdict::Blocks);
    assert!(share.remedy.unwrap().apply.iter().any(|line| line.contains("CONFIG_RT_GROUP_SCHED")));
    assert!(get(&held, "seccomp").remedy.unwrap().apply[0].contains("seccomp=unconfined"));

    let status = "CapEff:\t00000000a80425fb\nSeccomp:\t2\nCpus_allowed_list:\t0-3\n";
    let (_copy, missing) = altered("container", "proc/self/status", Some(status));
    let permission = get(&missing, "realtime_permission");
    assert_eq!(permission.verdict, Verdict::Blocks);
    assert_eq!(permission.remedy.unwrap().apply, ["docker run --cap-add=SYS_NICE --ulimit rtprio=99 …"]);
}

#[test]
fn a_capability_does_not_count_in_a_user_namespace() {
    let (_copy, findings) = altered("container", "proc/self/uid_map", Some("0 1000 1\n1 100000 65536\n"));
    let permission = get(&findings, "realtime_permission");
    assert_eq!(permission.verdict, Verdict::Blocks);
    assert!(permission.found.contains("user namespace"), "{}", permission.found);
}

#[test]
fn a_quota_names_its_throttling_and_restores_its_value() {
    let quota = get(&findings("container"), "cpu_quota");
    assert!(quota.found.contains("0.50 CPUs") && quota.found.contains("318 of 1250"), "{}", quota.found);
    let undo = &quota.remedy.unwrap().undo[0];
    assert!(undo.starts_with("docker update --cpu-quota=50000 CONTAINER"), "{undo}");
    assert!(undo.ends_with("--cpus=0.50"), "{undo}");
    let quota = get(&findings("vm"), "cpu_quota").remedy.unwrap();
    let file = "/sys/fs/cgroup/cpu,cpuacct/user.slice/cpu.cfs_quota_us";
    assert_eq!(quota.undo, [format!("echo 150000 | tee {file}")], "root types it");
}

#[test]
fn a_group_of_cgroup_v1_without_a_share_is_refused() {
    let file = "sys/fs/cgroup/cpu,cpuacct/user.slice/cpu.rt_runtime_us";
    let (_copy, findings) = altered("vm", file, Some("0\n"));
    let share = get(&findings, "rt_group_scheduling");
    assert_eq!(share.verdict, Verdict::Blocks);
    assert!(share.found.contains("/user.slice"), "{}", share.found);
    assert!(share.remedy.unwrap().undo[0].ends_with("/user.slice/tasks"));
    let (_copy, findings) = altered("vm", file, Some("950000\n"));
    assert_eq!(get(&findings, "rt_group_scheduling").verdict, Verdict::Good);
}

#[test]
fn without_the_kernel_configuration_the_share_is_unknown() {
    let (_copy, findings) = altered("container", "proc/config.gz", None);
    assert_eq!(get(&findings, "rt_group_scheduling").verdict, Verdict::Unknown);
}

#[test]
fn kernels_that_divide_time_among_groups_still_throttle() {
    let config = "CONFIG_RT_GROUP_SCHED=y\nCONFIG_HZ=250\n";
    let (_copy, divided) = altered("raspberry-pi", "boot/config-6.12.34+rpt-rpi-v8", Some(config));
    assert!(get(&divided, "rt_throttling").found.contains("950 ms of every second"));
    assert!(get(&findings("raspberry-pi"), "rt_throttling").found.contains("no longer"));
}

#[test]
fn interrupts_are_sent_away_from_isolated_cpus_and_back() {
    let interrupts = get(&findings("rt-kernel"), "interrupt_affinity");
    assert_eq!(interrupts.verdict, Verdict::Costs);
    assert!(interrupts.found.contains("126-127"), "{}", interrupts.found);
    let remedy = interrupts.remedy.unwrap();
    assert_eq!(
        remedy.apply,
        ["for n in 126 127; do echo 0-1 | sudo tee /proc/irq/$n/smp_affinity_list; done"]
    );
    assert_eq!(remedy.undo.len(), 2);
}

#[test]
fn a_real_time_kernel_is_recognised() {
    let findings = findings("rt-kernel");
    assert_eq!(get(&findings, "realtime_kernel").verdict, Verdict::Good);
    assert!(!findings.iter().any(|finding| finding.id.name() == "preemption"));
    assert_eq!(get(&findings, "isolated_cpus").found, "isolated CPUs: 2-3; measure there with `--cpus 2-3`");
    assert_eq!(get(&findings, "fair_server").verdict, Verdict::Unknown);
}

#[test]
fn a_slow_clock_and_a_busy_host_are_found() {
    let findings = findings("vm");
    let clock = get(&findings, "clocksource");
    assert_eq!(clock.verdict, Verdict::Costs);
    assert!(clock.remedy.unwrap().undo[0].starts_with("echo hpet |"));
    assert!(get(&findings, "steal").found.contains("2.48 %"));
    assert_eq!(get(&findings, "hypervisor").found, "this machine is a guest (kvm)");
}

#[test]
fn the_mark_of_a_container_image_is_not_a_container() {
    let (_copy, findings) = altered("vm", ".dockerenv", Some(""));
    assert!(!findings.iter().any(|finding| finding.id.name() == "container"));
}

#[test]
fn advice_names_the_runtime_at_hand() {
    let (_copy, findings) = altered("container", "run/.containerenv", Some("engine=\"podman-5.4.0\"\n"));
    assert!(get(&findings, "memory_lock").remedy.unwrap().apply[0].starts_with("podman run --cap-add"));
    let account = "var/run/secrets/kubernetes.io/serviceaccount/namespace";
    let (_copy, findings) = altered("container", account, Some("default"));
    assert!(get(&findings, "memory_lock").remedy.unwrap().apply[0].contains("add: [IPC_LOCK]"));
    assert!(get(&findings, "cpu_quota").remedy.unwrap().apply[0].contains("resources.limits.cpu"));
    assert!(get(&findings, "seccomp").remedy.unwrap().apply[0].starts_with("start the container"));
}

#[test]
fn options_that_switch_timers_off_are_found() {
    let (_copy, findings) = altered("laptop", "proc/cmdline", Some("ro highres=off\n"));
    let timers = get(&findings, "high_resolution_timers");
    assert_eq!(timers.verdict, Verdict::Costs);
    assert!(timers.cost.unwrap().typical.contains("1000 µs"));
}

#[test]
fn without_the_throttle_the_fair_server_still_cuts_in() {
    let file = "proc/sys/kernel/sched_rt_runtime_us";
    let (_copy, with_server) = altered("raspberry-pi", file, Some("-1\n"));
    assert!(get(&with_server, "rt_throttling").why.contains("still cut short by the fair server"));
    let (_copy, without) = altered("vm", file, Some("-1\n"));
    assert!(get(&without, "rt_throttling").why.contains("Nothing cuts a busy real-time thread short"));
}

#[test]
fn throttling_and_fair_server_are_switched_off_together() {
    let switched_off = |findings: &[Finding]| {
        let remedy = get(findings, "fair_server").remedy.unwrap();
        remedy.apply.iter().any(|line| line.contains("/proc/sys/kernel/sched_rt_runtime_us"))
    };
    assert!(!switched_off(&findings("raspberry-pi")), "there the fair server is instead of throttling");
    let config = "boot/config-6.12.34+rpt-rpi-v8";
    let (copy, divided) = altered("raspberry-pi", config, Some("CONFIG_RT_GROUP_SCHED=y\n"));
    assert!(switched_off(&divided));
    fs::write(copy.path().join("proc/sys/kernel/sched_rt_runtime_us"), "-1\n").unwrap();
    assert!(!switched_off(&examine(&Root::at(copy.path()))), "it is off");
}

#[test]
fn debugfs_is_not_offered_where_the_kernel_refuses_it() {
    let mounts = |findings: &[Finding]| {
        let commands = findings.iter().filter_map(|finding| finding.remedy.clone());
        commands.flat_map(|remedy| remedy.apply).any(|command| command.contains("/sys/kernel/debug"))
    };
    assert!(mounts(&findings("container")));
    let lockdown = "none [integrity] confidentiality\n";
    let (_copy, locked) = altered("container", "sys/kernel/security/lockdown", Some(lockdown));
    assert!(!mounts(&locked));
    let preemption = get(&locked, "preemption").remedy.expect("a kernel parameter needs no debugfs");
    assert!(preemption.apply.iter().any(|line| line.contains("preempt=full")), "{preemption:?}");
}

#[test]
fn a_file_refused_to_an_administrator_is_not_offered_for_writing() {
    let (copy, _) = altered("laptop", "proc/self/status", Some("CapEff:\t000001ffffffffff\n"));
    fs::write(copy.path().join("proc/sys/kernel/version"), "#1 SMP PREEMPT_DYNAMIC\n").unwrap();
    fs::write(copy.path().join("proc/cmdline"), "ro preempt=voluntary\n").unwrap();
    let preemption = get(&examine(&Root::at(copy.path())), "preemption");
    assert_eq!(preemption.verdict, Verdict::Costs);
    assert!(preemption.remedy.unwrap().apply[0].contains("preempt=full"));
}

#[test]
fn a_model_that_was_not_read_is_called_inferred() {
    assert!(get(&findings("laptop"), "preemption").found.contains("inferred"));
    let file = "sys/kernel/debug/sched/preempt";
    assert!(!get(&findings("vm"), "preemption").found.contains("inferred"), "it cannot be changed there");
    let (_copy, read) = altered("container", file, Some("(none) voluntary full\n"));
    assert!(!get(&read, "preemption").found.contains("inferred"));
}

#[test]
fn only_tickless_cpus_lose_the_timers_of_their_threads() {
    assert_eq!(get(&findings("vm"), "timer_migration").verdict, Verdict::Note);
    let (_copy, tickless) = altered("vm", "sys/devices/system/cpu/nohz_full", Some("1\n"));
    let moved = get(&tickless, "timer_migration");
    assert_eq!(moved.verdict, Verdict::Costs);
    assert!(moved.found.contains("nohz_full"));
}

/// The findings of a system with these files added.
fn findings_with(system: &str, files: &[(&str, &str)]) -> Vec<Finding> {
    let copy = tempfile::tempdir().expect("a directory for the copy");
    copy_tree(&directory(system), copy.path());
    for (path, content) in files {
        let file = copy.path().join(path);
        fs::create_dir_all(file.parent().expect("a file below the copy")).expect("the copy can be written");
        fs::write(file, content).expect("the copy can be written");
    }
    examine(&Root::at(copy.path()))
}

#[test]
fn pressure_costs_where_threads_wait() {
    let cpu = |some: &str| {
        format!(
            "some avg10={some} avg60=1.00 avg300=1.00 total=9\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0"
        )
    };
    let finding =
        |some: &str| get(&findings_with("laptop", &[("proc/pressure/cpu", &cpu(some))]), "pressure");
    let busy = finding("98.49");
    assert_eq!(busy.verdict, Verdict::Costs);
    assert!(busy.found.contains("98 %") && busy.remedy.is_some(), "{busy:?}");
    assert_eq!(finding("0.40").verdict, Verdict::Good);
}

#[test]
fn a_service_has_the_limits_of_its_unit() {
    let finding = |group: &str| {
        let limits = "Limit Soft Limit Hard Limit Units\nMax realtime priority     0                    0\n";
        let status = "Name:\thowlate\nCapEff:\t0000000000000000\n";
        let files = [("proc/self/cgroup", group), ("proc/self/limits", limits), ("proc/self/status", status)];
        findings_with("laptop", &files).into_iter().find(|finding| finding.id.name() == "service_limits")
    };
    let robot = finding("0::/system.slice/robot.service").expect("it is of a service");
    assert_eq!(robot.verdict, Verdict::Costs);
    assert!(robot.remedy.expect("a remedy").apply[0].contains("/robot.service.d/90-howlate.conf"));
    let desktop = finding("0::/user.slice/user-1000.slice/user@1000.service/app.slice/app.scope")
        .expect("it is of a manager");
    assert!(desktop.remedy.expect("a remedy").apply[0].contains("/user@.service.d && "));
    assert_eq!(finding("0::/user.slice/user-0.slice/session-3.scope"), None);
}

#[test]
fn rtkit_and_power_saving_are_found() {
    let rtkit = "usr/share/dbus-1/system-services/org.freedesktop.RealtimeKit1.service";
    let found = findings_with(
        "laptop",
        &[
            (rtkit, "[D-BUS Service]"),
            ("sys/module/pcie_aspm/parameters/policy", "default performance [powersave] powersupersave"),
            ("sys/class/drm/card0/device/power/control", "auto"),
            ("sys/class/drm/card0/device/power/runtime_status", "suspended"),
        ],
    );
    assert!(get(&found, "realtime_kit").found.contains("no desktop portal"));
    let links = get(&found, "pcie_link_power");
    assert_eq!(links.verdict, Verdict::Costs);
    assert!(links.remedy.expect("a remedy").undo[0].contains("echo powersave"));
    assert!(get(&found, "graphics_power").remedy.expect("a remedy").apply[0].contains("card0"));
    let none = examine(&Root::at(directory("container")));
    assert!(!none.iter().any(|finding| finding.id.name() == "graphics_power"));
}

#[test]
fn interference_on_isolated_cpus_is_found() {
    let files = |mask: &str, threads: &str, work: &str| {
        let status = format!("Name:\tkswapd0\nCpus_allowed_list:\t{threads}\n");
        // PF_KTHREAD, and another one that is bound: PF_NO_SETAFFINITY.
        let stat = |flags: u32| format!("30 (kswapd0) S 2 0 0 0 -1 {flags} 0 0 0 0");
        let (free, bound) = (stat(0x0020_0000), stat(0x0420_0000));
        let online = ("sys/devices/system/cpu/online", "0-3");
        let isolated = ("sys/devices/system/cpu/isolated", "2-3");
        let rest = [
            ("proc/irq/default_smp_affinity", mask),
            ("proc/2/comm", "kthreadd\n"),
            ("proc/2/task/2/children", "30 31"),
            ("proc/30/stat", free.as_str()),
            ("proc/30/status", status.as_str()),
            ("proc/31/stat", bound.as_str()),
            ("proc/31/status", "Name:\tcpuhp/2\nCpus_allowed_list:\t2\n"),
            ("sys/devices/virtual/workqueue/cpumask", work),
        ];
        findings_with("laptop", &[&[online, isolated][..], &rest].concat())
    };
    let open = files("f", "0-3", "f");
    let later = get(&open, "default_interrupt_affinity");
    assert_eq!(later.verdict, Verdict::Costs);
    assert!(later.remedy.expect("a remedy").apply.concat().contains("irqaffinity=0-1"));
    let threads = get(&open, "kernel_threads");
    assert!(threads.found.starts_with("1 thread of the kernel (kswapd0) "), "{}", threads.found);
    let remedy = threads.remedy.expect("a remedy");
    assert_eq!(remedy.apply[0], "sudo taskset -pc 0-1 30");
    assert_eq!(remedy.undo[0], "sudo taskset -pc 0-3 30");
    assert!(remedy.apply[1].starts_with("echo 3 |"));
    let separated = files("3", "0-1", "3");
    let verdicts = ["default_interrupt_affinity", "kernel_threads"].map(|id| get(&separated, id).verdict);
    assert_eq!(verdicts, [Verdict::Good; 2]);
}

/// The finding about `nohz_full` with this configuration line, and this content of the file; `None` without a file.
fn tickless(config_line: &str, file: Option<&str>) -> Option<Finding> {
    let copy = tempfile::tempdir().expect("a directory for the copy");
    copy_tree(&directory("rt-kernel"), copy.path());
    let path = copy.path().join("sys/devices/system/cpu/nohz_full");
    match file {
        Some(text) => fs::write(path, text).expect("the copy can be written"),
        None => fs::remove_file(path).expect("a file to remove"),
    }
    let boot =
        fs::read_dir(copy.path().join("boot")).expect("a folder").flatten().next().expect("a file").path();
    let config =
        fs::read_to_string(&boot).expect("a configuration").replace("CONFIG_NO_HZ_FULL=y", config_line);
    fs::write(boot, config).expect("the copy can be written");
    examine(&Root::at(copy.path())).into_iter().find(|finding| finding.id.name() == "nohz_full")
}

#[test]
fn nohz_full_without_effect_is_found() {
    let off = "# CONFIG_NO_HZ_FULL is not set";
    let unsupported = tickless(off, None).expect("it was asked for");
    assert_eq!(unsupported.verdict, Verdict::Costs);
    assert!(
        unsupported.found.contains("nohz_full=2-3") && unsupported.found.contains("CONFIG_NO_HZ_FULL"),
        "{}",
        unsupported.found
    );
    assert!(unsupported.remedy.expect("a remedy").apply[0].contains("CONFIG_NO_HZ_FULL"));
    let refused = tickless("CONFIG_NO_HZ_FULL=y", Some("(null)\n")).expect("it was asked for");
    assert_eq!(refused.verdict, Verdict::Costs);
    assert!(!refused.found.contains("CONFIG_NO_HZ_FULL"), "it can: {}", refused.found);
    let done = tickless("CONFIG_NO_HZ_FULL=y", Some("2-3\n")).expect("it was asked for");
    assert_eq!(done.verdict, Verdict::Good);
}

#[test]
fn with_every_cpu_isolated_one_is_left_for_housekeeping() {
    let line = "ro isolcpus=domain,managed_irq,0-3 nohz_full=0-3 rcu_nocbs=0-3\n";
    let all = findings_with(
        "rt-kernel",
        &[
            ("proc/cmdline", line),
            ("sys/devices/system/cpu/isolated", "0-3\n"),
            ("sys/devices/system/cpu/nohz_full", "0-3\n"),
            ("proc/irq/default_smp_affinity", "f\n"),
            ("proc/2/comm", "kthreadd\n"),
            ("proc/2/task/2/children", "30"),
            ("proc/30/stat", "30 (kswapd0) S 2 0 0 0 -1 2097152 0 0 0 0"),
            ("proc/30/status", "Name:\tkswapd0\nCpus_allowed_list:\t0-3\n"),
            ("sys/devices/virtual/workqueue/cpumask", "f\n"),
        ],
    );
    let isolated = get(&all, "isolated_cpus");
    assert_eq!(isolated.verdict, Verdict::Costs);
    assert!(isolated.found.contains("keep CPU 0 "), "{}", isolated.found);
    let apply = isolated.remedy.expect("a remedy").apply.concat();
    assert!(apply.contains("`isolcpus=domain,managed_irq,1-3 nohz_full=1-3`"), "{apply}");
    let irqs = get(&all, "interrupt_affinity").remedy.expect("a remedy").apply.concat();
    assert!(irqs.contains("do echo 0 | sudo tee"), "{irqs}");
    assert!(
        get(&all, "default_interrupt_affinity").remedy.expect("one").apply[0].contains(r#"irqaffinity=0\""#)
    );
    assert!(
        get(&all, "kernel_threads").remedy.expect("one").apply.iter().any(|step| step.contains("-pc 0 "))
    );
    let steps = all
        .iter()
        .filter_map(|finding| finding.remedy.as_ref())
        .flat_map(|remedy| remedy.apply.iter().chain(&remedy.undo));
    for step in steps {
        assert!(!step.contains("echo  |") && !step.contains("=`") && !step.contains("-pc  "), "{step}");
    }
}

#[test]
fn isolcpus_without_effect_is_found() {
    let isolated = |line: &str| {
        let files = [("proc/cmdline", line), ("sys/devices/system/cpu/isolated", "\n")];
        get(&findings_with("rt-kernel", &files), "isolated_cpus")
    };
    assert_eq!(isolated("ro isolcpus=9\n").verdict, Verdict::Costs);
    assert_eq!(isolated("ro\n").verdict, Verdict::Note);
    // Interrupts alone, which the file does not show.
    assert_eq!(isolated("ro isolcpus=managed_irq,2-3\n").verdict, Verdict::Note);
}

#[test]
fn removing_the_last_limit_of_real_time_threads_warns() {
    let warns = |steps: &[String]| {
        let step = steps.iter().find(|step| step.contains("sched_rt_runtime_us")).expect("it is advised");
        step.split_once("   # ").is_some_and(|(_, remark)| remark.contains("spins"))
    };
    let throttling = get(&findings("vm"), "rt_throttling").remedy.expect("a remedy");
    assert!(warns(&throttling.apply), "{throttling:?}");
}

#[test]
fn isolating_one_cpu_of_two_says_what_it_costs() {
    let isolated = |online: &str| {
        let steps =
            get(&findings_with("vm", &[("sys/devices/system/cpu/online", online)]), "isolated_cpus").remedy;
        steps.expect("a remedy").apply.concat().contains("half of this machine")
    };
    assert!(isolated("0-1\n") && !isolated("0-3\n"));
}

#[test]
fn no_command_needs_the_variable_user() {
    let steps =
        findings("laptop").into_iter().filter_map(|finding| finding.remedy).flat_map(|remedy| remedy.apply);
    assert!(!steps.into_iter().any(|step| step.contains("$USER")));
}
