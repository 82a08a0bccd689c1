//! Findings on desktops and laptops.

use howlate_model::Verdict;

use crate::machine::Machine;

pub(crate) fn hybrid() -> Machine {
    let desktop =
        Machine::new("Ubuntu 24.04.2 LTS", "6.8.0-58-lowlatency", "#60-Ubuntu SMP PREEMPT_DYNAMIC", 24)
            .user();
    let preference = |machine: Machine, cpu: u32| {
        let value = if cpu < 16 { "balance_performance" } else { "performance" };
        machine
            .file(format!("sys/devices/system/cpu/cpufreq/policy{cpu}/energy_performance_preference"), value)
    };
    let all: Vec<u32> = (0..24).collect();
    let desktop = desktop.frequency(&all[..16], "powersave", [800, 5100, 5100]).frequency(
        &all[16..],
        "powersave",
        [800, 3900, 3900],
    );
    let desktop = all.into_iter().fold(desktop, preference);
    desktop
        .config(&["CONFIG_PREEMPT=y", "CONFIG_PREEMPT_DYNAMIC=y", "CONFIG_NO_HZ_FULL=y"])
        .siblings(|cpu| if cpu < 16 { vec![cpu & !1, cpu | 1] } else { vec![cpu] })
        .idle(&[("POLL", 0), ("C1_ACPI", 1), ("C2_ACPI", 127), ("C3_ACPI", 1048)], |_, _| false)
        .file("sys/devices/cpu_core/cpus", "0-15")
        .file("sys/devices/cpu_atom/cpus", "16-23")
        .file("proc/sys/kernel/sched_autogroup_enabled", "1")
        .tickless("(null)")
}

#[test]
fn on_a_hybrid_processor_a_whole_fast_core_is_isolated() {
    let found = hybrid().examine();
    assert_eq!(found.costs(), ["idle_states", "frequency_governor", "memory_lock", "timer_slack"]);
    assert!(found.remedy("isolated_cpus").contains("isolcpus=domain,managed_irq,14-15"));
    assert_eq!(found.verdict("energy_preference"), Verdict::Note);
    let smt = &found.get("smt").found;
    assert!(smt.contains("0-15") && smt.contains("16-23"), "{smt}");
    assert!(found.get("nice_permission").found.contains("autogroup"));
    assert!(found.get("idle_states").found.contains("1048"));
}

pub(crate) fn audio_desktop() -> Machine {
    let limits = "Max locked memory         unlimited            unlimited            bytes\nMax nice priority         39                   39\nMax realtime priority     95                   95\n";
    let desktop = Machine::new(
        "Ubuntu 24.04 LTS (Ubuntu Studio)",
        "6.8.0-58-lowlatency",
        "#60-Ubuntu SMP PREEMPT_DYNAMIC",
        8,
    )
    .user();
    desktop
        .file("proc/self/limits", limits)
        .config(&["CONFIG_PREEMPT=y", "CONFIG_PREEMPT_DYNAMIC=y"])
        .cmdline("quiet splash threadirqs preempt=full")
        .siblings(|cpu| vec![cpu % 4, cpu % 4 + 4])
        .idle(&[("POLL", 0), ("C1", 1), ("C6", 170)], |_, _| false)
        .frequency(&[0, 1, 2, 3, 4, 5, 6, 7], "performance", [800, 4600, 4600])
        .file("sys/bus/usb/devices/1-4/power/control", "auto")
        .file("sys/bus/usb/devices/1-4/product", "Scarlett 2i2 USB")
}

#[test]
fn a_good_audio_desktop_has_findings_about_idle_states_and_its_interface() {
    let found = audio_desktop().examine();
    assert_eq!(found.costs(), ["idle_states"]);
    assert_eq!(found.verdict("realtime_permission"), Verdict::Good);
    assert!(found.get("usb_power").found.contains("Scarlett"));
}

#[test]
fn a_request_for_shallow_states_is_seen_while_it_is_held() {
    let held = audio_desktop().raw("dev/cpu_dma_latency", &0_i32.to_ne_bytes()).examine();
    assert_eq!(held.costs(), Vec::<&str>::new());
    assert!(
        held.get("idle_states").found.contains("/dev/cpu_dma_latency"),
        "{}",
        held.get("idle_states").found
    );
    let loose = audio_desktop().raw("dev/cpu_dma_latency", &500_i32.to_ne_bytes()).examine();
    assert_eq!(loose.verdict("idle_states"), Verdict::Costs);
}

