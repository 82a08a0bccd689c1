//! Boards with an Arm or Atom processor.

use howlate_model::Verdict;

use crate::machine::Machine;

pub(crate) fn pi_5() -> Machine {
    let board = Machine::new(
        "Debian GNU/Linux 13 (trixie)",
        "6.12.47+rpt-rpi-2712",
        "#1 SMP PREEMPT Debian 1:6.12.47",
        4,
    );
    let board = board
        .arm()
        .file("proc/cpuinfo", "CPU implementer\t: 0x41\nModel\t\t: Raspberry Pi 5 Model B Rev 1.0\n")
        .user();
    let board = [9, 11, 13, 14].into_iter().fold(board, |board, irq| board.irq(irq, "0-3", "0-3"));
    board
        .config(&["CONFIG_PREEMPT=y"])
        .cmdline("rootwait isolcpus=3 rcu_nocbs=3 irqaffinity=0-2")
        .isolated("3")
        .file("proc/irq/default_smp_affinity", "7")
        .irq(106, "0-2", "0")
        .frequency(&[0], "ondemand", [1500, 2400, 2400])
        .file("proc/swaps", "Filename Type Size Used Priority\n/dev/zram0 partition 2097136 0 100\n")
        .file("sys/devices/platform/soc@107c000000/soc@107c000000:firmware/get_throttled", "50005")
        .file("sys/bus/usb-serial/devices/ttyUSB0/latency_timer", "16")
}

#[test]
fn a_pi_with_a_weak_supply_says_so_first_and_moves_no_interrupt_that_cannot_be_moved() {
    let found = pi_5().examine();
    assert_eq!(found.costs()[0], "thermal_throttling");
    assert!(found.get("thermal_throttling").found.contains("voltage"));
    assert_eq!(found.verdict("interrupt_affinity"), Verdict::Good);
    assert_eq!(found.verdict("kernel_threads"), Verdict::Costs);
    assert!(found.remedy("realtime_kernel").contains("linux-image-rpi-v8-rt"));
    assert!(found.remedy("frequency_governor").contains("performance"));
    assert!(found.remedy("usb_serial_latency").contains("echo 1 "));
    assert!(found.get("swap").found.starts_with("memory can be compressed"));
    assert!(found.remedy("kernel_threads").contains("echo 7 | "), "{}", found.remedy("kernel_threads"));
}

pub(crate) fn jetson() -> Machine {
    let board =
        Machine::new("Ubuntu 22.04.5 LTS", "5.15.148-rt-tegra", "#1 SMP PREEMPT_RT Mon Nov 25 2024", 12)
            .arm();
    board
        .file("proc/device-tree/model", "NVIDIA Jetson AGX Orin Developer Kit\0")
        .idle(&[("WFI", 1), ("c7", 5000)], |_, _| false)
        .frequency(&[0, 4, 8], "schedutil", [2201, 2201, 2201])
}

#[test]
fn a_frequency_without_a_choice_is_good_whatever_the_governor_is_called() {
    let found = jetson().examine();
    assert_eq!(found.verdict("frequency_governor"), Verdict::Good);
    assert_eq!(found.costs(), ["idle_states"]);
    assert!(found.get("idle_states").found.contains("c7"));
    assert!(found.remedy("isolated_cpus").contains("extlinux.conf"), "{}", found.remedy("isolated_cpus"));
}

pub(crate) fn busybox() -> Machine {
    let board =
        Machine::new("Arago 2023.10", "6.6.58-rt45-ti-rt", "#1 SMP PREEMPT_RT Tue Nov 26 2024", 4).arm();
    let board =
        board.file("proc/device-tree/model", "Texas Instruments AM625 SK\0").file("proc/self/cgroup", "0::/");
    board.idle(&[("WFI", 1), ("cpu-sleep", 200)], |_, _| false).frequency(
        &[0],
        "schedutil",
        [200, 1400, 1400],
    )
}

#[test]
fn root_of_a_small_system_is_given_no_sudo_and_no_files_of_systemd() {
    let found = busybox().examine();
    assert_eq!(found.costs(), ["idle_states", "frequency_governor"]);
    for step in found.steps() {
        assert!(
            !step.contains("sudo ") && !step.contains("tmpfiles.d") && !step.contains("sysctl.d"),
            "{step}"
        );
    }
}

pub(crate) fn elkhart_lake() -> Machine {
    let line = "processor.max_cstate=0 intel_idle.max_cstate=0 idle=poll tsc=reliable nmi_watchdog=0 isolcpus=1,3 rcu_nocbs=1,3 \
                nohz_full=1,3 irqaffinity=0 mce=off noht";
    let board = Machine::new(
        "Debian GNU/Linux 12 (bookworm)",
        "6.1.0-28-rt-amd64",
        "#1 SMP PREEMPT_RT Debian 6.1.119-1",
        4,
    );
    let board = [(0, "0-3"), (2, "0-3"), (9, "0"), (120, "0")]
        .into_iter()
        .fold(board, |board, (irq, cpus)| board.irq(irq, cpus, cpus));
    board
        .cmdline(line)
        .isolated("1,3")
        .tickless("1,3")
        .housekeeping("0,2")
        .frequency(&[0, 1, 2, 3], "performance", [1900, 3000, 3000])
        .file("proc/sys/kernel/sched_rt_runtime_us", "-1")
        .file("proc/sys/kernel/timer_migration", "0")
}

#[test]
fn a_board_that_was_set_up_well_has_nothing_that_costs() {
    let found = elkhart_lake().examine();
    assert_eq!(found.costs(), Vec::<&str>::new());
    assert_eq!(found.verdict("interrupt_affinity"), Verdict::Good);
    assert_eq!(found.verdict("machine_checks"), Verdict::Note);
    assert_eq!(found.verdict("timer_slack"), Verdict::Note, "real-time threads have none");
}

#[test]
fn a_boards_own_kernel_is_not_replaced_by_one_from_elsewhere() {
    let board = |release: &str, arch: &str| {
        let board = Machine::new("Debian GNU/Linux 12 (bookworm)", release, "#1 SMP PREEMPT", 8).arm();
        board.file("proc/sys/kernel/arch", arch).file("boot/armbianEnv.txt", "extraargs=\n").examine()
    };
    let rockchip = board("6.1.75-vendor-rk35xx", "aarch64");
    assert!(
        rockchip.remedy("realtime_kernel").starts_with("build one"),
        "{}",
        rockchip.remedy("realtime_kernel")
    );
    assert!(rockchip.remedy("isolated_cpus").contains("/boot/armbianEnv.txt"));
    assert!(board("6.1.0-28-armmp", "armv7l").remedy("realtime_kernel").contains("linux-image-rt-armmp"));
}
