//! Servers, tuned and untuned.

use howlate_model::Verdict;

use crate::machine::Machine;

pub(crate) fn two_nodes() -> Machine {
    let server = Machine::new(
        "Rocky Linux 9.5 (Blue Onyx)",
        "5.14.0-503.el9.x86_64",
        "#1 SMP PREEMPT_DYNAMIC Tue Nov 5 2024",
        128,
    );
    let source = "sys/devices/system/clocksource/clocksource0";
    let all: Vec<u32> = (0..128).collect();
    server
        .config(&["CONFIG_PREEMPT_VOLUNTARY=y", "CONFIG_PREEMPT_DYNAMIC=y"])
        .file("sys/kernel/debug/sched/preempt", "none (voluntary) full")
        .file(format!("{source}/current_clocksource"), "hpet")
        .file(format!("{source}/available_clocksource"), "hpet acpi_pm")
        .siblings(|cpu| vec![cpu % 64, cpu % 64 + 64])
        .idle(&[("POLL", 0), ("C1", 1), ("C2", 400)], |_, _| false)
        .frequency(&all, "schedutil", [1500, 2800, 2800])
        .file("sys/devices/system/node/online", "0-1")
        .file("proc/sys/kernel/numa_balancing", "1")
        .file("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never")
        .file("sys/kernel/mm/ksm/run", "1")
        .file("proc/1234/comm", "irqbalance")
        .file("proc/swaps", "Filename Type Size Used Priority\n/dev/dm-1 partition 33554428 20971520 -2\n")
}

#[test]
fn a_server_as_it_came_has_its_costs_in_the_order_in_which_they_matter() {
    let found = two_nodes().examine();
    let order = [
        "clocksource",
        "preemption",
        "idle_states",
        "frequency_governor",
        "transparent_huge_pages",
        "numa_balancing",
    ];
    assert_eq!(found.costs(), order);
    let clock = found.remedy("clocksource");
    assert!(clock.contains("tsc=nowatchdog") && !clock.contains("tsc=reliable"), "{clock}");
    assert!(found.get("tuning_daemons").found.contains("irqbalance"));
    assert!(found.has("same_page_merging"));
    assert!(!found.remedy("swap").contains("swapoff"), "what is out does not fit: {}", found.remedy("swap"));
    assert!(found.remedy("isolated_cpus").contains("isolcpus=domain,managed_irq,63,127"));
}

pub(crate) fn off_on_the_first_cpu_only() -> Machine {
    let server = Machine::new(
        "Debian GNU/Linux 13 (trixie)",
        "6.12.48+deb13-rt-amd64",
        "#1 SMP PREEMPT_RT Debian 6.12.48-1",
        6,
    );
    server
        .idle(&[("POLL", 0), ("C1", 2), ("C6", 133)], |cpu, name| cpu == 0 && name == "C6")
        .isolated("4-7")
        .tickless("4-7")
        .housekeeping("0-3")
        .irq(0, "0-7", "0-7")
        .irq(16, "0-3", "2")
        .cmdline("isolcpus=4-7 nohz_full=4-7 rcu_nocbs=4-7")
        .file("proc/sys/kernel/timer_migration", "0")
}

#[test]
fn each_cpu_is_judged_by_itself_and_none_that_is_off() {
    let found = off_on_the_first_cpu_only().examine();
    assert_eq!(found.costs(), ["idle_states"]);
    assert!(found.get("idle_states").found.starts_with("idle CPUs 4-5 may enter states as deep as C6"));
    assert!(
        found.get("isolated_cpus").found.contains("`--cpus 4-5`"),
        "{}",
        found.get("isolated_cpus").found
    );
    assert!(found.remedy("idle_states").contains("for n in 4 5; do"), "{}", found.remedy("idle_states"));
}

#[test]
fn deep_idle_states_of_other_cpus_cost_nothing() {
    let other_way = off_on_the_first_cpu_only()
        .idle(&[("POLL", 0), ("C1", 2), ("C6", 133)], |cpu, name| cpu > 0 && name == "C6");
    assert_eq!(other_way.examine().verdict("idle_states"), Verdict::Good);
}