pub(crate) fn limited_frequency() -> Machine {
    let laptop = Machine::new("Fedora Linux 43", "6.17.1-300.fc43.x86_64", "#1 SMP PREEMPT_DYNAMIC", 4);
    laptop
        .config(&["CONFIG_PREEMPT_LAZY=y", "CONFIG_PREEMPT_DYNAMIC=y"])
        .file("sys/kernel/debug/sched/preempt", "(full) lazy")
        .idle(&[("POLL", 0), ("C1", 2)], |_, _| false)
        .frequency(&[0, 1, 2, 3], "performance", [400, 800, 4200])
        .file("sys/devices/system/cpu/cpufreq/policy0/bios_limit", "800000")
}

#[test]
fn a_frequency_that_is_kept_low_costs_under_every_governor() {
    let found = limited_frequency().examine();
    assert_eq!(found.costs(), ["frequency_limit"]);
    assert!(found.get("frequency_limit").found.contains("800 MHz of 4200"));
    assert!(found.remedy("realtime_kernel").starts_with("Fedora has none"));
    assert!(
        found.remedy("isolated_cpus").starts_with("sudo grubby ")
            || found.remedy("isolated_cpus").starts_with("grubby ")
    );
}

pub(crate) fn with_sched_ext() -> Machine {
    let desktop = Machine::new("Fedora Linux 44", "7.0.3-200.fc44.x86_64", "#1 SMP PREEMPT_DYNAMIC", 16);
    desktop
        .config(&["CONFIG_PREEMPT_LAZY=y", "CONFIG_PREEMPT_DYNAMIC=y"])
        .file("sys/kernel/debug/sched/preempt", "full (lazy)")
        .file("sys/kernel/sched_ext/state", "enabled")
        .file("sys/kernel/sched_ext/root/ops", "lavd")
        .idle(&[("POLL", 0), ("C1", 1), ("C2", 18)], |_, _| false)
}

#[test]
fn another_scheduler_is_named() {
    let found = with_sched_ext().examine();
    assert!(found.get("sched_ext").found.contains("lavd"));
    assert_eq!(found.verdict("preemption"), Verdict::Note);
    assert!(found.remedy("preemption").contains("echo full "));
    assert!(found.get("preemption").why.contains("goes on until the tick"));
    assert_eq!(found.costs(), ["idle_states"]);
    assert_eq!(with_sched_ext().describe().scheduler.as_deref(), Some("lavd"));
    let ended = with_sched_ext().file("sys/kernel/sched_ext/state", "disabled");
    assert_eq!(ended.describe().scheduler, None);
}

/// Since Linux 7.1 time slices do not wait for the tick, where timers are rearmed late.
#[test]
fn slices_wait_for_the_tick_or_do_not() {
    let why = |release: &str, feature: Option<&str>| {
        let desktop = Machine::new("Arch Linux", release, "#1 SMP PREEMPT_DYNAMIC", 4);
        let desktop = desktop.config(&["CONFIG_HZ=1000", "CONFIG_HRTIMER_REARM_DEFERRED=y"]);
        let desktop = match feature {
            Some(feature) => desktop.file("sys/kernel/debug/sched/features", feature),
            None => desktop,
        };
        desktop.examine().get("tick").why.clone()
    };
    assert!(why("7.1.2-arch1-1", None).contains("Neither sleeps nor time slices"));
    assert!(why("7.0.2-arch1-1", None).contains("slices and the kernel's own timeouts do"));
    assert!(
        why("7.1.2-arch1-1", Some("PLACE_LAG NO_HRTICK")).contains("slices and the kernel's own timeouts do")
    );
}