pub(crate) fn many_cpus() -> Machine {
    let server = Machine::new(
        "SUSE Linux Enterprise Server 15 SP6",
        "6.4.0-150600.23-rt",
        "#1 SMP PREEMPT_RT Thu May 9 2024",
        512,
    );
    let server = server
        .siblings(|cpu| vec![cpu % 256, cpu % 256 + 256])
        .idle(&[("POLL", 0), ("C1", 1), ("C2", 100)], |cpu, name| cpu % 7 == 3 && name == "C2")
        .isolated("8-511")
        .tickless("8-511")
        .cmdline("isolcpus=managed_irq,domain,8-511 nohz_full=8-511 rcu_nocbs=8-511");
    (0..2000).fold(server, |server, irq: u32| {
        let allowed = if irq.is_multiple_of(3) { "0-511".to_owned() } else { (irq % 512).to_string() };
        server.irq(irq, &allowed, &allowed)
    })
}

/// <https://github.com/NVIDIA/NV-Kernels/pull/400>
#[test]
fn the_fair_server_makes_tickless_cpus_tick() {
    let server = |runtime: &str| {
        let server =
            Machine::new("Ubuntu 26.04 LTS", "7.0.0-14-generic", "#14-Ubuntu SMP PREEMPT_DYNAMIC", 4);
        let server = server.isolated("2-3").tickless("2-3").cmdline("isolcpus=2-3 nohz_full=2-3");
        (0..4).fold(server, |server, cpu| {
            let folder = format!("sys/kernel/debug/sched/fair_server/cpu{cpu}");
            let runtime = if cpu < 2 { "50000000" } else { runtime };
            server.file(format!("{folder}/runtime"), runtime).file(format!("{folder}/period"), "1000000000")
        })
    };
    let found = server("50000000").examine();
    assert_eq!(found.verdict("fair_server"), Verdict::Costs);
    let remedy = found.remedy("fair_server");
    assert!(
        remedy.contains("for n in 2 3;") && remedy.contains("/fair_server/cpu$n/runtime"),
        "others keep theirs: {remedy}"
    );
    assert_eq!(server("0").examine().verdict("fair_server"), Verdict::Note, "they have none");
}

#[test]
fn many_interrupts_are_moved_and_put_back_by_a_few_commands() {
    let found = many_cpus().examine();
    let remedy = found.get("interrupt_affinity").remedy.clone().unwrap();
    assert!(
        remedy.apply.len() <= 2 && remedy.undo.len() == 1,
        "{} {}",
        remedy.apply.len(),
        remedy.undo.len()
    );
    assert!(remedy.apply[1].len() < 300 && remedy.apply[1].contains("ENOSPC"), "{}", remedy.apply[1]);
    assert!(found.get("interrupt_affinity").found.len() < 200);
    assert_eq!(found.verdict("smt"), Verdict::Costs, "the siblings of 256 to 263 keep house");
    assert!(!found.remedy("smt").contains("for n in 0 "), "those stay on: {}", found.remedy("smt"));
    assert!(found.get("idle_states").found.len() < 120, "{}", found.get("idle_states").found);
    assert!(
        found.remedy("idle_states").contains("for n in $(seq 8 511);"),
        "{}",
        found.remedy("idle_states").len()
    );
    assert!(found.steps().all(|step| step.len() < 500));
}

pub(crate) fn in_unit() -> Machine {
    let server = Machine::new(
        "Debian GNU/Linux 13 (trixie)",
        "6.12.48+deb13-amd64",
        "#1 SMP PREEMPT_DYNAMIC Debian 6.12.48-1",
        4,
    );
    let group = "sys/fs/cgroup/system.slice/robot.service";
    server
        .file("sys/kernel/debug/sched/preempt", "none voluntary (full) lazy")
        .file("proc/self/cgroup", "0::/system.slice/robot.service")
        .file(format!("{group}/cpu.max"), "50000 100000")
        .file(format!("{group}/cpu.stat"), "nr_periods 100\nnr_throttled 90\nthrottled_usec 1\n")
}

#[test]
fn a_quota_of_systemd_is_lifted_by_systemd() {
    let found = in_unit().examine();
    assert_eq!(found.costs()[0], "cpu_quota");
    let remedy = found.remedy("cpu_quota");
    assert!(
        remedy.contains("systemctl set-property robot.service CPUQuota=") && !remedy.contains("tee"),
        "{remedy}"
    );
}

pub(crate) fn buster() -> Machine {
    let server = Machine::new(
        "Debian GNU/Linux 10 (buster)",
        "4.19.0-27-rt-amd64",
        "#1 SMP PREEMPT RT Debian 4.19.316-1",
        4,
    );
    server.idle(&[("POLL", 0), ("C1", 1), ("C6", 170)], |_, _| false).frequency(
        &[0, 1, 2, 3],
        "powersave",
        [800, 4000, 4000],
    )
}

#[test]
fn an_old_kernel_is_asked_for_nothing_that_it_does_not_know() {
    let found = buster().examine();
    assert_eq!(found.costs(), ["idle_states", "frequency_governor"]);
    let remedy = found.remedy("isolated_cpus");
    assert!(remedy.contains("isolcpus=3\\\"") && !remedy.contains("managed_irq"), "{remedy}");
}

pub(crate) fn slow_clock() -> Machine {
    let source = "sys/devices/system/clocksource/clocksource0";
    let server = Machine::new(
        "Debian GNU/Linux 13 (trixie)",
        "6.12.41+deb13-amd64",
        "#1 SMP PREEMPT_DYNAMIC Debian 6.12.41-1",
        4,
    );
    server
        .config(&["CONFIG_PREEMPT_VOLUNTARY=y", "CONFIG_PREEMPT_DYNAMIC=y"])
        .file(format!("{source}/current_clocksource"), "hpet")
        .file(format!("{source}/available_clocksource"), "hpet acpi_pm")
        .file("proc/sys/kernel/watchdog", "1")
        .file("proc/sys/kernel/watchdog_thresh", "1")
}

#[test]
fn a_short_threshold_is_a_timer_every_fraction_of_a_second() {
    let found = slow_clock().examine();
    assert_eq!(found.costs(), ["clocksource", "preemption"]);
    assert!(found.get("watchdogs").found.contains("every 0.4 s"));
    let off = slow_clock().file("proc/sys/kernel/watchdog_thresh", "0").examine();
    assert_eq!(off.verdict("watchdogs"), Verdict::Good);
}

#[test]
fn words_for_the_first_process_are_none_of_the_kernels() {
    let line = "ro dyndbg=\"file a +p isolcpus=2\" preempt=full -- preempt=none \x1b[31mred";
    let found = slow_clock().cmdline(line).examine();
    assert_ne!(found.verdict("preemption"), Verdict::Costs);
    assert_eq!(found.verdict("isolated_cpus"), Verdict::Note);
}

/// The most frequent mistake: isolating the second CPUs of all cores.
pub(crate) fn second_halves() -> Machine {
    let server = Machine::new(
        "Debian GNU/Linux 13 (trixie)",
        "6.12.48+deb13-rt-amd64",
        "#1 SMP PREEMPT_RT Debian 6.12.48-1",
        16,
    );
    server
        .siblings(|cpu| vec![cpu % 8, cpu % 8 + 8])
        .isolated("8-15")
        .housekeeping("0-7")
        .cmdline("isolcpus=8-15")
}

#[test]
fn halves_of_cores_are_to_become_whole_ones_and_no_isolated_cpu_is_lost() {
    let found = second_halves().examine();
    assert_eq!(found.verdict("smt"), Verdict::Costs);
    let remedy = found.remedy("smt");
    assert!(remedy.contains("4-7,12-15 in `isolcpus=`") && !remedy.contains("/online"), "{remedy}");
    let some = second_halves().isolated("7,12-15").cmdline("isolcpus=7,12-15").examine();
    assert!(some.remedy("smt").contains("for n in 4 5 6; do echo 0 |"), "{}", some.remedy("smt"));
}

#[test]
fn the_only_core_is_not_taken_apart() {
    let small = || {
        Machine::new("Debian GNU/Linux 12 (bookworm)", "6.1.0-28-rt-amd64", "#1 SMP PREEMPT_RT", 2)
            .siblings(|_| vec![0, 1])
    };
    assert_eq!(small().examine().get("isolated_cpus").remedy, None);
    let followed = small().isolated("1").cmdline("isolcpus=1").examine();
    assert!(followed.remedy("smt").starts_with("isolate nothing"), "{}", followed.remedy("smt"));
}

#[test]
fn isolcpus_without_the_flag_domain_is_found() {
    let found =
        off_on_the_first_cpu_only().isolated("").cmdline("isolcpus=managed_irq,4-7 nohz_full=4-7").examine();
    assert_eq!(found.verdict("isolated_cpus"), Verdict::Note);
    assert!(found.remedy("isolated_cpus").starts_with("write `isolcpus=domain,managed_irq,4-7` instead"));
}