/// Since Linux 6.19 there are two files by which programs ask for short exits.
#[test]
fn both_requests_for_short_exits_count() {
    let desktop = Machine::new("Arch Linux", "7.1.2-arch1-1", "#1 SMP PREEMPT_DYNAMIC", 4);
    let desktop = desktop.idle(&[("POLL", 0), ("C1", 1), ("C6", 133)], |_, _| false);
    assert_eq!(desktop.examine().verdict("idle_states"), Verdict::Costs);
    let found = desktop.file("dev/cpu_wakeup_latency", "\u{14}\0\0\0").examine();
    assert_eq!(found.verdict("idle_states"), Verdict::Good);
    assert!(
        found.get("idle_states").found.contains("20 µs (/dev/cpu_wakeup_latency)"),
        "{}",
        found.get("idle_states").found
    );
    assert!(found.get("cpu_dma_latency").found.contains("no longer than 20 µs"));
}

pub(crate) fn with_partition() -> Machine {
    let desktop = Machine::new("Arch Linux", "6.15.2-arch1-1", "#1 SMP PREEMPT_DYNAMIC", 8);
    let desktop = [(0, "0-7", "0-7"), (16, "0-5", "3"), (125, "0-5", "5")]
        .into_iter()
        .fold(desktop, |machine, (irq, allowed, handled)| machine.irq(irq, allowed, handled));
    desktop
        .file("sys/fs/cgroup/cpuset.cpus.isolated", "6-7")
        .file("sys/kernel/debug/sched/preempt", "none voluntary (full) lazy")
        .housekeeping("0-5")
        .tickless("(null)")
        .idle(&[("POLL", 0), ("C1", 2)], |_, _| false)
}

#[test]
fn cpus_isolated_by_a_control_group_are_isolated() {
    let found = with_partition().examine();
    assert_eq!(found.verdict("isolated_cpus"), Verdict::Good);
    assert!(found.get("isolated_cpus").found.starts_with("isolated CPUs: 6-7;"));
    assert_eq!(
        (found.verdict("interrupt_affinity"), found.verdict("default_interrupt_affinity")),
        (Verdict::Good, Verdict::Good)
    );
    assert_eq!(found.costs(), Vec::<&str>::new());
}

pub(crate) fn debug_kernel() -> Machine {
    let laptop =
        Machine::new("Fedora Linux 43", "6.17.0-0.rc1.17.fc43.x86_64+debug", "#1 SMP PREEMPT_DYNAMIC", 4);
    laptop
        .config(&[
            "CONFIG_PREEMPT_LAZY=y",
            "CONFIG_KASAN=y",
            "CONFIG_PROVE_LOCKING=y",
            "CONFIG_DEBUG_OBJECTS=y",
        ])
        .file("sys/kernel/debug/sched/preempt", "(full) lazy")
        .file("sys/kernel/tracing/current_tracer", "function_graph")
        .file("sys/kernel/tracing/tracing_on", "1")
}

#[test]
fn a_kernel_for_tests_and_a_tracer_come_first() {
    assert_eq!(debug_kernel().examine().costs(), ["debug_kernel", "tracer"]);
}

#[test]
fn a_limit_of_the_firmware_is_not_written_back() {
    let limit = limited_frequency().examine().get("frequency_limit").remedy.clone().unwrap();
    assert!(limit.undo.iter().all(|step| !step.contains("800000")), "{limit:?}");
    let base = limited_frequency().file("sys/devices/system/cpu/intel_pstate/no_turbo", "1").examine();
    assert!(
        base.remedy("frequency_limit").contains("echo 0 | tee /sys/devices/system/cpu/intel_pstate/no_turbo")
    );
}

#[test]
fn heat_now_and_then_is_worth_knowing_and_heat_all_the_time_costs() {
    let count = "sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count";
    let throttling_verdict = |times: u32, seconds: u32| {
        limited_frequency()
            .file(count, times)
            .file("proc/uptime", format!("{seconds}.00 1.0"))
            .examine()
            .verdict("thermal_throttling")
    };
    assert_eq!(
        (throttling_verdict(9, 360_000), throttling_verdict(4_127, 360_000), throttling_verdict(0, 60)),
        (Verdict::Note, Verdict::Costs, Verdict::Good)
    );
}

#[test]
fn a_power_saving_firmware_is_found() {
    let found =
        |profile: &str| limited_frequency().file("sys/firmware/acpi/platform_profile", profile).examine();
    assert_eq!(found("low-power").verdict("platform_profile"), Verdict::Costs);
    assert!(found("low-power").remedy("platform_profile").contains("echo performance"));
    assert_eq!(
        (found("balanced").verdict("platform_profile"), found("performance").verdict("platform_profile")),
        (Verdict::Note, Verdict::Good)
    );
}

fn with_distribution(release: &str) -> Machine {
    limited_frequency().file("etc/os-release", release).file("sys/class/dmi/id/product_name", "Laptop")
}

#[test]
fn derived_distributions_have_commands_of_their_own() {
    let remedies = |release: &str| {
        let found = with_distribution(release).examine();
        (found.remedy("isolated_cpus"), found.remedy("realtime_kernel"))
    };
    let (isolated, _) = remedies("ID=pop\nID_LIKE=\"ubuntu debian\"\nNAME=\"Pop!_OS\"\n");
    assert!(isolated.contains("kernelstub --add-options"), "{isolated}");
    let (isolated, kernel) = remedies("ID=opensuse-microos\nID_LIKE=\"suse opensuse\"\n");
    assert!(isolated.contains("transactional-update grub.cfg"), "{isolated}");
    assert!(kernel.contains("transactional-update pkg install kernel-rt"), "{kernel}");
    let (isolated, kernel) = remedies("ID=steamos\nID_LIKE=arch\n");
    assert!(isolated.contains("steamos-readonly") && kernel.contains("has none"), "{isolated} {kernel}");
}

#[test]
fn a_limit_is_raised_where_that_system_reads_it() {
    let remedy = |machine: Machine, finding: &str| machine.examine().remedy(finding);
    let alpine = || with_distribution("ID=alpine\n").user();
    assert!(remedy(alpine(), "realtime_permission").contains("prlimit --pid $$ --rtprio=99"));
    assert!(remedy(alpine(), "nice_permission").contains("--nice=40"));
    let lasting = alpine().examine().get("realtime_permission").remedy.clone().unwrap().lasting;
    assert!(lasting[0].contains("rc_ulimit=\"-r 99\""), "{lasting:?}");
    let of_manager = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/app.scope";
    let nix = with_distribution("ID=nixos\n").user().file("proc/self/cgroup", of_manager);
    let service = remedy(nix, "service_limits");
    assert!(
        service.contains("systemd.services.\"user@\".serviceConfig") && !service.contains("/etc/"),
        "{service}"
    );
}

#[test]
fn commands_are_adapted_to_fish() {
    let status = |machine: Machine| {
        machine
            .file("proc/7/comm", "fish")
            .file("proc/self/status", "Uid:\t0\t0\t0\t0\nPPid:\t7\nCapEff:\t0\n")
    };
    let slack = status(limited_frequency()).examine().remedy("timer_slack");
    assert!(slack.contains("$fish_pid") && !slack.contains("$$"), "{slack}");
}

#[test]
fn very_deep_idle_states_come_before_the_preemption_model() {
    let laptop = |exit: u32| {
        limited_frequency()
            .config(&["CONFIG_PREEMPT_VOLUNTARY=y", "CONFIG_PREEMPT_DYNAMIC=y"])
            .file("sys/kernel/debug/sched/preempt", "none (voluntary) full")
            .idle(&[("POLL", 0), ("C10", exit)], |_, _| false)
            .examine()
            .costs()
            .into_iter()
            .map(str::to_owned)
            .filter(|id| ["idle_states", "preemption"].contains(&id.as_str()))
            .collect::<Vec<_>>()
    };
    assert_eq!(laptop(1_048), ["idle_states", "preemption"]);
    assert_eq!(laptop(170), ["preemption", "idle_states"]);
}

#[test]
fn a_user_of_sudo_gets_commands_with_sudo() {
    let by_sudo = limited_frequency()
        .file("proc/7/comm", "sudo")
        .file("proc/self/status", "Uid:\t0\t0\t0\t0\nPPid:\t7\nCapEff:\t000001ffffffffff\n");
    let found = by_sudo.examine();
    assert!(found.remedy("isolated_cpus").starts_with("sudo grubby "), "{}", found.remedy("isolated_cpus"));
    assert!(found.remedy("realtime_permission").starts_with("sudo chrt "));
}