/// Interrupt threads follow the affinity of their interrupts; those of disk queues cannot be moved.
#[test]
fn the_thread_of_an_interrupt_is_no_leak_of_its_own() {
    let thread = |server: Machine, id: u32, name: &str| {
        server
            .file(format!("proc/{id}/stat"), format!("{id} ({name}) S 2 0 0 0 -1 2097216 0 0 0 0"))
            .file(format!("proc/{id}/status"), format!("Name:\t{name}\nCpus_allowed_list:\t4-5\n"))
    };
    let server = off_on_the_first_cpu_only().file("proc/2/task/2/children", "30 31");
    let quiet = thread(thread(server, 30, "irq/150-nvme0q3"), 31, "irq/125-eno1");
    assert_eq!(quiet.examine().verdict("kernel_threads"), Verdict::Good);
    let found = thread(quiet, 31, "kauditd").examine();
    assert!(found.get("kernel_threads").found.starts_with("1 thread of the kernel (kauditd) "));
}

#[test]
fn irqbalance_is_stopped_before_interrupts_are_moved() {
    let found = off_on_the_first_cpu_only().irq(16, "0-7", "5").file("proc/77/comm", "irqbalance").examine();
    let remedy = found.get("interrupt_affinity").remedy.clone().unwrap();
    assert!(
        remedy.apply[0].contains("stop irqbalance")
            && remedy.undo.iter().any(|step| step.contains("start irqbalance"))
    );
    assert!(remedy.lasting.iter().any(|step| step.contains("irqaffinity=0-3")), "{remedy:?}");
    assert!(found.remedy("tuning_daemons").contains("IRQBALANCE_BANNED_CPULIST=4-5"));
}

#[test]
fn packets_and_callbacks_that_come_to_isolated_cpus_are_found() {
    let server = || off_on_the_first_cpu_only().tickless("").cmdline("isolcpus=4-7");
    let steered = server().file("sys/class/net/eth0/queues/rx-0/rps_cpus", "3f").examine();
    assert_eq!(steered.verdict("receive_steering"), Verdict::Costs);
    assert!(steered.remedy("receive_steering").contains("echo 0 | "));
    assert!(
        steered
            .get("receive_steering")
            .remedy
            .as_ref()
            .unwrap()
            .price
            .as_ref()
            .unwrap()
            .contains("throughput")
    );
    assert!(steered.remedy("rcu_callbacks").contains("rcu_nocbs=4-5"));
    let clear = server()
        .cmdline("isolcpus=4-7 rcu_nocbs=4-7")
        .file("sys/class/net/eth0/queues/rx-0/rps_cpus", "0f")
        .examine();
    assert!(!clear.has("receive_steering") && !clear.has("rcu_callbacks"));
}

/// Disk queues, each for an isolated and another CPU.
#[test]
fn queues_that_come_to_isolated_cpus_and_need_not_cost() {
    let server = |line: &str| {
        let table =
            (40..44).map(|irq| format!(" {irq}: 5 5 5 5 5 5 5 5 PCI-MSI {irq}-edge nvme0q{}\n", irq - 39));
        let table = format!("CPU0 CPU1 CPU2 CPU3 CPU4 CPU5 CPU6 CPU7\n{}", table.collect::<String>());
        let machine =
            Machine::new("Debian GNU/Linux 12 (bookworm)", "6.1.0-30-rt-amd64", "#1 SMP PREEMPT_RT", 8)
                .isolated("4-7")
                .cmdline(line)
                .file("proc/interrupts", table)
                .irq(16, "0-3", "0");
        (40..44).fold(machine, |machine, irq| {
            machine.irq(irq, &format!("{},{}", irq - 40, irq - 36), &(irq - 36).to_string())
        })
    };
    let found = server("isolcpus=4-7").examine();
    assert_eq!(found.verdict("interrupt_affinity"), Verdict::Costs);
    assert!(found.remedy("interrupt_affinity").contains("`isolcpus=domain,managed_irq,4-7` instead of"));
    let avoided = server("isolcpus=domain,managed_irq,4-7").examine();
    assert_eq!(avoided.verdict("interrupt_affinity"), Verdict::Good);
}
